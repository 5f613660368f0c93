"""The computation of a comparison: align the systems, test each pair of them, and collect the rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from karat.comparison.alignment import Aligned, align_systems, check_system
from karat.comparison.differences import MeasureValues, Pair, Tested, run_tests, values_of
from karat.comparison.margins import equivalence_p_values, margins_by_measure
from karat.comparison.method import Method
from karat.comparison.power import Power
from karat.comparison.result import Comparison
from karat.comparison.rows import ComparisonRow
from karat.errors import first_few, plural
from karat.options import Test
from karat.registry.selection import Measures
from karat.scores import Scores, SystemScores
from karat.scores.columns import unknown_directions
from karat.scores.intervals import CombinedValue, Interval, intervals
from karat.stats import Criterion, corrected

FEW_DIFFERING = 10
"""if fewer queries differ, intervals of differences are too narrow and tests far from their level, for most data"""


def compare_with(
    method: Method,
    systems: Mapping[str, Scores],
    baseline: str | None = None,
    measures: Measures | None = None,
    *,
    sort: str | None = None,
) -> Comparison:
    """Compare systems as `compare` does, with its options in a Method; `sort` is a measure to order the systems by."""
    (comparison,) = _compare_together(method, [_prepare(method, systems, baseline, measures, sort)])
    return comparison


def compare_uncorrected(
    method: Method, systems: Mapping[str, Scores], baseline: str | None = None, measures: Measures | None = None
) -> Comparison:
    """A comparison without intervals, whose p-values are not corrected."""
    return _compare(method, _prepare(method, systems, baseline, measures), {}, 1, with_intervals=False)


def compare_groups_of_queries(
    method: Method, groups: Sequence[Mapping[str, Scores]], baseline: str | None, least: int
) -> list[Comparison]:
    """Compare systems within groups of queries; families extend over all groups.

    Differences on fewer than `least` queries are not tested.
    """
    return _compare_together(method, [_prepare(method, systems, baseline) for systems in groups], least)


class _Prepared(NamedTuple):
    """What is compared: aligned systems, and the pairs of them on each measure."""

    aligned: Aligned
    baseline: str | None
    columns: list[MeasureValues]
    pairs: list[Pair]


def _prepare(
    method: Method,
    systems: Mapping[str, Scores],
    baseline: str | None,
    measures: Measures | None = None,
    sort: str | None = None,
) -> _Prepared:
    aligned = align_systems(systems, measures, method.common_queries, method.force)
    if sort is not None:
        aligned = aligned._replace(systems=dict(SystemScores(aligned.systems).sorted(sort)))
    names = list(aligned.systems)
    if baseline is not None:
        check_system(names, baseline, "baseline")
    first = next(iter(aligned.systems.values()))
    columns = [values_of(aligned.systems, name) for name in first.measures]
    compared = _pairs(len(names), None if baseline is None else names.index(baseline))
    pairs = [Pair(column, *pair, complete_only=method.test == "tukey") for column in columns for pair in compared]
    return _Prepared(aligned, baseline, columns, pairs)


def _compare_together(method: Method, groups: Sequence[_Prepared], least: int = 1) -> list[Comparison]:
    """Several comparisons, whose p-values are corrected together."""
    pairs = (pair for prepared in groups for pair in prepared.pairs)
    tested = (pair.values.measure for pair in pairs if pair.n >= least and pair.is_testable(method.test))
    families = Counter(map(method.family_of, tested))
    return _correct_together(method, [_compare(method, prepared, families, least) for prepared in groups])


def _compare(
    method: Method, prepared: _Prepared, families: Mapping[str, int], least: int, *, with_intervals: bool = True
) -> Comparison:
    """A comparison whose p-values are not corrected yet; `families` says how many comparisons each family has."""
    aligned, baseline, columns, pairs = prepared
    names = list(aligned.systems)
    means = [CombinedValue(column.measure, values) for column in columns for values in column.columns]
    # Intervals of differences are all shifts that the test does not reject, unless it is about something else.
    resampled = [pair for pair in pairs if pair.interval_method(method.test) == "bca"]
    members: list[CombinedValue | Pair] = [*means, *resampled]
    ends: list[Interval | None] = [None] * len(members)
    if with_intervals:
        ends = intervals(members, method.level, method.resamples, method.seed)
    criteria = [method.criterion(families.get(method.family_of(pair.values.measure), 1)) for pair in pairs]
    tests = run_tests(pairs, method, criteria if with_intervals else None)
    by_bootstrap = dict(zip(map(id, resampled), ends[len(means) :], strict=True))
    differences: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for pair, test, criterion in zip(pairs, tests, criteria, strict=True):
        of_pair = test._replace(interval=by_bootstrap.get(id(pair), test.interval))
        fields = _difference(pair, of_pair if pair.n >= least else Tested(None), method, criterion)
        fields["baseline"] = names[pair.baseline]
        differences.setdefault((pair.values.measure, names[pair.system]), []).append(fields)
    rows: list[ComparisonRow] = []
    for (column, name), interval in zip(product(columns, names), ends[: len(means)], strict=True):
        low, high = interval or (None, None)
        mean = aligned.systems[name].combined(column.measure)
        row = ComparisonRow(column.measure, name, None, mean, low, high, higher_is_better=column.higher_is_better)
        rows += [replace(row, **fields) for fields in differences.get((column.measure, name), ())] or [row]
    powers = {
        (pair.values.measure, names[pair.system], names[pair.baseline]): _power(pair, method, len(names), test.exact)
        for pair, test in zip(pairs, tests, strict=True)
    }
    first = next(iter(aligned.systems.values()))
    margins, untested = margins_by_measure(method.equivalence, first)
    if margins:
        rows = _with_equivalence(rows, pairs, names, margins, method, least)
    notes = [*aligned.notes, *_null_notes(pairs, names, method.test), *unknown_directions(first), *untested]
    if with_intervals:
        notes += [note for column in columns for note in _interval_notes(column.measure, rows, powers)]
    return Comparison(tuple(rows), aligned.systems, baseline, method, powers, tuple(notes))


def _pairs(systems: int, baseline: int | None) -> list[tuple[int, int]]:
    """The pairs (system, baseline) to compare: each system with the baseline, or with each earlier system."""
    if baseline is not None:
        return [(system, baseline) for system in range(systems) if system != baseline]
    return [(system, earlier) for system in range(systems) for earlier in range(system)]


def _difference(pair: Pair, test: Tested, method: Method, criterion: Criterion) -> dict[str, Any]:
    """The fields of ComparisonRow that describe a difference."""
    low, high = test.interval or (None, None)
    by, level = None, None
    if test.interval is not None:
        by = pair.interval_method(method.test)
        level = method.level if by == "bca" else criterion.level
    wins, ties, losses = pair.wins_ties_losses
    return {
        "difference": pair.difference, "difference_low": low, "difference_high": high, "difference_level": level,
        "difference_interval": by, "p": test.p, "p_corrected": test.p, "effect": pair.effect, "wins": wins,
        "ties": ties, "losses": losses,
    }  # fmt: skip


def _interval_notes(
    measure: str, rows: Sequence[ComparisonRow], powers: Mapping[tuple[str, str, str], Power]
) -> list[str]:
    """Notes on intervals that may be too narrow because few queries differ, and on those that cannot be computed."""
    compared = [row for row in rows if row.measure == measure and row.baseline is not None]
    few, missing = [], []
    for row in compared:
        power = powers[row.key]
        if row.difference_interval is not None and power.nonzero < FEW_DIFFERING:
            few.append(power)
        elif row.difference_interval is None and row.effect is not None and power.nonzero:
            missing.append(power)
    notes = []
    if few and len(compared) == 1:
        part = "" if few[0].nonzero == few[0].queries else f"{few[0].nonzero} of "
        queries = f"only {part}{plural(few[0].queries, 'query')} {'differs' if few[0].nonzero == 1 else 'differ'}"
        notes.append(f"{measure}: {queries}, so the interval of the difference may be too narrow.")
    elif few:
        which = _of_comparisons(len(few), len(compared))
        notes.append(f"{measure}: fewer than {FEW_DIFFERING} queries differ{which}: intervals may be too narrow.")
    if missing:
        which = _of_comparisons(len(missing), len(compared))
        notes.append(f"{measure}: too few queries or permutations for an interval of the difference{which}.")
    return notes


def _of_comparisons(some: int, comparisons: int) -> str:
    """In how many comparisons something is the case; an empty string if there is only one."""
    if some < comparisons:
        return f" in {some:,} of {comparisons:,} comparisons"
    return {1: "", 2: " in both comparisons"}.get(comparisons, f" in all {comparisons:,} comparisons")


def _with_equivalence(
    rows: Sequence[ComparisonRow],
    pairs: Sequence[Pair],
    names: Sequence[str],
    margins: Mapping[str, float],
    method: Method,
    least: int,
) -> list[ComparisonRow]:
    """The rows with the p-values of equivalence, not corrected yet; differences on few queries have none."""
    pairs = [pair for pair in pairs if pair.n >= least]
    ps = {
        (pair.values.measure, names[pair.system], names[pair.baseline]): p
        for pair, p in zip(pairs, equivalence_p_values(pairs, margins, method), strict=True)
    }
    return [
        row
        if row.baseline is None
        else replace(
            row, margin=margins.get(row.measure), p_equivalent=ps.get(row.key), p_equivalent_corrected=ps.get(row.key)
        )
        for row in rows
    ]


def _correct_together(method: Method, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with corrected p-values: families extend over all of them."""
    # Tukey's p-values are corrected already.
    if method.correction == "none":
        return list(comparisons)
    families: dict[str, list[tuple[int, int]]] = {}
    for at, comparison in enumerate(comparisons):
        for place, row in enumerate(comparison.rows):
            if row.baseline is not None:
                families.setdefault(method.family_of(row.measure), []).append((at, place))
    rows = [list(comparison.rows) for comparison in comparisons]
    powers = [dict(comparison.powers) for comparison in comparisons]
    for places in families.values():
        ps = [rows[at][place].p for at, place in places]
        tested = max(1, sum(p is not None for p in ps))
        for (at, place), p in zip(places, corrected(ps, method.correction), strict=True):
            row = rows[at][place] = replace(rows[at][place], p_corrected=p)
            powers[at][row.key] = strictest(powers[at][row.key], method, tested)
        equivalent = corrected([rows[at][place].p_equivalent for at, place in places], method.correction)
        for (at, place), p in zip(places, equivalent, strict=True):
            rows[at][place] = replace(rows[at][place], p_equivalent_corrected=p)
    return [
        replace(comparison, rows=tuple(corrected_rows), powers=corrected_powers)
        for comparison, corrected_rows, corrected_powers in zip(comparisons, rows, powers, strict=True)
    ]


def strictest(power: Power, method: Method, comparisons: int) -> Power:
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
    without = f"({first_few(lacking)} {'has' if len(lacking) == 1 else 'have'} no value)"
    if min(counts) == max(counts):
        return f"{queries} of each comparison {without}"
    return f"up to {queries} of a comparison {without}"
