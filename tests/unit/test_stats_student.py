"""Student's t distribution agrees with scipy's, where scipy's is reliable."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammainc, nctdtr, stdtr, stdtrit

from karat.stats.student import beyond, critical_value, share_below

FREEDOM = st.one_of(st.integers(1, 100), st.integers(1, 10**6), st.floats(1, 300).map(lambda digits: 10**digits))
ALPHA = st.floats(-9, -0.01).map(lambda digits: 10**digits)


@given(FREEDOM.map(float), ALPHA)
def test_the_critical_value_is_the_quantile(freedom: float, alpha: float) -> None:
    found = critical_value(freedom, alpha)
    assert found == pytest.approx(-stdtrit(freedom, alpha / 2), rel=1e-13)
    assert 2 * stdtr(freedom, -found) == pytest.approx(alpha, rel=1e-13)


@given(st.one_of(st.integers(1, 100), st.integers(1, 10**5)).map(float), ALPHA, st.floats(0, 30))
def test_the_probability_beyond_the_critical_value_is_the_noncentral_one(
    freedom: float, alpha: float, noncentrality: float
) -> None:
    critical = critical_value(freedom, alpha)
    below, opposite = (float(nctdtr(freedom, noncentrality, at)) for at in (critical, -critical))
    expected = 1 - below + (0.0 if math.isnan(opposite) else opposite)  # it is NaN if it is nearly 0
    assert beyond(critical, freedom, noncentrality) == pytest.approx(expected, abs=1e-9)


def test_one_degree_of_freedom_is_the_cauchy_distribution() -> None:
    for at in (0.1, 1.0, 5.0, 1e6):
        assert beyond(at, 1.0) == pytest.approx(1 - 2 / math.pi * math.atan(at), rel=1e-9)
        assert critical_value(1.0, 1 - 2 / math.pi * math.atan(at)) == pytest.approx(at, rel=1e-9)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    expected = (math.erfc((1.96 - 2.8) / math.sqrt(2)) + math.erfc((1.96 + 2.8) / math.sqrt(2))) / 2
    assert beyond(1.96, 1e300, 2.8) == pytest.approx(expected, rel=1e-14)


@given(FREEDOM.map(float), st.floats(-3, 200).map(lambda digits: 10**digits))
def test_a_p_value_is_right_however_small_it_is(freedom: float, t: float) -> None:
    expected = 2 * float(stdtr(freedom, -t))
    if math.isfinite(expected) and expected > 1e-290:
        assert beyond(t, freedom) == pytest.approx(expected, rel=1e-11)
    else:
        assert beyond(t, freedom) == pytest.approx(0.0, abs=1e-280)


@given(st.integers(1, 3000).map(float), st.lists(st.floats(0, 4), min_size=1))
def test_the_share_below_a_spread_is_that_of_chi_squared(freedom: float, spread: list[float]) -> None:
    found = share_below(np.array(spread), freedom)
    expected = gammainc(freedom / 2, freedom / 2 * np.array(spread) ** 2)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-15)
