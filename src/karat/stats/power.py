"""Effect size, and the power of the paired t-test."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from karat.data.judged import Floats
from karat.stats.bootstrap import ROUNDING
from karat.stats.student import beyond, critical_value, share_below

# Up to this noncentrality, the t distribution is integrated over its denominator; above it, over its numerator.
_MAX_NONCENTRALITY = 30.0
# Larger numbers of queries cannot be converted to a float.
_MAX_QUERIES = 2**1000


def spread_of(differences: Floats) -> float:
    """The sample standard deviation (n - 1) of two or more differences; 0 if they differ only by rounding."""
    if np.ptp(differences) <= ROUNDING * np.abs(differences).max():
        return 0.0
    return float(differences.std(ddof=1))


def effect_size(differences: Floats, spread: float | None = None) -> float | None:
    """Cohen's d of paired differences: their mean over their standard deviation.

    0 if all differences are zero; None if there are fewer than two, or if all are equal, as their deviation is then 0.
    `spread` is their standard deviation, if it is known.
    """
    if len(differences) < 2:
        return None
    if not differences.any():
        return 0.0
    spread = spread_of(differences) if spread is None else spread
    return float(differences.mean()) / spread if spread else None


def power_of(difference: float, spread: float, n: int, alpha: float = 0.05) -> float:
    """The power of the two-sided paired t-test: the probability of finding a true difference with n queries.

    The spread is the standard deviation of the differences. It must be above 0, and n above 1.

    >>> round(power_of(0.05, spread=0.1, n=34), 4)
    0.8078
    """
    return _power(abs(difference) / spread * math.sqrt(n), n, alpha)


def smallest_difference(spread: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest true difference that a test of n queries finds with this power.

    The spread is the standard deviation of the differences. The observed difference is not used: power computed from
    it is a function of the p-value and adds nothing (Hoenig and Heisey 2001). None if n is below 2 or the spread is 0.
    0 if the power is alpha or less.
    """
    if n < 2 or not spread > 0:
        return None
    if power <= alpha:
        return 0.0
    return _noncentrality(n, alpha, power) * spread / math.sqrt(n)


@lru_cache(maxsize=1024)  # all pairs of a comparison have the same
def _noncentrality(n: int, alpha: float, power: float) -> float:
    """The smallest noncentrality at which a test of n queries has this power."""
    low, high = 0.0, 1.0
    while _power(high, n, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _power(middle, n, alpha) >= power else (middle, high)
    return high


def queries_needed(difference: float, spread: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """The smallest number of queries, at least 2, with which a test finds this difference with this power.

    The difference must be finite and above 0. None if the spread is 0, or if the difference is too small for any
    number of queries.

    >>> queries_needed(0.05, spread=0.1)
    34
    """
    if not spread > 0:
        return None
    few, many = 1, 2
    while power_of(difference, spread, many, alpha) < power:
        few, many = many, 2 * many
        if many > _MAX_QUERIES:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if power_of(difference, spread, middle, alpha) >= power else (middle, many)
    return many


def _power(noncentrality: float, n: int, alpha: float) -> float:
    """P(|T| > t) for T of the noncentral t distribution with n - 1 degrees of freedom, and t the critical value."""
    freedom = float(n - 1)
    critical = critical_value(freedom, alpha)
    if noncentrality > _MAX_NONCENTRALITY:
        return _far_power(noncentrality, freedom, critical)
    return min(1.0, beyond(critical, freedom, noncentrality))


def _far_power(noncentrality: float, freedom: float, critical: float) -> float:
    """The power for a large noncentrality, by integrating over the normal part Z of T = (Z + nc) / √(χ² / freedom).

    |T| > t if √(χ² / freedom) < (Z + nc) / t. The integrand is smooth far from 0. Only a few queries at a strict level
    need such a noncentrality.
    """
    normal = np.linspace(-9, 9, 2001)
    weight = np.exp(-(normal**2) / 2)
    found = share_below((normal + noncentrality) / critical, freedom)
    return min(1.0, float((weight * found).sum() / weight.sum()))
