"""The confidence interval of a mean of values that have a range, from their number, mean and variance."""

from __future__ import annotations

import math

from karat.stats.bootstrap import ROUNDING
from karat.stats.student import critical_value

# A variance above the largest that values in a range can have is allowed this much for rounding.
_TOLERANCE = 1e-9


def bounded_interval(
    n: int, mean: float, variance: float, bounds: tuple[float, float], level: float
) -> tuple[float, float] | None:
    """The confidence interval of the mean of n ≥ 2 values with a range; `variance` is that of the values, by n - 1.

    With values from 0 to 1, the variance of a mean is taken to be r μ (1 - μ) / n if the true mean is μ. The interval
    contains each μ that is at most t standard errors from the mean m: (m - μ)² ≤ t² r μ (1 - μ) / n. Here r is the
    variance of the values over m (1 - m), the variance of values that are only 0 and 1. For these, r is 1, and the
    interval is that of Wilson (1927), with t instead of z.

    If few values are not at the end of the range, they tell little about r. Their number is k = (Σx)² / Σx² ≥ 1, where
    x is the distance of a value from that end. So r is moved towards 1, by exp(1 - k) of its distance: if one value
    decides, r is 1. If all values are equal, at most a share t² / (n + t²) of all queries has another value, as in
    Wilson's interval for 0 of n, and such a value may be anywhere in the range.

    None if the range is not finite, or cannot be that of values with this mean and variance.

    >>> [round(end, 4) for end in bounded_interval(10, 1.0, 0.0, (0, 1), 0.95)]
    [0.6615, 1.0]
    >>> [round(end, 4) for end in bounded_interval(10, 0.999, 1e-5, (0, 1), 0.95)]
    [0.6602, 1.0]
    """
    low, width = bounds[0], bounds[1] - bounds[0]
    if not math.isfinite(width):
        return None
    exact, spread = (mean - low) / width, variance / width / width
    share = min(max(exact, 0.0), 1.0)
    if not (abs(exact - share) <= _TOLERANCE and spread <= share * (1 - share) * n / (n - 1) + _TOLERANCE):
        return None
    square = critical_value(n - 1, 1 - level) ** 2
    ends = score_interval(share, n, square, variance_ratio(share, spread, n))
    return low + width * ends[0], low + width * ends[1]


def variance_ratio(share: float, spread: float, n: float) -> float:
    """r: the variance of n values from 0 to 1 with this mean and variance, over that of values that are only 0 and 1.

    If few values decide about it, it is moved towards 1. If all values are equal, it is 0.
    """
    if spread <= ROUNDING**2:
        return 0.0
    largest = share * (1 - share)
    ratio = min(1.0, spread / largest) if largest else 1.0
    away = n * min(part / (part + ratio * (1 - part)) for part in (share, 1 - share))
    return ratio + (1 - ratio) * min(1.0, math.exp(1 - away))


def score_interval(share: float, n: float, square: float, ratio: float) -> tuple[float, float]:
    """Each μ from 0 to 1 with (share - μ)² ≤ square ratio μ (1 - μ) / n; with a ratio of 0, all values were equal."""
    if not ratio:
        others = square / (n + square)
        return share - others * share, share + others * (1 - share)
    errors = square * ratio / n
    return _lower(share, errors), 1 - _lower(1 - share, errors)


def score_distance(share: float, expected: float, n: float, ratio: float) -> float:
    """How many standard errors a mean between 0 and 1 is away: at most t exactly if `score_interval` contains it."""
    if not ratio:
        away = share - expected
        return math.sqrt(n * (away / expected if away > 0 else -away / (1 - expected)))
    return abs(share - expected) / math.sqrt(ratio * expected * (1 - expected) / n)


def _lower(share: float, errors: float) -> float:
    """The smaller of both μ with (share - μ)² = errors μ (1 - μ), without cancellation."""
    if share == 0:
        return 0.0
    return share**2 / (share + errors / 2 + math.sqrt(errors * share * (1 - share) + errors**2 / 4))
