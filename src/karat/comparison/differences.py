"""The differences between two systems, query by query, on one measure: how large, how sure, how likely by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.comparison.method import Method
from karat.judged import Bools, Floats
from karat.registry import Combine
from karat.scores.combining import after_mean, combination, differences, wins_ties_losses
from karat.scores.intervals import Interval
from karat.stats import (
    ROUNDING,
    bca_interval,
    bootstrap_test,
    effect_size,
    randomization,
    rank_sum,
    spread_of,
    t_test,
    tukey,
    wilcoxon,
)

# So many comparisons share the random signs: memory alone depends on it.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Values:
    """What all systems score on a measure, as it is averaged (logarithms where the mean is geometric); NaN is null."""

    measure: str
    columns: tuple[Floats, ...]

    @property
    def combination(self) -> Combine:
        return combination(self.measure)

    @cached_property
    def complete(self) -> Bools:
        """The queries that all systems have a value for."""
        return np.asarray(~np.isnan(np.column_stack(self.columns)).any(axis=1))


@dataclass(frozen=True, eq=False)
class Pair:
    """A system against another one, on one measure."""

    values: Values
    system: int
    baseline: int
    among_all: bool = False
    """whether only queries count that all systems have a value for, as Tukey's test takes them"""

    @property
    def columns(self) -> tuple[Floats, ...]:
        return self.values.columns[self.system], self.values.columns[self.baseline]

    @cached_property
    def rows(self) -> Bools:
        """The queries that are compared: both have a value for them."""
        if self.among_all:
            return self.values.complete
        mine, theirs = map(np.isnan, self.columns)
        return np.asarray(~(mine | theirs))

    @cached_property
    def n(self) -> int:
        return int(self.rows.sum())

    @property
    def both(self) -> tuple[Floats, Floats]:
        mine, theirs = (column[self.rows] for column in self.columns)
        return mine, theirs

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
        if self.values.combination != "geometric":
            # A sum of differences keeps the digits that a difference of sums loses.
            return after_mean(float(self.each.mean()), self.values.combination, self.n)
        mine, theirs = (after_mean(float(column.mean()), self.values.combination, self.n) for column in self.both)
        return mine - theirs

    def interval(self, means: Sequence[Floats], level: float) -> Interval:
        """Where the difference would be for other queries of this kind, from the means of resampled ones."""
        mine, theirs = means
        if self.values.combination != "geometric":
            low, high = bca_interval(self.each, mine - theirs, level)
            return after_mean(low, self.values.combination, self.n), after_mean(high, self.values.combination, self.n)
        # What each query adds to the difference of two geometric means, to the first order.
        influence = np.full(self.n, self.difference)
        for column, sign in zip(self.both, (1, -1), strict=True):
            influence += sign * np.exp(column.mean()) * (column - column.mean())
        return bca_interval(influence, np.exp(mine) - np.exp(theirs), level)

    @cached_property
    def wins(self) -> tuple[int, int, int]:
        """For how many queries the system is better, the same, and worse."""
        return wins_ties_losses(self.each, self.values.measure)

    @property
    def contrary(self) -> bool:
        """Whether the ranks of the differences speak for a system, and their mean does not."""
        if not self.n:
            return False
        mean = float(self.each.mean())
        direction = 0.0 if abs(mean) <= ROUNDING * np.abs(self.each).max() else np.sign(mean)
        ranks = np.sign(rank_sum(self.each))
        return bool(ranks != 0 and ranks != direction)

    @property
    def effect(self) -> float | None:
        return effect_size(self.each)


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
            columns = np.column_stack(values.columns)[values.complete]
            found[values.measure] = tukey(columns, method.permutations, method.seed)
    matrices = [found.get(pair.values.measure) for pair in pairs]
    return [
        None if matrix is None else float(matrix[pair.system, pair.baseline])
        for matrix, pair in zip(matrices, pairs, strict=True)
    ]
