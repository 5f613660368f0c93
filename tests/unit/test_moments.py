"""Moments: sums without rounding errors, whatever the grouping and the order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import Scores
from karat.stats import ExactSum, Moments
from karat.stats.student import critical_value

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
def test_the_variance_is_that_of_exact_arithmetic(values: list[float]) -> None:
    mean = sum(map(Fraction, values)) / len(values)
    variance = sum((Fraction(value) - mean) ** 2 for value in values) / (len(values) - 1)
    assert moments_of(values).variance == float(variance)


def test_values_that_are_nearly_the_same_keep_their_spread() -> None:
    values = [1 + 1e-12, 1 - 1e-12] * 50
    assert moments_of(values).variance == pytest.approx(1e-24 * 100 / 99, rel=1e-3)
    assert moments_of([0.1] * 1000).variance == 0


def test_squares_that_are_rounded_to_zero_have_no_spread() -> None:
    assert moments_of([5e-324, 1e-323]).variance == 0


def test_an_interval_without_a_range_is_that_of_t_within_what_is_known_of_the_values() -> None:
    values = np.random.default_rng(7).random(12)
    error = critical_value(11, 0.1) * values.std(ddof=1) / math.sqrt(12)
    expected = (values.mean() - error, values.mean() + error)
    moments = Moments.of(values)
    assert moments.interval(0.9, (-math.inf, math.inf)) == pytest.approx(expected, rel=1e-9)
    assert moments.interval(0.9, (0.99 * values.mean(), math.inf)) == pytest.approx(
        (0.99 * values.mean(), expected[1]), rel=1e-9
    )
    assert moments.interval(0.9, (7, math.inf)) == moments.interval(0.9, (0, 0.01)) == pytest.approx(expected, rel=1e-9)


def test_an_interval_with_a_range_is_that_of_the_values() -> None:
    values = np.random.default_rng(8).beta(0.5, 1, 12)
    scores = Scores(tuple(map(str, range(12))), {"AP": values})
    assert Moments.of(values).interval(0.9, (0, 1)) == pytest.approx(scores.interval("AP", 0.9), rel=1e-12)
    assert moments_of([0.3] * 12).interval(0.9, (0, 1)) is not None
    assert moments_of([0.3] * 12).interval(0.9, (0, math.inf)) is None


def test_one_value_has_no_interval() -> None:
    assert moments_of([0.5]).interval(0.95, (0, 1)) is None
    assert moments_of([0.5]).mean == 0.5
