"""The differences between two systems on one measure, query by query: size, confidence interval and p-value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.comparison.method import IntervalMethod, Method
from karat.data.caching import cached_property
from karat.data.judged import Bools, Floats
from karat.options import Test
from karat.output.progress import progress_bar
from karat.registry import Combine
from karat.registry.combining import after_mean, before_mean
from karat.scores import Scores
from karat.scores.combining import combination, differences, wins_ties_losses
from karat.scores.intervals import Interval
from karat.stats import (
    MAX_RESAMPLED,
    ROUNDING,
    Criterion,
    Inverted,
    SystemPairs,
    Tukey,
    abc_interval,
    abc_interval_of_mean,
    bca_interval,
    bootstrap_tests,
    effect_size,
    randomization,
    rank_sum,
    spread_of,
    standard_error,
    t_interval,
    t_test,
    tukey,
    wilcoxon,
)


class Tested(NamedTuple):
    """A p-value, None if the test is undefined, and the interval of the difference if the test was inverted."""

    p: float | None
    exact: bool = False
    """whether all sign patterns were counted, not a random sample"""
    interval: Interval | None = None


@dataclass(frozen=True, eq=False)
class MeasureValues:
    """The values of all systems on a measure, as they are averaged (logarithms for a geometric mean); NaN is null."""

    measure: str
    columns: tuple[Floats, ...]
    higher_is_better: bool

    @cached_property
    def combination(self) -> Combine:
        return combination(self.measure)

    @cached_property
    def complete(self) -> Bools:
        """Which queries have a value in all systems."""
        return np.asarray(~np.isnan(np.column_stack(self.columns)).any(axis=1))


def values_of(systems: Mapping[str, Scores], measure: str) -> MeasureValues:
    """The values of aligned systems on a measure. Queries are in the order of their ids, whatever that of the input."""
    first = next(iter(systems.values()))
    columns = (before_mean(each.values[measure][first.by_id], combination(measure)) for each in systems.values())
    return MeasureValues(measure, tuple(columns), first.higher_is_better(measure))


@dataclass(frozen=True, eq=False)
class Pair:
    """A system and the baseline it is compared with, on one measure; both are indices into `values.columns`."""

    values: MeasureValues
    system: int
    baseline: int
    complete_only: bool = False
    """whether only queries with a value in all systems are compared, as Tukey's test requires"""

    @property
    def columns(self) -> tuple[Floats, ...]:
        return self.values.columns[self.system], self.values.columns[self.baseline]

    @cached_property
    def rows(self) -> Bools:
        """Which queries are compared: those with a value in both systems."""
        if self.complete_only:
            return self.values.complete
        mine, theirs = map(np.isnan, self.columns)
        return np.asarray(~(mine | theirs))

    @cached_property
    def n(self) -> int:
        """The number of compared queries."""
        return int(self.rows.sum())

    @property
    def paired_values(self) -> tuple[Floats, Floats]:
        """The values of the compared queries, of the system and of the baseline."""
        mine, theirs = (column[self.rows] for column in self.columns)
        return mine, theirs

    @cached_property
    def differences(self) -> Floats:
        """The difference of each compared query; 0 if it is within rounding error."""
        return differences(*self.paired_values)

    @property
    def differences_of_all(self) -> Floats:
        """The difference of each query; 0 if it is not compared."""
        if self.n == len(self.rows):
            return self.differences
        differences = np.zeros(len(self.rows))
        differences[self.rows] = self.differences
        return differences

    @property
    def nonzero(self) -> int:
        """The number of queries on which the systems differ."""
        return int(np.count_nonzero(self.differences))

    @cached_property
    def spread(self) -> float | None:
        """The standard deviation of the differences."""
        return spread_of(self.differences) if self.n > 1 else None

    @cached_property
    def difference(self) -> float | None:
        """The combined value of the system minus that of the baseline, over the compared queries."""
        if not self.n:
            return None
        if self.values.combination != "geometric":
            # The mean of the differences loses fewer digits than the difference of the means.
            return after_mean(float(self.differences.mean()), self.values.combination, self.n)
        mine, theirs = (
            after_mean(float(column.mean()), self.values.combination, self.n) for column in self.paired_values
        )
        return mine - theirs

    @property
    def has_interval(self) -> bool:
        """Whether there are differences that are not all equal."""
        return bool(self.spread)

    def interval(self, means: Sequence[Floats], level: float) -> Interval:
        """The BCa bootstrap interval of the difference, from the means of resampled queries."""
        mine, theirs = means
        if self.values.combination == "geometric":
            return bca_interval(self._influence(self.difference or 0.0), np.exp(mine) - np.exp(theirs), level)
        return self._combined(bca_interval(self.differences, mine - theirs, level))

    def limit(self, level: float) -> Interval | None:
        """The interval of the difference for very many queries, without resampling."""
        if self.n <= MAX_RESAMPLED:
            return None
        if self.values.combination == "geometric":
            return self._geometric_limit(level)
        interval = abc_interval_of_mean(self.differences, level)
        return None if interval is None else self._combined(interval)

    def _combined(self, interval: Interval) -> Interval:
        low, high = (after_mean(end, self.values.combination, self.n) for end in interval)
        return low, high

    def tested(self, p: float | None, exact: bool = False, interval: Interval | None = None) -> Tested:
        """The result of a test, from the interval of the mean difference; none if all differences are equal."""
        shown = None if interval is None or not self.spread else self._combined(interval)
        return Tested(p, exact, shown)

    def is_testable(self, test: Test) -> bool:
        """Whether a test has a p-value: some need differences that are not all equal, unless all are zero."""
        if test in ("t", "bootstrap"):
            return self.n > 1 and bool(self.spread or not self.nonzero)
        return self.n > 0

    def interval_method(self, test: Test) -> IntervalMethod:
        """How the interval is computed: from the test, or by the BCa bootstrap if that is not about the difference.

        For a geometric mean, tests compare logarithms; Wilcoxon's test compares ranks.
        """
        if test == "wilcoxon" or test == "bootstrap" or self.values.combination == "geometric":
            return "bca"
        return test

    def _influence(self, mean: float) -> Floats:
        """The influence of each query on the difference of two geometric means, to first order, around this mean."""
        influence = np.full(self.n, mean)
        for column, sign in zip(self.paired_values, (1, -1), strict=True):
            influence += sign * np.exp(column.mean()) * (column - column.mean())
        return influence

    def _geometric_limit(self, level: float) -> Interval | None:
        """The ABC interval of the difference of two geometric means, e^m - e^t for the means m and t of logarithms."""
        influence = self._influence(0.0)
        error = standard_error(influence)
        if not error:
            return None
        means = [float(column.mean()) for column in self.paired_values]
        deviations = [column - column.mean() for column in self.paired_values]
        # How far each mean moves if the queries are weighted by their influence, so that the difference moves by one
        # standard error.
        shifts = [float((each * influence).sum()) / (self.n**2 * error) for each in deviations]
        sizes = [math.exp(means[0]), -math.exp(means[1])]
        bias = sum(size * float((each**2).sum()) for size, each in zip(sizes, deviations, strict=True)) / self.n**2
        curvature = sum(size * shift**2 for size, shift in zip(sizes, shifts, strict=True))

        def difference(errors: float) -> float:
            mine, theirs = (math.exp(mean + errors * shift) for mean, shift in zip(means, shifts, strict=True))
            return mine - theirs

        return abc_interval(influence, difference, level, (bias - curvature) / (2 * error))

    @cached_property
    def wins_ties_losses(self) -> tuple[int, int, int]:
        """The number of queries on which the system is better, equal and worse."""
        return wins_ties_losses(self.differences, self.values.higher_is_better)

    @property
    def ranks_disagree(self) -> bool:
        """Whether the signed ranks of the differences favour a system that their mean does not favour."""
        if not self.n:
            return False
        mean = float(self.differences.mean())
        direction = 0.0 if abs(mean) <= ROUNDING * np.abs(self.differences).max() else np.sign(mean)
        ranks = np.sign(rank_sum(self.differences))
        return bool(ranks != 0 and ranks != direction)

    @property
    def effect(self) -> float | None:
        """The effect size: the mean of the differences divided by their standard deviation."""
        return effect_size(self.differences, self.spread)


def run_tests(pairs: Sequence[Pair], method: Method, criteria: Sequence[Criterion] | None = None) -> list[Tested]:
    """The two-sided test of each pair; p is uncorrected except for Tukey's test.

    `criteria` say what is significant: the tests are then inverted, so that intervals exclude 0 exactly if it is.
    """
    if method.test == "randomization":
        return _randomized(pairs, method, criteria)
    if method.test == "tukey":
        return _tukey(pairs, method, criteria)
    if method.test == "bootstrap":
        columns = [pair.differences for pair in pairs]
        with progress_bar("comparisons") as progress:
            return [Tested(p) for p in bootstrap_tests(columns, method.resamples, method.seed, progress)]
    tests: list[Tested] = []
    with progress_bar("comparisons") as progress:
        for at, pair in enumerate(pairs):
            tests.append(_t_or_wilcoxon(pair, method, criteria[at] if criteria else None))
            if progress is not None:
                progress(len(tests), len(pairs))
    return tests


def _t_or_wilcoxon(pair: Pair, method: Method, criterion: Criterion | None) -> Tested:
    if not pair.n:
        return Tested(None)
    if method.test == "wilcoxon":
        return Tested(wilcoxon(pair.differences))
    p = t_test(pair.differences)
    if p is None or criterion is None or pair.interval_method("t") != "t":
        return Tested(p)
    return pair.tested(p, interval=t_interval(pair.differences, p, criterion))


def _randomized(pairs: Sequence[Pair], method: Method, criteria: Sequence[Criterion] | None) -> list[Tested]:
    """The randomization test. All pairs share the random signs; a query without a value counts as a difference of 0."""
    results: list[Tested] = []
    with progress_bar("comparisons") as progress:

        def show(done: float, _: int) -> None:
            if progress is not None:
                progress(len(results) + done, len(pairs))

        for values in dict.fromkeys(pair.values for pair in pairs):
            tested = [at for at, pair in enumerate(pairs) if pair.values is values]
            of_values = [pairs[at] for at in tested]
            systems = SystemPairs(
                np.nan_to_num(np.column_stack(values.columns)), [(pair.system, pair.baseline) for pair in of_values]
            )
            inverted = None
            if criteria is not None and of_values[0].interval_method("randomization") == "randomization":
                inverted = [Inverted(pairs[at].rows, criteria[at]) for at in tested]
            tests = randomization(
                [pair.differences_of_all for pair in of_values],
                method.permutations,
                method.seed,
                # Of few pairs, it is faster to add up their differences than the values of both systems.
                systems=systems if len(tested) > len(values.columns) else None,
                inverted=inverted,
                progress=show,
            )
            parts = zip(of_values, tests.p.tolist(), tests.exact.tolist(), tests.intervals, strict=True)
            results += [pair.tested(p if pair.n else None, exact, interval) for pair, p, exact, interval in parts]
    return results


def _tukey(pairs: Sequence[Pair], method: Method, criteria: Sequence[Criterion] | None) -> list[Tested]:
    """Tukey's randomized HSD: all systems are tested together, on the queries with a value in all of them."""
    tests: dict[MeasureValues, Tukey] = {}
    measures = dict.fromkeys(pair.values for pair in pairs)
    with progress_bar("permutations") as progress:

        def show(done: float, of_measure: int) -> None:
            if progress is not None:
                progress(len(tests) * of_measure + done, len(measures) * of_measure)

        for values in measures:
            if values.complete.any():
                columns = np.column_stack(values.columns)[values.complete]
                tests[values] = tukey(columns, method.permutations, method.seed, show)
    results = []
    for at, pair in enumerate(pairs):
        p, interval = None, None
        if pair.values in tests:
            test = tests[pair.values]
            p = float(test.p[pair.system, pair.baseline])
            if criteria is not None and pair.interval_method("tukey") == "tukey":
                interval = test.interval(float(pair.differences.mean()), p, criteria[at])
        results.append(pair.tested(p, interval=interval))
    return results
