"""Intervals of differences: they exclude 0 exactly if the test is significant, and contain what it does not reject."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from karat import Scores, compare
from karat.comparison import Comparison, ComparisonRow
from karat.data.judged import Floats
from karat.stats import Criterion, Inverted, randomization, t_interval, t_test

fast = settings(max_examples=60, deadline=None, derandomize=True)
LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
tenths = st.integers(-10, 10).map(lambda value: value / 10)
few = st.lists(tenths, min_size=2, max_size=12).map(np.array)
# Many queries, of which some are equal; most values are such that p is near usual levels.
many = st.builds(
    lambda seed, n, shift, equal, digits: _drawn(seed, n, shift, equal, digits),
    st.integers(0, 10_000), st.integers(17, 90), st.floats(-0.5, 0.5), st.sampled_from([0.0, 0.5, 0.8]),
    st.sampled_from([1, 15]),
)  # fmt: skip


def _drawn(seed: int, n: int, shift: float, equal: float, digits: int) -> Floats:
    chance = np.random.default_rng(seed)
    return np.where(chance.random(n) < equal, 0.0, chance.normal(shift, 1, n).round(digits))


def systems_of(*columns: Sequence[float] | Floats, measure: str = "AP") -> dict[str, Scores]:
    queries = tuple(f"q{at:03}" for at in range(len(columns[0])))
    return {
        name: Scores(queries, {measure: np.array(column, float)}) for name, column in zip("abcd", columns, strict=False)
    }


def inverted(differences: Floats, criterion: Criterion, permutations: int = 2000) -> tuple[float, Any]:
    """The p-value of the randomization test, and its interval."""
    everything = Inverted(np.ones(len(differences), bool), criterion)
    tests = randomization([differences], permutations, inverted=[everything])
    return float(tests.p[0]), tests.intervals[0]


def excludes_zero(interval: tuple[float, float]) -> bool:
    return interval[0] > 0 or interval[1] < 0


def by_all_signs(differences: Floats, shift: float) -> float:
    """The p-value of the test that the mean is the shift, by listing all signs."""
    moved = differences - shift
    sums = np.array(list(itertools.product((1, -1), repeat=len(moved)))) @ moved
    return float(np.mean(np.abs(sums) >= abs(moved.sum()) - 1e-9))


@fast
@given(few | many, LEVELS, st.integers(1, 40))
def test_the_interval_excludes_0_exactly_if_the_randomization_test_is_significant(
    differences: Floats, level: float, comparisons: int
) -> None:
    criterion = Criterion(round(1 - level, 12), comparisons)
    p, interval = inverted(differences, criterion)
    if interval is not None:
        assert excludes_zero(interval) == criterion.rejects(p)
        assert interval[0] <= differences.mean() + 1e-12
        assert interval[1] >= differences.mean() - 1e-12
    elif np.ptp(differences) and len(differences) <= 12:
        assert min(1, comparisons * 2.0 ** (1 - len(differences))) >= 1 - level - 1e-12


@fast
@given(few | many, LEVELS, st.integers(1, 40))
def test_the_interval_excludes_0_exactly_if_the_t_test_is_significant(
    differences: Floats, level: float, comparisons: int
) -> None:
    criterion = Criterion(round(1 - level, 12), comparisons)
    p = t_test(differences)
    interval = None if p is None else t_interval(differences, p, criterion)
    assert (interval is None) == (np.ptp(differences) <= 1e-12)
    if p is not None and interval is not None:
        assert excludes_zero(interval) == criterion.rejects(p)
        theirs = scipy_stats.ttest_1samp(differences, 0).confidence_interval(criterion.level)
        assert interval == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-9)


@settings(fast, max_examples=40)
@given(st.lists(tenths, min_size=6, max_size=9).map(np.array), st.sampled_from([0.8, 0.9, 0.95]))
def test_the_interval_contains_exactly_the_shifts_that_the_exact_test_does_not_reject(
    differences: Floats, level: float
) -> None:
    criterion = Criterion(round(1 - level, 12))
    _, interval = inverted(differences, criterion)
    if interval is None:
        return
    for shift in np.linspace(-1.21, 1.21, 41):  # no mean of a subset of tenths
        inside = interval[0] <= shift <= interval[1]
        assert inside == (not criterion.rejects(by_all_signs(differences, shift)))
    for end, outwards in zip(interval, (-1e-6, 1e-6), strict=True):
        assert not criterion.rejects(by_all_signs(differences, end))
        assert criterion.rejects(by_all_signs(differences, end + outwards))


@pytest.mark.parametrize("n", [45, 200])
def test_the_ends_of_an_interval_by_random_signs_are_where_the_test_begins_to_reject(n: int) -> None:
    differences = _drawn(n, n, 0.2, 0.5 if n == 200 else 0, 15)
    low, high = inverted(differences, Criterion(0.05), 70_000)[1]
    for end, outwards in ((low, -1e-9), (high, 1e-9)):
        at_end, beyond = (float(randomization([differences - shift], 70_000).p[0]) for shift in (end, end + outwards))
        assert beyond < 0.05 <= at_end


@fast
@given(few, tenths, LEVELS)
def test_adding_a_constant_moves_the_interval_by_it(differences: Floats, constant: float, level: float) -> None:
    criterion = Criterion(round(1 - level, 12))
    interval, moved = (inverted(each, criterion)[1] for each in (differences, differences + constant))
    assert (interval is None) == (moved is None)
    if interval is not None:
        assert moved == pytest.approx([end + constant for end in interval], abs=1e-9)


@fast
@given(few | many, LEVELS)
def test_swapping_the_systems_negates_the_interval_and_the_order_of_queries_does_not_matter(
    differences: Floats, level: float
) -> None:
    criterion = Criterion(round(1 - level, 12))
    interval, negated = (inverted(each, criterion)[1] for each in (differences, -differences))
    assert (interval is None) == (negated is None)
    if interval is not None:
        assert negated == pytest.approx([-interval[1], -interval[0]], abs=1e-9)
        if len(differences) <= 16:
            assert inverted(differences[::-1], criterion)[1] == pytest.approx(interval, abs=1e-9)


def test_an_exact_p_decides_the_side_of_0_if_random_signs_are_too_few_to_tell() -> None:
    disagreed = 0
    for seed in range(60):
        differences = _drawn(seed, 20, 0.5, 0.2, 1)
        p, interval = inverted(differences, Criterion(0.05), 100)
        by_signs = randomization([np.append(differences, [1e-300] * 40)], 100).p[0]  # too many differences to be exact
        disagreed += (by_signs < 0.05) != (p < 0.05)
        assert interval is not None
        assert excludes_zero(interval) == (p < 0.05)
        assert abs(interval[0]) > 1e-6 or p >= 0.05
    assert disagreed


def test_intervals_of_very_many_tests_use_fewer_random_signs_and_agree_with_p_all_the_same() -> None:
    criterion = Criterion(0.05)
    tests = [_drawn(seed, 45, 0.3, 0, 15) for seed in range(60)]
    compared = [Inverted(np.ones(45, bool), criterion)] * len(tests)
    every = randomization(tests, 70_000, inverted=compared)
    with patch("karat.stats.random_signs._MANY_TESTS", 10):
        some = randomization(tests, 70_000, inverted=compared)
    assert every.p.tolist() == some.p.tolist()
    assert every.intervals != some.intervals
    for p, one, other in zip(some.p, every.intervals, some.intervals, strict=True):
        assert one is not None
        assert other is not None
        assert other == pytest.approx(one, abs=0.01)
        assert excludes_zero(other) == (p < 0.05)


def test_an_interval_by_many_random_signs_is_the_same_in_blocks() -> None:
    differences = _drawn(3, 60, 0.1, 0, 15)
    whole = inverted(differences, Criterion(0.05), 60_000)[1]
    with patch("karat.stats.inversion._FIRST", 1 << 20):
        assert inverted(differences, Criterion(0.05), 60_000)[1] == whole


columns = st.integers(6, 30).flatmap(
    lambda n: st.tuples(*(st.lists(st.none() | st.integers(0, 10), min_size=n, max_size=n) for _ in range(3)))
)


@fast
@given(
    columns,
    st.sampled_from([("randomization", "none"), ("randomization", "bonferroni"), ("randomization", "holm"),
                     ("t", "none"), ("t", "bonferroni"), ("t", "bh"), ("tukey", None)]),
    st.sampled_from(["AP", "NumRelRet"]),
    st.sampled_from([0.8, 0.95]),
)  # fmt: skip
def test_every_shown_interval_agrees_with_the_p_that_the_table_says(
    values: tuple[list[int | None], ...], how: tuple[str, str | None], measure: str, level: float
) -> None:
    test, correction = how
    scores = systems_of(*([np.nan if each is None else each / 10 for each in column] for column in values))
    permuted: dict[str, Any] = {} if test == "t" else {"permutations": 300}
    systems = {name: Scores(each.queries, {measure: each.values["AP"]}) for name, each in scores.items()}
    comparison = compare(systems, test=test, correction=correction, level=level, resamples=9, **permuted)
    check(comparison, corrected=correction in ("bonferroni", None))
    if test != "tukey":
        for group in comparison.slices(
            {query: str(int(query[1:]) % 3) for query in comparison.queries}
        ).groups.values():
            check(group, corrected=correction == "bonferroni")


def check(comparison: Comparison, *, corrected: bool) -> None:
    """Check each interval of a difference against p."""
    for row in differences_of(comparison):
        p = row.p_corrected if corrected else row.p
        if row.difference_low is None or row.difference_high is None:
            assert (row.difference_low, row.difference_high, row.difference_level) == (None, None, None)
            continue
        assert p is not None
        assert row.difference_interval == comparison.method.test
        assert excludes_zero((row.difference_low, row.difference_high)) == (p < comparison.method.alpha)
        assert row.difference_low <= (row.difference or 0.0) + 1e-9
        assert row.difference_high >= (row.difference or 0.0) - 1e-9


def differences_of(comparison: Comparison) -> list[ComparisonRow]:
    return [row for row in comparison.rows if row.baseline is not None]


def test_the_level_of_an_interval_is_that_of_the_correction_where_it_has_one() -> None:
    chance = np.random.default_rng(5)
    systems = systems_of(*chance.random((4, 30)))
    for test, correction, level in (
        ("randomization", "holm", 0.95),
        ("randomization", "bonferroni", 1 - 0.05 / 6),
        ("t", "bonferroni", 1 - 0.05 / 6),
        ("tukey", "none", 0.95),
        ("wilcoxon", "bonferroni", 0.95),
    ):
        rows = differences_of(compare(systems, test=test, correction=correction, resamples=99))
        assert [row.difference_level for row in rows] == pytest.approx([level] * 6)


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "bootstrap", "tukey"])
def test_equal_differences_have_no_interval(test: str) -> None:
    base = np.random.default_rng(6).random(20)
    for gain in (0.0, 0.25):
        row = compare(systems_of(base, base + gain), test=test, resamples=99).row("AP")
        assert (row.difference_low, row.difference_high, row.difference_interval) == (None, None, None)


def test_queries_without_a_value_do_not_take_part() -> None:
    chance = np.random.default_rng(7)
    one, two, three = chance.random((3, 12))
    with_nulls = systems_of(*(np.append(column, [np.nan] * 3) for column in (one, two)), np.append(three, [1.0] * 3))
    for pair in itertools.combinations("abc", 2):
        mine = compare({name: with_nulls[name] for name in pair}).row("AP")
        without = compare({name: each for name, each in systems_of(one, two, three).items() if name in pair}).row("AP")
        if pair == ("a", "b"):
            assert (mine.difference_low, mine.difference_high) == (without.difference_low, without.difference_high)
    assert compare(with_nulls, correction="none").row("AP", "b", "a").difference_low is not None


def test_exports_name_the_interval_and_its_level() -> None:
    chance = np.random.default_rng(8)
    comparison = compare(systems_of(*chance.random((2, 20))), test="t")
    record = comparison.to_dict()["rows"][-1]
    assert (record["difference_interval"], record["difference_level"]) == ("t", 0.95)
    header, _, last = comparison.to_csv().splitlines()
    assert dict(zip(header.split(","), last.split(","), strict=True))["difference_interval"] == "t"
    assert comparison.to_arrow()["difference_interval"].to_pylist() == [None, "t"]
