"""Wilcoxon's signed-rank test of paired differences, one per query."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from karat.data.judged import Floats, Ints
from karat.stats.bootstrap import ROUNDING

# With more differences, or with more that share ranks, the sum of ranks is taken as normally distributed, as in scipy.
_MAX_EXACT = 50
_MAX_EXACT_WITH_TIES = 13


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
    from scipy.special import ndtr

    mean = n * (n + 1.0) * 0.25
    ties = (times**3.0 - times).sum()
    deviation = math.sqrt((n * (n + 1.0) * (2.0 * n + 1.0) - ties / 2) / 24)
    return 2 * float(ndtr(-abs((gains / 2 - mean) / deviation)))


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
