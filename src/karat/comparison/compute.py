"""The computation of a comparison: align the systems, test each pair of them, and collect the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from karat.comparison.alignment import align_systems, check_system
from karat.comparison.differences import MeasureValues, Pair, p_values
from karat.comparison.method import Method
from karat.comparison.power import Power
from karat.comparison.result import Comparison, ComparisonRow
from karat.errors import plural
from karat.options import Test
from karat.registry.selection import Measures
from karat.scores import Scores
from karat.scores.combining import before_mean, combination, unknown_directions
from karat.scores.intervals import CombinedValue, Interval, intervals
from karat.stats import corrected


def compare_with(
    method: Method,
    systems: Mapping[str, Scores],
    baseline: str | None = None,
    measures: Measures | None = None,
    *,
    with_intervals: bool = True,
) -> Comparison:
    """Compare systems as `compare` does, with its options in a Method; optionally without bootstrap intervals."""
    aligned = align_systems(systems, measures, method.queries)
    names = list(aligned.systems)
    if baseline is not None:
        check_system(names, baseline, "baseline")
    measured = next(iter(aligned.systems.values())).measures
    columns = [
        MeasureValues(
            name, tuple(before_mean(scores.values[name], combination(name)) for scores in aligned.systems.values())
        )
        for name in measured
    ]
    compared = _pairs(len(names), None if baseline is None else names.index(baseline))
    pairs = [Pair(column, *pair, complete_only=method.test == "tukey") for column in columns for pair in compared]
    means = [CombinedValue(values, column.combination) for column in columns for values in column.columns]
    found = _intervals([*means, *pairs], method) if with_intervals else [None] * (len(means) + len(pairs))
    differences = _differences(pairs, names, found[len(means) :], method)
    rows: list[ComparisonRow] = []
    for (column, name), interval in zip(product(columns, names), found[: len(means)], strict=True):
        low, high = interval or (None, None)
        mean = aligned.systems[name].combined(column.measure)
        row = ComparisonRow(column.measure, name, None, mean, low, high)
        rows += [replace(row, **fields) for fields in differences.get((column.measure, name), ())] or [row]
    family = _family_size(len(names), len(compared), len(columns), method)
    powers = {
        (pair.values.measure, names[pair.system], names[pair.baseline]): _power(pair, method, family, len(names))
        for pair in pairs
    }
    notes = (*aligned.notes, *_null_notes(pairs, names, method.test), *unknown_directions(measured))
    return Comparison(tuple(rows), aligned.systems, baseline, method, powers, notes)


def _pairs(systems: int, baseline: int | None) -> list[tuple[int, int]]:
    """The pairs (system, baseline) to compare: each system with the baseline, or with each earlier system."""
    if baseline is not None:
        return [(system, baseline) for system in range(systems) if system != baseline]
    return [(system, earlier) for system in range(systems) for earlier in range(system)]


def _intervals(members: Sequence[CombinedValue | Pair], method: Method) -> list[Interval | None]:
    """The confidence interval of each member; None if fewer than two queries have a value."""
    found = intervals(members, method.level, method.resamples, method.seed)
    return [interval if member.rows.sum() > 1 else None for interval, member in zip(found, members, strict=True)]


def _differences(
    pairs: Sequence[Pair], names: Sequence[str], found: Sequence[Interval | None], method: Method
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The fields of ComparisonRow that describe a difference, for each pair, by measure and system."""
    fields: dict[tuple[str, str], list[dict[str, Any]]] = {}
    ps = p_values(pairs, method)
    for pair, interval, p, p_corrected in zip(pairs, found, ps, _corrected(pairs, ps, method), strict=True):
        low, high = interval or (None, None)
        wins, ties, losses = pair.wins_ties_losses
        fields.setdefault((pair.values.measure, names[pair.system]), []).append(
            {
                "baseline": names[pair.baseline], "difference": pair.difference, "difference_low": low,
                "difference_high": high, "p": p, "p_corrected": p_corrected, "effect": pair.effect, "wins": wins,
                "ties": ties, "losses": losses,
            }
        )  # fmt: skip
    return fields


def _corrected(pairs: Sequence[Pair], ps: list[float | None], method: Method) -> list[float | None]:
    """The p-values, those of each family corrected together; the p-values of Tukey's test are corrected already."""
    if method.test == "tukey":
        return ps
    families: dict[str, list[int]] = {}
    for at, pair in enumerate(pairs):
        families.setdefault(pair.values.measure if method.family == "measure" else "", []).append(at)
    corrected_ps: list[float | None] = [None] * len(pairs)
    for places in families.values():
        for at, p in zip(places, corrected([ps[at] for at in places], method.correction), strict=True):
            corrected_ps[at] = p
    return corrected_ps


def _family_size(systems: int, pairs: int, measures: int, method: Method) -> int:
    """The number of comparisons corrected together; for Tukey's test, always all pairs of systems."""
    if method.test == "tukey":
        return systems * (systems - 1) // 2
    if method.correction == "none":
        return 1
    return pairs * measures if method.family == "all" else pairs


def _power(pair: Pair, method: Method, family: int, systems: int) -> Power:
    """The power of the test, from the spread of the differences and not from the observed mean difference."""
    # The spread of logarithms, or of the terms of a sum, is in another unit than the difference.
    spread = pair.spread if pair.values.combination == "mean" else None
    # The first step of Holm and Bonferroni divides alpha by the size of the family. The last step of Benjamini and
    # Hochberg, and Tukey's test, use alpha itself.
    divides_alpha = method.test != "tukey" and method.correction in ("holm", "bonferroni")
    return Power(
        pair.n,
        pair.nonzero,
        spread,
        alpha=method.alpha / family,
        p_threshold=method.alpha / family if divides_alpha else method.alpha,
        orders_per_query={"randomization": 2, "wilcoxon": 2, "tukey": math.factorial(systems)}.get(method.test),
        ranks_disagree=method.test == "wilcoxon" and pair.ranks_disagree,
    )


def _null_notes(pairs: Sequence[Pair], names: Sequence[str], test: Test) -> list[str]:
    """Notes on the queries that are left out of a comparison because a system has no value for them."""
    notes = []
    for pair in pairs:
        if left_out := len(pair.rows) - pair.n:
            of_two = f"{names[pair.system]} or {names[pair.baseline]} has no value"
            why = "not all systems have a value" if test == "tukey" else of_two
            notes.append(f"{pair.values.measure}: {plural(left_out, 'query')} left out ({why}).")
    return list(dict.fromkeys(notes))
