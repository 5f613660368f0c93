"""A permutation test of whether one of several groups is weak."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from karat.data.judged import Floats
from karat.stats.bootstrap import MAX_ACCELERATION, MAX_RESAMPLED, SEED, acceleration_of

_PERMUTATIONS = 999
# The sum of fewer values may be far from normal even if they are not skewed: most measures have few different values.
_LEAST_NORMAL = 1_000


def weak_group(columns: Sequence[Floats], least: int = 5) -> tuple[int, float] | None:
    """The index of the group that is most significantly below the others, and its p-value.

    The test statistic is the largest distance, in standard errors, of any group below the mean of the others. The
    values are permuted at random over groups of the same sizes; p is the share of permutations that reach the observed
    statistic, which corrects it for the number of groups. Groups of fewer than `least` values are not tested. Of more
    than 10,000 values, the sums of permuted groups are drawn from their limit, the normal distribution, unless a group
    has fewer than 1,000 values or they are too skewed for it. None if there is nothing to compare.
    """
    sizes = np.array([len(column) for column in columns], np.int64)
    n = int(sizes.sum())
    tested = np.flatnonzero((sizes >= least) & (sizes < n))
    if not len(tested) or np.ptp(values := np.concatenate(columns)) == 0 or not np.isfinite(values).all():
        return None
    values = values - values.mean()
    stops = np.cumsum(sizes)[tested]
    # For centred values, the difference of the means in standard errors is the sum of the group times this.
    scale = np.sqrt(n / (sizes[tested] * (n - sizes[tested])))

    def below(permuted: Floats) -> Floats:
        sums = np.append(0.0, np.cumsum(permuted))
        return np.asarray((sums[stops - sizes[tested]] - sums[stops]) * scale)

    at = int(np.argmax(below(values)))
    # Sums of the same values in another order may differ in the last digits.
    reached = below(values)[at] - 1e-9 * np.abs(values).max()
    random = np.random.default_rng(SEED)
    smallest = sizes[tested].min()
    skewness = abs(acceleration_of(values / np.abs(values).max())) * np.sqrt(n / smallest)
    if n > MAX_RESAMPLED and smallest >= _LEAST_NORMAL and skewness <= MAX_ACCELERATION:
        drawn = random.normal(size=(_PERMUTATIONS, len(sizes))) * np.sqrt(sizes)
        sums = drawn - drawn.sum(axis=1, keepdims=True) * sizes / n  # the sum over all groups is always 0
        as_low = int(np.count_nonzero((-sums[:, tested] * values.std(ddof=1) * scale).max(axis=1) >= reached))
    else:
        as_low = sum(bool(below(random.permutation(values)).max() >= reached) for _ in range(_PERMUTATIONS))
    return int(tested[at]), (1 + as_low) / (1 + _PERMUTATIONS)
