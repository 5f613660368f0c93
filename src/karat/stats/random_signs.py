"""The paired randomization test: the signs of all differences are swapped at random, or in all possible ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.judged import Bools, Floats, Ints
from karat.stats.bootstrap import PERMUTATIONS, ROUNDING, SEED, Progress

# Up to this many differences all sign patterns are counted: two halves of 2^19 sums take a few hundredths of a second.
MAX_EXACT = 38
# Up to this many, and if the sizes of the differences are multiples of a unit, counting takes next to no time.
_MAX_CHEAP = 20
_MAX_UNITS = 1 << 16
# The sums of all other exact tests together: those of 64 tests of 38 differences, about 3 seconds. If there are more,
# the tests with the most differences are not exact.
_MAX_SUMS = 1 << 25
# Permutations at a time. The random numbers depend on this, so it must not depend on the data.
_BLOCK = 1 << 16
# Groups of 8 queries, and columns, at a time: they affect memory only.
_GROUPS = 64
_COLUMNS = 64
# The signs of the 8 queries of a group, by random byte.
_SIGNS = np.where(np.arange(256) >> np.arange(8)[:, None] & 1, 1.0, -1.0)
# The rounding error of a random sum, as a share of the sum of all sizes: far above what occurs.
_SUM_ERROR = 8 * float(np.finfo(np.float64).eps)


class Randomized(NamedTuple):
    """The p-value of each test, and whether it is exact."""

    p: Floats
    exact: Bools


class SystemPairs(NamedTuple):
    """The values of all systems, queries by systems, and the two systems whose differences each test is about."""

    values: Floats
    pairs: Sequence[tuple[int, int]]


def randomization(
    differences: Sequence[Floats],
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
    *,
    systems: SystemPairs | None = None,
    progress: Progress | None = None,
) -> Randomized:
    """The p-value of each list of differences: the share of random signs with as large a |sum|.

    A list has a difference per query; all lists share the random signs. With up to 38 differences that are not zero,
    all sign patterns are counted and p is exact, unless there are so many lists that this would take long. Otherwise
    p = (b + 1) / (permutations + 1), where b is the number of random patterns that reach the observed |sum|. If the
    differences are those of a few `systems`, the random sums of the systems are computed instead of those of all pairs.

    >>> randomization([np.array([0.1, 0.2, 0.3, 0.0])]).p
    array([0.25])
    """

    def show(done: float) -> None:
        if progress is not None:
            progress(done, len(differences))

    p, exact = np.empty(len(differences)), np.zeros(len(differences), np.bool_)
    changed = [column[column != 0] for column in differences]
    multiples = {at: _multiples(each) for at, each in enumerate(changed) if _MAX_CHEAP < len(each) <= MAX_EXACT}
    limit = _max_exact([len(changed[at]) for at, units in multiples.items() if units is None])
    for at, each in enumerate(changed):
        units = multiples.get(at)
        if units is not None:
            p[at], exact[at] = _exact_of_multiples(units), True
        elif len(each) <= limit:
            p[at], exact[at] = _exact(each), True
        show(int(exact.sum()))
    random = _RandomSigns(permutations, seed, show)
    by_system = np.zeros(len(p), np.bool_)
    if systems is not None:
        for at in np.flatnonzero(~exact).tolist():
            by_system[at] = _is_difference(differences[at], systems, systems.pairs[at])
        of_pairs = np.flatnonzero(by_system).tolist()
        some = SystemPairs(systems.values, [systems.pairs[at] for at in of_pairs])
        p[of_pairs] = random.pairs(some, [differences[at] for at in of_pairs], int(exact.sum()))
    direct = np.flatnonzero(~exact & ~by_system).tolist()
    p[direct] = random.columns([differences[at] for at in direct], len(p) - len(direct))
    p[~exact] = (p[~exact] + 1) / (permutations + 1)
    return Randomized(p, exact)


def _max_exact(sizes: Sequence[int]) -> int:
    """The largest number of differences that all sign patterns are counted for, if tests have these numbers of them."""
    sums = 0
    for size in sorted(sizes):
        sums += 1 << (size + 1) // 2
        if sums > _MAX_SUMS:
            return size - 1
    return MAX_EXACT


def _exact(values: Floats) -> float:
    """The share of all sign patterns whose |sum| reaches the observed one, by meeting in the middle."""
    least = _threshold(values)
    if least <= 0:
        return 1.0
    sizes = np.abs(values)
    left, right = _signed_sums(sizes[: len(sizes) // 2]), _signed_sums(sizes[len(sizes) // 2 :])
    # In ascending order, each search is near the previous one.
    above = len(left) * len(right) - int(np.searchsorted(left, (least - right)[::-1]).sum())
    # Patterns with opposite signs have opposite sums.
    return 2 * above / (len(left) * len(right))


def _threshold(values: Floats) -> float:
    """The observed |sum|, less the rounding tolerance."""
    values = np.ascontiguousarray(values)  # a strided sum is rounded in another order
    return float(abs(values.sum()) - ROUNDING * np.abs(values).sum())


def _signed_sums(sizes: Floats) -> Floats:
    """The sums under all sign patterns, in ascending order."""
    sums = np.zeros(1)
    for size in sizes:
        # A stable sort merges the two sorted halves.
        sums = np.sort(np.concatenate([sums - size, sums + size]), kind="stable")
    return sums


def _multiples(values: Floats) -> Ints | None:
    """The values as multiples of a common unit, such as 0.1 for P@10; None if they have no unit, or a tiny one."""
    sizes = np.abs(values)
    total = float(sizes.sum())
    if not math.isfinite(total):
        return None
    unit = 0.0
    for size in np.unique(sizes).tolist():
        rest = size
        while rest > 1e-9 * size:  # Euclid's algorithm
            unit, rest = rest, (abs(math.remainder(unit, rest)) if unit else 0.0)
        if unit * _MAX_UNITS < total:
            return None
    multiples = np.rint(values / unit)
    unit = total / float(np.abs(multiples).sum())
    # Sums of multiples must tell the same sign patterns apart as sums of values.
    within = np.abs(values - unit * multiples).sum() <= ROUNDING / 4 * total
    return multiples.astype(np.int64) if within else None


def _exact_of_multiples(values: Ints) -> float:
    """As `_exact`, for whole numbers: the patterns with each sum are counted, not listed."""
    observed, sizes = abs(int(values.sum())), np.abs(values)
    if not observed:
        return 1.0
    left, right = _subset_sums(sizes[: len(sizes) // 2]), _subset_sums(sizes[len(sizes) // 2 :])
    # The positive values of a pattern whose sum is at least the observed one have at least this sum.
    least = (observed + int(sizes.sum())) // 2
    at_least = np.append(np.cumsum(right[::-1])[::-1], 0)
    above = int((left * at_least[np.clip(least - np.arange(len(left)), 0, len(right))]).sum())
    return 2 * above / (1 << len(values))


def _subset_sums(sizes: Ints) -> Ints:
    """The number of subsets with each sum."""
    counts = np.zeros(int(sizes.sum()) + 1, np.int64)
    counts[0] = 1
    last = 0
    for size in sizes.tolist():
        counts[size : last + size + 1] += counts[: last + 1].copy()
        last += size
    return counts


@dataclass(frozen=True)
class _RandomSigns:
    """Random sign patterns, which all tests share."""

    permutations: int
    seed: int
    show: Callable[[float], None]
    """called with the number of tests that are done"""

    def columns(self, columns: Sequence[Floats], done: int) -> Ints:
        """For each column, how many patterns reach its observed |sum|; `done` tests precede these."""
        reached = [np.empty(0, np.int64)]
        for start in range(0, len(columns), _COLUMNS):
            some = columns[start : start + _COLUMNS]
            reached.append(self._reached(some, [(at, None) for at in range(len(some))], some, done + start))
        return np.concatenate(reached)

    def pairs(self, systems: SystemPairs, differences: Sequence[Floats], done: int) -> Ints:
        """For each pair of systems, how many patterns reach the observed |sum| of its differences."""
        reached = np.empty(len(differences), np.int64)
        # The systems are divided, because the random sums of all of them may need too much memory.
        by_parts: dict[frozenset[int], list[int]] = {}
        for at, pair in enumerate(systems.pairs):
            by_parts.setdefault(frozenset(system // _COLUMNS for system in pair), []).append(at)
        for parts, tests in by_parts.items():
            every = [part * _COLUMNS + at for part in parts for at in range(_COLUMNS)]
            place = {system: at for at, system in enumerate(each for each in every if each < systems.values.shape[1])}
            pairs = [(place[one], place[other]) for one, other in (systems.pairs[at] for at in tests)]
            observed = [differences[at] for at in tests]
            columns = [systems.values[:, system] for system in place]
            reached[tests] = self._reached(columns, pairs, observed, done)
            done += len(tests)
        return reached

    def _reached(
        self,
        columns: Sequence[Floats],
        tests: Sequence[tuple[int, int | None]],
        observed: Sequence[Floats],
        done: int,
    ) -> Ints:
        """How many patterns reach the observed |sum|, for each test of a column or of the difference of two columns.

        One random byte gives the signs of 8 queries; a table of 256 entries gives what they add to the sum.
        """
        least = [_threshold(values) for values in observed]
        reached = np.zeros(len(tests), dtype=np.int64)
        random = np.random.PCG64(self.seed)
        n = len(columns[0])
        for start in range(0, self.permutations, _BLOCK):
            count = min(_BLOCK, self.permutations - start)
            words = -(-count // 8)
            sums, part = np.zeros((len(columns), count)), np.empty(count)
            for first in range(0, n, 8 * _GROUPS):
                rows = slice(first, min(n, first + 8 * _GROUPS))
                groups = -(-(rows.stop - first) // 8)
                drawn = random.random_raw(groups * words).view(np.uint8).reshape(groups, 8 * words)[:, :count]
                for at, column in enumerate(columns):
                    for table, signs in zip(_tables(column[rows]), drawn, strict=True):
                        np.take(table, signs, out=part, mode="clip")
                        sums[at] += part
            for at, (one, other) in enumerate(tests):
                total_sum = sums[one] if other is None else np.subtract(sums[one], sums[other], out=part)
                reached[at] += np.count_nonzero(np.abs(total_sum, out=part) >= least[at])
            self.show(done + len(tests) * (start + count) / self.permutations)
        return reached


def _is_difference(differences: Floats, systems: SystemPairs, pair: tuple[int, int]) -> bool:
    """Whether the random sums of two systems give that of their differences, within the rounding tolerance.

    They do not if a query has no value in one system, or if the values are much larger than their differences.
    """
    mine, theirs = (systems.values[:, system] for system in pair)
    error = _SUM_ERROR * float(np.abs(mine).sum() + np.abs(theirs).sum())
    return error <= ROUNDING / 2 * float(np.abs(differences).sum()) and bool((mine - theirs == differences).all())


def _tables(values: Floats) -> Floats:
    """What each group of 8 values adds to the sum, by the byte of its signs."""
    padded = np.zeros((-(-len(values) // 8), 8))
    padded.reshape(-1)[: len(values)] = values
    tables = np.zeros((len(padded), 256))
    for bit in range(8):
        tables += padded[:, bit, None] * _SIGNS[bit]
    return tables
