"""The differences between two systems, query by query, on one measure: how large, how sure, how likely by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.combining import after_mean, differences, higher_is_better, way
from karat.comparison.method import Method
from karat.judged import Bools, Floats
from karat.measure import Combine
from karat.stats import (
    bca_interval,
    bootstrap_means,
    bootstrap_test,
    effect_size,
    randomization,
    rank_sum,
    spread_of,
    t_test,
    tukey,
    wilcoxon,
)

Interval = tuple[float, float]

# So many comparisons share the random signs: memory alone depends on it.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Resampling:
    """The means of resampled queries, drawn once for all columns that lack no value.

    A column is a measure of a system; its values are as they are averaged.
    """

    columns: Mapping[tuple[str, int], Floats]
    method: Method

    @cached_property
    def _of_complete(self) -> dict[tuple[str, int], Floats]:
        complete = [key for key, column in self.columns.items() if not np.isnan(column).any()]
        means = self.means([self.columns[key] for key in complete])
        return {key: means[:, at] for at, key in enumerate(complete)}

    def means(self, columns: Sequence[Floats]) -> Floats:
        """The means of columns that share the resampled rows."""
        return bootstrap_means(np.column_stack(columns), self.method.resamples, self.method.seed)

    def of(self, measure: str, systems: Sequence[int], rows: Bools) -> list[Floats]:
        """The means of some systems over these queries, resampled."""
        keys = [(measure, system) for system in systems]
        if rows.all() and all(key in self._of_complete for key in keys):
            return [self._of_complete[key] for key in keys]
        return list(self.means([self.columns[key][rows] for key in keys]).T)


@dataclass(frozen=True, eq=False)
class Values:
    """What all systems score on a measure: a column per system, NaN for null."""

    measure: str
    systems: int
    resampling: Resampling

    def averaged(self, system: int) -> Floats:
        """The values of a system as they are averaged: their logarithms where the mean is geometric."""
        return self.resampling.columns[self.measure, system]

    @cached_property
    def complete(self) -> Bools:
        """The queries that all systems have a value for."""
        null = np.isnan(np.column_stack([self.averaged(system) for system in range(self.systems)]))
        return np.asarray(~null.any(axis=1))

    def interval(self, system: int, level: float) -> Interval | None:
        """The interval of a system's mean; one query has none."""
        rows = ~np.isnan(self.averaged(system))
        n = int(rows.sum())
        if n < 2:
            return None
        (means,) = self.resampling.of(self.measure, [system], rows)
        low, high = bca_interval(self.averaged(system)[rows], means, level)
        return after_mean(low, way(self.measure), n), after_mean(high, way(self.measure), n)

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
        """The queries that are compared: both have a value for them. Tukey's test takes those that all systems have."""
        if self.values.resampling.method.test == "tukey":
            return self.values.complete
        mine, theirs = (np.isnan(self.values.averaged(each)) for each in (self.system, self.baseline))
        return np.asarray(~(mine | theirs))

    @cached_property
    def n(self) -> int:
        return int(self.rows.sum())

    @property
    def both(self) -> tuple[Floats, Floats]:
        return self.values.averaged(self.system)[self.rows], self.values.averaged(self.baseline)[self.rows]

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
        mine, theirs = self.values.resampling.of(self.values.measure, [self.system, self.baseline], self.rows)
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
    def contrary(self) -> bool:
        """Whether the ranks of the differences go the other way than their mean."""
        return bool(np.sign(rank_sum(self.each)) != np.sign(self.each.mean())) if self.n else False

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
    """Some pairs at a time share the random signs: a query without a value differs by nothing."""
    found: list[float | None] = []
    for start in range(0, len(pairs), _AT_ONCE):
        some = pairs[start : start + _AT_ONCE]
        each = np.zeros((len(some[0].rows), len(some)))
        for at, pair in enumerate(some):
            each[pair.rows, at] = pair.each
        ps = randomization(each, method.permutations, method.seed).tolist()
        found += [p if pair.n else None for p, pair in zip(ps, some, strict=True)]
    return found


def _tukey(pairs: Sequence[Pair], method: Method) -> list[float | None]:
    """All systems of a measure are shuffled together, on the queries that all of them have a value for."""
    found: dict[str, Floats] = {}
    for values in dict.fromkeys(pair.values for pair in pairs):
        if values.complete.any():
            columns = [values.averaged(system)[values.complete] for system in range(values.systems)]
            found[values.measure] = tukey(np.column_stack(columns), method.permutations, method.seed)
    matrices = [found.get(pair.values.measure) for pair in pairs]
    return [
        None if matrix is None else float(matrix[pair.system, pair.baseline])
        for matrix, pair in zip(matrices, pairs, strict=True)
    ]
