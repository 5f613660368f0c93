"""The paired randomization test: the signs of all differences are swapped at random, or in all possible ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.data.judged import Bools, Floats, Ints
from karat.stats.bootstrap import PERMUTATIONS, ROUNDING, SEED, Progress
from karat.stats.inversion import (
    MAX_LISTED,
    Criterion,
    Ends,
    RandomEnds,
    SignSums,
    listed_interval,
    positive_signs,
)

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
# The intervals of more tests are from the first of these blocks only: of 100,000 permutations, two thirds of the time.
_MANY_TESTS = 1_000
# Groups of 8 queries, and columns, at a time: they affect memory only.
_GROUPS = 64
_COLUMNS = 64
# The signs of the 8 queries of a group, by random byte.
_SIGNS = np.where(np.arange(256) >> np.arange(8)[:, None] & 1, 1.0, -1.0)
# The rounding error of a random sum, as a share of the sum of all sizes: far above what occurs.
_SUM_ERROR = 8 * float(np.finfo(np.float64).eps)


class Randomized(NamedTuple):
    """The p-value of each test, whether it is exact, and the confidence interval of the mean if it was requested."""

    p: Floats
    exact: Bools
    intervals: list[Ends | None]


class Inverted(NamedTuple):
    """A test that is to be inverted: which queries are compared, and what is significant."""

    compared: Bools
    criterion: Criterion


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
    inverted: Sequence[Inverted] | None = None,
    progress: Progress | None = None,
) -> Randomized:
    """The p-value of each list of differences: the share of random signs with as large a |sum|.

    A list has a difference per query; all lists share the random signs. With up to 38 differences that are not zero,
    all sign patterns are counted and p is exact, unless there are so many lists that this would take long. Otherwise
    p = (b + 1) / (permutations + 1), where b is the number of random patterns that reach the observed |sum|. If the
    differences are those of a few `systems`, the random sums of the systems are computed instead of those of all pairs.

    With `inverted`, each test has the interval of all mean differences that it does not reject. It is exact for up to
    16 compared queries, and from the random signs for more (the first 65,536 of them if there are more than 1,000
    tests). It contains 0 exactly if p is not significant.

    >>> randomization([np.array([0.1, 0.2, 0.3, 0.0])]).p
    array([0.25])
    """

    def show(done: float) -> None:
        if progress is not None:
            progress(done, len(differences))

    # A test with an exact p is not done yet if its interval is from random signs.
    listed = len(differences) if inverted is None else sum(each.compared.sum() <= MAX_LISTED for each in inverted)
    p, exact = _exact_tests(differences, lambda done: show(min(done, listed)))
    intervals: list[Ends | None] = [None] * len(p)
    sampled = ~exact
    for at, (compared, criterion) in enumerate(inverted or ()):
        if compared.sum() <= MAX_LISTED:
            intervals[at] = listed_interval(differences[at][compared], float(p[at]), criterion)
        else:
            sampled[at] = True
    for_ends = permutations if sampled.sum() <= _MANY_TESTS else min(permutations, _BLOCK)
    tests = {
        at: _RandomTest(differences[at], for_ends, inverted[at] if inverted else None)
        for at in np.flatnonzero(sampled).tolist()
    }
    random = _RandomSigns(permutations, seed, show)
    by_system: list[int] = []
    if systems is not None:
        by_system = [at for at in tests if _is_difference(differences[at], systems, systems.pairs[at])]
        some = SystemPairs(systems.values, [systems.pairs[at] for at in by_system])
        random.pairs(some, [tests[at] for at in by_system], len(p) - len(tests))
    direct = sorted({*tests} - {*by_system})
    random.columns([differences[at] for at in direct], [tests[at] for at in direct], len(p) - len(direct))
    for at, test in tests.items():
        if not exact[at]:
            p[at] = (test.reached + 1) / (permutations + 1)
        if test.ends is not None:
            intervals[at] = test.ends.interval(float(p[at]))
    return Randomized(p, exact, intervals)


def _exact_tests(differences: Sequence[Floats], show: Callable[[float], None]) -> tuple[Floats, Bools]:
    """The p-values that are counted exactly, and which they are."""
    p, exact = np.empty(len(differences)), np.zeros(len(differences), np.bool_)
    changed = [column[column != 0] for column in differences]
    few = {at: column for at, column in enumerate(changed) if _MAX_CHEAP < len(column) <= MAX_EXACT}
    multiples = {at: _multiples(column) for at, column in few.items()}
    limit = _max_exact([len(changed[at]) for at, units in multiples.items() if units is None])
    for at, column in enumerate(changed):
        units = multiples.get(at)
        if units is not None:
            p[at], exact[at] = _exact_of_multiples(units), True
        elif len(column) <= limit:
            p[at], exact[at] = _exact(column), True
        show(int(exact.sum()))
    return p, exact


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


class _RandomTest:
    """How many random patterns reach the observed |sum| of some differences, and the interval if it is requested."""

    def __init__(self, differences: Floats, permutations: int, inverted: Inverted | None) -> None:
        self.least = _threshold(differences)
        self.reached = 0
        self.ends: RandomEnds | None = None
        self.compared = b""
        if inverted is not None:
            self.ends = RandomEnds(differences[inverted.compared], inverted.criterion, permutations)
            # Like signs, 8 queries in a byte.
            self.compared = np.packbits(inverted.compared, bitorder="little").tobytes()


@dataclass(frozen=True)
class _RandomSigns:
    """Random sign patterns, which all tests share."""

    permutations: int
    seed: int
    show: Callable[[float], None]
    """called with the number of tests that are done"""

    def columns(self, columns: Sequence[Floats], tests: Sequence[_RandomTest], done: int) -> None:
        """Add the sums of each column to its test; `done` tests precede these."""
        for start in range(0, len(columns), _COLUMNS):
            some = columns[start : start + _COLUMNS]
            places: list[tuple[int, int | None]] = [(at, None) for at in range(len(some))]
            self._add(some, places, tests[start : start + _COLUMNS], done + start)

    def pairs(self, systems: SystemPairs, tests: Sequence[_RandomTest], done: int) -> None:
        """Add the sums of the differences of each pair of systems to its test."""
        # The systems are divided, because the random sums of all of them may need too much memory.
        by_parts: dict[frozenset[int], list[int]] = {}
        for at, pair in enumerate(systems.pairs):
            by_parts.setdefault(frozenset(system // _COLUMNS for system in pair), []).append(at)
        for parts, of_parts in by_parts.items():
            every = [part * _COLUMNS + at for part in parts for at in range(_COLUMNS)]
            place = {system: at for at, system in enumerate(each for each in every if each < systems.values.shape[1])}
            pairs = [(place[one], place[other]) for one, other in (systems.pairs[at] for at in of_parts)]
            columns = [systems.values[:, system] for system in place]
            self._add(columns, pairs, [tests[at] for at in of_parts], done)
            done += len(of_parts)

    def _add(
        self,
        columns: Sequence[Floats],
        places: Sequence[tuple[int, int | None]],
        tests: Sequence[_RandomTest],
        done: int,
    ) -> None:
        """Add the sums under random signs, of a column or of the difference of two columns for each test.

        One random byte gives the signs of 8 queries; a table of 256 entries gives what they add to the sum.
        """
        random = np.random.PCG64(self.seed)
        n = len(columns[0])
        masks = {test.compared: np.frombuffer(test.compared, np.uint8) for test in tests if test.ends is not None}
        for start in range(0, self.permutations, _BLOCK):
            count = min(_BLOCK, self.permutations - start)
            words = -(-count // 8)
            sums, part, scratch = np.zeros((len(columns), count)), np.empty(count), np.empty((2, count))
            positive = {compared: np.zeros(count, np.int64) for compared in masks}
            for first in range(0, n, 8 * _GROUPS):
                rows = slice(first, min(n, first + 8 * _GROUPS))
                groups = -(-(rows.stop - first) // 8)
                drawn = random.random_raw(groups * words).view(np.uint8).reshape(groups, 8 * words)[:, :count]
                for at, column in enumerate(columns):
                    for table, signs in zip(_tables(column[rows]), drawn, strict=True):
                        np.take(table, signs, out=part, mode="clip")
                        sums[at] += part
                for compared, mask in masks.items():
                    positive[compared] += positive_signs(drawn, mask[first // 8 : first // 8 + groups])
            signs_of = {
                compared: SignSums.of(positive[compared], int(np.bitwise_count(mask).sum()))
                for compared, mask in masks.items()
            }
            for (one, other), test in zip(places, tests, strict=True):
                totals = sums[one] if other is None else np.subtract(sums[one], sums[other], out=part)
                test.reached += int(np.count_nonzero(np.abs(totals, out=scratch[0]) >= test.least))
                if test.ends is not None and start < test.ends.permutations:
                    test.ends.add(totals, signs_of[test.compared], scratch)
            self.show(done + len(tests) * (start + count) / self.permutations)


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
