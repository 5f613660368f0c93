"""Assertions for test suites: assert_scores() fails a test if scores break a rule."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Unpack

from karat.comparison.gate.outcomes import Gate
from karat.errors import KaratError
from karat.options import GateOptions
from karat.reading.bytes.file_objects import FileSource
from karat.scores import Scores, StoredScores

if TYPE_CHECKING:
    from karat.comparison.gate.rules import Limits

__all__ = ["assert_scores"]


def assert_scores(
    scores: Scores | StoredScores | FileSource,
    *,
    min: Limits | None = None,  # noqa: A002  # the name that rules have on the command line and in files
    max: Limits | None = None,  # noqa: A002
    max_drop: Limits | None = None,
    non_inferior: Limits | None = None,
    baseline: Scores | StoredScores | FileSource | None = None,
    config: str | os.PathLike[str] | None = None,
    **options: Unpack[GateOptions],
) -> Gate:
    """Fail a test if scores break a rule; the message contains the table of rules and the worst queries.

    The arguments are those of `karat.gate`.

    >>> import karat
    >>> scores = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"])
    >>> assert_scores(scores, min={"RR": 0.5}).passed
    True
    """
    from karat.comparison.gate.gate import gate

    __tracebackhide__ = True
    try:
        result = gate(
            scores,
            min=min,
            max=max,
            max_drop=max_drop,
            non_inferior=non_inferior,
            baseline=baseline,
            config=config,
            **options,
        )
    except KaratError as error:
        # The traceback of a failed test should end in the test, not inside karat.
        raise error.with_traceback(None) from None
    if not result.passed:
        raise AssertionError(f"{result.verdict}\n\n{str(result).removesuffix(result.verdict).rstrip()}")
    return result
