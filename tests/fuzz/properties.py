"""The property tests of the test suite, with other seeds: random valid data against slow definitions.

It is a plugin of pytest that keeps only the tests of hypothesis, runs them in an order that depends on the seed, stops
when the time is over, and counts the examples.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from functools import wraps
from pathlib import Path
from random import Random
from typing import IO, Any

import pytest

_ROOT = Path(__file__).parents[2]
_FOLDERS = ("tests/unit", "tests/invariants")


class Properties:
    """Runs the tests of hypothesis for some time."""

    def __init__(self, seed: int, seconds: float) -> None:
        self.random = Random(seed)
        self.seconds = seconds
        self.examples: Counter[str] = Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = [item for item in items if hasattr(getattr(item, "obj", None), "hypothesis")]
        self.random.shuffle(kept)
        items[:] = kept
        for handle in {id(item.obj.hypothesis): item.obj.hypothesis for item in kept}.values():  # type: ignore[attr-defined]
            handle.inner_test = self._counted(handle.inner_test)
        self.end = time.monotonic() + self.seconds

    def pytest_runtest_logfinish(self, nodeid: str) -> None:  # noqa: ARG002
        if time.monotonic() > self.end:
            self.session.shouldstop = "the time is over"

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        from hypothesis import HealthCheck, settings  # not before pytest has prepared it

        self.session = session
        skipped = list(HealthCheck)
        settings.register_profile(
            "fuzz", max_examples=100, database=None, deadline=None, print_blob=True, suppress_health_check=skipped
        )
        settings.load_profile("fuzz")

    def _counted(self, test: Any) -> Any:
        @wraps(test)
        def counted(*arguments: Any, **named: Any) -> Any:
            self.examples[Path(test.__code__.co_filename).stem] += 1
            return test(*arguments, **named)

        return counted


def start_properties(seed: int, seconds: float, output: IO[str]) -> subprocess.Popen[bytes]:
    """Run them in a process of their own. The last line of its output is the count of examples as JSON."""
    words = [sys.executable, "-m", "tests.fuzz.properties", str(seed), str(seconds)]
    return subprocess.Popen(words, cwd=_ROOT, stdout=output)


def main(seed: int, seconds: float) -> int:
    plugin = Properties(seed, seconds)
    options = ["-n", "0", "-q", "--no-header", "-p", "no:randomly", f"--hypothesis-seed={seed}"]
    files = [str(path) for folder in _FOLDERS for path in sorted(_ROOT.joinpath(folder).glob("test_*.py"))]
    with_properties = [path for path in files if "@given(" in Path(path).read_text("utf-8")]
    status = pytest.main([*options, *with_properties], plugins=[plugin])
    print(json.dumps(plugin.examples))
    stopped = status in (pytest.ExitCode.OK, pytest.ExitCode.INTERRUPTED)
    return 0 if stopped and not plugin.session.testsfailed else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
