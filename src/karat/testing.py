"""For tests: scores that are not good enough fail, with the table and the worst queries."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from karat.errors import KaratError
from karat.gating.outcomes import Gate
from karat.options import Correction, Queries, Test
from karat.scores import Scores

if TYPE_CHECKING:
    from karat.gating.rules import Limits

__all__ = ["assert_scores"]


def assert_scores(
    scores: Scores,
    *,
    min: Limits | None = None,  # noqa: A002  # as the rules are called on the command line and in files
    max: Limits | None = None,  # noqa: A002
    max_drop: Limits | None = None,
    baseline: Scores | str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    significant: bool | None = None,
    test: Test | None = None,
    correction: Correction | None = None,
    level: float | None = None,
    queries: Queries | None = None,
) -> Gate:
    """Fail a test where scores break a rule; the message is the table of all rules, and the worst queries.

    `min`, `max` and `max_drop` are limits by measure; `max_drop` is how much worse than the `baseline` (Scores, or a
    file of them) a value may be. `config` is a karat.toml or pyproject.toml with more rules and options: what is
    given here wins. The other options are those of `karat.gating.gate`.

    >>> import karat
    >>> scores = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"])
    >>> assert_scores(scores, min={"RR": 0.5}).passed
    True
    """
    __tracebackhide__ = True
    given = {"significant": significant, "test": test, "correction": correction, "level": level, "queries": queries}
    try:
        found = _gate(scores, (min, max, max_drop), baseline, config, given)
    except KaratError as mistake:
        # Where in karat a mistake was found is of no use to the reader of a failed test.
        raise mistake.with_traceback(None) from None
    if not found.passed:
        raise AssertionError(f"{found.verdict}\n\n{str(found).removesuffix(found.verdict).rstrip()}")
    return found


def _gate(
    scores: Scores,
    limits: tuple[Limits | None, Limits | None, Limits | None],
    baseline: Scores | str | os.PathLike[str] | None,
    config: str | os.PathLike[str] | None,
    given: dict[str, Any],
) -> Gate:
    from karat.gating.config import read
    from karat.gating.gate import gate
    from karat.gating.rules import joined, rules_of, with_threshold

    rules = rules_of(*limits)
    chosen = {name: value for name, value in given.items() if value is not None}
    origin = ""
    if config is not None:
        file = read(config)
        origin = file.file
        rules = joined(with_threshold(file.rules, file.options.get("rel")), rules)
        chosen = {name: value for name, value in file.options.items() if name in given} | chosen
        if baseline is None and any(rule.kind == "max-drop" for rule in rules):
            baseline = file.baseline
    if baseline is not None and not any(rule.kind == "max-drop" for rule in rules):
        hint = 'Add one, as max_drop={"nDCG@10": 0.01}, or leave the baseline out.'
        raise KaratError("no rule is about a drop from the baseline", hint=hint)
    before = Scores.load(baseline) if isinstance(baseline, str | os.PathLike) else baseline
    return replace(gate(scores, rules, before, **chosen), origin=origin)
