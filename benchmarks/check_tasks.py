"""Tasks of the benchmark on checking data: a run that is checked, and the same run, only evaluated."""

import importlib
from collections.abc import Callable
from typing import Any

from sizes import Size

TASKS = ("check",)
MEASURES = ["AP", "nDCG@10", "RR", "R@100"]


def prepared(library: str, size: Size) -> Callable[[], dict[str, float]]:
    """The work to be timed, which returns no means. The only finding is that most documents are not judged."""
    size.run.read_bytes()
    karat = importlib.import_module("karat")
    importlib.import_module("pyarrow.compute")
    karat.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, MEASURES)
    if library == "evaluate":
        return lambda: evaluated(karat, size)

    def check() -> dict[str, float]:
        found = karat.check(str(size.truth), str(size.run), measures=MEASURES)
        assert [finding.code for finding in found] == ["unjudged"]
        return {}

    return check


def evaluated(karat: Any, size: Size) -> dict[str, float]:
    karat.evaluate(str(size.truth), str(size.run), MEASURES)
    return {}
