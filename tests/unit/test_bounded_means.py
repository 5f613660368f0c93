"""The confidence interval of a mean of values with a range, and which measures have one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, Scores
from karat.stats import bounded_interval
from karat.stats.student import critical_value

shares = st.floats(0, 1)


def of_values(values: list[float], measure: str = "AP", level: float = 0.95) -> tuple[float, float] | None:
    scores = Scores(tuple(f"q{at:05}" for at in range(len(values))), {measure: np.array(values)})
    return scores.intervals(level, resamples=50)[measure]


def ends(values: list[float], measure: str = "AP", level: float = 0.95) -> tuple[float, float]:
    found = of_values(values, measure, level)
    assert found is not None
    return found


@pytest.mark.parametrize("ones", range(11))
def test_of_zeros_and_ones_it_is_the_interval_of_wilson_with_the_quantile_of_t(ones: int) -> None:
    low, high = ends([1.0] * ones + [0.0] * (10 - ones), "Success@5")
    square, p = critical_value(9, 0.05) ** 2, ones / 10
    for end in (low, high):
        assert (p - end) ** 2 == pytest.approx(square * end * (1 - end) / 10, abs=1e-12)
    assert low < high


@given(st.lists(shares, min_size=2, max_size=30), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_it_contains_the_mean_lies_within_the_range_and_has_a_width(values: list[float], level: float) -> None:
    low, high = ends(values, level=level)
    assert 0 <= low <= np.mean(values) <= high <= 1
    assert high - low > 1e-6


@given(st.lists(shares, min_size=2, max_size=30))
def test_it_is_mirrored_if_the_values_are(values: list[float]) -> None:
    low, high = ends(values)
    assert ends([1 - value for value in values]) == pytest.approx((1 - high, 1 - low), abs=1e-6)


@given(st.lists(shares, min_size=2, max_size=30))
def test_it_scales_with_the_range(values: list[float]) -> None:
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    low, high = bounded_interval(len(values), mean, variance, (0, 1), 0.95) or (0, 0)
    scaled = bounded_interval(len(values), 8 * mean - 3, 64 * variance, (-3, 5), 0.95)
    assert scaled == pytest.approx((8 * low - 3, 8 * high - 3), abs=1e-6)


def test_ten_successes_of_ten_do_not_prove_that_all_succeed() -> None:
    assert ends([1.0] * 10) == pytest.approx((0.6615, 1), abs=1e-4)
    assert ends([0.5] * 10) == pytest.approx((0.3308, 0.6692), abs=1e-4)


def test_it_does_not_jump_if_one_value_changes_a_little() -> None:
    lows = [ends([1.0] * 9 + [last / 1000])[0] for last in range(1001)]
    assert np.abs(np.diff(lows)).max() < 0.001
    assert lows[-1] == pytest.approx(ends([1.0] * 10)[0], abs=0.001)


def test_values_far_from_the_ends_have_the_interval_of_t() -> None:
    values = np.random.default_rng(3).normal(0.4, 0.02, 50)
    error = critical_value(49, 0.05) * values.std(ddof=1) / math.sqrt(50)
    assert ends(values.tolist()) == pytest.approx((values.mean() - error, values.mean() + error), abs=1e-4)


def test_more_queries_with_the_same_value_make_it_narrower() -> None:
    widths = [high - low for n in (2, 3, 10, 100, 10_000, 10_001) for low, high in [ends([0.5] * n)]]
    assert widths == sorted(widths, reverse=True)
    assert widths[-2] == pytest.approx(widths[-1], rel=1e-3)


@pytest.mark.parametrize("measure", ["DCG@10", "NumRet", "latency"])
def test_without_a_range_there_is_no_interval_of_equal_values(measure: str) -> None:
    for n in (1, 2, 10, 20_000):
        assert of_values([0.1] * n, measure) is None
    assert of_values([0.3, 0.1 + 0.2, 0.3], measure) is None  # up to rounding
    with pytest.raises(KaratError, match=f"{measure} has no confidence interval"):
        Scores(("q", "r"), {measure: np.array([2.0, 2.0])}).interval(measure)


@pytest.mark.parametrize("measure", ["AP", "GMAP", "DCG@10", "latency"])
def test_one_query_has_no_interval(measure: str) -> None:
    assert of_values([0.5], measure) is None
    assert of_values([0.5, math.nan], measure) is None


def test_a_geometric_mean_has_a_range_too() -> None:
    low, high = ends([0.5] * 10, "GMAP")
    assert 0.00001 < low < 0.5 < high < 1


def test_values_that_are_not_in_the_range_of_their_measure_have_the_interval_of_a_measure_without_one() -> None:
    percent = [30.0, 50.0, 0.5, 80.0, 20.0, 10.0]
    assert of_values(percent, "AP") == of_values(percent, "unknown") is not None
    assert of_values([30.0] * 6, "AP") is None
    assert of_values([1e200, 3.0, 4.0], "AP") is not None


@pytest.mark.parametrize("level", [math.nextafter(0, 1), 0.95, math.nextafter(1, 0)])
@pytest.mark.parametrize("values", [[1 - 1e-6, 1 + 1e-6], [-1e-6, 1e-6], [0.0, 1e-9], [0.0, 1.0], [1 + 1e-15] * 2])
def test_values_at_the_ends_of_the_range_may_have_rounding_errors(values: list[float], level: float) -> None:
    low, high = ends(values, level=level)
    assert 0 <= low <= min(max(sum(values) / 2, 0.0), 1.0) <= high <= 1


def test_the_interval_of_a_measure_without_a_range_is_wider_than_that_of_the_normal_distribution() -> None:
    values = np.random.default_rng(5).normal(100, 1, 8)
    scores = Scores(tuple(map(str, range(8))), {"latency": values})
    low, high = scores.interval("latency")
    assert high - low > 1.1 * 2 * 1.96 * values.std() / math.sqrt(8)


def test_resampled_and_direct_intervals_without_a_range_join() -> None:
    values = np.random.default_rng(6).gamma(2, 1, 10_001)
    scores = Scores(tuple(f"{at:05}" for at in range(10_001)), {"latency": values})
    below = scores.take(range(10_000)).interval("latency", resamples=1000)
    assert below == pytest.approx(scores.interval("latency"), abs=0.003)


def test_a_table_notes_intervals_that_are_too_narrow() -> None:
    note = "note: with fewer than 10 queries, the confidence intervals of DCG@10 and latency are too narrow."
    nine = np.arange(9) / 10
    columns = {"AP": nine, "DCG@10": nine, "latency": nine, "constant": np.ones(9)}
    scores = Scores(tuple(map(str, range(9))), columns)
    assert note in scores.table(0.95).notes
    assert note not in scores.table().notes
    more = Scores(tuple(map(str, range(10))), {"DCG@10": np.arange(10.0)})
    assert not any("too narrow" in line for line in more.table(0.95).notes)
    assert any("too narrow" in line for line in more.slices(["a"] * 5 + ["b"] * 5).table().notes)


def test_the_line_below_a_table_of_one_query_does_not_promise_intervals() -> None:
    assert Scores(("q",), {"AP": np.array([0.5])}).table(0.95).notes == ("1 query",)
