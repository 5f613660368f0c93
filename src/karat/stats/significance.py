"""Two-sided significance tests of paired differences, one per query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations as orders
from typing import NamedTuple

import numpy as np

from karat.data.judged import Floats
from karat.stats.bootstrap import PERMUTATIONS, RESAMPLES, ROUNDING, SEED, Progress
from karat.stats.inversion import Criterion, Ends, with_side
from karat.stats.power import spread_of

# Bootstrap tests that are computed together; it affects memory only.
_TESTS = 128
# Resampled values, and sums of the randomized Tukey test, at a time.
_CELLS = 1 << 18
# For few systems, tables of the Tukey test contain all orders of the scores of one query or of a few queries, about a
# thousand entries.
_FEW_SYSTEMS = 6
_ENTRIES = 1 << 10


def t_test(differences: Floats) -> float | None:
    """The p-value of the paired t-test.

    1 if all differences are zero; None for fewer than two, and if all are the same and not zero: the standard
    deviation is then 0 and t infinite.
    """
    from scipy.special import stdtr

    t = _t(differences)
    return None if t is None else 2 * float(stdtr(len(differences) - 1, -abs(t)))


def _t(differences: Floats) -> float | None:
    """Student's t of the mean; 0 if all differences are zero, None if it is not defined."""
    n = len(differences)
    if n < 2:
        return None
    if not differences.any():
        return 0.0
    spread = spread_of(differences)
    return float(differences.mean()) / (spread / math.sqrt(n)) if spread else None


def bootstrap_tests(
    differences: Sequence[Floats], resamples: int = RESAMPLES, seed: int = SEED, progress: Progress | None = None
) -> list[float | None]:
    """The p-value of each list of differences by the studentized bootstrap test (Sakai 2006).

    The differences are centred and resampled; p = (b + 1) / (resamples + 1), where b is the number of resamples that
    reach the observed |t|. The t of a resample whose standard deviation is 0 is infinite, or 0 if its mean is 0. None
    in the same cases as for the t-test; 1 if all differences, or their mean, are zero.
    """
    ts = [_t(each) for each in differences]
    found: list[float | None] = [None if t is None else 1.0 for t in ts]
    by_length: dict[int, list[int]] = {}
    for at, t in enumerate(ts):
        # A mean of 0 up to rounding is reached by every resample.
        if t and abs(differences[at].mean()) > ROUNDING * np.abs(differences[at]).max():
            by_length.setdefault(len(differences[at]), []).append(at)
    blocks = [tests[start : start + _TESTS] for tests in by_length.values() for start in range(0, len(tests), _TESTS)]
    done = 0
    for tests in blocks:
        centred = np.column_stack([differences[at] - differences[at].mean() for at in tests])
        centred /= np.abs(centred).max(axis=0)
        means = _resampled_means(np.column_stack([centred, centred**2]), resamples, seed)
        for at, mean, square in zip(tests, means[: len(tests)], means[len(tests) :], strict=True):
            variance = square - mean**2
            constant = variance <= ROUNDING * square
            resampled = np.abs(mean) / np.sqrt(np.where(constant, 1.0, variance) / (len(centred) - 1))
            resampled[constant] = np.where(np.abs(mean[constant]) <= ROUNDING, 0.0, np.inf)
            reached = np.count_nonzero(resampled >= abs(ts[at] or 0.0) * (1 - ROUNDING))
            found[at] = (reached + 1) / (resamples + 1)
        done += len(tests)
        if progress is not None:
            progress(done, len(differences))
    return found


def _resampled_means(columns: Floats, resamples: int, seed: int) -> Floats:
    """The means of `bootstrap_means`, columns by resamples, up to rounding: a matrix product, for many columns."""
    n, width = columns.shape
    random = np.random.default_rng(seed)
    means = np.empty((width, resamples))
    step = max(1, _CELLS // n)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn = random.integers(0, n, (count, n), dtype=np.uint32).astype(np.int64)
        drawn += n * np.arange(count)[:, None]
        times = np.bincount(drawn.reshape(-1), minlength=count * n).reshape(count, n)
        means[:, start : start + count] = (times.astype(np.float64) @ columns / n).T
    return means


class Tukey(NamedTuple):
    """The p-values of all pairs of systems, as a matrix, and the range of the means in each permutation, ascending."""

    p: Floats
    ranges: Floats

    def interval(self, difference: float, p: float, criterion: Criterion) -> Ends | None:
        """The interval of a difference, one of all pairs' that hold at once; None if there are too few permutations."""
        rank = criterion.rank(len(self.ranges) + 1)
        if not rank:
            return None
        reach = float(self.ranges[-rank])
        return with_side((difference - reach, difference + reach), difference, criterion.rejects(p))


def tukey(
    values: Floats, permutations: int = PERMUTATIONS, seed: int = SEED, progress: Progress | None = None
) -> Tukey:
    """The randomized Tukey HSD test of all pairs of systems (Carterette 2012).

    A row is a query, a column a system. In each permutation the scores of every query are shuffled over the systems;
    p = (b + 1) / (permutations + 1), where b is the number of permutations in which the range of the means is at least
    the observed difference of the two systems. The p-values are thereby corrected for the number of pairs.
    """
    systems = values.shape[1]
    # Queries without differences add nothing. Centred values have smaller rounding errors in sums.
    changed = values[np.ptp(values, axis=1) > ROUNDING * np.maximum(1, np.abs(values).max(axis=1, initial=0.0))]
    changed = changed - changed.mean(axis=1, keepdims=True)
    totals = changed.sum(axis=0)
    least = np.abs(totals[:, None] - totals) - ROUNDING * np.abs(changed).sum()
    ranges = np.empty(permutations)
    random = np.random.default_rng(seed)
    step = max(1, _CELLS // systems)
    shuffled = _sums_by_table if systems <= _FEW_SYSTEMS else _sums_by_shuffling
    for start in range(0, permutations, step):
        count = min(step, permutations - start)
        ranges[start : start + count] = np.ptp(shuffled(changed, count, random), axis=0)
        if progress is not None:
            progress(start + count, permutations)
    ranges.sort()
    reached = permutations - np.searchsorted(ranges, least)
    return Tukey((reached + 1) / (permutations + 1), ranges / len(values))


def _sums_by_table(values: Floats, count: int, random: np.random.Generator) -> Floats:
    """Sums of shuffled rows, systems by permutations, from a table of all orders of each group of rows."""
    systems = values.shape[1]
    order = np.array(list(orders(range(systems)))).T
    rows = max(1, int(math.log(_ENTRIES, max(2, order.shape[1]))))
    sums, part = np.zeros((systems, count)), np.empty(count)
    for first in range(0, len(values), rows):
        table = np.zeros((systems, 1))
        for row in values[first : first + rows]:
            table = (table[:, :, None] + row[order][:, None, :]).reshape(systems, -1)
        drawn = random.integers(0, table.shape[1], count, dtype=np.uint16)
        # The rows are centred, so that the sums over all systems are 0.
        for at in range(systems - 1):
            np.take(table[at], drawn, out=part, mode="clip")
            sums[at] += part
    sums[-1] = -sums[:-1].sum(axis=0)
    return sums


def _sums_by_shuffling(values: Floats, count: int, random: np.random.Generator) -> Floats:
    """Sums of shuffled rows, systems by permutations, for any number of systems."""
    sums = np.zeros((count, values.shape[1]))
    for row in values:
        sums += random.permuted(np.broadcast_to(row, sums.shape), axis=1)
    return sums.T
