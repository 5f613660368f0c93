"""Tasks of the benchmark on compressed files: a run that is read from gzip, and gzip itself."""

import importlib
import subprocess
from collections.abc import Callable
from pathlib import Path

from sizes import Size

TASKS = ("gzip",)


def prepared(library: str, size: Size) -> Callable[[], dict[str, float]]:
    """The work to be timed. It returns no means, because gzip has none: karat's are compared with the plain file's."""
    packed = compressed(size.run)
    if library == "gzip":
        return lambda: decompress(packed)
    karat = importlib.import_module("karat")
    measures = ["AP", "nDCG@10", "RR", "R@100"]
    expected = karat.evaluate(str(size.truth), str(size.run), measures).means

    def evaluate() -> dict[str, float]:
        assert karat.evaluate(str(size.truth), str(packed), measures).means == expected
        return {}

    return evaluate


def decompress(packed: Path) -> dict[str, float]:
    subprocess.run(["gzip", "-dc", str(packed)], stdout=subprocess.DEVNULL, check=True)
    return {}


def compressed(path: Path) -> Path:
    """The same file, compressed by gzip with its default settings; in the page cache."""
    packed = path.with_name(f"{path.name}.gz")
    if not packed.exists():
        unfinished = packed.with_suffix(".unfinished")
        with unfinished.open("wb") as file:
            subprocess.run(["gzip", "-c", str(path)], stdout=file, check=True)
        unfinished.rename(packed)
    packed.read_bytes()
    return packed
