"""gate(): check scores against rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from karat.arguments import check_switch
from karat.comparison import Comparison, ComparisonRow, Method, choose_method, compare_with
from karat.comparison.alignment import check_finite
from karat.comparison.sentences import obstacle
from karat.errors import KaratError, plural, require, shown
from karat.files.file_objects import FileSource
from karat.gating import wording
from karat.gating.outcomes import Gate, Outcome, WorstQuery
from karat.gating.rules import Rule, check_drop_options, check_rules
from karat.gating.worst_case import with_largest_drop, with_unknown, worst_case_note
from karat.options import Correction, GateUnknown, Test, check_choice
from karat.output.tables import note_line
from karat.scores import Scores, StoredScores
from karat.scores.combining import before_mean, combination
from karat.scores.directions import with_lower_is_better
from karat.scores.loading import as_scores
from karat.scores.summary import cell_text, notes

_WORST_QUERIES = 5


def gate(
    scores: Scores | StoredScores | FileSource,
    rules: Sequence[Rule],
    baseline: Scores | StoredScores | FileSource | None = None,
    *,
    significant: bool = False,
    test: Test | str = "randomization",
    correction: Correction | str | None = None,
    level: float = 0.95,
    common_queries: bool = False,
    force: bool = False,
    lower_is_better: Iterable[str] = (),
    unknown: GateUnknown = "bounds",
) -> Gate:
    """Check scores against rules, and against the scores of a baseline; both may also be in a file or a folder.

    A `max-drop` rule fails if the value is worse than the baseline's by more than its limit.

    - `significant`: the rule fails only if the drop is also statistically significant, so that noise does not block a
      release. A p-value below `1 - level` is significant, corrected for the number of `max-drop` rules, except by the
      test `tukey`.
    - `test`, `correction`, `level`, `common_queries`, `force`: as in `compare`. The tests are two-sided. `level` is
      only used with `significant`. All of them are refused if there is no `max-drop` rule.
    - `lower_is_better`: columns computed elsewhere, such as a latency, that get worse as they rise.
    - `unknown`: with `"worst"`, queries that lack labels count with the worst value that these allow; with `"error"`,
      they are refused.

    >>> from karat import evaluate
    >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, ["RR", "P@1"])
    >>> print(gate(scores, [Rule("min", "RR", 0.7), Rule("min", "P@1", 0.6)]))
    verdict   measure   score    rule
    ────────────────────────────────────────────
    passed    RR        0.7500   at least 0.7000
    failed    P@1       0.5000   at least 0.6000
    P@1, lowest scores: r (0.0000)
    2 queries
    note: 50% of the documents in the top 1 are unjudged.
    gate failed: 1 of 2 rules
    """
    significant = check_switch("significant", significant)
    check_choice("unknown", unknown, get_args(GateUnknown))
    scores = _loaded("scores", scores)
    if baseline is not None:
        baseline = _loaded("baseline", baseline)
    scores = with_lower_is_better({"": scores}, lower_is_better)[""]
    method = choose_method(test, correction, common_queries=common_queries, level=level, force=force)
    method = for_drops(method)
    if not isinstance(rules, Sequence) or not all(isinstance(rule, Rule) for rule in rules):
        raise KaratError(f"{shown(rules)} is not a list of rules", hint='Write [Rule("min", "nDCG@10", 0.6)].')
    named = [replace(rule, measure=_column(scores, rule)) for rule in rules]
    check_rules(named, baseline is not None)
    options = {"significant": significant, "level": level, "common_queries": common_queries, "force": force}
    check_drop_options(named, {**options, "test": method.test, "correction": correction})
    require(scores.queries, "there are no queries to check", where="scores")
    drops = [rule for rule in named if rule.kind == "max-drop"]
    if baseline is not None:
        for rule in drops:
            _column(baseline, rule, "the baseline: ", "Save the baseline with all measures that have a max-drop rule.")
    used = scores.only([rule.measure for rule in named])
    check_finite("scores", used)
    values = [_check_value(rule, with_unknown(scores, rule, unknown)) for rule in named if rule.kind != "max-drop"]
    both = [scores, *([] if baseline is None else [baseline])]
    worst = worst_case_note(named, both) if unknown == "worst" else []
    if baseline is None or not drops:
        return Gate(tuple(values), (_query_count(used), *notes({"run": used}), *worst))
    dropped = [rule.measure for rule in drops]
    systems = {"baseline": baseline, "run": scores}
    for rule in drops:
        systems = {
            name: with_unknown(
                each, replace(rule, measure=each.column_name(rule.measure)), unknown, is_baseline=at == 0
            )
            for at, (name, each) in enumerate(systems.items())
        }
        if unknown == "worst":
            systems["run"] = with_largest_drop(systems["run"], systems["baseline"], rule.measure)
    comparison = compare_with(method, systems, "baseline", dropped, with_intervals=False)
    checked = iter(values)
    outcomes = (
        _check_drop(rule, comparison, significant) if rule.kind == "max-drop" else next(checked) for rule in named
    )
    findings = notes({"run": used, "baseline": baseline.only(dropped)})
    return Gate(tuple(outcomes), (_query_count(used), *findings, *worst, *map(note_line, comparison.notes)))


def for_drops(method: Method) -> Method:
    """The method that drops are tested with: all are corrected together, but Tukey's test needs no correction."""
    return replace(method, family="measure" if method.test == "tukey" else "all")


def _loaded(name: str, given: object) -> Scores:
    scores = as_scores(given)
    if not isinstance(scores, Scores):
        hint = "Pass the result of karat.evaluate, or a file of saved scores."
        raise KaratError(f"{shown(given)} is not a Scores object", where=name, hint=hint)
    return scores


def _column(scores: Scores, rule: Rule, whose: str = "", hint: str = "") -> str:
    """The measure of a rule by its name in these scores."""
    try:
        return scores.column_name(rule.measure)
    except KaratError as error:
        raise rule.error(f"{whose}{error.what}", f"{error.hint or ''} {hint}".strip()) from None


def _query_count(scores: Scores) -> str:
    return plural(len(scores.queries), "query")


def _check_value(rule: Rule, scores: Scores) -> Outcome:
    """The outcome of a `min` or `max` rule."""
    value = scores.combined(rule.measure)
    if value is None:
        return Outcome(rule, False, f"{wording.requirement(rule)}: no query has a value", None, "–")
    low, high = (value, rule.limit) if rule.kind == "min" else (rule.limit, value)
    passed = not wording.exceeds(high, low)
    text = wording.number_text(value, rule.limit, rule.measure)
    worst = () if passed else _worst_values(rule, scores)
    return Outcome(rule, passed, wording.requirement(rule), value, text, worst=worst)


def _worst_values(rule: Rule, scores: Scores) -> tuple[WorstQuery, ...]:
    """The queries that are furthest on the wrong side of the limit."""
    column = scores.column(rule.measure)
    sign = 1 if rule.kind == "min" else -1
    # The limit of a sum is for all queries together, so each of them counts.
    limit = np.inf if combination(rule.measure) == "sum" else sign * rule.limit
    order = np.argsort(sign * column, kind="stable").tolist()
    wrong = [at for at in order if sign * column[at] < limit]
    return tuple(WorstQuery(scores.queries[at], float(column[at])) for at in wrong[:_WORST_QUERIES])


def _check_drop(rule: Rule, comparison: Comparison, significant: bool) -> Outcome:
    """The outcome of a `max-drop` rule."""
    name = rule.measure
    run, baseline = _paired(comparison, name)
    value, before, higher = run.combined(name), baseline.combined(name), run.higher_is_better(name)
    if value is None or before is None:
        explanation = f"{wording.requirement(rule, higher_is_better=higher)}: no query has a value in both runs"
        return Outcome(rule, False, explanation, None, "–")
    sign = 1 if higher else -1
    drop = sign * (before - value)
    too_large = wording.exceeds(drop, rule.limit)
    row = comparison.row(name)
    p = row.p_corrected
    # If several queries all drop by the same amount, there is no variance to test with, and no doubt either.
    all_equal = p is None and len(run.queries) > 1
    doubtful = too_large and significant and not (comparison.significant(row) or all_equal)
    change = wording.change_text(rule, drop, higher_is_better=higher) + _significance(comparison, row, doubtful)
    explanation = f"{wording.requirement(rule, cell_text(before, name), higher_is_better=higher)}: {change}"
    passed = not too_large or doubtful
    worst = () if passed else _largest_losses(run, baseline, name, sign)
    return Outcome(rule, passed, explanation, value, cell_text(value, name), before, drop, p, worst)


def _paired(comparison: Comparison, name: str) -> tuple[Scores, Scores]:
    """The run and the baseline on one measure, for the queries with a value in both."""
    run, baseline = (comparison.systems[system].only([name]) for system in ("run", "baseline"))
    kept = np.flatnonzero(~(np.isnan(run.values[name]) | np.isnan(baseline.values[name])))
    return run.take(kept), baseline.take(kept)


def _significance(comparison: Comparison, row: ComparisonRow, doubtful: bool) -> str:
    """The p-value of a drop; for a drop that passes as not significant, also why."""
    method, power = comparison.method, comparison.power(row.measure)
    if doubtful and power.queries == 1:
        return ", not significant: one query is not enough for a test"
    p = row.p_corrected
    p_value = wording.p_value_text(p, method.correction if power.comparisons > 1 else "none", method.alpha)
    # Wilcoxon's test compares ranks, which may rise although the mean falls.
    if doubtful and p is not None and p < method.alpha:
        return f", not significant: the ranks moved the other way ({p_value})"
    doubt, why = (", not significant", obstacle(comparison, row, power)) if doubtful else ("", "")
    return f"{doubt} ({p_value}{why})" if p_value else doubt


def _largest_losses(run: Scores, baseline: Scores, name: str, sign: int) -> tuple[WorstQuery, ...]:
    """The queries that lost most, largest losses first."""
    now, before = run.column(name), baseline.column(name)
    # As they are averaged: a value that falls to 0 has a large effect on a geometric mean.
    change = sign * (before_mean(now, combination(name)) - before_mean(before, combination(name)))
    lost = [at for at in np.argsort(change, kind="stable").tolist() if change[at] < 0]
    return tuple(WorstQuery(run.queries[at], float(now[at]), float(before[at])) for at in lost[:_WORST_QUERIES])
