"""gate(): whether scores are as good as the rules demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from karat.comparison import ComparisonRow, Method, compare_with
from karat.comparison.alignment import check_finite
from karat.errors import KaratError, shown
from karat.gating import wording
from karat.gating.outcomes import Gate, Outcome, Worst
from karat.gating.rules import Rule, refuse_unusable
from karat.options import Correction, Queries, Test
from karat.scores import Scores
from karat.scores.combining import before_mean, combination, higher_is_better
from karat.scores.summary import cell_text, notes

_WORST = 5


def gate(
    scores: Scores,
    rules: Sequence[Rule],
    baseline: Scores | None = None,
    *,
    significant: bool = False,
    test: Test = "randomization",
    correction: Correction = "holm",
    level: float = 0.95,
    queries: Queries = "same",
) -> Gate:
    """Hold scores against rules, and against the scores of a baseline.

    A `max-drop` fails where the value is worse than the baseline's by more than the limit.

    - `significant`: let it fail only where a test confirms the difference, so that noise does not block a release:
      with a p below `1 - level`, corrected for the number of such rules.
    - `test`, `correction`: as in `compare`. The tests are two-sided.
    - `queries`: those of the baseline must be the `same`, or only those in `common` are compared.

    >>> from karat import evaluate
    >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, ["RR", "P@1"])
    >>> print(gate(scores, [Rule("min", "RR", 0.7), Rule("min", "P@1", 0.6)]))
    verdict   measure   score    rule
    ────────────────────────────────────────────
    passed    RR        0.7500   at least 0.7000
    failed    P@1       0.5000   at least 0.6000
    P@1, the lowest: r (0.0000)
    2 queries
    note: unjudged: 50% of the documents in the top 1.
    gate failed: 1 of 2 rules
    """
    _refuse_what_is_no_scores("scores", scores)
    if baseline is not None:
        _refuse_what_is_no_scores("baseline", baseline)
    # Tukey's test has all systems in mind, and here are two.
    method = Method(test, correction, "measure" if test == "tukey" else "all", queries, level)
    _refuse_what_are_no_rules(rules)
    named = [replace(rule, measure=_column(scores, rule)) for rule in rules]
    refuse_unusable(named, baseline is not None)
    if not scores.queries:
        raise KaratError("there are no queries to judge by", where="scores")
    for rule in named:
        if rule.kind == "max-drop" and baseline is not None:
            _column(baseline, rule, "the baseline: ", "Save it with all measures that have a max-drop.")
    check_finite("scores", scores.only([rule.measure for rule in named]))
    drops = [rule.measure for rule in named if rule.kind == "max-drop"]
    pairs = _Pairs({}, ()) if baseline is None or not drops else _compared(scores, baseline, drops, method)
    outcomes = [
        _drop(rule, pairs.of_measure[rule.measure], significant) if rule.kind == "max-drop" else _value(rule, scores)
        for rule in named
    ]
    systems = {"run": scores.only([rule.measure for rule in named])}
    if baseline is not None and drops:
        systems["baseline"] = baseline.only(drops)
    return Gate(tuple(outcomes), (*_noticed(systems), *pairs.notes))


@dataclass(frozen=True)
class _Pair:
    """A run and its baseline on one measure: the queries that both have a value for, and what testing them gave."""

    scores: Scores
    baseline: Scores
    row: ComparisonRow
    confirmed: bool
    correction: Correction
    alpha: float


@dataclass(frozen=True)
class _Pairs:
    of_measure: Mapping[str, _Pair]
    notes: tuple[str, ...]


def _refuse_what_is_no_scores(name: str, given: object) -> None:
    if not isinstance(given, Scores):
        raise KaratError(
            f"{shown(given)} are no scores", where=name, hint="Give what karat.evaluate returns, or Scores.load."
        )


def _refuse_what_are_no_rules(rules: object) -> None:
    if not isinstance(rules, Sequence) or not all(isinstance(rule, Rule) for rule in rules):
        raise KaratError(f"{shown(rules)} are no rules", hint='Give a list, as [Rule("min", "nDCG@10", 0.6)].')


def _column(scores: Scores, rule: Rule, whose: str = "", hint: str = "") -> str:
    """The measure of a rule as these scores name it."""
    try:
        return scores.only([rule.measure]).measures[0]
    except KaratError as error:
        raise rule.error(f"{whose}{error.what}", f"{error.hint or ''} {hint}".strip()) from None


def _compared(scores: Scores, baseline: Scores, measures: Sequence[str], method: Method) -> _Pairs:
    found = compare_with(method, {"baseline": baseline, "run": scores}, "baseline", measures, with_intervals=False)
    rows = {row.measure: row for row in found.rows if row.baseline is not None}
    # One test has nothing to be corrected for, and Tukey's needs nothing.
    correction: Correction = method.correction if len(measures) > 1 and method.test != "tukey" else "none"
    pairs = {}
    for name in measures:
        run, before = (found.systems[system].only([name]) for system in ("run", "baseline"))
        kept = np.flatnonzero(~(np.isnan(run.values[name]) | np.isnan(before.values[name])))
        row = rows[name]
        pairs[name] = _Pair(run.take(kept), before.take(kept), row, found.significant(row), correction, method.alpha)
    return _Pairs(pairs, tuple(f"note: {text}" for text in found.notes))


def _value(rule: Rule, scores: Scores) -> Outcome:
    """A rule about the value itself."""
    value = scores.combined(rule.measure)
    if value is None:
        return Outcome(rule, False, f"{wording.demand(rule)}: no query has a value", None, "–")
    low, high = (value, rule.limit) if rule.kind == "min" else (rule.limit, value)
    passed = not wording.exceeds(high, low)
    shown = wording.number(value, rule.limit, rule.measure)
    return Outcome(rule, passed, wording.demand(rule), value, shown, worst=() if passed else _furthest(rule, scores))


def _furthest(rule: Rule, scores: Scores) -> tuple[Worst, ...]:
    """The queries that are furthest on the wrong side of the limit."""
    column = scores.column(rule.measure)
    outwards = column if rule.kind == "min" else -column
    # A sum is over its limit by all queries together.
    limit = np.inf if combination(rule.measure) == "sum" else rule.limit if rule.kind == "min" else -rule.limit
    wrong = [at for at in np.argsort(outwards, kind="stable").tolist() if outwards[at] < limit]
    return tuple(Worst(scores.queries[at], float(column[at])) for at in wrong[:_WORST])


def _drop(rule: Rule, pair: _Pair, significant: bool) -> Outcome:
    """A rule about the difference to the baseline."""
    name = rule.measure
    value, before = pair.scores.combined(name), pair.baseline.combined(name)
    if value is None or before is None:
        return Outcome(rule, False, f"{wording.demand(rule)}: no query has a value in both", None, "–")
    sign = 1 if higher_is_better(name) else -1
    drop = sign * (before - value)
    p = pair.row.p_corrected
    over = wording.exceeds(drop, rule.limit)
    # Where several queries all fall by the same, no test has a spread to go by, and none is needed.
    all_alike = p is None and len(pair.scores.queries) > 1
    doubted = over and significant and not (pair.confirmed or all_alike)
    shown = cell_text(value, name)
    said = f"{wording.demand(rule, cell_text(before, name))}: {wording.moved(rule, drop)}"
    said += _confirmation(p, pair, doubted)
    passed = not over or doubted
    return Outcome(rule, passed, said, value, shown, before, drop, p, () if passed else _losses(pair, name, sign))


def _losses(pair: _Pair, name: str, sign: int) -> tuple[Worst, ...]:
    """The queries that lost most, largest losses first."""
    now, before = pair.scores.column(name), pair.baseline.column(name)
    # As they are averaged: a geometric mean owes most to what fell to nothing.
    change = sign * (before_mean(now, combination(name)) - before_mean(before, combination(name)))
    lost = [at for at in np.argsort(change, kind="stable").tolist() if change[at] < 0]
    return tuple(Worst(pair.scores.queries[at], float(now[at]), float(before[at])) for at in lost[:_WORST])


def _confirmation(p: float | None, pair: _Pair, doubted: bool) -> str:
    """Whether the test confirms a drop, or why it cannot."""
    chance = wording.chance(p, pair.correction, pair.alpha)
    if doubted and len(pair.scores.queries) == 1:
        return ", which one query cannot confirm"
    # Wilcoxon's test is of ranks, and these may rise where the mean falls.
    against = (
        ", which its ranks speak against" if p is not None and p < pair.alpha else ", which the test does not confirm"
    )
    return (against if doubted else "") + (f" ({chance})" if chance else "")


def _noticed(systems: Mapping[str, Scores]) -> list[str]:
    count = len(systems["run"].queries)
    return [f"{count:,} quer{'y' if count == 1 else 'ies'}", *notes(systems)]
