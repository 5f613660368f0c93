"""The computation of a comparison: align the systems, test each pair of them, and collect the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from karat.comparison.alignment import align_systems, check_system
from karat.comparison.differences import MeasureValues, Pair, PValue, p_values
from karat.comparison.method import Method
from karat.comparison.power import Power
from karat.comparison.result import Comparison, ComparisonRow
from karat.errors import first_few, plural
from karat.options import Test
from karat.registry.selection import Measures
from karat.scores import Scores, SystemScores
from karat.scores.combining import before_mean, combination
from karat.scores.directions import unknown_directions
from karat.scores.intervals import CombinedValue, Interval, intervals
from karat.stats import corrected


def compare_with(
    method: Method,
    systems: Mapping[str, Scores],
    baseline: str | None = None,
    measures: Measures | None = None,
    *,
    with_intervals: bool = True,
    sort: str | None = None,
) -> Comparison:
    """Compare systems as `compare` does, with its options in a Method.

    `with_intervals=False` leaves out the confidence intervals; `sort` is a measure that the systems are ordered by.
    """
    (comparison,) = correct_together(
        [compare_uncorrected(method, systems, baseline, measures, with_intervals=with_intervals, sort=sort)]
    )
    return comparison


def compare_uncorrected(
    method: Method,
    systems: Mapping[str, Scores],
    baseline: str | None = None,
    measures: Measures | None = None,
    *,
    with_intervals: bool = True,
    sort: str | None = None,
) -> Comparison:
    """A comparison whose p-values are not corrected yet."""
    aligned = align_systems(systems, measures, method.common_queries, method.force)
    if sort is not None:
        aligned = aligned._replace(systems=dict(SystemScores(aligned.systems).sorted(sort)))
    names = list(aligned.systems)
    if baseline is not None:
        check_system(names, baseline, "baseline")
    first = next(iter(aligned.systems.values()))
    measured = first.measures
    columns = [
        MeasureValues(
            name,
            tuple(before_mean(each.values[name][first.by_id], combination(name)) for each in aligned.systems.values()),
            first.higher_is_better(name),
        )
        for name in measured
    ]
    compared = _pairs(len(names), None if baseline is None else names.index(baseline))
    pairs = [Pair(column, *pair, complete_only=method.test == "tukey") for column in columns for pair in compared]
    means = [CombinedValue(column.measure, values) for column in columns for values in column.columns]
    members: list[CombinedValue | Pair] = [*means, *pairs]
    found: list[Interval | None] = [None] * len(members)
    if with_intervals:
        found = intervals(members, method.level, method.resamples, method.seed)
    tests = p_values(pairs, method)
    differences = _differences(pairs, names, found[len(means) :], tests)
    rows: list[ComparisonRow] = []
    for (column, name), interval in zip(product(columns, names), found[: len(means)], strict=True):
        low, high = interval or (None, None)
        mean = aligned.systems[name].combined(column.measure)
        row = ComparisonRow(column.measure, name, None, mean, low, high, higher_is_better=column.higher_is_better)
        rows += [replace(row, **fields) for fields in differences.get((column.measure, name), ())] or [row]
    powers = {
        (pair.values.measure, names[pair.system], names[pair.baseline]): _power(pair, method, len(names), test.exact)
        for pair, test in zip(pairs, tests, strict=True)
    }
    notes = (*aligned.notes, *_null_notes(pairs, names, method.test), *unknown_directions(first))
    return Comparison(tuple(rows), aligned.systems, baseline, method, powers, notes)


def _pairs(systems: int, baseline: int | None) -> list[tuple[int, int]]:
    """The pairs (system, baseline) to compare: each system with the baseline, or with each earlier system."""
    if baseline is not None:
        return [(system, baseline) for system in range(systems) if system != baseline]
    return [(system, earlier) for system in range(systems) for earlier in range(system)]


def _differences(
    pairs: Sequence[Pair], names: Sequence[str], found: Sequence[Interval | None], tests: Sequence[PValue]
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The fields of ComparisonRow that describe a difference, for each pair, by measure and system."""
    fields: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for pair, interval, (p, _) in zip(pairs, found, tests, strict=True):
        low, high = interval or (None, None)
        wins, ties, losses = pair.wins_ties_losses
        fields.setdefault((pair.values.measure, names[pair.system]), []).append(
            {
                "baseline": names[pair.baseline], "difference": pair.difference, "difference_low": low,
                "difference_high": high, "p": p, "p_corrected": p, "effect": pair.effect, "wins": wins, "ties": ties,
                "losses": losses,
            }
        )  # fmt: skip
    return fields


def correct_together(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with corrected p-values: families extend over all of them."""
    method = comparisons[0].method
    # Tukey's p-values are corrected already.
    if method.correction == "none":
        return list(comparisons)
    families: dict[str, list[tuple[int, int]]] = {}
    for at, comparison in enumerate(comparisons):
        for place, row in enumerate(comparison.rows):
            if row.baseline is not None:
                families.setdefault(row.measure if method.family == "measure" else "", []).append((at, place))
    rows = [list(comparison.rows) for comparison in comparisons]
    powers = [dict(comparison.powers) for comparison in comparisons]
    for places in families.values():
        ps = [rows[at][place].p for at, place in places]
        tested = max(1, sum(p is not None for p in ps))
        for (at, place), p in zip(places, corrected(ps, method.correction), strict=True):
            row = rows[at][place] = replace(rows[at][place], p_corrected=p)
            power = powers[at][row.measure, row.system, row.baseline or ""]
            powers[at][row.measure, row.system, row.baseline or ""] = _strictest(power, method, tested)
    return [
        replace(comparison, rows=tuple(corrected_rows), powers=corrected_powers)
        for comparison, corrected_rows, corrected_powers in zip(comparisons, rows, powers, strict=True)
    ]


def _strictest(power: Power, method: Method, comparisons: int) -> Power:
    """The power at the significance level of the strictest of several comparisons."""
    # The first step of Holm and Bonferroni divides alpha by their number. The last step of Benjamini and Hochberg uses
    # alpha itself.
    strict = method.alpha / comparisons
    p_threshold = method.alpha if method.correction == "bh" else strict
    return replace(power, alpha=strict, p_threshold=p_threshold, comparisons=comparisons)


def _power(pair: Pair, method: Method, systems: int, exact: bool) -> Power:
    """The power of the test, from the spread of the differences and not from the observed mean difference."""
    # The spread of logarithms, or of the terms of a sum, is in another unit than the difference.
    spread = pair.spread if pair.values.combination == "mean" else None
    pairs = systems * (systems - 1) // 2 if method.test == "tukey" else 1
    return Power(
        pair.n,
        pair.nonzero,
        spread,
        alpha=method.alpha / pairs,
        p_threshold=method.alpha,
        orders_per_query={"randomization": 2, "wilcoxon": 2, "tukey": math.factorial(systems)}.get(method.test),
        ranks_disagree=method.test == "wilcoxon" and pair.ranks_disagree,
        exact=exact,
    )


def _null_notes(pairs: Sequence[Pair], names: Sequence[str], test: Test) -> list[str]:
    """For each measure, a note on the queries that are left out because a system has no value for them."""
    left_out: dict[MeasureValues, list[int]] = {}
    for pair in pairs:
        left_out.setdefault(pair.values, []).append(len(pair.rows) - pair.n)
    return [
        f"{values.measure}: {_left_out(counts, values, names, test)}."
        for values, counts in left_out.items()
        if any(counts)
    ]


def _left_out(counts: Sequence[int], values: MeasureValues, names: Sequence[str], test: Test) -> str:
    """How many queries are left out of the comparisons on a measure, and which systems have no value for them."""
    queries = f"{plural(max(counts), 'query')} left out"
    if test == "tukey":
        return f"{queries} (not all systems have a value)"
    if len(counts) == 1:
        return f"{queries} ({' or '.join(names[::-1])} has no value)"
    lacking = [name for name, column in zip(names, values.columns, strict=True) if np.isnan(column).any()]
    where = f"({first_few(lacking)} {'has' if len(lacking) == 1 else 'have'} no value)"
    if min(counts) == max(counts):
        return f"{queries} of each comparison {where}"
    return f"up to {queries} of a comparison {where}"
