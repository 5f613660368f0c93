"""Scores in the worst case: what a gate decides by if missing labels are to count against a system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from karat.comparison.gate.rules import Rule
from karat.errors import Message, Parameter, enumeration, plural
from karat.measures import meanings
from karat.options import GateUnknown
from karat.scores import Scores
from karat.scores.bounds import with_highest_mean


def with_unknown(scores: Scores, rule: Rule, unknown: GateUnknown, *, is_baseline: bool = False) -> Scores:
    """The scores that a rule is checked with: as they are, or in the worst case.

    For a `min` rule, that is the lowest value that missing labels allow, for a `max` rule the highest. For a rule that
    compares with a baseline, it is the largest drop: from the best value of the baseline to the worst one of the run.
    """
    name = rule.measure
    if unknown == "error" and (lacking := lacking_queries(scores, name)):
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


def with_largest_drop(run: Scores, baseline: Scores, measure: str) -> Scores:
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


def lacking_queries(scores: Scores, measure: str) -> int:
    """How many queries lack labels for a measure, as far as that is known."""
    bounds = scores.label_bounds.get(measure)
    return 0 if bounds is None else int(bounds.unknown.sum())


def worst_case_notes(rules: Iterable[Rule], systems: Sequence[Scores]) -> list[str]:
    """Which rules were checked with another value than that of the queries that have all labels."""
    values = {"min": "the lowest", "max": "the highest"}
    checked, outer = {}, {}
    for rule in rules:
        for scores in systems[: 2 if rule.compares else 1]:
            if lacking_queries(scores, rule.measure):
                checked[f"{values.get(rule.kind, 'the largest drop of')} {rule.measure}"] = True
                if not scores.label_bounds[rule.measure].exact.all():
                    outer[rule.measure] = True
    found = [f"note: checked with {enumeration([*checked], 'and')} that missing labels allow."] if checked else []
    if outer:
        what = "this is an outer bound: the worst possible value may be better, but not worse."
        found.append(f"note: of {enumeration([*outer], 'and')}, {what}")
    return found


def _check_complete(scores: Scores, rule: Rule) -> None:
    """Reject scores without bounds, of which it is not known what missing labels allow."""
    is_of_labels = any(each.definition.takes == "verdicts" for each in meanings(rule.measure))
    nulls = int(np.isnan(scores.values[rule.measure]).sum())
    if is_of_labels and nulls:
        with_bounds = Parameter("unknown", "bounds")
        hint: Message = [
            "Evaluate again, or save scores as JSON or Parquet, which contain bounds with ",
            with_bounds,
            ".",
        ]
        what = f"{rule.measure} has no value for {plural(nulls, 'query')}, and these scores have no bounds"
        raise rule.error(what, hint)
