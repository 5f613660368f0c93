"""Bootstrap resampling, in bounded memory and with a fixed seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from karat.data.judged import Floats
from karat.stats.student import critical_value

if TYPE_CHECKING:
    from statistics import NormalDist

SEED = 20_260_101
RESAMPLES = 10_000
PERMUTATIONS = 100_000
# The rounding tolerance: values that differ by at most this share of their size are equal.
ROUNDING = 1e-12
# The intervals of more values are computed without resampling, unless their acceleration or bias is larger than this.
MAX_RESAMPLED = 10_000
MAX_ACCELERATION = 0.02
_MAX_BIAS = 0.1
# Resampled values at a time, so that they stay in the cache of the processor.
_CELLS_AT_ONCE = 1 << 17

Progress = Callable[[float, int], None]
"""a function that is called with how much is done, and how much there is to do"""


def bootstrap_means(
    columns: Floats, resamples: int = RESAMPLES, seed: int = SEED, progress: Progress | None = None
) -> Floats:
    """The means of resampled rows, as an array of resamples by columns; all columns share the resampled rows.

    Each resample draws as many rows as there are, with replacement.
    """
    n, width = columns.shape
    random = np.random.default_rng(seed)
    means = np.empty((width, resamples))  # so that those of a column are next to each other
    contiguous = [np.ascontiguousarray(columns[:, at]) for at in range(width)]
    step = max(1, _CELLS_AT_ONCE // n)
    values = np.empty((step, n))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        # The random numbers do not depend on how many resamples are drawn at once.
        drawn = random.integers(0, n, (stop - start, n), dtype=np.uint32).astype(np.intp)
        for at, column in enumerate(contiguous):
            np.take(column, drawn, out=values[: stop - start], mode="clip")
            means[at, start:stop] = values[: stop - start].mean(axis=1)
        if progress is not None:
            progress(stop, resamples)
    return means.T


def bca_interval(values: Floats, means: Floats, level: float) -> tuple[float, float]:
    """The bias-corrected and accelerated bootstrap interval of a mean (Efron 1987), of at least two values.

    Unlike plain percentiles it accounts for skewness, which most retrieval measures have.
    """
    observed = float(values.mean())
    deviations = values - observed
    largest = np.abs(deviations).max()
    if np.ptp(values) == 0:
        return observed, observed
    # A resample whose mean equals the observed mean, up to rounding, counts as half a resample below it.
    rounding = ROUNDING * float(np.abs(values).max())
    above = np.count_nonzero(means > observed + rounding)
    below = (np.count_nonzero(means < observed - rounding) + len(means) - above) / (2 * len(means))
    normal = _normal()
    bias = normal.inv_cdf(min(max(below, 0.5 / len(means)), 1 - 0.5 / len(means)))
    acceleration = acceleration_of(deviations / largest)
    ends = []
    for quantile in interval_quantiles(level, len(values)):
        z = bias + quantile
        bend = 1 - acceleration * z
        # Past the pole of the correction no quantile is defined: the interval ends at the most extreme resample.
        ends.append(normal.cdf(bias + z / bend) if bend > 0 else float(z > 0))
    low, high = _quantiles(means, ends)
    return low, high


def abc_interval(
    influence: Floats, value: Callable[[float], float], level: float, bias: float = 0.0
) -> tuple[float, float] | None:
    """The limit of the BCa interval for many values, without resampling: the ABC interval (DiCiccio and Efron 1992).

    `influence` is the influence of each value on the statistic, `value` the statistic if its values are shifted by a
    number of standard errors in the direction of their influence, and `bias` the part of its bias, in standard errors,
    that does not come from skewness: 0 for a mean. None if the influence is so skewed, or the bias so large, that the
    limit is not reached.
    """
    largest = np.abs(influence).max()
    if largest == 0:
        return value(0.0), value(0.0)
    acceleration = acceleration_of(influence / largest)
    if not (abs(acceleration) <= MAX_ACCELERATION and abs(bias) <= _MAX_BIAS):
        return None
    normal = _normal()
    z0 = normal.inv_cdf(2 * normal.cdf(acceleration) * normal.cdf(-bias))
    ws = [z0 + quantile for quantile in interval_quantiles(level, len(influence))]
    if not all(acceleration * w < 1 for w in ws):
        return None
    low, high = (value(w / (1 - acceleration * w) ** 2) for w in ws)
    return low, high


def abc_interval_of_mean(values: Floats, level: float) -> tuple[float, float] | None:
    """The ABC interval of a mean; None if the values are too skewed for it."""
    observed = float(values.mean())
    influence = values - observed if np.ptp(values) else np.zeros_like(values)
    error = standard_error(influence)
    return abc_interval(influence, lambda errors: observed + errors * error, level)


def standard_error(influence: Floats) -> float:
    """The standard error of a statistic, from the influence of each value; scaled, so that squares do not underflow."""
    largest = float(np.abs(influence).max())
    return largest * float(np.sqrt(((influence / largest) ** 2).sum())) / len(influence) if largest else 0.0


def interval_quantiles(level: float, n: int) -> tuple[float, float]:
    """How many standard errors the ends of an interval are from the statistic of n ≥ 2 values.

    Resamples vary less than samples of few values do: by √((n - 1) / n), and as if the variance were known. So these
    are the quantiles of t, over that factor (Hesterberg 2015), and not those of the normal distribution.
    """
    high = critical_value(n - 1, 1 - level) * math.sqrt(n / (n - 1))
    return -high, high


def _quantiles(values: Floats, shares: Sequence[float]) -> list[float]:
    """The same as np.quantile to the last bit, in half the time."""
    last = len(values) - 1
    places = [share * last for share in shares]
    below = [min(int(place), max(last - 1, 0)) for place in places]
    parts = np.partition(values, sorted({last, *below, *(min(at + 1, last) for at in below)}))
    if np.isnan(parts[last]):
        return [float("nan")] * len(shares)
    quantiles = []
    for at, place in zip(below, places, strict=True):
        low, high, rest = float(parts[at]), float(parts[min(at + 1, last)]), place - at
        quantiles.append(low + (high - low) * rest if rest < 0.5 else high - (high - low) * (1 - rest))
    return quantiles


def acceleration_of(scaled: Floats) -> float:
    """The jackknife's acceleration of a mean: its skewness over 6 √n.

    It does not depend on the scale; with deviations of at most 1, their cubes do not underflow.
    """
    return float((scaled**3).sum() / (6 * (scaled**2).sum() ** 1.5))


@cache
def _normal() -> NormalDist:
    from statistics import NormalDist  # which takes longer to import than an evaluation without intervals

    return NormalDist()
