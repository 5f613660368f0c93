"""The mean of a model's values, corrected by the values of people for some of the queries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from karat.stats import CorrectedMean, bounded_interval

UNIT = (0.0, 1.0)
shares = st.floats(0, 1)
pairs = st.lists(st.tuples(shares, shares), min_size=3, max_size=40)


def of_pairs(labelled: list[tuple[float, float]], others: list[float]) -> CorrectedMean:
    people, model = np.array(labelled).T
    return CorrectedMean(people, model, np.concatenate([model, others]))


def of_people(mean: CorrectedMean) -> tuple[float, float]:
    spread = float(mean.people.var(ddof=1))
    return bounded_interval(mean.labelled, float(mean.people.mean()), spread, UNIT, 0.95) or (math.nan, math.nan)


def test_worked_by_hand() -> None:
    people, model = np.array([0.0, 0.5, 1.0, 0.5, 0.2, 0.8]), np.array([0.1, 0.4, 0.9, 0.6, 0.1, 0.9])
    mean = CorrectedMean(people, model, np.concatenate([model, np.full(6, 0.2)]))
    slope = np.cov(people, model)[0, 1] / model.var(ddof=1)
    assert mean.weight == pytest.approx(slope)
    assert mean.mean == pytest.approx(people.mean() + slope * (mean.model_of_all.mean() - model.mean()))


def test_the_order_of_the_queries_does_not_matter_and_people_have_nan_where_they_did_not_label() -> None:
    people = np.array([0.3, np.nan, 0.9, np.nan, 0.1, 0.7])
    model = np.array([0.2, 0.8, 0.8, 0.4, 0.2, 0.6])
    one, other = CorrectedMean.of(people, model), CorrectedMean.of(people[::-1], model[::-1])
    assert (one.labelled, one.total) == (other.labelled, other.total) == (4, 6)
    assert one.mean == pytest.approx(other.mean, abs=1e-12)


def test_a_biased_model_that_is_wrong_by_the_same_everywhere_does_not_change_the_mean() -> None:
    rng = np.random.default_rng(1)
    people = rng.uniform(0, 0.7, 300)
    right, biased = (CorrectedMean(people[:60], (people + by)[:60], people + by) for by in (0.0, 0.3))
    assert right.mean == pytest.approx(biased.mean)
    assert right.variance == pytest.approx(biased.variance)


def test_a_model_that_gives_every_query_the_same_value_leaves_the_mean_of_people() -> None:
    mean = CorrectedMean(np.array([0.0, 0.5, 1.0]), np.full(3, 0.7), np.full(9, 0.7))
    assert (mean.weight, mean.mean) == (0, 0.5)
    assert mean.interval(UNIT, 0.95) == of_people(mean)


def test_a_model_that_agrees_on_few_queries_does_not_prove_that_it_always_agrees() -> None:
    values = np.array([0.0, 1.0, 1.0, 1.0])
    mean = CorrectedMean(values, values, np.tile(values, 100))
    low, high = mean.interval(UNIT, 0.95) or (0, 0)
    assert high - low > 0.5


def test_a_model_that_agrees_on_many_queries_makes_the_interval_much_narrower() -> None:
    values = np.tile([0.0, 1.0, 1.0, 1.0], 50)
    mean = CorrectedMean(values, values, np.tile(values, 10))
    (low, high), (alone_low, alone_high) = mean.interval(UNIT, 0.95) or (0, 0), of_people(mean)
    assert high - low < 0.5 * (alone_high - alone_low)


@given(pairs, st.lists(shares, max_size=40))
def test_the_interval_contains_the_mean_if_that_is_in_the_range_and_lies_in_it(
    labelled: list[tuple[float, float]], others: list[float]
) -> None:
    mean = of_pairs(labelled, others)
    low, high = mean.interval(UNIT, 0.95) or (math.nan, math.nan)
    assert 0 <= low <= min(max(mean.mean, 0), 1) + 1e-12
    assert min(max(mean.mean, 0), 1) - 1e-12 <= high <= 1


@given(pairs, st.lists(shares, max_size=40))
def test_the_variance_is_never_larger_than_that_of_the_labels_of_people_alone(
    labelled: list[tuple[float, float]], others: list[float]
) -> None:
    mean = of_pairs(labelled, others)
    assert mean.variance <= mean.people.var(ddof=1) / mean.labelled * (1 + 1e-9)


@given(pairs, st.lists(shares, max_size=40), st.sampled_from([0.8, 0.9, 0.95, 0.99]), st.floats(0.01, 0.99))
def test_p_is_below_alpha_exactly_if_the_interval_excludes_the_value(
    labelled: list[tuple[float, float]], others: list[float], level: float, at: float
) -> None:
    mean = of_pairs(labelled, others)
    assume(np.ptp(mean.people) > 1e-3)
    low, high = mean.interval(UNIT, level) or (math.nan, math.nan)
    assume(min(abs(at - low), abs(at - high)) > 1e-6)
    p = mean.p(UNIT, at)
    assert p is not None
    assert (p < 1 - level) == (not low <= at <= high)


@given(st.integers(2, 60), st.sampled_from([0.0, 0.25, 0.5, 1.0]), shares, st.sampled_from([0.8, 0.95]))
def test_p_is_below_alpha_exactly_if_the_interval_excludes_the_value_where_all_people_gave_one_value(
    number: int, value: float, at: float, level: float
) -> None:
    mean = CorrectedMean(np.full(number, value), np.zeros(number), np.zeros(number))
    low, high = mean.interval(UNIT, level) or (math.nan, math.nan)
    assume(min(abs(at - low), abs(at - high)) > 1e-9)
    p = mean.p(UNIT, at)
    assert p is not None
    assert (p < 1 - level) == (not low <= at <= high)


def test_a_value_outside_the_range_is_impossible_and_equal_values_without_a_range_have_no_p() -> None:
    mean = CorrectedMean(np.array([0.0, 0.5, 1.0]), np.zeros(3), np.zeros(3))
    assert mean.p(UNIT, -0.5) == mean.p(UNIT, 1.5) == 0
    same = CorrectedMean(np.full(3, 0.5), np.zeros(3), np.zeros(3))
    assert same.p((-math.inf, math.inf)) is None
    assert same.p((-math.inf, math.inf), 0.5) == 1


@given(pairs, st.lists(shares, max_size=40))
def test_it_scales_with_the_values(labelled: list[tuple[float, float]], others: list[float]) -> None:
    mean = of_pairs(labelled, others)
    people, model, of_all = (2 * each - 1 for each in (mean.people, mean.model, mean.model_of_all))
    scaled = CorrectedMean(people, model, of_all)
    one, other = mean.interval(UNIT, 0.95), scaled.interval((-1.0, 1.0), 0.95)
    assert one is not None
    assert other is not None
    assert other == pytest.approx((2 * one[0] - 1, 2 * one[1] - 1), abs=1e-6)


def test_values_without_a_range_have_the_interval_of_t() -> None:
    rng = np.random.default_rng(2)
    people = rng.normal(10, 2, 100)
    mean = CorrectedMean(people, people + rng.normal(0, 0.5, 100), rng.normal(10, 2, 1000))
    low, high = mean.interval((-math.inf, math.inf), 0.95) or (0, 0)
    assert (low + high) / 2 == pytest.approx(mean.mean)
    assert high - low == pytest.approx(2 * 1.9845 * math.sqrt(mean.variance), rel=1e-3)


def test_the_number_of_queries_needed_gives_an_interval_of_about_that_width() -> None:
    rng = np.random.default_rng(3)
    people = rng.beta(1, 1.5, 4000)
    model = np.clip(people + rng.normal(0, 0.1, 4000), 0, 1)
    needed = CorrectedMean(people[:60], model[:60], model).queries_needed(0.05, 0.95)
    assert needed is not None
    low, high = CorrectedMean(people[:needed], model[:needed], model).interval(UNIT, 0.95) or (0, 0)
    assert high - low == pytest.approx(0.05, rel=0.2)
    assert CorrectedMean(people[:60], model[:60], model[:80]).queries_needed(0.001, 0.95) is None
