"""compare(): numbers checked against scipy and plain Python, properties, sentences, formats, and bad input."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from karat import Scores, compare, evaluate, evaluate_runs
from karat.cli import demo_data as demo
from karat.comparison import Comparison, ComparisonRow
from karat.errors import KaratError, plural

MEASURES = ("nDCG@10", "AP", "RR", "P@10", "Unjudged@10", "GMAP", "NumRelRet")
AVERAGED = ("nDCG@10", "AP", "RR", "P@10", "Unjudged@10")
KEYS = (
    "measure", "system", "baseline", "mean", "low", "high", "difference", "difference_low", "difference_high",
    "difference_level", "difference_interval",
    "p", "p_corrected", "effect", "wins", "ties", "losses", "higher_is_better",
)  # fmt: skip
TESTS = ("randomization", "t", "wilcoxon", "bootstrap", "tukey")
NO_FINGERPRINT = (
    "warning: the systems may have been evaluated against different ground truths: their scores have no fingerprint."
    " Files that karat saves as JSON or Parquet have one."
)
HOSTILE = ("a\x1b[2J\nb", "|*_`#[x](y)|", r"\input{x}$&%~^", "<script>&\"'", 'c,"d"\r\t;', "=1+1", "\u202eevil", "")

# Sixteenths are exact, so that equal means are equal to the last bit.
sixteenths = st.integers(0, 16).map(lambda value: value / 16)
Columns = tuple[list[float], list[float], list[float]]
fast = settings(max_examples=20, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def demos() -> dict[str, Scores]:
    return {
        name: scores.without_evidence() for name, scores in evaluate_runs(demo.TRUTH, demo.runs(), MEASURES).items()
    }


def scores_of(values: Sequence[float | None], measure: str = "AP", first: int = 0) -> Scores:
    """Scores of one measure, for the queries q0, q1, …; None is null."""
    column = np.array([math.nan if value is None else value for value in values], np.float64)
    return Scores(tuple(f"q{first + at}" for at in range(len(values))), {measure: column})


def shuffled(scores: Scores, seed: int) -> Scores:
    """The same scores with the queries in another order."""
    rows = list(range(len(scores.queries)))
    random.Random(seed).shuffle(rows)
    queries = tuple(scores.queries[row] for row in rows)
    return replace(scores, queries=queries, values={name: column[rows] for name, column in scores.values.items()})


def differences(one: Scores, other: Scores, measure: str) -> list[float]:
    """The differences query by query, by id, in plain Python."""
    mine, theirs = one.per_query, other.per_query
    pairs = [(mine[query][measure], theirs[query][measure]) for query in theirs]
    return [a - b for a, b in pairs if a is not None and b is not None]


def permuted(test: str, permutations: int) -> dict[str, Any]:
    """The number of permutations, for a test that permutes; others refuse it."""
    return {"permutations": permutations} if test in ("randomization", "tukey") else {}


def compare_two(
    a: Sequence[float | None], b: Sequence[float | None], measure: str = "AP", **options: Any
) -> Comparison:
    return compare({"a": scores_of(a, measure), "b": scores_of(b, measure)}, **{"resamples": 200, **options})


def compared_rows(comparison: Comparison) -> list[ComparisonRow]:
    return [row for row in comparison.rows if row.baseline is not None]


def within(row: ComparisonRow) -> bool:
    ends = [end for end in (row.difference_low, row.difference, row.difference_high) if end is not None]
    return len(set(ends)) == 3 and ends == sorted(ends)


# The numbers.


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_p_values_of_the_demo_runs_equal_those_of_scipy(demos: dict[str, Scores], test: Any) -> None:
    systems = {name: shuffled(scores, at) for at, (name, scores) in enumerate(demos.items())}
    rows = compared_rows(compare(systems, test=test, measures=AVERAGED, resamples=50))
    assert len(rows) == 3 * len(AVERAGED)
    for row in rows:
        each = np.round(differences(demos[row.system], demos[row.baseline or ""], row.measure), 12)
        theirs = scipy_stats.ttest_1samp(each, 0) if test == "t" else scipy_stats.wilcoxon(each[each != 0])
        assert row.p == pytest.approx(theirs.pvalue, rel=1e-7)


def test_differences_effects_and_wins_equal_those_of_plain_python(demos: dict[str, Scores]) -> None:
    systems = {**demos, "bm25": shuffled(demos["bm25"], 5)}
    rows = compared_rows(compare(systems, "overlap", test="t", resamples=50))
    assert {row.baseline for row in rows} == {"overlap"}
    for row in (row for row in rows if row.measure in AVERAGED):
        each = [round(value, 12) for value in differences(demos[row.system], demos["overlap"], row.measure)]
        assert row.difference == pytest.approx(sum(each) / len(each))
        assert row.difference == pytest.approx(demos[row.system][row.measure] - demos["overlap"][row.measure])
        assert row.effect == pytest.approx(np.mean(each) / np.std(each, ddof=1))
        better = 1 if row.measure != "Unjudged@10" else -1
        counted = tuple(sum(np.sign(value) == sign * better for value in each) for sign in (1, 0, -1))
        assert (row.wins, row.ties, row.losses) == counted
        assert within(row)


def test_differences_of_gmap_and_sums_are_differences_of_combined_values(demos: dict[str, Scores]) -> None:
    rows = compared_rows(compare(demos, "bm25", measures="GMAP NumRelRet", resamples=500))
    assert len(rows) == 4
    for row in rows:
        expected = demos[row.system][row.measure] - demos["bm25"][row.measure]
        assert row.difference == pytest.approx(expected)
        assert within(row)


def test_the_randomization_test_is_exact_for_few_queries() -> None:
    # Two of the 2^4 sign patterns reach |0.1 + 0.2 + 0.3 + 0.4|; the tie does not count.
    assert compare_two([0.0] * 5, [0.1, 0.2, 0.3, 0.4, 0.0]).row("AP").p == 2 / 16


@pytest.mark.parametrize("test", ["randomization", "bootstrap", "tukey"])
def test_resampling_tests_approximate_the_t_test(demos: dict[str, Scores], test: Any) -> None:
    pair = {name: demos[name].only(["nDCG@10"]) for name in ("bm25", "bm25-rm3")}
    by_t = compare(pair, test="t", resamples=50).row("nDCG@10").p
    by_resampling = compare(pair, test=test, **permuted(test, 20_000), resamples=5000).row("nDCG@10").p
    assert by_t is not None
    assert by_resampling is not None
    assert by_resampling == pytest.approx(by_t, abs=0.006)
    assert by_resampling != by_t


@pytest.mark.parametrize(
    ("correction", "factors"),
    [("holm", (3, 2, 1)), ("bonferroni", (3, 3, 3)), ("bh", (3, 1.5, 1)), ("none", (1, 1, 1))],
)
def test_p_values_are_corrected_over_the_comparisons_of_one_measure(
    demos: dict[str, Scores], correction: Any, factors: Sequence[float]
) -> None:
    comparison = compare(demos, correction=correction, test="t", measures="AP RR nDCG@10", resamples=50)
    for measure in comparison.measures:
        rows = sorted((row for row in compared_rows(comparison) if row.measure == measure), key=lambda row: row.p or 0)
        expected = [min(1, factor * (row.p or 0)) for factor, row in zip(factors, rows, strict=True)]
        assert expected == sorted(expected)
        assert [row.p_corrected for row in rows] == pytest.approx(expected)


def test_family_all_corrects_over_all_measures(demos: dict[str, Scores]) -> None:
    both = {"measures": "AP RR", "test": "t", "correction": "bonferroni", "resamples": 50}
    for row in compared_rows(compare(demos, family="all", **both)):  # type: ignore[arg-type]
        assert row.p_corrected == pytest.approx(min(1, 6 * (row.p or 0)))


def test_tukeys_p_values_are_already_corrected(demos: dict[str, Scores]) -> None:
    comparison = compare(demos, test="tukey", measures="RR", permutations=4000, resamples=50)
    plain = compare(demos, test="randomization", measures="RR", permutations=4000, resamples=50)
    for row, other in zip(compared_rows(comparison), compared_rows(plain), strict=True):
        assert row.p == row.p_corrected
        assert (row.p or 0) >= (other.p or 0)
    assert "Tukey's HSD" in comparison.sentences[0]
    assert "Holm" not in str(comparison)


def test_any_number_of_systems_is_compared_in_pairs_or_with_a_baseline() -> None:
    chance = np.random.default_rng(3)
    systems = {f"s{at}": scores_of(list(chance.random(9))) for at in range(30)}
    rows = compared_rows(compare(systems, test="t", resamples=20))
    assert {frozenset((row.system, str(row.baseline))) for row in rows} == {
        frozenset((one, other)) for one in systems for other in systems if one != other
    }
    assert len(rows) == 30 * 29 / 2
    with_one = compare(systems, "s7", test="t", resamples=20)
    assert [row.system for row in compared_rows(with_one)] == [name for name in systems if name != "s7"]
    assert "ad &" in with_one.to_latex()


# Properties of any scores.

columns = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*(st.lists(sixteenths, min_size=n, max_size=n) for _ in range(3)))
)
with_nulls = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*(st.lists(st.none() | sixteenths, min_size=n, max_size=n) for _ in range(2)))
)


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, abs=1e-9)


def negated(value: float | None) -> float | None:
    return None if value is None else -value


@fast
@given(columns, st.sampled_from(TESTS), st.sampled_from(["AP", "Unjudged@10", "NumRelRet"]))
def test_swapping_system_and_baseline_mirrors_all_numbers(values: Columns, test: Any, measure: str) -> None:
    comparison = compare_two(*values[:2], measure, test=test, **permuted(test, 200), baseline="a")
    other = compare_two(*values[:2], measure, test=test, **permuted(test, 200), baseline="b")
    row, mirrored = comparison.row(measure), other.row(measure)
    assert (row.system, row.baseline) == (mirrored.baseline, mirrored.system) == ("b", "a")
    assert mirrored.difference == near(negated(row.difference))
    assert (mirrored.difference_low, mirrored.difference_high) == (
        near(negated(row.difference_high)), near(negated(row.difference_low)),
    )  # fmt: skip
    assert (mirrored.p, mirrored.p_corrected) == (near(row.p), near(row.p_corrected))
    assert mirrored.effect == near(negated(row.effect))
    assert (mirrored.wins, mirrored.ties, mirrored.losses) == (row.losses, row.ties, row.wins)
    assert other.power(measure) == comparison.power(measure)


@fast
@given(with_nulls, st.sampled_from(["AP", "GMAP", "NumRelRet"]))
def test_means_and_their_intervals_equal_those_of_the_scores(
    values: tuple[list[float | None], list[float | None]], measure: str
) -> None:
    comparison = compare_two(*values, measure, test="t", level=0.9)
    for row, column in zip(comparison.rows, values, strict=True):
        scores = scores_of(column, measure)
        present = len(column) - scores.nulls(measure)
        interval = scores.intervals(0.9, resamples=200)[measure] if present > 1 else None
        assert row.mean == scores.combined(measure)
        assert (row.low, row.high) == (interval or (None, None))


@settings(fast, max_examples=12)
@given(columns, st.sampled_from(["randomization", "t", "wilcoxon", "bootstrap"]))
def test_a_third_system_and_other_measures_do_not_change_uncorrected_p_values(values: Columns, test: Any) -> None:
    systems = {name: scores_of(column) for name, column in zip("abc", values, strict=True)}
    alone = compare({name: systems[name] for name in "ab"}, test=test, resamples=100).row("AP")
    wider = {
        name: replace(scores, values={"RR": scores.values["AP"] ** 2, **scores.values})
        for name, scores in systems.items()
    }
    for many in (systems, wider):
        row = compare(many, test=test, resamples=100).row("AP", "b", "a")
        assert row.p == alone.p
        assert replace(row, p_corrected=alone.p_corrected) == alone


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "bootstrap"])
def test_nulls_of_a_third_system_do_not_change_the_comparison_of_two(test: Any) -> None:
    a, b = [0.1, 0.4, 0.2, 0.3, 0.5], [0.9, 0.5, 0.1, 0.6, 0.5]
    systems = {"a": scores_of(a), "b": scores_of(b), "c": scores_of([None, 0.3, 0.2, None, 0.1])}
    row = compare(systems, test=test, correction="none", resamples=200).row("AP", "b", "a")
    assert row == compare_two(a, b, test=test, correction="none").row("AP")


def test_sampled_p_values_do_not_depend_on_other_systems_and_measures(demos: dict[str, Scores]) -> None:
    pair = {name: demos[name].only(["nDCG@10"]) for name in ("overlap", "bm25")}
    chance = np.random.default_rng(5)
    more = {**{name: demos[name] for name in pair}, "third": scores_like(demos["bm25"], chance)}
    alone = compare(pair, permutations=999, resamples=50).row("nDCG@10")
    among_others = compare(more, permutations=999, resamples=50).row("nDCG@10", "bm25", "overlap")
    assert alone.p == among_others.p


def scores_like(scores: Scores, chance: np.random.Generator) -> Scores:
    n = len(scores.queries)
    return replace(scores, values={name: chance.random(n) for name in scores.measures})


@fast
@given(with_nulls, st.sampled_from(TESTS))
def test_queries_that_are_null_in_one_system_are_left_out_and_counted(
    values: tuple[list[float | None], list[float | None]], test: Any
) -> None:
    comparison = compare_two(*values, test=test, **permuted(test, 200), detect=0.1)
    row = comparison.row("AP")
    both = [(a, b) for a, b in zip(*values, strict=True) if a is not None and b is not None]
    assert (row.wins or 0) + (row.ties or 0) + (row.losses or 0) == len(both)
    assert comparison.power("AP").queries == len(both)
    left_out = len(values[0]) - len(both)
    notes = [note for note in comparison.notes if "left out" in note]
    assert [f"{plural(left_out, 'query')} left out" in note for note in notes] == [True] * bool(left_out)
    if both:
        ours = compare_two([a for a, _ in both], [b for _, b in both], test=test, **permuted(test, 200)).row("AP")
        assert (row.p, row.difference, row.effect) == (near(ours.p), near(ours.difference), near(ours.effect))
    else:
        assert (row.p, row.difference, row.effect) == (None, None, None)
    json.loads(comparison.to_json())


@fast
@given(columns, st.sampled_from([0.25, -0.5, 3]))
def test_power_does_not_depend_on_the_observed_difference(values: Columns, constant: float) -> None:
    plain = compare_two(*values[:2]).power("AP")
    moved = compare_two(values[0], [value + constant for value in values[1]]).power("AP")
    assert moved.minimum_detectable_difference == near(plain.minimum_detectable_difference)
    assert moved.queries_needed(0.05) == plain.queries_needed(0.05)


def power_by_scipy(difference: float, spread: float, n: int, alpha: float) -> float:
    bound = scipy_stats.t.ppf(1 - alpha / 2, n - 1)
    far = scipy_stats.nct(n - 1, difference / spread * math.sqrt(n))
    return float(far.sf(bound) + far.cdf(-bound))


def test_the_minimum_detectable_difference_has_a_power_of_0_8(demos: dict[str, Scores]) -> None:
    pair = {name: demos[name] for name in ("bm25", "bm25-rm3")}
    comparison = compare(pair, measures="RR", detect=0.05, resamples=50)
    spread = float(np.std(differences(demos["bm25-rm3"], demos["bm25"], "RR"), ddof=1))
    smallest = comparison.power("RR").minimum_detectable_difference
    assert smallest is not None
    assert power_by_scipy(smallest, spread, 50, 0.05) == pytest.approx(0.8, abs=1e-6)
    needed = comparison.queries_needed("RR", 0.05)
    assert needed is not None
    assert power_by_scipy(0.05, spread, needed - 1, 0.05) < 0.8 <= power_by_scipy(0.05, spread, needed, 0.05)
    assert comparison.queries_needed("RR", smallest * (1 + 1e-9)) == 50
    result, detectable, needs = comparison.sentences[0].split(". ")
    assert result.startswith("no significant difference between bm25-rm3 and bm25 on RR: +0.114 [")
    expected = f"The minimum detectable difference with 50 queries is {smallest:.3f} at statistical power 0.8"
    assert detectable == expected
    assert needs == f"Detecting a difference of 0.05 takes {needed:,} queries at statistical power 0.8"
    [power] = comparison.to_dict()["power"]
    assert (power["minimum_detectable_difference"], power["difference"]) == (smallest, 0.05)
    assert power["queries_needed"] == needed


@pytest.mark.parametrize("measure", ["GMAP", "NumRelRet"])
def test_gmap_and_sums_have_no_minimum_detectable_difference(demos: dict[str, Scores], measure: str) -> None:
    # The spread of logarithms, or of the terms of a sum, is in another unit than the difference.
    comparison = compare(demos, measures=measure, test="t", detect=0.1, resamples=50)
    assert [power["minimum_detectable_difference"] for power in comparison.to_dict()["power"]] == [None] * 3
    assert all("is unknown" in sentence for sentence in comparison.sentences)


def test_more_comparisons_increase_the_minimum_detectable_difference(demos: dict[str, Scores]) -> None:
    pair = {name: demos[name] for name in ("bm25", "bm25-rm3")}
    alone, among = (compare(each, measures="RR", resamples=50) for each in (pair, demos))
    smallest = [each.power("RR", "bm25-rm3", "bm25").minimum_detectable_difference or 0 for each in (alone, among)]
    assert smallest[0] < smallest[1]


# Queries and measures that do not align.


@pytest.mark.parametrize("test", TESTS)
def test_queries_are_aligned_by_id_in_any_order(demos: dict[str, Scores], test: Any) -> None:
    options = {"test": test, **permuted(test, 500), "resamples": 50, "measures": "AP NumRelRet"}
    straight = compare(demos, **options)
    reordered = compare({**demos, "bm25": shuffled(demos["bm25"], 1), "bm25-rm3": shuffled(demos["bm25-rm3"], 2)},
                       **options)  # fmt: skip
    assert reordered.rows == straight.rows
    assert reordered.queries == demos["overlap"].queries


def test_a_diff_does_not_depend_on_the_order_of_queries() -> None:
    truth = {f"q{at}": {"a": 1, "b": 2} for at in range(6)}
    before = {query: ["a", "x"] if at % 2 else ["x", "b"] for at, query in enumerate(truth)}
    after = {query: ["b", "a"] if at % 3 else ["y"] for at, query in enumerate(truth)}
    first, second = evaluate(truth, before, "AP"), evaluate(truth, after, "AP")
    backwards = evaluate(dict(reversed(truth.items())), after, "AP")
    assert backwards.queries != second.queries
    ours, theirs = (compare({"one": first, "two": each}, resamples=50).diff("AP") for each in (backwards, second))
    assert ours.to_dict() == theirs.to_dict()


def test_different_queries_are_an_error_that_names_the_missing_queries() -> None:
    with pytest.raises(KaratError) as error:
        compare({"one": scores_of([0.1, 0.2, 0.3]), "two": scores_of([0.1, 0.2], first=1), "all": scores_of([1] * 3)})
    assert "two lacks 1 query (q0)" in str(error.value)
    assert "common_queries=True" in str(error.value)
    assert "all lacks" not in str(error.value)


def test_common_queries_leaves_out_other_queries_and_counts_them() -> None:
    one, other = [0.1, 0.2, 0.4, 0.9, 0.8], [0.3, 0.5, 0.6, 0.1]
    comparison = compare({"one": scores_of(one), "two": scores_of(other, first=2)}, common_queries=True)
    assert comparison.queries == ("q2", "q3", "q4")
    assert comparison.notes[:3] == (
        "one: 2 of 5 queries left out (not in all systems).",
        "two: 1 of 4 queries left out (not in all systems).",
        NO_FINGERPRINT,
    )
    assert comparison.row("AP") == replace(compare_two(one[2:], other[:3], resamples=10_000).row("AP"), system="two",
                                           baseline="one")  # fmt: skip
    assert all(note in str(comparison) for note in comparison.notes)


@pytest.mark.parametrize("common_queries", [False, True])
def test_systems_without_a_common_query_are_an_error_with_example_ids(common_queries: bool) -> None:
    with pytest.raises(KaratError, match="no query in common: one has q0, q1; two has q7, q8"):
        compare({"one": scores_of([0, 1]), "two": scores_of([0, 1], first=7)}, common_queries=common_queries)


def test_measures_that_some_systems_lack_are_left_out_with_a_note(demos: dict[str, Scores]) -> None:
    comparison = compare({"one": demos["bm25"].only(["AP", "RR", "P@10"]), "two": demos["overlap"].only(["RR"])},
                         resamples=50)  # fmt: skip
    assert comparison.measures == ("RR",)
    assert comparison.notes == ("one: AP, P@10 left out (not in all systems).",)


def test_systems_without_a_common_measure_are_an_error() -> None:
    with pytest.raises(KaratError, match="no measure in common: one has AP; two has RR"):
        compare({"one": scores_of([0, 1]), "two": scores_of([0, 1], "RR")})


def test_a_requested_measure_that_a_system_lacks_is_an_error_that_names_both(demos: dict[str, Scores]) -> None:
    with pytest.raises(KaratError, match=r"two: these scores have no 'P@10'.*The measures are AP"):
        compare({"one": demos["bm25"], "two": demos["overlap"].only(["AP"])}, measures="AP P@10")


# Sentences.


def test_the_last_line_states_the_result_with_its_interval_and_p_value(demos: dict[str, Scores]) -> None:
    comparison = compare({name: demos[name] for name in ("overlap", "bm25-rm3")}, measures="P@10")
    row = comparison.row("P@10")
    sizes = f"{row.difference:.3f} [{row.difference_low:.3f}, {row.difference_high:.3f}]"
    p = "p < 0.0001" if (row.p or 0) < 0.0001 else f"p = {row.p:.4f}"
    expected = f"bm25-rm3 is significantly better than overlap on P@10, by {sizes} ({p}, 50 queries)"
    assert str(comparison).splitlines()[-1] == comparison.sentences[-1] == expected


def test_a_lower_value_is_better_if_the_measure_says_so(demos: dict[str, Scores]) -> None:
    comparison = compare(demos, "overlap", measures="Unjudged@10")
    row = comparison.row("Unjudged@10", "bm25")
    assert (row.difference or 0) < 0
    assert (row.wins or 0) > (row.losses or 0)
    by = f"by {-(row.difference or 0):.3f} [0."
    assert comparison.sentences[0].startswith(f"bm25 is significantly better than overlap on Unjudged@10, {by}")
    assert r"\textbf{" in next(line for line in comparison.to_latex().splitlines() if line.startswith("b & bm25"))


def test_a_baseline_that_is_better_is_named_first(demos: dict[str, Scores]) -> None:
    sentence = compare(demos, "bm25", measures="nDCG@10", resamples=500).sentences[0]
    assert re.match(
        r"bm25 is significantly better than overlap on nDCG@10, by 0\.135 \[0\.0\d\d, 0\.1\d\d\] ", sentence
    )


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0.25], [0.5], "one query is not enough for a test"),
        ([0.25], [0.25], "b and a have the same AP on the only query"),
        ([0.25, 0.5, 0.75], [0.25, 0.5, 0.75], "b and a have the same AP on all 3 queries"),
        ([0.25, 0.5], [0.25, 0.5], "b and a have the same AP on both queries"),
        ([0.5] * 4, [0.5] * 4, "b and a have the same AP on all 4 queries"),
        ([0.5] * 4, [0.75] * 4, ": +0.250 ("),
        ([None, 0.5], [0.5, None], "no query has a value for AP in"),
    ],
)
def test_degenerate_comparisons_are_described_and_not_significant(
    test: Any, a: list[float | None], b: list[float | None], message: str
) -> None:
    comparison = compare_two(a, b, test=test, **permuted(test, 500), detect=0.1)
    assert message in comparison.sentences[0]
    assert "is unknown" in comparison.sentences[0]
    assert not any(comparison.significant(row) for row in comparison.rows)
    assert "significantly better" not in str(comparison)
    assert "nan" not in str(comparison).lower()
    assert comparison.power("AP").minimum_detectable_difference is None


def test_findings_of_the_systems_are_shown(demos: dict[str, Scores]) -> None:
    text = str(compare(demos, test="t", resamples=50))
    assert re.search(r"note K032: unjudged documents in the top 10: overlap 40%, bm25 32%, bm25-rm3 38%\.", text)


def test_differences_that_are_equal_within_rounding_error_have_no_spread() -> None:
    values = [0.2, 0.7, 0.5, 0.1, 0.9, 0.3]
    comparison = compare_two(values, [value + 0.1 for value in values], test="t", detect=0.02)
    assert comparison.row("AP").p is None
    assert comparison.power("AP").minimum_detectable_difference is None
    assert "is unknown" in comparison.sentences[0]


def test_a_p_value_of_exactly_one_minus_the_level_is_not_significant() -> None:
    values = [at / 64 for at in range(48)]
    comparison = compare_two(values, [value + 0.125 + value / 8 for value in values], permutations=19)
    assert comparison.row("AP").p == 0.05
    assert not comparison.significant(comparison.row("AP"))


def test_one_differing_query_is_described_in_the_singular() -> None:
    assert "only 1 query differs" in compare_two([0.5] * 4, [0.5, 0.5, 0.5, 0.75]).sentences[0]


# Formats.


def test_rows_have_exactly_these_keys_in_dicts_and_json(demos: dict[str, Scores], tmp_path: Path) -> None:
    comparison = compare(demos, "bm25", test="t", resamples=50)
    rows = comparison.to_dict()["rows"]
    assert all(tuple(row) == KEYS for row in rows)
    assert len(rows) == 3 * len(MEASURES)
    assert [row["system"] for row in rows if row["baseline"] is None] == ["bm25"] * len(MEASURES)
    assert comparison.to_json(tmp_path / "c.json") == (tmp_path / "c.json").read_text("utf-8")
    assert json.loads(comparison.to_json()) == comparison.to_dict()


def test_csv_has_every_number_with_all_digits(demos: dict[str, Scores], tmp_path: Path) -> None:
    comparison = compare(demos, test="t", resamples=50)
    read = list(csv.DictReader(io.StringIO(comparison.to_csv(tmp_path / "c.csv"))))
    assert (tmp_path / "c.csv").read_text("utf-8") == comparison.to_csv()
    for found, row in zip(read, comparison.rows, strict=True):
        assert tuple(found) == KEYS
        expected = {name: "" if value is None else value for name, value in asdict(row).items() if name in KEYS}
        assert found.pop("higher_is_better") == str(expected.pop("higher_is_better"))
        assert {name: type(expected[name])(text) for name, text in found.items()} == expected


def test_latex_marks_which_systems_are_significantly_better_and_worse(demos: dict[str, Scores], tmp_path: Path) -> None:
    comparison = compare(demos, measures="RR", permutations=2000, resamples=50)
    assert [comparison.significant(row) for row in compared_rows(comparison)] == [True, True, False]
    text = comparison.to_latex(tmp_path / "c.tex")
    assert (tmp_path / "c.tex").read_text("utf-8") == text
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert lines[:4] == [r"\begin{tabular}{llr}", r"\toprule", r" & run & RR \\", r"\midrule"]
    assert lines[4:7] == [
        r"a & overlap & 0.4012$_{b,c}$ \\", r"b & bm25 & 0.5534$^{a}$ \\", r"c & bm25-rm3 & \textbf{0.6672}$^{a}$ \\",
    ]  # fmt: skip
    assert lines[7:] == [r"\bottomrule", r"\end{tabular}"]


def test_every_table_shows_means_differences_and_the_sentence(demos: dict[str, Scores], tmp_path: Path) -> None:
    comparison = compare({name: demos[name] for name in ("bm25", "bm25-rm3")}, measures="nDCG@10", resamples=500)
    markdown = comparison.to_markdown(tmp_path / "c.md")
    assert (tmp_path / "c.md").read_text("utf-8") == markdown
    for text in (str(comparison), markdown.replace("\\", ""), comparison._repr_html_()):
        for part in ("0.4358 [", "0.5559 [", "+0.1201 [", "+0.39", "26/13/11", comparison.sentences[0]):
            assert part in text


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.append(tag)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("measure", ["AP", "m|\x1b\n<b>&,$"])
def test_special_characters_in_names_are_escaped_in_every_format(name: str, measure: str) -> None:
    systems = {
        "plain": scores_of([0.1, 0.2, 0.3, 0.1, 0.5, 0.2, 0.1], measure),
        name: scores_of([0.2, 0.4, 0.6, 0.3, 0.9, 0.5, 0.4], measure),
    }
    comparison = compare(systems, name, resamples=50)
    assert json.loads(comparison.to_json())["rows"][0]["baseline"] == name
    read = list(csv.reader(io.StringIO(comparison.to_csv(), newline="")))
    assert [row[:3] for row in read[1:]] == [[measure, "plain", name], [measure, name, ""]]
    for text in (str(comparison), comparison.to_markdown(), comparison.to_latex(), comparison._repr_html_()):
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
    cells = {len(re.findall(r"(?<!\\)\|", line)) for line in comparison.to_markdown().splitlines() if line[:1] == "|"}
    assert cells == {8}
    assert {*Page(comparison._repr_html_()).tags} <= {*"table thead tbody tr th td b i div small".split()}
    body = [line for line in comparison.to_latex().splitlines() if line.endswith(r" \\")]
    body = [line.removesuffix(r" \\") for line in body]
    assert len(body) == 3
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {2}
    assert not re.search(r"(?<!\\)[%#~]|\\(?!text(?:bf|backslash|asci|bar|less|greater)|[&%$#_{}\\])", "\n".join(body))
    # with notes, also on the fingerprints, or two on the unknown measure
    assert len(str(comparison).splitlines()) == (11 if measure == "AP" else 12)


# Saved scores.


@pytest.mark.parametrize("suffix", ["json", "csv", "parquet"])
def test_saved_scores_give_the_same_comparison(demos: dict[str, Scores], suffix: str, tmp_path: Path) -> None:
    loaded = {}
    for name, scores in demos.items():
        getattr(scores, f"to_{suffix}")(tmp_path / f"{name}.{suffix}")
        loaded[name] = Scores.load(tmp_path / f"{name}.{suffix}")
    assert compare(loaded, resamples=50, test="t").rows == compare(demos, resamples=50, test="t").rows


def test_a_diff_of_scores_without_evidence_has_numbers_only(demos: dict[str, Scores]) -> None:
    found = compare({name: demos[name] for name in ("overlap", "bm25")}, resamples=50).diff("AP", 2)
    assert len(found.queries) == 2
    assert "no run data" in str(found)


# Bad input.


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("detect", value) for value in (0, -0.1, math.nan, math.inf, True, "0.1", [0.1])),
        *(("level", value) for value in (0, 1, -0.1, 95, math.nan, True, "0.95", None)),
        *(("permutations", value) for value in (0, -1, 1.5, math.nan, True, "10")),
        *(("resamples", value) for value in (0, -1, 1.5, True, "10")),
        *(("seed", value) for value in (-1, 0.5, True, "1")),
        *(("test", value) for value in ("z", "sign", "", None, 1, ["t"])),
        *(("correction", value) for value in ("sidak", "holm-sidak", "", True)),
        *(("common_queries", value) for value in ("common", None, 2)),
        *(("family", value) for value in ("system", "", True)),
    ],
)
def test_an_invalid_option_is_rejected_by_name(option: str, value: object) -> None:
    with pytest.raises(KaratError, match=rf"^{option}\b"):
        compare({"a": scores_of([0.1, 0.2]), "b": scores_of([0.2, 0.4])}, **{option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ({}, "a comparison needs at least 2 systems, got 0"),
        ({"one": scores_of([0.1, 0.2])}, "a comparison needs at least 2 systems, got 1"),
        ({"one": scores_of([0.1]), "two": {"q0": 0.5}}, "two: {'q0': 0.5} is not a Scores object"),
        ({"one": scores_of([0.1]), "two": None}, "two: None is not a Scores object"),
        ({"one": scores_of([0.1]), 2: scores_of([0.1])}, "2 is not a system name"),
        ([scores_of([0.1]), scores_of([0.1])], "is not a mapping of system names to scores"),
        (None, "None is not a mapping of system names to scores"),
        ({"one": scores_of([]), "two": scores_of([])}, "no queries"),
        ({"one": scores_of([]), "two": scores_of([1])}, "no query in common: one has none; two has q0"),
    ],
)
def test_invalid_systems_are_rejected(systems: Any, message: str) -> None:
    with pytest.raises(KaratError) as error:
        compare(systems)
    assert message in str(error.value)


def test_an_unknown_baseline_or_system_is_an_error_that_suggests_the_nearest(demos: dict[str, Scores]) -> None:
    with pytest.raises(KaratError, match=r"baseline='bm52' is not one of the systems\. Did you mean bm25"):
        compare(demos, "bm52")
    with pytest.raises(KaratError, match=r"system='overlaps' is not one of the systems\. Did you mean overlap\?"):
        compare(demos, test="t", resamples=50).row("AP", "overlaps")


def test_one_of_several_comparisons_must_be_chosen_by_name(demos: dict[str, Scores]) -> None:
    comparison = compare(demos, test="t", resamples=50)
    with pytest.raises(KaratError, match="ambiguous: 3 comparisons match"):
        comparison.row("AP")
    with pytest.raises(KaratError, match="overlap was not compared with bm25"):
        comparison.row("AP", "overlap", "bm25")
    with pytest.raises(KaratError, match="no 'nDCG@5'"):
        comparison.row("nDCG@5", "bm25", "overlap")


@pytest.mark.parametrize("measures", ["", [], "APP", 7, [None]])
def test_invalid_measures_are_rejected(demos: Mapping[str, Scores], measures: Any) -> None:
    with pytest.raises(KaratError):
        compare(demos, measures=measures)


@pytest.mark.parametrize("baseline", [0, True, 0.5, ["a"]])
def test_a_baseline_that_is_not_a_name_is_rejected(baseline: Any) -> None:
    with pytest.raises(KaratError, match="baseline"):
        compare({"a": scores_of([0.1, 0.2]), "b": scores_of([0.2, 0.4])}, baseline)


def test_a_difference_to_detect_beyond_the_range_of_floats_is_rejected() -> None:
    with pytest.raises(KaratError, match="detect"):
        compare_two([0.1, 0.2], [0.2, 0.4], detect=10**400)


def test_the_interval_of_a_difference_scales_with_the_values() -> None:
    chance = np.random.default_rng(1)
    for n in (2, 3, 5, 8, 13) * 3:
        a, b = chance.integers(0, 6, (2, n)).tolist()
        whole = compare_two(a, b, test="t", resamples=500).row("AP")
        row = compare_two([value / 10 for value in a], [value / 10 for value in b], test="t", resamples=500).row("AP")
        if row.difference_low is None or row.difference_high is None:
            assert (whole.difference_low, whole.difference_high) == (None, None)
            continue
        ends = (10 * row.difference_low, 10 * row.difference_high)
        assert ends == pytest.approx((whole.difference_low, whole.difference_high), abs=1e-12)


def test_the_interval_of_a_difference_in_gmap_is_mirrored_too() -> None:
    columns = ([1 / 16, 0.0, 0.0, 0.0], [1 / 16, 0.0, 1 / 16, 0.0])
    row, mirrored = (compare_two(*columns, "GMAP", baseline=name, test="t").row("GMAP") for name in "ab")
    assert mirrored.difference_low == near(negated(row.difference_high))
    assert mirrored.difference_high == near(negated(row.difference_low))


def test_infinite_values_are_rejected() -> None:
    with pytest.raises(KaratError, match="inf"):
        compare_two([1.0, math.inf, 2.0], [1.0, 2.0, 3.0])


def test_differences_of_counts_are_shown_as_counts(demos: dict[str, Scores]) -> None:
    text = str(compare(demos, "bm25", measures="NumRelRet", test="t"))
    assert "-27 [-41.9751, -12.0249]" in text


def test_a_difference_within_rounding_error_is_shown_as_zero() -> None:
    sentence = compare_two([0.1, 0.5, 0.2], [0.2, 0.4, 0.2]).sentences[0]
    assert "0.000000000000" not in sentence
