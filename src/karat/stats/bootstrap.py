"""Bootstrap resampling, in bounded memory and with a fixed seed."""

from __future__ import annotations

import numpy as np

from karat.judged import Floats

SEED = 20_260_101
RESAMPLES = 10_000
PERMUTATIONS = 100_000
# The rounding tolerance: values that differ by at most this share of their size are equal.
ROUNDING = 1e-12
_CELLS_AT_ONCE = 1 << 22


def bootstrap_means(columns: Floats, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """The means of resampled rows, as an array of resamples by columns; all columns share the resampled rows.

    Each resample draws as many rows as there are, with replacement.
    """
    n = len(columns)
    random = np.random.default_rng(seed)
    means = np.empty((resamples, columns.shape[1]))
    step = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        drawn = random.integers(0, n, (stop - start, n), dtype=np.uint32)
        for at in range(columns.shape[1]):
            means[start:stop, at] = columns[:, at][drawn].mean(axis=1)
    return means


def bca_interval(values: Floats, means: Floats, level: float) -> tuple[float, float]:
    """The bias-corrected and accelerated bootstrap interval of a mean (Efron 1987).

    Unlike plain percentiles it accounts for skewness, which most retrieval measures have.
    """
    from statistics import NormalDist  # which takes longer to import than an evaluation without intervals

    observed = float(values.mean())
    if np.ptp(values) == 0:
        return observed, observed
    normal = NormalDist()
    # A resample whose mean equals the observed mean, up to rounding, counts as half a resample below it.
    rounding = ROUNDING * float(np.abs(values).max())
    above = np.count_nonzero(means > observed + rounding)
    below = (np.count_nonzero(means < observed - rounding) + len(means) - above) / (2 * len(means))
    bias = normal.inv_cdf(min(max(below, 0.5 / len(means)), 1 - 0.5 / len(means)))
    # Scaled, so that cubes of tiny deviations do not underflow; the acceleration does not depend on the scale.
    spread = (values - observed) / np.abs(values - observed).max()
    # The jackknife's acceleration of a mean: its skewness over 6 √n.
    acceleration = float((spread**3).sum() / (6 * (spread**2).sum() ** 1.5))
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal.inv_cdf(tail)
        bend = 1 - acceleration * z
        # Past the pole of the correction no quantile is defined: the interval ends at the most extreme resample.
        ends.append(normal.cdf(bias + z / bend) if bend > 0 else float(z > 0))
    low, high = np.quantile(means, ends)
    return float(low), float(high)
