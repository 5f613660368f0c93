"""The differences between two systems, query by query, on one measure: how large, how sure, how likely by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.combining import after_mean, before_mean, differences, higher_is_better, way
from karat.comparison.method import Method
from karat.judged import Bools, Floats
from karat.measure import Combine
from karat.scores import Scores
from karat.stats import (
    bca_interval,
    bootstrap_means,
    bootstrap_test,
    effect_size,
    randomization,
    spread_of,
    t_test,
    tukey,
    wilcoxon,
)

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Values:
    """What all systems score on a measure: a row per query, a column per system, NaN for null."""

    measure: str
    whole: tuple[Scores, ...]
    method: Method

    @cached_property
    def averaged(self) -> Floats:
        """The values as they are averaged: their logarithms where the mean is geometric."""
        return np.column_stack([before_mean(each.values[self.measure], way(self.measure)) for each in self.whole])

    @cached_property
    def _resampled(self) -> dict[bytes, Floats]:
        return {}

    def means_of(self, rows: Bools) -> Floats:
        """The means of all systems over resampled queries, of which some have no value."""
        found = self._resampled.get(rows.tobytes())
        if found is None:
            found = bootstrap_means(self.averaged[rows], self.method.resamples, self.method.seed)
            self._resampled[rows.tobytes()] = found
        return found

    def interval(self, system: int, level: float) -> Interval | None:
        """The interval of a system's mean; one query has none."""
        rows = ~np.isnan(self.averaged[:, system])
        if rows.sum() < 2:
            return None
        ends = bca_interval(self.averaged[rows, system], self.means_of(rows)[:, system], level)
        low, high = (after_mean(end, way(self.measure), int(rows.sum())) for end in ends)
        return low, high

    def pair(self, system: int, baseline: int) -> Pair:
        return Pair(self, system, baseline)


@dataclass(frozen=True, eq=False)
class Pair:
    """A system against another one, on one measure."""

    values: Values
    system: int
    baseline: int

    @cached_property
    def rows(self) -> Bools:
        """The queries that both have a value for."""
        averaged = self.values.averaged
        return ~(np.isnan(averaged[:, self.system]) | np.isnan(averaged[:, self.baseline]))

    @cached_property
    def n(self) -> int:
        return int(self.rows.sum())

    @cached_property
    def both(self) -> tuple[Floats, Floats]:
        averaged = self.values.averaged[self.rows]
        return averaged[:, self.system], averaged[:, self.baseline]

    @cached_property
    def each(self) -> Floats:
        """The difference of each query; those that are rounding alone are 0."""
        return differences(*self.both)

    @cached_property
    def spread(self) -> float | None:
        """The standard deviation of the differences."""
        return spread_of(self.each) if self.n > 1 else None

    @cached_property
    def difference(self) -> float | None:
        """How much more the system has than the baseline, over the queries that both have a value for."""
        if not self.n:
            return None
        mine, theirs = (after_mean(float(column.mean()), self._way, self.n) for column in self.both)
        # A sum of differences keeps the digits that a difference of sums loses.
        return mine - theirs if self._way == "geometric" else after_mean(float(self.each.mean()), self._way, self.n)

    def interval(self, level: float) -> Interval | None:
        """Where the difference would be for other queries of this kind."""
        if self.n < 2 or self.difference is None:
            return None
        means = self.values.means_of(self.rows)
        mine, theirs = means[:, self.system], means[:, self.baseline]
        if self._way != "geometric":
            low, high = bca_interval(self.each, mine - theirs, level)
            return after_mean(low, self._way, self.n), after_mean(high, self._way, self.n)
        # What each query adds to the difference of two geometric means, to the first order.
        influence = np.full(self.n, self.difference)
        for column, sign in zip(self.both, (1, -1), strict=True):
            influence += sign * np.exp(column.mean()) * (column - column.mean())
        return bca_interval(influence, np.exp(mine) - np.exp(theirs), level)

    @cached_property
    def wins(self) -> tuple[int, int, int]:
        """For how many queries the system is better, the same, and worse."""
        more, less = int((self.each > 0).sum()), int((self.each < 0).sum())
        better, worse = (more, less) if higher_is_better(self.values.measure) else (less, more)
        return better, self.n - more - less, worse

    @property
    def effect(self) -> float | None:
        return effect_size(self.each)

    @property
    def _way(self) -> Combine:
        return way(self.values.measure)


def p_values(pairs: Sequence[Pair], method: Method) -> list[float | None]:
    """How likely differences as large as these are, if both systems were equally good; None where it cannot be said."""
    if method.test == "randomization":
        return _randomized(pairs, method)
    if method.test == "tukey":
        return _tukey(pairs, method)
    if method.test == "bootstrap":
        return [bootstrap_test(pair.each, method.resamples, method.seed) for pair in pairs]
    of_differences = t_test if method.test == "t" else wilcoxon
    return [of_differences(pair.each) if pair.n else None for pair in pairs]


def _randomized(pairs: Sequence[Pair], method: Method) -> list[float | None]:
    """One set of random signs serves all: a query without a value differs by nothing."""
    each = np.zeros((len(pairs[0].rows), len(pairs)))
    for at, pair in enumerate(pairs):
        each[pair.rows, at] = pair.each
    found = randomization(each, method.permutations, method.seed).tolist()
    return [p if pair.n else None for p, pair in zip(found, pairs, strict=True)]


def _tukey(pairs: Sequence[Pair], method: Method) -> list[float | None]:
    """All systems of a measure are shuffled together, on the queries that all of them have a value for."""
    found: dict[str, Floats | None] = {}
    for pair in pairs:
        measure = pair.values.measure
        if measure not in found:
            averaged = pair.values.averaged
            whole = averaged[~np.isnan(averaged).any(axis=1)]
            found[measure] = tukey(whole, method.permutations, method.seed) if len(whole) else None
    matrices = [found[pair.values.measure] for pair in pairs]
    return [
        None if matrix is None else float(matrix[pair.system, pair.baseline])
        for matrix, pair in zip(matrices, pairs, strict=True)
    ]
