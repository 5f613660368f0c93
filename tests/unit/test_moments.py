"""Moments: sums without rounding errors, whatever the grouping and the order."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.stats import ExactSum, Moments

# The square of a smaller float is not exact.
FLOATS = st.floats(-1e140, 1e140).map(lambda value: 0.0 if abs(value) < 1e-130 else value)
VALUES = st.lists(st.lists(FLOATS | st.sampled_from([0.1, 1 / 3, 1.0, -0.1]), max_size=6), max_size=5)


def moments_of(values: list[float]) -> Moments:
    return Moments.of(np.array(values, np.float64))


@given(VALUES)
def test_the_sum_of_groups_is_the_sum_of_all_values_rounded_once(groups: list[list[float]]) -> None:
    values = [value for group in groups for value in group]
    total = sum(map(ExactSum.of, groups), ExactSum())
    assert float(total) == math.fsum(values)
    assert total.fraction == sum(map(Fraction, values))


@given(VALUES)
def test_moments_do_not_depend_on_the_grouping_or_the_order(groups: list[list[float]]) -> None:
    values = [value for group in groups for value in group]
    added = sum(map(moments_of, groups), Moments())
    assert added == moments_of(values) == moments_of(values[::-1])
    assert added.squares.fraction == sum(Fraction(value) ** 2 for value in values)


@given(st.lists(FLOATS, min_size=2, max_size=9))
def test_the_standard_error_is_that_of_exact_arithmetic(values: list[float]) -> None:
    mean = sum(map(Fraction, values)) / len(values)
    variance = sum((Fraction(value) - mean) ** 2 for value in values) / (len(values) - 1)
    assert moments_of(values).standard_error == math.sqrt(variance / len(values))


def test_values_that_are_nearly_the_same_keep_their_spread() -> None:
    values = [1 + 1e-12, 1 - 1e-12] * 50
    assert moments_of(values).standard_error == pytest.approx(1e-12 / math.sqrt(99), rel=1e-3)
    assert moments_of([0.1] * 1000).standard_error == 0


def test_squares_that_are_rounded_to_zero_have_no_spread() -> None:
    assert moments_of([5e-324, 1e-323]).standard_error == 0


def test_a_normal_interval_is_the_mean_and_its_standard_error() -> None:
    values = np.random.default_rng(7).random(200)
    error = values.std(ddof=1) / math.sqrt(len(values))
    z = NormalDist().inv_cdf(0.95)
    expected = (values.mean() - z * error, values.mean() + z * error)
    assert Moments.of(values).normal_interval(0.9) == pytest.approx(expected, rel=1e-12)


def test_one_value_has_no_interval() -> None:
    assert moments_of([0.5]).normal_interval(0.95) is None
    assert moments_of([0.5]).mean == 0.5
