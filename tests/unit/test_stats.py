"""Significance tests, corrections and power, checked against scipy, brute force and published values."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from karat.comparison.differences import MeasureValues, Pair
from karat.data.judged import Floats
from karat.stats import (
    SystemPairs,
    bootstrap,
    bootstrap_means,
    bootstrap_tests,
    corrected,
    effect_size,
    power_of,
    queries_needed,
    randomization,
    smallest_difference,
    spread_of,
    t_test,
    tukey,
    wilcoxon,
)
from karat.stats import random_signs as signs
from karat.stats import significance as module
from karat.stats.bootstrap import MAX_RESAMPLED, abc_interval_of_mean, bca_interval, standard_error

# Multiples of 0.1 tie in theory but not as floats: 0.1 + 0.2 is not 0.3.
tenths = st.integers(-10, 10).map(lambda value: value * 0.1)


def sample_differences(n: int, mean: float = 0.05, seed: int = 7) -> Floats:
    """Differences like those of a retrieval measure: many are zero, the others are skewed."""
    random = np.random.default_rng(seed)
    return np.where(random.random(n) < 0.3, 0.0, random.gamma(2, 0.1, n) - 0.2 + mean)


def p_value(differences: Floats, permutations: int = 2000, seed: int = 1) -> float:
    return float(randomization([differences], permutations, seed).p[0])


def bootstrap_test(differences: Floats, resamples: int = 10_000, seed: int = 1) -> float | None:
    return bootstrap_tests([differences], resamples, seed)[0]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(tenths, min_size=0, max_size=10))
def test_a_randomization_test_of_few_queries_counts_all_sign_patterns(values: list[float]) -> None:
    whole = np.round(np.array(values) * 10).astype(int)
    sums = np.array(list(product((-1, 1), repeat=len(values)))) @ whole
    assert p_value(np.array(values)) == np.mean(np.abs(sums) >= abs(whole.sum()))


@pytest.mark.parametrize(
    "values",
    [[0.5, 0.25, -0.125, 0.75, 0.5, 1.0], [0.0, 0.5, 0.5, -0.5, 0.0, 0.5, 0.5, 1.0, 1.5], list(sample_differences(12))],
)
def test_a_randomization_test_of_few_queries_agrees_with_scipy(values: list[float]) -> None:
    by_scipy = scipy_stats.permutation_test(
        (np.array(values), np.zeros(len(values))),
        lambda x, y, axis: np.sum(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
    )
    assert p_value(np.array(values)) == pytest.approx(by_scipy.pvalue, abs=1e-12)


def test_38_differences_besides_zeros_are_counted_exactly() -> None:
    assert p_value(np.full(38, 0.1)) == 2 / 2**38
    assert p_value(np.concatenate([np.zeros(500), np.full(38, -0.1)]), permutations=1) == 2 / 2**38


def test_more_than_38_differences_are_sampled_and_p_is_never_zero() -> None:
    assert p_value(np.full(41, 0.1), permutations=999) == 1 / 1000


def test_sums_that_differ_by_rounding_only_are_equal() -> None:
    # In floats 0.1 + 0.2 - 0.3 is not 0, so that a test without tolerance counts fewer patterns.
    assert p_value(np.array([0.1, 0.2, -0.3])) == 1.0
    assert p_value(np.tile([0.1, 0.2, -0.3], 20)) == 1.0


def test_p_is_1_without_any_difference() -> None:
    assert randomization([np.zeros(100), np.zeros(100)]).p.tolist() == [1.0, 1.0]
    assert randomization([np.zeros(0), np.zeros(0)]).p.tolist() == [1.0, 1.0]
    assert randomization([]).p.tolist() == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-40, 40).filter(bool), min_size=21, max_size=26),
    st.sampled_from([1.0, 0.1, 1 / 3, 1 / 7, 1e-200, 1e150, 1 / 2520]),
)
def test_multiples_of_a_unit_are_counted_like_other_differences(whole: list[int], unit: float) -> None:
    values = np.array(whole) * unit
    units = signs._multiples(values)
    assert units is not None
    assert (np.abs(units) * math.gcd(*whole) == np.abs(whole)).all()
    assert signs._exact_of_multiples(units) == signs._exact(values)


@pytest.mark.parametrize(
    "values", [sample_differences(40), np.array([0.1] * 20 + [0.1 + 1e-9]), np.array([1.0] * 21 + [np.inf])]
)
def test_differences_without_a_common_unit_have_no_multiples(values: Floats) -> None:
    assert signs._multiples(values[values != 0]) is None


def test_very_many_tests_are_exact_only_for_fewer_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    columns = [np.append(random.normal(0.1, 0.3, size), np.zeros(40 - size)) for size in (22, 24, 24, 26, 20, 40)]
    columns.append(np.where(np.arange(40) < 30, random.integers(1, 5, 40) * 0.1, 0.0))
    assert randomization(columns, 10).exact.tolist() == [True, True, True, True, True, False, True]
    # Only the sums of those without a common unit are limited: 2^11 + 2^12 + 2^12.
    monkeypatch.setattr(signs, "_MAX_SUMS", 10_240)
    found = randomization(columns, 10)
    assert found.exact.tolist() == [True, True, True, False, True, False, True]
    assert found.p[3] in np.arange(1, 12) / 11
    monkeypatch.setattr(signs, "_MAX_SUMS", 10_239)
    assert randomization(columns, 10).exact.tolist() == [True, False, False, False, True, False, True]


@pytest.mark.parametrize("columns_at_once", [64, 2])
def test_sums_of_systems_give_the_same_p_as_sums_of_their_differences(
    columns_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs, "_COLUMNS", columns_at_once)
    random = np.random.default_rng(5)
    values = np.round(random.random((70, 5)), 2)
    values[:, 4] = values[:, 3] + random.normal(0, 1e-6, 70)  # nearly equal systems
    values[3, 1] = values[3, 0] + 1e-15  # a difference of 0, up to rounding
    pairs = [(system, earlier) for system in range(5) for earlier in range(system)]
    differences = [values[:, one] - values[:, other] for one, other in pairs]
    differences[0][3] = 0.0
    differences[2][:30] = 0.0  # as if a system had no value for them
    expected = randomization(differences, 3000, 2)
    found = randomization(differences, 3000, 2, systems=SystemPairs(values, pairs))
    assert found.p.tolist() == expected.p.tolist()
    assert len(set(found.p)) > 5


@pytest.mark.parametrize("n", [20, 33, 38])
def test_sampled_signs_approximate_the_exact_p(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = p_value(sample_differences(n))
    monkeypatch.setattr(signs, "MAX_EXACT", 0)
    assert 0.01 < exact < 0.99
    assert p_value(sample_differences(n), 100_000) == pytest.approx(
        exact, abs=5 * (exact * (1 - exact) / 100_000) ** 0.5
    )
    assert p_value(sample_differences(n), 100_000) != exact


def test_p_for_many_queries_is_close_to_the_normal_approximation() -> None:
    differences = sample_differences(3001, mean=0.005)
    z = differences.sum() / np.sqrt((differences**2).sum())
    expected = 2 * scipy_stats.norm.sf(abs(z))
    assert 0.01 < expected < 0.99
    assert p_value(differences, 40_000) == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize("n", [30, 301])
def test_p_does_not_depend_on_which_system_is_first(n: int) -> None:
    assert p_value(sample_differences(n)) == p_value(-sample_differences(n))
    assert t_test(sample_differences(n)) == t_test(-sample_differences(n))
    assert wilcoxon(sample_differences(n)) == wilcoxon(-sample_differences(n))
    assert bootstrap_test(sample_differences(n), 500) == bootstrap_test(-sample_differences(n), 500)


def test_the_p_of_a_column_does_not_depend_on_other_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.column_stack(
        [sample_differences(203, mean, seed) for seed, mean in enumerate((0.0, 0.02, -0.01, 0.03, 0.01))]
    )
    columns[20:, 1] = 0
    together = randomization(list(columns.T), 1500, 3).p
    assert len(set(together)) == 5
    assert together.tolist() == [p_value(columns[:, at], 1500, 3) for at in range(5)]
    monkeypatch.setattr(signs, "_COLUMNS", 2)
    assert randomization(list(np.asfortranarray(columns).T), 1500, 3).p.tolist() == together.tolist()


def test_p_does_not_depend_on_how_many_queries_are_processed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = p_value(sample_differences(1003), 1001)
    monkeypatch.setattr(signs, "_GROUPS", 3)
    assert p_value(sample_differences(1003), 1001) == whole


@pytest.mark.parametrize("place", [0, 7, 8, 15, 16, 49])
def test_every_query_has_its_own_sign(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "_GROUPS", 1)
    # One difference outweighs the sum of the others: |sum| reaches the observed one if the others agree with it as
    # often as observed, or more often.
    differences = np.where(np.arange(50) == place, -10.0, 0.01 * (-1.0) ** np.arange(50))
    others = np.delete(differences, place).sum()
    expected = scipy_stats.binom.cdf(24 + (others > 0), 49, 0.5)
    assert p_value(differences, 20_000) == pytest.approx(expected, abs=0.02)


def test_permutations_of_several_blocks_are_all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "_BLOCK", 64)
    assert p_value(np.full(60, 0.1), 1000) == 1 / 1001
    assert p_value(np.tile([0.1, -0.1], 30), 1000) == 1.0
    assert p_value(sample_differences(200, 0.0), 5000) == pytest.approx(t_test(sample_differences(200, 0.0)), abs=0.04)


def test_the_same_seed_gives_the_same_p_and_another_seed_a_different_one() -> None:
    assert p_value(sample_differences(90, 0.0), seed=1) == p_value(sample_differences(90, 0.0), seed=1)
    assert p_value(sample_differences(90, 0.0), seed=1) != p_value(sample_differences(90, 0.0), seed=2)


@pytest.mark.parametrize("n", [2, 3, 10, 500])
def test_the_t_test_agrees_with_scipy(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.1, 0.3, n)
    assert t_test(differences) == pytest.approx(scipy_stats.ttest_rel(differences, np.zeros(n)).pvalue, rel=1e-12)


@pytest.mark.parametrize("test", [t_test, bootstrap_test, effect_size])
def test_p_is_none_for_one_query_or_constant_differences(test: object) -> None:
    assert callable(test)
    assert test(np.array([])) is None
    assert test(np.array([0.5])) is None
    assert test(np.full(9, 0.25)) is None
    # These are all 0.1 up to rounding.
    assert test(np.array([0.3 - 0.2, 0.8 - 0.7, 0.1, 0.5 - 0.4])) is None


def test_p_is_1_if_all_differences_are_zero() -> None:
    zeros = np.zeros(8)
    assert (t_test(zeros), wilcoxon(zeros), bootstrap_test(zeros), effect_size(zeros)) == (1.0, 1.0, 1.0, 0.0)


@pytest.mark.parametrize("n", [2, 5, 9, 30, 49, 200])
@pytest.mark.parametrize("ties", [False, True])
def test_the_signed_rank_test_agrees_with_scipy(n: int, ties: bool) -> None:
    differences = np.random.default_rng(n).normal(0.1, 0.3, n)
    differences = np.round(differences * 4) / 4 + 0.25 if ties else differences
    expected = scipy_stats.wilcoxon(differences[differences != 0]).pvalue
    assert wilcoxon(np.append(differences, [0.0, 0.0])) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0]), min_size=2, max_size=9))
def test_the_signed_rank_test_with_shared_ranks_counts_all_sign_patterns(differences: list[float]) -> None:
    ranks = scipy_stats.rankdata(np.abs(differences))
    gains = [ranks @ np.array(signs) for signs in product((0, 1), repeat=len(ranks))]
    observed = ranks @ (np.array(differences) > 0)
    tails = min(np.mean(gains >= observed), np.mean(gains <= observed))
    assert wilcoxon(np.array(differences)) == min(1.0, 2 * tails)


def test_sizes_that_differ_by_rounding_only_share_a_rank() -> None:
    tenths = np.array([1, 1, -1, 3, 3, -3, 2, 2, 2, 1, 4, -2, 5, 5, 6]) * 1.0
    rounded = tenths / 10 + np.tile([0, 1e-16, -1e-16], 5)
    assert len(set(np.abs(rounded))) > len(set(np.abs(tenths)))
    assert wilcoxon(rounded) == wilcoxon(tenths)


def test_the_signed_rank_test_of_one_difference_has_p_1() -> None:
    assert wilcoxon(np.array([0.0, 0.4, 0.0])) == 1.0
    assert wilcoxon(np.array([])) is None


def test_the_bootstrap_test_follows_its_definition() -> None:
    differences = sample_differences(25, 0.03)
    centred = differences - differences.mean()
    rows = np.random.default_rng(5).integers(0, 25, (400, 25), dtype=np.uint32)
    assert np.allclose(bootstrap_means(centred[:, None], 400, 5)[:, 0], centred[rows].mean(axis=1))
    t = centred[rows].mean(axis=1) / centred[rows].std(axis=1, ddof=1) * 5
    observed = differences.mean() / differences.std(ddof=1) * 5
    assert bootstrap_test(differences, 400, 5) == (np.count_nonzero(np.abs(t) >= abs(observed)) + 1) / 401


def test_the_bootstrap_p_does_not_depend_on_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [sample_differences(n, 0.03, n) for n in (12, 25, 25, 40, 25)] + [np.zeros(25), np.full(9, 0.25)]
    together = bootstrap_tests(columns, 300)
    assert together == [bootstrap_tests([column], 300)[0] for column in columns]
    assert together[-2:] == [1.0, None]
    monkeypatch.setattr(module, "_TESTS", 2)
    monkeypatch.setattr(module, "_CELLS", 100)
    assert bootstrap_tests(columns, 300) == together


def test_the_bootstrap_test_of_many_queries_is_close_to_the_t_test() -> None:
    differences = np.random.default_rng(1).normal(0.03, 0.3, 300)
    assert bootstrap_test(differences) == pytest.approx(t_test(differences), abs=0.02)


def test_the_t_of_a_constant_resample_is_infinite_unless_its_mean_is_zero() -> None:
    # For two queries, half of the resamples repeat one of them, and the others have mean 0.
    assert bootstrap_test(np.array([0.1, 0.9]), 4000) == pytest.approx(0.5, abs=0.04)
    # The observed t is 0, and every resample reaches it.
    assert bootstrap_test(np.array([-0.1, 0.0, 0.1]), 400) == 1.0
    assert bootstrap_test(np.array([-0.3, 0.1, 0.2]), 400) == 1.0  # up to rounding
    # All 27 resamples of the centred values; the one of three zeros has t = 0, other constant ones have infinite t.
    drawn = np.array(list(product((-1, 0, 1), repeat=3)))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(np.abs(drawn.mean(axis=1)) / drawn.std(axis=1, ddof=1), nan=0.0, posinf=np.inf)
    assert bootstrap_test(np.array([0.0, 0.1, 0.2]), 8000) == pytest.approx(np.mean(t >= 1 - 1e-9), abs=0.02)


@pytest.mark.parametrize("n", [30, 200])
def test_the_tukey_test_of_two_systems_agrees_with_the_randomization_test(n: int) -> None:
    first = np.random.default_rng(n).random(n)
    p = tukey(np.column_stack([first, first - sample_differences(n, 0.01)]), 20_000).p
    assert p[0, 1] == pytest.approx(p_value(sample_differences(n, 0.01), 20_000), abs=0.02)


def scores(n: int, systems: int) -> Floats:
    return np.random.default_rng(systems).random((n, systems)) + np.linspace(0, 0.2, systems)


@pytest.mark.parametrize("systems", [1, 2, 3, 4, 7])
def test_the_tukey_test_gives_a_symmetric_matrix_of_p(systems: int) -> None:
    p = tukey(scores(40, systems), 300).p
    assert p.shape == (systems, systems)
    assert (p == p.T).all()
    assert (np.diag(p) == 1).all()
    assert (p >= 1 / 301).all()
    assert (p <= 1).all()


@pytest.mark.parametrize("systems", [3, 4])
def test_tables_and_shuffling_give_the_same_tukey_test(systems: int, monkeypatch: pytest.MonkeyPatch) -> None:
    by_table = tukey(scores(50, systems), 6000).p
    monkeypatch.setattr(module, "_FEW_SYSTEMS", 0)
    assert tukey(scores(50, systems), 6000).p == pytest.approx(by_table, abs=0.03)
    assert 0.01 < by_table[0, -1] < 0.9


def test_the_tukey_test_follows_its_definition() -> None:
    values = np.array([[0.1, 0.5, 0.9], [0.2, 0.2, 0.7], [0.3, 0.6, 0.3]])
    orders = [[row[list(order)] for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))]
              for row in values]  # fmt: skip
    ranges = np.array([np.ptp(np.sum(chosen, axis=0)) for chosen in product(*orders)])
    totals = values.sum(axis=0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        exact = np.mean(ranges >= abs(totals[i] - totals[j]) - 1e-9)
        assert tukey(values, 20_000).p[i, j] == pytest.approx(exact, abs=0.015)


def test_the_tukey_test_is_more_conservative_than_a_test_of_one_pair() -> None:
    values = scores(60, 5)
    p_of_pair = p_value(values[:, 0] - values[:, 4], 5000)
    assert tukey(values, 5000).p[0, 4] > p_of_pair


def test_queries_without_differences_and_rounding_do_not_affect_the_tukey_test() -> None:
    values = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]] * 3)
    assert (tukey(values, 200).p == 1).all()
    constant = np.full((5, 3), 0.4)
    assert (tukey(constant, 200).p == 1).all()
    more = np.concatenate([constant, scores(20, 3)])
    assert (tukey(more, 300).p == tukey(scores(20, 3), 300).p).all()


def test_permutations_of_the_tukey_test_of_several_blocks_are_all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tukey(scores(50, 3), 6000).p
    monkeypatch.setattr(module, "_CELLS", 300)
    assert tukey(scores(50, 3), 6000).p == pytest.approx(whole, abs=0.03)


def resampled_means(columns: Floats, seed: int) -> Floats:
    """The means of 10,000 resamples; of rows that repeat, only their numbers are drawn, which takes little time."""
    rows, times = np.unique(columns, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(columns), times / len(columns), 10_000)
    return np.asarray(drawn @ rows / len(columns))


def test_the_interval_without_resampling_is_within_the_spread_of_seeds_where_resampling_ends() -> None:
    random = np.random.default_rng(3)
    n = MAX_RESAMPLED + 1
    values = np.where(random.random(n) < 0.03, 1 / random.integers(1, 4, n), 0.0)
    low, high = abc_interval_of_mean(values, 0.95) or (0.0, 0.0)
    seeds = np.array([bca_interval(values, resampled_means(values[:, None], seed)[:, 0], 0.95) for seed in range(20)])
    assert seeds[:, 0].min() <= low <= seeds[:, 0].max()
    assert seeds[:, 1].min() <= high <= seeds[:, 1].max()
    # The skewness matters here: the symmetric interval is outside.
    error = standard_error(values - values.mean())
    assert values.mean() - 1.96 * error < seeds[:, 0].min()
    assert values.mean() + 1.96 * error < seeds[:, 1].min()


def test_the_interval_of_geometric_means_without_resampling_is_within_the_spread_of_seeds() -> None:
    random = np.random.default_rng(4)
    logarithms = np.log(np.array([1e-5, 0.3])[random.integers(0, 2, (2, MAX_RESAMPLED + 1))])
    pair = Pair(MeasureValues("GMAP", (logarithms[0], logarithms[1]), higher_is_better=True), 0, 1)
    limit = pair.limit(0.95)
    assert limit is not None
    seeds = np.array([pair.interval(list(resampled_means(logarithms.T, seed).T), 0.95) for seed in range(20)])
    assert (seeds.min(axis=0) <= limit).all()
    assert (limit <= seeds.max(axis=0)).all()


@pytest.mark.parametrize("outlier", [1.0, 1e300, np.inf, np.nan])
def test_values_that_are_too_skewed_have_no_interval_without_resampling(outlier: float) -> None:
    values = np.zeros(20_000)
    values[7] = outlier
    with np.errstate(invalid="ignore"):
        assert abc_interval_of_mean(values, 0.95) is None


def test_the_interval_of_equal_values_without_resampling_has_zero_width() -> None:
    assert abc_interval_of_mean(np.full(20_000, 0.1), 0.95) == pytest.approx((0.1, 0.1))


def test_resampled_means_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.random.default_rng(2).random((33, 2))
    drawn = np.random.default_rng(9).integers(0, 33, (500, 33), dtype=np.uint32)
    whole = bootstrap_means(columns, 500, 9)
    monkeypatch.setattr(bootstrap, "_CELLS_AT_ONCE", 100)
    assert (bootstrap_means(columns, 500, 9) == whole).all()
    assert (whole[:, 1] == columns[:, 1][drawn].mean(axis=1)).all()


def test_holm_uses_decreasing_factors_and_is_monotone() -> None:
    assert corrected([0.01, 0.04, 0.03, 0.005], "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert corrected([0.5, 0.9, 0.01], "holm") == pytest.approx([1.0, 1.0, 0.03])


def test_bonferroni_multiplies_by_the_number_of_comparisons() -> None:
    assert corrected([0.01, 0.4, 0.03], "bonferroni") == pytest.approx([0.03, 1.0, 0.09])


def test_bh_does_not_change_the_largest_p() -> None:
    # In floats 0.173 * 3 / 3 is less than 0.173.
    assert corrected([0.173, 0.001, 0.002], "bh") == [0.173, 0.003, 0.003]


def test_none_does_not_count_as_a_comparison() -> None:
    assert corrected([None, 0.02, None, 0.01], "bonferroni") == [None, 0.04, None, 0.02]
    for method in ("holm", "bonferroni", "bh", "none"):
        assert corrected([None, 0.02], method) == [None, 0.02]
        assert corrected([None], method) == [None]
        assert corrected([], method) == []


probabilities = st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.3, 1.0]) | st.floats(0, 1), max_size=12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(probabilities)
def test_bh_agrees_with_scipy(p: list[float]) -> None:
    assume(p)
    assert corrected(p, "bh") == pytest.approx(list(scipy_stats.false_discovery_control(p)), abs=1e-15)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(probabilities)
def test_corrected_p_values_are_between_the_raw_p_and_1_in_the_same_order(p: list[float]) -> None:
    by = {method: [value or 0.0 for value in corrected(p, method)] for method in ("none", "bh", "holm", "bonferroni")}
    assert by["none"] == p
    for values in by.values():
        assert all(raw <= value <= 1 for raw, value in zip(p, values, strict=True))
        assert all(values[i] <= values[j] for i in range(len(p)) for j in range(len(p)) if p[i] <= p[j])
    for bh, holm, bonferroni in zip(by["bh"], by["holm"], by["bonferroni"], strict=True):
        assert bh <= holm * (1 + 1e-12)
        assert holm <= bonferroni


@pytest.mark.parametrize(("size", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_queries_needed_agrees_with_published_tables(size: float, n: int) -> None:
    assert queries_needed(size, 1.0) == n
    assert queries_needed(size / 10, 0.1) == n


def test_power_agrees_with_published_tables() -> None:
    assert power_of(0.5, 1.0, 34) == pytest.approx(0.8078, abs=1e-4)
    assert power_of(-0.5, 1.0, 34) == power_of(0.5, 1.0, 34)


@pytest.mark.parametrize("n", [2, 3, 20, 7000, 10**7])
@pytest.mark.parametrize("alpha", [0.05, 1e-6])
def test_the_power_without_a_difference_is_alpha(n: int, alpha: float) -> None:
    assert power_of(0.0, 0.3, n, alpha) == pytest.approx(alpha, rel=1e-6)


@pytest.mark.parametrize(("size", "n", "alpha"), [(0.6, 12, 0.05), (2.0, 4, 0.01), (30.0, 3, 0.001)])
def test_power_is_the_share_of_simulated_tests_that_find_the_difference(size: float, n: int, alpha: float) -> None:
    drawn = np.random.default_rng(n).normal(size, 1.0, (40_000, n))
    t = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * n**0.5
    found = np.mean(2 * scipy_stats.t.sf(np.abs(t), n - 1) < alpha)
    assert 0.2 < found < 0.98
    assert power_of(size, 1.0, n, alpha) == pytest.approx(found, abs=0.01)


@pytest.mark.parametrize("n", [2, 3, 4, 30])
@pytest.mark.parametrize("alpha", [0.05, 1e-6])
def test_power_is_continuous_where_the_method_of_computation_changes(n: int, alpha: float) -> None:
    before, after = (power_of(at / n**0.5, 1.0, n, alpha) for at in (30 - 1e-9, 30 + 1e-9))
    assert 0 < before <= after * (1 + 1e-12)
    assert after == pytest.approx(before, rel=1e-8)


def test_the_power_for_very_many_queries_is_that_of_the_normal_distribution() -> None:
    z = scipy_stats.norm.isf(0.025)
    expected = scipy_stats.norm.sf(z - 2.5) + scipy_stats.norm.sf(z + 2.5)
    for n in (10**7, 10**12, 10**30):
        assert power_of(2.5 / n**0.5, 1.0, n) == pytest.approx(expected, abs=1e-6)
    assert power_of(0.5, 0.1, 10**6) == 1.0


@pytest.mark.parametrize("n", [2, 3, 10, 50, 7000, 10**9])
@pytest.mark.parametrize("alpha", [0.05, 1e-6])
@pytest.mark.parametrize("power", [0.2, 0.8, 0.99])
def test_the_smallest_difference_is_found_with_that_power(n: int, alpha: float, power: float) -> None:
    smallest = smallest_difference(0.3, n, alpha, power)
    assert smallest is not None
    assert power_of(smallest, 0.3, n, alpha) == pytest.approx(power, abs=1e-9)
    assert smallest_difference(0.6, n, alpha, power) == pytest.approx(2 * smallest)


def test_the_smallest_difference_is_none_without_spread_or_a_second_query() -> None:
    assert smallest_difference(0.0, 50) is None
    assert smallest_difference(0.3, 1) is None
    assert smallest_difference(0.3, 50, alpha=0.05, power=0.05) == 0.0


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.floats(0.01, 20), st.sampled_from([0.05, 0.01, 1e-4]), st.sampled_from([0.5, 0.8, 0.95]))
def test_one_query_fewer_than_needed_has_too_little_power(size: float, alpha: float, power: float) -> None:
    n = queries_needed(size, 1.0, alpha, power)
    assert n is not None
    assert power_of(size, 1.0, n, alpha) >= power
    assert n == 2 or power_of(size, 1.0, n - 1, alpha) < power


def test_a_tiny_difference_needs_a_huge_number_of_queries() -> None:
    expected = (scipy_stats.norm.isf(0.025) + scipy_stats.norm.isf(0.2)) ** 2
    # The formula ignores the opposite tail, which accounts for 2.4 queries in a million.
    assert queries_needed(1e-9, 1.0) == pytest.approx(expected * 1e18 * (1 - 2.45e-6), rel=1e-7)
    assert queries_needed(1e-300, 1.0) is None
    assert queries_needed(1e6, 1.0) == 2
    assert queries_needed(0.1, 0.0) is None


def test_the_effect_size_is_the_mean_over_the_standard_deviation() -> None:
    assert effect_size(np.array([0.0, 1.0, 2.0])) == pytest.approx(1.0)
    assert effect_size(np.array([0.0, -1.0, -2.0])) == pytest.approx(-1.0)
    assert spread_of(np.array([0.0, 1.0, 2.0])) == pytest.approx(1.0)


def test_statistics_that_do_not_need_scipy_do_not_import_it() -> None:
    code = (
        "import sys, numpy, karat.stats as s; d = numpy.arange(9.0); s.randomization([d]); s.bootstrap_tests([d]);"
        "s.corrected([0.1], 'holm'); s.smallest_difference(0.1, 50); s.queries_needed(0.1, 0.3);"
        "assert 'scipy' not in sys.modules; s.t_test(d); s.wilcoxon(numpy.arange(60.0));"
        "assert 'scipy.stats' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True).stderr == ""
