"""Assertions for test suites: assert_scores() fails a test if scores break a rule."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from karat.errors import KaratError, require
from karat.files.file_objects import FileSource
from karat.gating.outcomes import Gate
from karat.options import GateOptions
from karat.scores import Scores, StoredScores

if TYPE_CHECKING:
    from karat.gating.rules import Limits

__all__ = ["assert_scores"]


def assert_scores(
    scores: Scores | StoredScores | FileSource,
    *,
    min: Limits | None = None,  # noqa: A002  # the name that rules have on the command line and in files
    max: Limits | None = None,  # noqa: A002
    max_drop: Limits | None = None,
    baseline: Scores | StoredScores | FileSource | None = None,
    config: str | os.PathLike[str] | None = None,
    **options: Unpack[GateOptions],
) -> Gate:
    """Fail a test if scores break a rule; the message contains the table of rules and the worst queries.

    - `min`, `max`: the limits of measures, for example `min={"nDCG@10": 0.6}`.
    - `max_drop`: how much worse than the `baseline` a measure may be. The baseline is Scores, or a file of them.
    - `config`: a karat.toml or pyproject.toml with more rules and options; arguments override it.
    - `significant`, `test`, `correction`, `level`, `common_queries`, `force`, `lower_is_better`, `unknown`: as in
      `karat.gating.gate`.

    >>> import karat
    >>> scores = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"])
    >>> assert_scores(scores, min={"RR": 0.5}).passed
    True
    """
    __tracebackhide__ = True
    try:
        found = _gate(scores, (min, max, max_drop), baseline, config, options)
    except KaratError as error:
        # The traceback of a failed test should end in the test, not inside karat.
        raise error.with_traceback(None) from None
    if not found.passed:
        raise AssertionError(f"{found.verdict}\n\n{str(found).removesuffix(found.verdict).rstrip()}")
    return found


def _gate(
    scores: Scores | StoredScores | FileSource,
    limits: tuple[Limits | None, Limits | None, Limits | None],
    baseline: Scores | StoredScores | FileSource | None,
    config: str | os.PathLike[str] | None,
    options: GateOptions,
) -> Gate:
    from karat.gating.config import read_config
    from karat.gating.gate import gate
    from karat.gating.rules import has_drops, merge_rules, rules_from_limits, with_relevance_threshold

    rules = rules_from_limits(*limits)
    origin = ""
    if config is not None:
        file = read_config(config)
        origin = file.file
        rules = merge_rules(with_relevance_threshold(file.rules, file.options.get("rel")), rules)
        options = file.gate_options | options
        if baseline is None and has_drops(rules):
            baseline = file.baseline
    hint = 'Add one, for example max_drop={"nDCG@10": 0.01}, or remove the baseline.'
    require(baseline is None or has_drops(rules), "a baseline is given, but no max_drop rule", hint)
    return replace(gate(scores, rules, baseline, **options), origin=origin)
