"""How large a difference is, and how large one must be to be found: effect size and power of the paired t-test."""

from __future__ import annotations

import math

import numpy as np

from karat.judged import Floats
from karat.stats.bootstrap import ROUNDING

# Beyond this noncentrality scipy's noncentral t distribution is not to be trusted.
_FAR = 30.0
# More queries than this cannot be told as a float.
_COUNTLESS = 2**1000


def spread_of(differences: Floats) -> float:
    """The standard deviation (n - 1) of differences; 0 where they are all the same but for rounding.

    It takes two differences or more.
    """
    if np.ptp(differences) <= ROUNDING * np.abs(differences).max():
        return 0.0
    return float(differences.std(ddof=1))


def effect_size(differences: Floats) -> float | None:
    """Cohen's d of paired differences: their mean over their standard deviation.

    0 where all are zero; None for fewer than two, and where they are all the same: there is no spread to compare with.
    """
    if len(differences) < 2:
        return None
    if not differences.any():
        return 0.0
    spread = spread_of(differences)
    return float(differences.mean()) / spread if spread else None


def power_of(difference: float, spread: float, n: int, alpha: float = 0.05) -> float:
    """How probably the paired t-test of n queries finds a true difference at the level alpha (two-sided).

    The spread is the standard deviation of the differences. Callers see to it that it is above 0, and n above 1.

    >>> round(power_of(0.05, spread=0.1, n=34), 4)
    0.8078
    """
    return _power(abs(difference) / spread * math.sqrt(n), n, alpha)


def smallest_difference(spread: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The true difference that a test of n queries finds with this power, at this spread of the differences.

    It takes no observed difference: power computed after the fact from the difference that was seen is a known
    fallacy, since it only says again what the p-value said (Hoenig and Heisey 2001). None where n is below 2 or
    there is no spread. A power of alpha or less needs no difference.
    """
    if n < 2 or not spread > 0:
        return None
    if power <= alpha:
        return 0.0
    low, high = 0.0, 1.0
    while _power(high, n, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _power(middle, n, alpha) >= power else (middle, high)
    return high * spread / math.sqrt(n)


def queries_needed(difference: float, spread: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """The least number of queries, 2 or more, whose test finds this difference with this power.

    Callers see to it that the difference is finite and above 0. None where there is no spread, and where the
    difference is so small that no number of queries would do.

    >>> queries_needed(0.05, spread=0.1)
    34
    """
    if not spread > 0:
        return None
    few, many = 1, 2
    while power_of(difference, spread, many, alpha) < power:
        few, many = many, 2 * many
        if many > _COUNTLESS:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if power_of(difference, spread, middle, alpha) >= power else (middle, many)
    return many


def _power(noncentrality: float, n: int, alpha: float) -> float:
    """P(|T| > t) for T of the noncentral t distribution with n - 1 degrees of freedom, and t the critical value."""
    from scipy.special import nctdtr, stdtrit

    freedom = float(n - 1)
    critical = -float(stdtrit(freedom, alpha / 2))
    if noncentrality > _FAR:
        return _far_power(noncentrality, freedom, critical)
    below, far_below = (float(nctdtr(freedom, noncentrality, at)) for at in (critical, -critical))
    # The tail of the other side is not a number where it is about to vanish, below 1e-9.
    return min(1.0, 1 - below + (0.0 if math.isnan(far_below) else far_below))


def _far_power(noncentrality: float, freedom: float, critical: float) -> float:
    """The same as an integral over the normal part Z of T = (Z + noncentrality) / √(χ² / freedom).

    |T| > t where χ² < freedom ((Z + noncentrality) / t)². Far from 0 that is smooth, and right to 15 digits, where
    scipy's distribution gives no number: a few queries at a strict level.
    """
    from scipy.special import gammainc

    normal = np.linspace(-9, 9, 2001)
    weight = np.exp(-(normal**2) / 2)
    found = gammainc(freedom / 2, freedom / 2 * ((normal + noncentrality) / critical) ** 2)
    return min(1.0, float((weight * found).sum() / weight.sum()))
