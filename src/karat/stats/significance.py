"""Two-sided significance tests of paired differences, one per query, and corrections for multiple comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from itertools import permutations as orders
from typing import NamedTuple

import numpy as np

from karat.data.judged import Floats, Ints
from karat.stats.bootstrap import PERMUTATIONS, RESAMPLES, ROUNDING, SEED, Progress
from karat.stats.inversion import Criterion, Ends, with_side
from karat.stats.power import spread_of
from karat.stats.student import beyond

# Bootstrap tests that are computed together; it affects memory only.
_TESTS = 128
# Resampled values, and sums of the randomized Tukey test, at a time.
_CELLS = 1 << 18
# For few systems, tables of the Tukey test contain all orders of the scores of one query or of a few queries, about a
# thousand entries.
_FEW_SYSTEMS = 6
_ENTRIES = 1 << 10
# In Wilcoxon's test of more differences, or of more that share ranks, the sum of ranks is taken as normal, as in scipy.
_MAX_EXACT = 50
_MAX_EXACT_WITH_TIES = 13


def t_test(differences: Floats) -> float | None:
    """The p-value of the paired t-test.

    1 if all differences are zero; None for fewer than two, and if all are the same and not zero: the standard
    deviation is then 0 and t infinite.
    """
    t = _t(differences)
    return None if t is None else min(1.0, beyond(abs(t), len(differences) - 1))


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
    ts = [_t(column) for column in differences]
    ps: list[float | None] = [None if t is None else 1.0 for t in ts]
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
            ps[at] = (reached + 1) / (resamples + 1)
        done += len(tests)
        if progress is not None:
            progress(done, len(differences))
    return ps


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


def wilcoxon(differences: Floats) -> float | None:
    """The p-value of Wilcoxon's signed-rank test; zeros are left out.

    It is 1 if all differences are zero, and None if there are none. Sizes that are equal up to rounding share a rank.
    """
    if not len(differences):
        return None
    levels = _levels(differences)
    n = len(levels)
    if n < 2:
        return 1.0
    doubled, times = _doubled_ranks(levels)
    gains = int(doubled[levels > 0].sum())
    if n <= (_MAX_EXACT if len(times) == n else _MAX_EXACT_WITH_TIES):
        patterns = _patterns(tuple(times.tolist()))
        above, below = patterns[gains:].sum(), patterns[: gains + 1].sum()
        return min(1.0, 2 * float(min(above, below)) / 2.0**n)
    mean = n * (n + 1.0) * 0.25
    ties = (times**3.0 - times).sum()
    deviation = math.sqrt((n * (n + 1.0) * (2.0 * n + 1.0) - ties / 2) / 24)
    return math.erfc(abs((gains / 2 - mean) / deviation) * math.sqrt(0.5))


def rank_sum(differences: Floats) -> float:
    """The statistic of Wilcoxon's test: the sum of the ranks of gains minus that of losses.

    It may be positive while the mean is negative, for many small gains and a few large losses.

    >>> rank_sum(np.array([0.1, 0.2, 0.3, -0.9])), np.array([0.1, 0.2, 0.3, -0.9]).mean().round(3)
    (2.0, np.float64(-0.075))
    """
    levels = _levels(differences)
    return float((np.sign(levels) * _doubled_ranks(levels)[0]).sum() / 2)


def _levels(differences: Floats) -> Floats:
    """The signed levels of the differences that are not zero: the smallest size is level 1, the next 2, and so on.

    Sizes that differ only by rounding have the same level.
    """
    sizes = np.abs(differences)
    tolerance = ROUNDING * sizes.max(initial=0.0)
    nonzero = sizes > tolerance
    ascending, position = np.unique(sizes[nonzero], return_inverse=True)
    levels = np.cumsum(np.diff(ascending, prepend=0.0) > tolerance)
    return np.asarray(np.sign(differences[nonzero]) * levels[position], np.float64)


def _doubled_ranks(levels: Floats) -> tuple[Ints, Ints]:
    """Twice the rank of each level, a whole number even if ranks are shared, and how many share each rank."""
    times = np.bincount(np.abs(levels).astype(np.int64))[1:]
    doubled = 2 * np.cumsum(times) - times + 1
    return doubled[np.abs(levels).astype(np.int64) - 1], times


@lru_cache(maxsize=1024)  # it does not depend on the differences, and few shared ranks make few distributions
def _patterns(times: tuple[int, ...]) -> Ints:
    """The number of sign patterns with each doubled sum of the ranks of gains; `times` says how many share a rank."""
    patterns = np.zeros(sum(times) * (sum(times) + 1) + 1, np.int64)
    patterns[0] = 1
    last = 0
    for shared in times:
        doubled = 2 * last + shared + 1
        last += shared
        for _ in range(shared):
            patterns[doubled:] += patterns[:-doubled].copy()
    patterns.setflags(write=False)
    return patterns


def corrected(p: Sequence[float | None], method: str) -> list[float | None]:
    """The p-values corrected by `holm`, `bonferroni`, `bh` or `none`, in the order given.

    With m comparisons and their p-values in rising order, k = 1, …, m:

    - bonferroni: m p
    - holm (Holm 1979): the maximum of (m - j + 1) p_j over j <= k; controls the same error rate with more power
    - bh (Benjamini and Hochberg 1995): the minimum of (m / j) p_j over j >= k; controls the false discovery rate

    None (nothing was tested) stays None and does not count as a comparison. Results are between the raw p and 1.

    >>> corrected([0.01, None, 0.04, 0.03], "holm")
    [0.03, None, 0.06, 0.06]
    """
    rising = sorted((value, at) for at, value in enumerate(p) if value is not None)
    result: list[float | None] = list(p)
    for (_, at), value in zip(rising, _METHODS[method]([value for value, _ in rising]), strict=True):
        result[at] = min(1.0, value)
    return result


def _holm(rising: list[float]) -> list[float]:
    return list(accumulate(((len(rising) - k) * value for k, value in enumerate(rising)), max))


def _bonferroni(rising: list[float]) -> list[float]:
    return [len(rising) * value for value in rising]


def _benjamini_hochberg(rising: list[float]) -> list[float]:
    m = len(rising)
    # m / k is computed first, because p * m / m may round to less than p.
    falling = [value * (m / k) for k, value in enumerate(rising, 1)][::-1]
    return list(accumulate(falling, min))[::-1]


_METHODS: dict[str, Callable[[list[float]], list[float]]] = {
    "holm": _holm,
    "bonferroni": _bonferroni,
    "bh": _benjamini_hochberg,
    "none": list,
}
