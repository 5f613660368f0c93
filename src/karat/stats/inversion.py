"""Confidence intervals of a mean difference by inverting a test: all shifts that the test does not reject.

The paired randomization test at a shift compares the sum of the shifted differences with their sums under other signs.
For a shift below the mean, a sign pattern reaches the observed sum exactly if the mean of the differences whose signs
it swaps is at most the shift, or that of the others is; both cannot be, since the mean of all is above it (Hartigan
1969, "Using subsample values as typical values"). So p rises with the shift up to the mean and falls beyond it, and the
ends of the interval are order statistics of the means of subsets.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.data.judged import Floats, Ints
from karat.stats.bootstrap import ROUNDING
from karat.stats.power import spread_of
from karat.stats.student import critical_value

# Up to this many differences, the means of all subsets are listed: fewer than the random patterns otherwise drawn.
MAX_LISTED = 16
# Of values that arrive in parts, those are kept whose ranks are within so many standard deviations of the one to find.
_DEVIATIONS = 6
_FIRST = 1 << 12
# The largest number of groups whose counts of up to 8 fit into a byte.
_GROUPS = 31

Ends = tuple[float, float]


class Criterion(NamedTuple):
    """What is significant: a p-value that is below alpha if multiplied by the number of comparisons."""

    alpha: float
    comparisons: int = 1

    @property
    def level(self) -> float:
        """The confidence level of an interval that excludes 0 exactly if p is significant."""
        return 1 - self.alpha / self.comparisons

    def rejects(self, p: float) -> bool:
        return min(1.0, self.comparisons * p) < self.alpha

    def rank(self, total: int) -> int:
        """How many patterns besides the observed one, of a total, must reach its sum for p not to be significant.

        >>> Criterion(0.05).rank(100_000), Criterion(0.05).rank(10)
        (4999, 0)
        """
        count = max(0, math.floor(self.alpha / self.comparisons * total) - 2)
        while self.rejects(count / total):
            count += 1
        return max(0, count - 1)


def with_side(ends: Ends, mean: float, rejected: bool) -> Ends:
    """The ends on the side of 0 that the test demands, from which rounding may have moved them."""
    low, high = ends
    if not rejected:
        return min(low, 0.0), max(high, 0.0)
    tiny = math.nextafter(0.0, 1.0)
    return (max(low, tiny), high) if mean > 0 else (low, min(high, -tiny))


def t_interval(differences: Floats, p: float, criterion: Criterion) -> Ends | None:
    """The interval of the mean by the paired t-test; None if all differences are equal.

    >>> [round(end, 4) for end in t_interval(np.array([0.1, 0.2, 0.3]), 0.0742, Criterion(0.05))]
    [-0.0484, 0.4484]
    """
    n = len(differences)
    spread = spread_of(differences) if n > 1 else 0.0
    if not spread:
        return None
    mean = float(differences.mean())
    reach = critical_value(n - 1, criterion.alpha / criterion.comparisons) * spread / math.sqrt(n)
    return with_side((mean - reach, mean + reach), mean, criterion.rejects(p))


def listed_interval(differences: Floats, p: float, criterion: Criterion) -> Ends | None:
    """The interval of the mean by the exact randomization test, from the means of all subsets; p is that of the test.

    None if there are so few differences that no shift is rejected, or if all are equal.

    >>> [round(end, 4) for end in listed_interval(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), 0.0313, Criterion(0.05))]
    [0.1, 0.6]
    """
    n = len(differences)
    # A pattern and its opposite count as one; the one that swaps none or all signs is the observed one.
    rank = criterion.rank(1 << (n - 1)) if n > 1 and spread_of(differences) else 0
    if not rank:
        return None
    mean = float(differences.mean())
    sums = np.zeros(1)
    for value in (differences - mean).tolist():
        sums = np.concatenate([sums, sums + value])
    means = sums[1:] / _subset_sizes(n)
    means.partition([rank - 1, len(means) - rank])
    return with_side((mean + float(means[rank - 1]), mean + float(means[-rank])), mean, criterion.rejects(p))


@cache
def _subset_sizes(n: int) -> Floats:
    """The sizes of all subsets but the empty one, in the order of their sums."""
    return np.bitwise_count(np.arange(1, 1 << n)).astype(np.float64)


class SignSums(NamedTuple):
    """The sum of the signs of n compared queries, for each of several random patterns, and what follows from it."""

    sums: Floats
    per_swapped: Floats
    """1 / (n - sum), half of one over the number of swapped queries"""
    per_other: Floats
    """-1 / (n + sum), for the other queries"""
    per_fewer: Floats
    """1 / (n - |sum|), for the fewer of both"""
    trivial: Ints
    """the patterns in which all queries have the same sign"""

    @classmethod
    def of(cls, positive: Ints, n: int) -> SignSums:
        """From the number of queries with the sign +1."""
        per_swapped, per_other = 0.5 / np.maximum(n - positive, 1), -0.5 / np.maximum(positive, 1)
        trivial = np.flatnonzero((positive == 0) | (positive == n))
        return cls(
            np.asarray(2 * positive - n, np.float64),
            per_swapped,
            per_other,
            np.maximum(per_swapped, -per_other),
            trivial,
        )


def positive_signs(signs: NDArray[np.uint8], compared: NDArray[np.uint8]) -> Ints:
    """How many compared queries have the sign 1 in each pattern; a byte has the signs of 8 queries."""
    count = np.zeros(signs.shape[1], np.int64)
    for first in range(0, len(signs), _GROUPS):
        some = slice(first, first + _GROUPS)
        count += np.add.reduce(np.bitwise_count(signs[some] & compared[some, None]), axis=0, dtype=np.uint8)
    return count


class RandomEnds:
    """The ends of the interval of a mean difference, from sums under random signs that arrive in parts."""

    def __init__(self, differences: Floats, criterion: Criterion, permutations: int) -> None:
        self._mean = float(differences.mean())
        # The test takes larger distances from the mean as equal.
        self._rounding = ROUNDING / 4 * float(np.abs(differences).mean())
        self._criterion = criterion
        self.permutations = permutations
        self._rank = criterion.rank(permutations + 1) if spread_of(differences) else 0
        self._below, self._above = _Largest(self._rank, permutations), _Largest(self._rank, permutations)

    def add(self, totals: Floats, signs: SignSums, scratch: Floats) -> None:
        """Add the sums of the differences under random signs; `scratch` is room for two arrays of their size."""
        if not self._rank:
            return
        centred, farther = scratch
        np.subtract(totals, np.multiply(signs.sums, self._mean, out=centred), out=centred)
        centred[signs.trivial] = np.inf
        np.multiply(np.abs(centred, out=farther), signs.per_fewer, out=farther)
        # The first patterns tell which of the others need not be looked at.
        count = len(centred)
        parts = [0, count] if self._below.seen else [0, min(_FIRST, count), count]
        for start, stop in pairwise(parts):
            chosen = start + np.flatnonzero(farther[start:stop] >= min(self._below.least, self._above.least))
            # The means of the swapped and of the other differences lie on two sides of the mean.
            sums = centred[chosen]
            swapped, other = sums * signs.per_swapped[chosen], sums * signs.per_other[chosen]
            self._below.add(np.maximum(swapped, other), stop - start)
            self._above.add(-np.minimum(swapped, other), stop - start)

    def interval(self, p: float) -> Ends | None:
        """The interval; p is that of the test. None if all differences are equal, or if there are too few patterns."""
        if not self._rank:
            return None
        rejected = self._criterion.rejects(p)
        below, above = self._below.value, self._above.value
        # If p is exact, or from more patterns, these may disagree with it on which side of 0 an end lies.
        limit = abs(self._mean) - self._rounding
        if rejected and self._mean > 0:
            below = self._below.largest_up_to(min(below, limit))
        elif rejected:
            above = self._above.largest_up_to(min(above, limit))
        if not (math.isfinite(below) and math.isfinite(above)):
            return None
        return with_side((self._mean - below, self._mean + above), self._mean, rejected)


class _Largest:
    """The value of a rank, in descending order, of values that arrive in parts; only those near it are kept."""

    def __init__(self, rank: int, total: int) -> None:
        self._rank, self._total = rank, total
        self.seen = self._larger = 0
        self._kept = np.empty(0)
        self.least = -math.inf

    def add(self, values: Floats, seen: int) -> None:
        """Add those of the next `seen` values that are at least `least`, and perhaps others."""
        self.seen += seen
        values = np.concatenate([self._kept, values])
        # The value to find is expected to have this rank among those so far.
        expected = self._rank * self.seen / self._total
        margin = _DEVIATIONS * (math.sqrt(expected) + 1)
        last = len(values) - 1
        ranks = (expected + margin - self._larger, expected - margin - self._larger)
        first, final = (min(max(last - round(rank), 0), last) for rank in ranks)
        values.partition(first)
        self.least = float(values[first])
        self._kept = np.partition(values[first:], final - first)[: final - first + 1]
        self._larger += last - final

    @property
    def value(self) -> float:
        """The value of the rank."""
        place = len(self._kept) - min(max(self._rank - self._larger, 1), len(self._kept))
        return float(np.partition(self._kept, place)[place])

    def largest_up_to(self, limit: float) -> float:
        """The largest value that is at most the limit; infinite if none is."""
        smaller = self._kept[self._kept <= limit]
        return float(smaller.max()) if smaller.size else math.inf
