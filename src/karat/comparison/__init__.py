"""compare(): is one system really better than another?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from karat.comparison.alignment import align_systems, known_system
from karat.comparison.differences import Pair, Values, p_values
from karat.comparison.method import Method
from karat.comparison.power import Power
from karat.comparison.result import Comparison, ComparisonRow
from karat.options import Correction, Family, Queries, Test
from karat.registry import Measure
from karat.scores import Scores
from karat.scores.combining import before_mean, combination, unknown_directions
from karat.scores.intervals import CombinedValue, Interval, intervals
from karat.stats import PERMUTATIONS, RESAMPLES, SEED, corrected

__all__ = ["Comparison", "ComparisonRow", "Method", "compare", "compared"]


def compare(
    systems: Mapping[str, Scores],
    baseline: str | None = None,
    *,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    test: Test = "randomization",
    correction: Correction = "holm",
    family: Family = "measure",
    queries: Queries = "same",
    level: float = 0.95,
    detect: float | None = None,
    permutations: int = PERMUTATIONS,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Comparison:
    """Compare systems by their Scores, query by query: with a baseline, or each with each if none is named.

    - `test`: how likely such differences are by chance: `randomization` (paired, exact where few queries differ),
      `t`, `wilcoxon`, `bootstrap`, all two-sided; `tukey` (randomised HSD) for many systems at once.
    - `correction` for several comparisons: `holm`, `bonferroni`, `bh` (Benjamini and Hochberg) or `none`; `family`
      says which count together: those of one `measure`, or `all`.
    - `queries`: systems without the `same` queries are an error, or are compared on those in `common`.
    - `level`: of the confidence intervals; a corrected p below 1 − level is significant.
    - `detect`: a difference of interest; the result says how many queries would show it.
    - `permutations`, `resamples`, `seed`: how much is drawn at random, and from where on.

    >>> from karat import evaluate_runs
    >>> runs = {"one": {f"q{i}": ["x", "a"] for i in range(9)}, "two": {f"q{i}": ["a", "x"] for i in range(9)}}
    >>> comparison = compare(evaluate_runs({f"q{i}": {"a": 1} for i in range(9)}, runs, "RR"))
    >>> comparison.sentences[-1]
    'two beats one on RR by 0.500 [0.500, 0.500] (p = 0.0039, Holm-corrected, 9 queries)'
    """
    method = Method(test, correction, family, queries, level, detect, permutations, resamples, seed)
    return compared(systems, baseline, measures, method)


def compared(
    systems: Mapping[str, Scores],
    baseline: str | None,
    measures: str | Measure | Iterable[str | Measure] | None,
    method: Method,
    *,
    with_intervals: bool = True,
) -> Comparison:
    """The same, with all that can be chosen in one object; without intervals, where nobody looks at them."""
    aligned = align_systems(systems, measures, method.queries)
    names = list(aligned.systems)
    if baseline is not None:
        known_system(names, baseline, "baseline")
    measured = next(iter(aligned.systems.values())).measures
    columns = [
        Values(name, tuple(before_mean(scores.values[name], combination(name)) for scores in aligned.systems.values()))
        for name in measured
    ]
    chosen = _pairs(len(names), None if baseline is None else names.index(baseline))
    pairs = [Pair(column, *pair, among_all=method.test == "tukey") for column in columns for pair in chosen]
    means = [CombinedValue(of_system, column.combination) for column in columns for of_system in column.columns]
    sure = _intervals([*means, *pairs], method) if with_intervals else [None] * (len(means) + len(pairs))
    found = p_values(pairs, method)
    tested = list(zip(pairs, sure[len(means) :], found, _corrected(pairs, found, method), strict=True))
    rows: list[ComparisonRow] = []
    each_alone = ((column, at) for column in columns for at in range(len(names)))
    for (column, at), interval in zip(each_alone, sure, strict=False):
        low, high = interval or (None, None)
        mean = aligned.systems[names[at]].combined(column.measure)
        row = ComparisonRow(column.measure, names[at], None, mean, low, high)
        against = [each for each in tested if each[0].values is column and each[0].system == at]
        rows += [_against(row, names[each[0].baseline], *each) for each in against] or [row]
    family = _family(len(names), len(chosen), len(columns), method)
    powers = {
        (pair.values.measure, names[pair.system], names[pair.baseline]): _power(pair, method, family, len(names))
        for pair in pairs
    }
    notes = (*aligned.notes, *_nulls(pairs, names, method.test), *unknown_directions(measured))
    return Comparison(tuple(rows), aligned.systems, baseline, method, powers, notes)


def _intervals(members: Sequence[CombinedValue | Pair], method: Method) -> list[Interval | None]:
    """The interval of each; of one query alone there is none."""
    found = intervals(members, method.level, method.resamples, method.seed)
    return [interval if member.rows.sum() > 1 else None for interval, member in zip(found, members, strict=True)]


def _family(systems: int, pairs: int, measures: int, method: Method) -> int:
    """How many comparisons are corrected for together; Tukey's test always has all systems of a measure in mind."""
    if method.test == "tukey":
        return systems * (systems - 1) // 2
    if method.correction == "none":
        return 1
    return pairs * measures if method.family == "all" else pairs


def _pairs(systems: int, baseline: int | None) -> list[tuple[int, int]]:
    """Who is compared with whom: later systems with earlier ones, or all with the baseline."""
    if baseline is not None:
        return [(system, baseline) for system in range(systems) if system != baseline]
    return [(system, earlier) for system in range(systems) for earlier in range(system)]


def _corrected(pairs: list[Pair], found: list[float | None], method: Method) -> list[float | None]:
    """The p-values of each family of comparisons together; Tukey's test has them all in mind already."""
    if method.test == "tukey":
        return found
    families: dict[str, list[int]] = {}
    for at, pair in enumerate(pairs):
        families.setdefault(pair.values.measure if method.family == "measure" else "", []).append(at)
    corrected_ps: list[float | None] = [None] * len(pairs)
    for places in families.values():
        for at, p in zip(places, corrected([found[at] for at in places], method.correction), strict=True):
            corrected_ps[at] = p
    return corrected_ps


def _against(
    alone: ComparisonRow,
    baseline: str,
    pair: Pair,
    interval: Interval | None,
    p: float | None,
    p_corrected: float | None,
) -> ComparisonRow:
    """The row of a system, and of its comparison with a baseline."""
    low, high = interval or (None, None)
    wins, ties, losses = pair.wins
    return replace(
        alone, baseline=baseline, difference=pair.difference, difference_low=low, difference_high=high, p=p,
        p_corrected=p_corrected, effect=pair.effect, wins=wins, ties=ties, losses=losses,
    )  # fmt: skip


def _power(pair: Pair, method: Method, family: int, systems: int) -> Power:
    """What so many queries could show, from the spread of their differences and not from what was observed."""
    # A spread of logarithms says nothing of a difference, nor does a sum grow with its queries in a way known here.
    spread = pair.spread if combination(pair.values.measure) == "mean" else None
    # Holm's and Bonferroni's first step; Benjamini and Hochberg's last, and Tukey's test, take alpha itself.
    strict = method.test != "tukey" and method.correction in ("holm", "bonferroni")
    orders = {"randomization": 2, "wilcoxon": 2, "tukey": math.factorial(systems)}.get(method.test)
    return Power(
        pair.n,
        int(np.count_nonzero(pair.each)),
        spread,
        alpha=method.alpha / family,
        reach=method.alpha / family if strict else method.alpha,
        orders=orders,
        contrary=method.test == "wilcoxon" and pair.contrary,
    )


def _nulls(pairs: list[Pair], names: list[str], test: Test) -> list[str]:
    """How many queries are left out of a comparison for want of a value."""
    notes = []
    for pair in pairs:
        if left := len(pair.rows) - pair.n:
            both = f"{names[pair.system]} and {names[pair.baseline]} do not both"
            who = "not all systems" if test == "tukey" else both
            notes.append(f"{pair.values.measure}: {left:,} left out: {who} have a value.")
    return list(dict.fromkeys(notes))
