"""gate(): check scores against rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from karat.comparison import Method, choose_method
from karat.comparison.alignment import check_finite
from karat.comparison.compute import compare_uncorrected
from karat.comparison.gate import wording
from karat.comparison.gate.drops import WORST_QUERIES, check_drops, few_differences
from karat.comparison.gate.outcomes import Gate, Outcome, WorstQuery
from karat.comparison.gate.rules import Rule, check_drop_options, check_rules
from karat.comparison.gate.worst_case import with_largest_drop, with_unknown, worst_case_notes
from karat.comparison.margins import one_sided_form
from karat.comparison.tables import TESTS
from karat.errors import KaratError, plural, require, shown
from karat.errors.arguments import check_switch
from karat.options import Correction, GateUnknown, Test, alpha_text, check_choice
from karat.output.tables import note_line
from karat.reading.bytes.file_objects import FileSource
from karat.scores import Scores, StoredScores
from karat.scores.columns import with_lower_is_better
from karat.scores.combining import combination
from karat.scores.loading import as_scores
from karat.scores.summary import notes


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

    A `max-drop` rule fails if the value is worse than the baseline's by more than its limit. A `non-inferior` rule
    passes only if there is evidence that the value is worse by less than its limit, or not worse at all: a one-sided
    test must be significant.

    - `significant`: a `max-drop` rule fails only if a one-sided test shows that the drop is larger than its limit, so
      that noise does not block a release.
    - `test`, `correction`, `level`, `common_queries`, `force`: as in `compare`. A one-sided p-value below `1 - level`
      is significant. It is corrected for the number of rules of the same kind. All of these options are refused if no
      rule compares with a baseline.
    - `lower_is_better`: columns computed elsewhere, such as a latency, that get worse as they rise.
    - `unknown`: with `"worst"`, queries that lack labels count with the worst value that these allow; with `"error"`,
      they are refused. A tested rule then tests the largest possible drop, whose p is not always the largest possible
      one, because extreme values also raise the variance.

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
    if not isinstance(rules, Sequence) or not all(isinstance(rule, Rule) for rule in rules):
        raise KaratError(f"{shown(rules)} is not a list of rules", hint='Write [Rule("min", "nDCG@10", 0.6)].')
    named = [replace(rule, measure=_column(scores, rule)) for rule in rules]
    check_rules(named, baseline is not None)
    options = {"significant": significant, "level": level, "common_queries": common_queries, "force": force}
    check_drop_options(named, {**options, "test": method.test, "correction": correction})
    require(scores.queries, "there are no queries to check", place="scores")
    drops = [rule for rule in named if rule.compares]
    if baseline is not None:
        for rule in drops:
            _column(baseline, rule, of_baseline=True)
    used = scores.only([rule.measure for rule in named])
    check_finite("scores", used)
    values = [_check_value(rule, with_unknown(scores, rule, unknown)) for rule in named if not rule.compares]
    both = [scores, *([] if baseline is None else [baseline])]
    worst = worst_case_notes(named, both) if unknown == "worst" else []
    if baseline is None or not drops:
        return Gate(tuple(values), (_query_count(used), *notes({"run": used}), *worst))
    dropped = list(dict.fromkeys(rule.measure for rule in drops))
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
    comparison = compare_uncorrected(method, systems, "baseline", dropped)
    of_drops = check_drops(drops, comparison, significant)
    checked, compared = iter(values), iter(of_drops)
    outcomes = (next(compared if rule.compares else checked) for rule in named)
    findings = [*notes({"run": used, "baseline": baseline.only(dropped)}), *worst, *map(note_line, comparison.notes)]
    findings += few_differences(of_drops, comparison)
    tested = significant or any(rule.kind == "non-inferior" for rule in drops)
    if tested:
        by = TESTS[one_sided_form(method.test)]
        findings.insert(0, f"significant: p below {alpha_text(method.alpha)}, one-sided, by {by}")
    return Gate(tuple(outcomes), (_query_count(used), *findings))


def for_drops(method: Method) -> Method:
    """The method of the report about a gate: all drops are corrected together, but Tukey's test needs no correction."""
    return replace(method, family="measure" if method.test == "tukey" else "all")


def _loaded(name: str, given: object) -> Scores:
    scores = as_scores(given)
    if not isinstance(scores, Scores):
        hint = "Pass the result of karat.evaluate, or a file of saved scores."
        raise KaratError(f"{shown(given)} is not a Scores object", place=name, hint=hint)
    return scores


def _column(scores: Scores, rule: Rule, *, of_baseline: bool = False) -> str:
    """The measure of a rule by its name in these scores."""
    try:
        return scores.column_name(rule.measure)
    except KaratError as error:
        if of_baseline:
            error = error.but(what=["the baseline: ", *error.parts])
            error.add_hint("Save the baseline with all measures that are compared with it.")
        raise rule.placed(error) from None


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
    return tuple(WorstQuery(scores.queries[at], float(column[at])) for at in wrong[:WORST_QUERIES])
