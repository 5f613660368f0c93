"""Student's t distribution to 15 digits, central and noncentral, and the χ² in it.

T = (Z + nc) / S, where Z is normal and S² is χ² over its degrees of freedom. P(|T| > t) is the mean over S of a normal
probability. As a function of log S, the integrand is smooth and vanishes at both ends, so that the sum over an evenly
spaced grid is exact up to rounding. scipy has these functions too; it would be a third of karat's installation, and
loading it would take longer than a comparison of small files.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from karat.data.judged import Floats

# Parts of the integral that are smaller than the largest one by this factor, as a logarithm, are left out.
_NEGLIGIBLE = 50.0
# The logarithm of a probability that no float can hold.
_IMPOSSIBLE = 750.0
# exp(2u) / 2 - 1/2 - u, from its quadratic term on.
_SERIES = np.array([2 ** (k - 1) / math.factorial(k) if k > 1 else 0.0 for k in range(14, -1, -1)])


def beyond(critical: float, freedom: float, noncentrality: float = 0.0) -> float:
    """P(|T| > critical) for a noncentrality of up to about 30, which the size of the grid grows with.

    >>> round(beyond(12.706204736174694, 1), 12)
    0.05
    """
    step = min(0.06, 0.25 / math.sqrt(2 * freedom), 0.25 / max(noncentrality, 1.0))
    spread, weight = _grid(freedom, step, _negligible(critical, freedom))
    at = critical * spread * math.sqrt(0.5)
    if not noncentrality:
        return float((weight * _erfc(at)).sum())
    shift = noncentrality * math.sqrt(0.5)
    return float((weight * (_erfc(at - shift) + _erfc(at + shift))).sum()) / 2


@lru_cache(maxsize=1024)
def critical_value(freedom: float, alpha: float) -> float:
    """The t for which P(|T| > t) is alpha, without noncentrality, by Newton's method on logarithmic scales.

    >>> round(critical_value(1, 0.05), 10)
    12.7062047362
    """
    if alpha >= 1:
        return 0.0
    from statistics import NormalDist

    spread, weight = _grid(freedom, min(0.06, 0.25 / math.sqrt(2 * freedom)), _NEGLIGIBLE - math.log(alpha))
    t = -NormalDist().inv_cdf(alpha / 2)
    for _ in range(100):
        tail = beyond(t, freedom)
        density = math.sqrt(2 / math.pi) * float((weight * spread * np.exp(-((t * spread) ** 2) / 2)).sum())
        change = math.log(tail / alpha) * tail / (density * t)
        t *= math.exp(change)
        if abs(change) < 1e-12:  # the next one would be its square
            break
    return t


def _negligible(critical: float, freedom: float) -> float:
    """What may be left out of P(|T| > critical), whose largest part is where S² is freedom / (freedom + critical²)."""
    rarity = freedom / 2 * math.log1p(critical * critical / freedom)
    return _NEGLIGIBLE + 16 * math.ceil(min(rarity, _IMPOSSIBLE) / 16)  # in steps, so that critical values share grids


@lru_cache(maxsize=64)
def _grid(freedom: float, step: float, negligible: float) -> tuple[Floats, Floats]:
    """Values of S, evenly spaced on a logarithmic scale, and their weights, which add up to 1."""
    # At u = log S, the logarithm of the density is below its maximum by freedom (exp(2u) / 2 - 1/2 - u), which is more
    # than freedom u² above 0, and more than freedom u² / (1 - u) below 0.
    bound = negligible / freedom
    low, high = -(bound + math.sqrt(bound**2 + 4 * bound)) / 2, math.sqrt(bound)
    log_spread = np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64) * step
    near, far = np.polyval(_SERIES, log_spread), np.expm1(2 * log_spread) / 2 - log_spread
    weight = np.exp(-freedom * np.where(np.abs(log_spread) < 0.05, near, far))
    return np.exp(log_spread), weight / weight.sum()


def share_below(spread: Floats, freedom: float) -> Floats:
    """P(S < spread): χ²'s distribution function, as a series whose terms are all positive.

    >>> share_below(np.array([0.0, 1.0, 9.0]), 2.0).round(6)
    array([0.      , 0.632121, 1.      ])
    """
    shape = freedom / 2
    most = 1 + 2 * math.sqrt(37 / freedom) + 74 / freedom  # of S²; more has P < exp(-37) (Laurent and Massart 2000)
    below = spread**2 < most
    at = shape * spread[below] ** 2
    term = np.ones_like(at)
    total = term.copy()
    number = shape
    while (term > 1e-17 * total).any():
        number += 1
        term = term * at / number
        total += term
    with np.errstate(divide="ignore"):
        scale = np.exp(shape * np.log(at) - at - math.lgamma(shape + 1))
    share = np.ones_like(spread)
    share[below] = scale * total
    return share


def _erfc(values: Floats) -> Floats:
    return np.array(list(map(math.erfc, values.tolist())))
