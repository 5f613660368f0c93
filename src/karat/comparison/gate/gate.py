"""gate(): check scores against rules; if missing labels are to count against a system, in the worst case."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack, get_args

import numpy as np

from karat.comparison import Method, choose_method
from karat.comparison.alignment import check_finite
from karat.comparison.compute import compare_uncorrected
from karat.comparison.gate.drops import WORST_QUERIES, check_drops, few_differences
from karat.comparison.gate.outcomes import Gate, Outcome, WorstQuery, exceeds, number_text, requirement
from karat.comparison.gate.rules import (
    Rule,
    check_drop_options,
    check_rules,
    merge_rules,
    need_baseline,
    rules_from_limits,
    with_relevance_threshold,
)
from karat.comparison.margins import one_sided_form
from karat.comparison.tables import TESTS
from karat.errors import KaratError, Message, Parameter, enumeration, plural, require, shown
from karat.errors.arguments import check_switch
from karat.measures import meanings
from karat.options import (
    Correction,
    GateOptions,
    GateUnknown,
    Test,
    alpha_text,
    check_choice,
    check_names,
)
from karat.output.tables import note_line
from karat.reading.bytes.file_objects import FileSource
from karat.scores import Scores, StoredScores
from karat.scores.bounds import with_highest_mean
from karat.scores.columns import with_lower_is_better
from karat.scores.combining import combination
from karat.scores.loading import as_scores
from karat.scores.summary import notes

if TYPE_CHECKING:
    from karat.comparison.gate.rules import Limits


def gate(
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
    """Check scores against rules, and against the scores of a baseline; both may also be in a file or a folder.

    - `min`, `max`: the limits of measures, for example `min={"nDCG@10": 0.6}`.
    - `max_drop`: how much worse than the baseline's a value may be.
    - `non_inferior`: the drops that would matter. Such a rule passes only if there is evidence that the value is worse
      by less, or not worse at all: a one-sided test must be significant.
    - `config`: a karat.toml or pyproject.toml with more rules and options, and the baseline; arguments override it.
    - `significant`: a `max_drop` rule fails only if a one-sided test shows that the drop is larger than its limit, so
      that noise does not block a release.
    - `test`, `correction`, `level`, `common_queries`, `force`: as in `compare`. A one-sided p-value below `1 - level`
      is significant. It is corrected for the number of rules of the same kind. All of these options are refused if no
      rule compares with a baseline.
    - `lower_is_better`: columns computed elsewhere, such as a latency, that get worse as they rise.
    - `unknown`: with `"worst"`, queries that lack labels count with the worst value that these allow; with `"error"`,
      they are refused. A tested rule then tests the largest possible drop, whose p is not always the largest possible
      one, because extreme values also raise the variance.
    - `correct`: rules decide by the values of a model that people have corrected (`Scores.corrected`).

    >>> from karat import evaluate
    >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, ["RR", "P@1"])
    >>> print(gate(scores, min={"RR": 0.7, "P@1": 0.6}))
    verdict   measure   score    rule
    ────────────────────────────────────────────
    passed    RR        0.7500   at least 0.7000
    failed    P@1       0.5000   at least 0.6000
    P@1, lowest scores: r (0.0000)
    2 queries
    note K032: 50% of the documents in the top 1 are unjudged.
    gate failed: 1 of 2 rules
    """
    check_names(options, GateOptions.__annotations__)
    rules, origin = merge_rules((), rules_from_limits(min, max, max_drop, non_inferior)), ""
    if config is not None:
        from karat.comparison.gate.config import read_config  # which reads TOML

        file = read_config(config)
        rules = merge_rules(with_relevance_threshold(file.rules, file.options.get("rel")), rules)
        options, origin = file.gate_options | options, file.file
        if baseline is None and need_baseline(rules):
            baseline = file.baseline
    hint: Message = ["Add one, for example ", Parameter("max_drop", {"nDCG@10": 0.01}), ", or remove the baseline."]
    used = baseline is None or need_baseline(rules)
    require(used, "a baseline is given, but no rule compares with it", hint)
    return replace(gate_by_rules(scores, rules, baseline, **options), origin=origin)


def gate_by_rules(
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
    correct: bool = False,
) -> Gate:
    """Check scores against these rules."""
    significant = check_switch("significant", significant)
    check_choice("unknown", unknown, get_args(GateUnknown))
    run = _loaded("scores", scores)
    before = None if baseline is None else _loaded("baseline", baseline)
    run = with_lower_is_better({"": run}, lower_is_better)[""]
    method = choose_method(test, correction, common_queries=common_queries, level=level, force=force)
    options = {"significant": significant, "level": level, "common_queries": common_queries, "force": force}
    named = _named_rules(rules, run, before)
    check_drop_options(named, {**options, "test": method.test, "correction": correction})
    require(run.queries, "there are no queries to check", place="scores")
    if not check_switch("correct", correct):
        return _checked(named, run, before, method, significant, unknown)
    from karat.comparison.gate.corrected_rules import check_corrected, corrected_notes

    for name, value, default in (("unknown", unknown, "bounds"), ("test", method.test, "randomization")):
        what: Message = [Parameter(name, value), " and ", Parameter("correct", True), " cannot be combined"]
        require(value == default, what, "Leave one of them out.")
    outcomes = check_corrected(named, run, before, method, significant)
    lines = corrected_notes(named, run, before, method.level)
    return Gate(tuple(outcomes), (plural(len(run.queries), "query"), *lines))


def for_drops(method: Method) -> Method:
    """The method of the report about a gate: all drops are corrected together, but Tukey's test needs no correction."""
    return replace(method, family="measure" if method.test == "tukey" else "all")


def _loaded(name: str, source: object) -> Scores:
    scores = as_scores(source)
    if not isinstance(scores, Scores):
        hint = "Pass the result of karat.evaluate, or a file of saved scores."
        raise KaratError(f"{shown(source)} is not a Scores object", place=name, hint=hint)
    return scores


def _named_rules(rules: Sequence[Rule], scores: Scores, baseline: Scores | None) -> list[Rule]:
    """The rules, with the names that their measures have in these scores."""
    named = [replace(rule, measure=_column(scores, rule)) for rule in rules]
    check_rules(named, baseline is not None)
    for rule in named:
        if rule.compares and baseline is not None:
            _column(baseline, rule, of_baseline=True)
    return named


def _column(scores: Scores, rule: Rule, *, of_baseline: bool = False) -> str:
    """The measure of a rule by its name in these scores."""
    try:
        return scores.column_name(rule.measure)
    except KaratError as error:
        if of_baseline:
            error = error.but(what=["the baseline: ", *error.parts])
            error.add_hint("Save the baseline with all measures that are compared with it.")
        raise rule.placed(error) from None


def _checked(
    rules: Sequence[Rule],
    run: Scores,
    baseline: Scores | None,
    method: Method,
    significant: bool,
    unknown: GateUnknown,
) -> Gate:
    """The outcome of each rule, in the order of the rules."""
    drops = [rule for rule in rules if rule.compares]
    used = run.only([rule.measure for rule in rules])
    check_finite("scores", used)
    queries = plural(len(used.queries), "query")
    values = [_check_value(rule, _with_unknown(run, rule, unknown)) for rule in rules if not rule.compares]
    systems = [run] if baseline is None else [run, baseline]
    worst = _worst_case_notes(rules, systems) if unknown == "worst" else []
    if baseline is None or not drops:
        return Gate(tuple(values), (queries, *notes({"run": used}), *worst))
    dropped = list(dict.fromkeys(rule.measure for rule in drops))
    comparison = compare_uncorrected(method, _compared_systems(drops, run, baseline, unknown), "baseline", dropped)
    outcomes_of_drops = check_drops(drops, comparison, significant)
    checked, compared = iter(values), iter(outcomes_of_drops)
    outcomes = tuple(next(compared if rule.compares else checked) for rule in rules)
    findings = [*notes({"run": used, "baseline": baseline.only(dropped)}), *worst, *map(note_line, comparison.notes)]
    findings += few_differences(outcomes_of_drops, comparison)
    if significant or any(rule.kind == "non-inferior" for rule in drops):
        by = TESTS[one_sided_form(method.test)]
        findings.insert(0, f"significant: p below {alpha_text(method.alpha)}, one-sided, by {by}")
    return Gate(outcomes, (queries, *findings))


def _compared_systems(rules: Sequence[Rule], run: Scores, baseline: Scores, unknown: GateUnknown) -> dict[str, Scores]:
    """The scores that drops are computed from: as they are, or with the largest drops that missing labels allow."""
    for rule in rules:
        of_baseline = replace(rule, measure=baseline.column_name(rule.measure))
        baseline = _with_unknown(baseline, of_baseline, unknown, is_baseline=True)
        run = _with_unknown(run, rule, unknown)
        if unknown == "worst":
            run = _with_largest_drop(run, baseline, rule.measure)
    return {"baseline": baseline, "run": run}


def _check_value(rule: Rule, scores: Scores) -> Outcome:
    """The outcome of a `min` or `max` rule."""
    value = scores.combined(rule.measure)
    if value is None:
        return Outcome(rule, False, f"{requirement(rule)}: no query has a value", None, "–")
    low, high = (value, rule.limit) if rule.kind == "min" else (rule.limit, value)
    passed = not exceeds(high, low)
    text = number_text(value, rule.limit, rule.measure)
    worst = () if passed else _worst_values(rule, scores)
    return Outcome(rule, passed, requirement(rule), value, text, worst=worst)


def _worst_values(rule: Rule, scores: Scores) -> tuple[WorstQuery, ...]:
    """The queries that are furthest on the wrong side of the limit."""
    column = scores.column(rule.measure)
    sign = 1 if rule.kind == "min" else -1
    # The limit of a sum is for all queries together, so each of them counts.
    limit = np.inf if combination(rule.measure) == "sum" else sign * rule.limit
    order = np.argsort(sign * column, kind="stable").tolist()
    wrong = [at for at in order if sign * column[at] < limit]
    return tuple(WorstQuery(scores.queries[at], float(column[at])) for at in wrong[:WORST_QUERIES])


def _with_unknown(scores: Scores, rule: Rule, unknown: GateUnknown, *, is_baseline: bool = False) -> Scores:
    """The scores that a rule is checked with: as they are, or in the worst case.

    For a `min` rule, that is the lowest value that missing labels allow, for a `max` rule the highest. For a rule that
    compares with a baseline, it is the largest drop: from the best value of the baseline to the worst one of the run.
    """
    name = rule.measure
    if unknown == "error" and (lacking := _lacking_queries(scores, name)):
        hint: Message = ["Label them, or use ", Parameter("unknown", "worst"), "."]
        raise rule.error(f"{plural(lacking, 'query')} of {name} {'lacks' if lacking == 1 else 'lack'} labels", hint)
    if unknown != "worst":
        return scores
    bounds = scores.label_bounds.get(name)
    if bounds is None:
        _check_complete(scores, rule)
        return scores
    lowest = rule.kind == "min" or (rule.compares and scores.higher_is_better(name) != is_baseline)
    of_queries = (bounds.low, bounds.high) if rule.compares else bounds.extremes
    return replace(scores, values={**scores.values, name: of_queries[0 if lowest else 1]})


def _with_largest_drop(run: Scores, baseline: Scores, measure: str) -> Scores:
    """A run in the worst case, without queries that would make the mean drop smaller, if they may have no value."""
    before = baseline.column_name(measure)
    uncertain = {*_nullable(run, measure), *_nullable(baseline, before)}
    if not uncertain:
        return run
    of_baseline = dict(zip(baseline.queries, baseline.values[before].tolist(), strict=True))
    drops = np.array([of_baseline.get(query, np.nan) for query in run.queries]) - run.values[measure]
    drops *= 1 if run.higher_is_better(measure) else -1
    nullable = np.array([query in uncertain for query in run.queries])
    largest = with_highest_mean(drops, nullable)
    return replace(run, values={**run.values, measure: np.where(np.isnan(largest), np.nan, run.values[measure])})


def _nullable(scores: Scores, measure: str) -> list[str]:
    """The queries that have nothing to judge for some values of their missing labels."""
    bounds = scores.label_bounds.get(measure)
    return [] if bounds is None else [scores.queries[at] for at in np.flatnonzero(bounds.nullable).tolist()]


def _lacking_queries(scores: Scores, measure: str) -> int:
    """How many queries lack labels for a measure, as far as that is known."""
    bounds = scores.label_bounds.get(measure)
    return 0 if bounds is None else int(bounds.unknown.sum())


def _worst_case_notes(rules: Iterable[Rule], systems: Sequence[Scores]) -> list[str]:
    """Which rules were checked with another value than that of the queries that have all labels."""
    values = {"min": "the lowest", "max": "the highest"}
    checked, outer = {}, {}
    for rule in rules:
        for scores in systems[: 2 if rule.compares else 1]:
            if _lacking_queries(scores, rule.measure):
                checked[f"{values.get(rule.kind, 'the largest drop of')} {rule.measure}"] = True
                if not scores.label_bounds[rule.measure].exact.all():
                    outer[rule.measure] = True
    lines = [f"note: checked with {enumeration([*checked], 'and')} that missing labels allow."] if checked else []
    if outer:
        what = "this is an outer bound: the worst possible value may be better, but not worse."
        lines.append(f"note: of {enumeration([*outer], 'and')}, {what}")
    return lines


def _check_complete(scores: Scores, rule: Rule) -> None:
    """Reject scores without bounds, of which it is not known what missing labels allow."""
    is_of_labels = any(measure.definition.takes == "verdicts" for measure in meanings(rule.measure))
    nulls = int(np.isnan(scores.values[rule.measure]).sum())
    if is_of_labels and nulls:
        how = "Evaluate again, or save scores as JSON or Parquet, which contain bounds with "
        hint: Message = [how, Parameter("unknown", "bounds"), "."]
        what = f"{rule.measure} has no value for {plural(nulls, 'query')}, and these scores have no bounds"
        raise rule.error(what, hint)
