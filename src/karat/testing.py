"""Assertions for test suites: assert_scores() fails a test if scores break a rule."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from karat.comparison.gate.outcomes import Gate
from karat.errors import KaratError, Message, Parameter, require
from karat.options import GateOptions
from karat.reading.bytes.file_objects import FileSource
from karat.scores import Scores, StoredScores

if TYPE_CHECKING:
    from karat.comparison.gate.rules import Limits, Rule

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

    - `min`, `max`: the limits of measures, for example `min={"nDCG@10": 0.6}`.
    - `max_drop`: how much worse than the `baseline` a measure may be. The baseline is Scores, or a file of them.
    - `non_inferior`: the drops that would matter. The test fails unless there is evidence that a drop is smaller.
    - `config`: a karat.toml or pyproject.toml with more rules and options; arguments override it.
    - `significant`, `test`, `correction`, `level`, `common_queries`, `force`, `lower_is_better`, `unknown`: as in
      `karat.comparison.gate.gate`.

    >>> import karat
    >>> scores = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"])
    >>> assert_scores(scores, min={"RR": 0.5}).passed
    True
    """
    from karat.comparison.gate.rules import rules_from_limits

    __tracebackhide__ = True
    try:
        result = _gate(scores, rules_from_limits(min, max, max_drop, non_inferior), baseline, config, options)
    except KaratError as error:
        # The traceback of a failed test should end in the test, not inside karat.
        raise error.with_traceback(None) from None
    if not result.passed:
        raise AssertionError(f"{result.verdict}\n\n{str(result).removesuffix(result.verdict).rstrip()}")
    return result


def _gate(
    scores: Scores | StoredScores | FileSource,
    rules: tuple[Rule, ...],
    baseline: Scores | StoredScores | FileSource | None,
    config: str | os.PathLike[str] | None,
    options: GateOptions,
) -> Gate:
    from karat.comparison.gate.config import read_config
    from karat.comparison.gate.gate import gate
    from karat.comparison.gate.rules import merge_rules, need_baseline, with_relevance_threshold

    origin = ""
    if config is not None:
        file = read_config(config)
        origin = file.file
        rules = merge_rules(with_relevance_threshold(file.rules, file.options.get("rel")), rules)
        options = file.gate_options | options
        if baseline is None and need_baseline(rules):
            baseline = file.baseline
    hint: Message = ["Add one, for example ", Parameter("max_drop", {"nDCG@10": 0.01}), ", or remove the baseline."]
    require(baseline is None or need_baseline(rules), "a baseline is given, but no rule compares with it", hint)
    return replace(gate(scores, rules, baseline, **options), origin=origin)
