"""One-sided tests against a margin, and equivalence."""

from __future__ import annotations

import csv
import io
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from karat import Comparison, KaratError, Scores, compare
from karat.comparison import choose_method
from karat.comparison.differences import Pair, values_of
from karat.comparison.margins import Claim, one_sided_tests, parse_margins


def scores(values: list[float] | np.ndarray, name: str = "AP") -> Scores:
    return Scores(tuple(f"q{at:04}" for at in range(len(values))), {name: np.asarray(values, np.float64)})


def systems(differences: np.ndarray, name: str = "AP") -> dict[str, Scores]:
    """Two systems, the second with these differences from the first."""
    return {"old": scores(np.full(len(differences), 0.5), name), "new": scores(0.5 + differences, name)}


def p_of(differences: np.ndarray, margin: float, *, above: bool, name: str = "AP", **method: object) -> float | None:
    pair = Pair(values_of(systems(differences, name), name), 1, 0)
    return one_sided_tests([Claim(pair, margin, above)], choose_method(**method))[0].p  # type: ignore[arg-type]


def draw(n: int, mean: float = 0.0, spread: float = 0.1, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, spread, n)


# One-sided tests


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("margin", [-0.03, 0.0, 0.05])
def test_the_t_test_against_a_margin_is_that_of_scipy(margin: float, above: bool) -> None:
    differences = draw(30)
    expected = stats.ttest_1samp(differences, margin, alternative="greater" if above else "less").pvalue
    assert p_of(differences, margin, above=above, test="t") == pytest.approx(expected)


@pytest.mark.parametrize("above", [True, False])
def test_the_randomization_test_against_a_margin_counts_the_sums_on_one_side(above: bool) -> None:
    differences, margin = draw(9, 0.02), -0.04
    shifted = differences - margin
    sums = np.array([np.dot(signs, np.abs(shifted)) for signs in product([1, -1], repeat=9)])
    reached = sums >= shifted.sum() - 1e-12 if above else sums <= shifted.sum() + 1e-12
    # On the side that is not claimed, patterns with exactly the observed sum are not counted.
    assert p_of(differences, margin, above=above) == pytest.approx(reached.mean(), abs=0 if above else 2 / 2**9)


def test_wilcoxons_test_against_a_margin_is_that_of_scipy() -> None:
    differences = draw(20, 0.05)
    expected = stats.wilcoxon(differences + 0.02, alternative="greater", method="exact").pvalue
    assert p_of(differences, -0.02, above=True, test="wilcoxon") == pytest.approx(expected)


def test_wilcoxons_test_claims_nothing_that_the_mean_contradicts() -> None:
    differences = np.array([0.02] * 18 + [-0.4, -0.4])  # the ranks rise and the mean falls
    assert differences.mean() < -0.02
    p = p_of(differences, -0.02, above=True, test="wilcoxon")
    assert p is not None
    assert p > 0.5


def test_queries_without_a_difference_count_as_the_margin() -> None:
    unchanged = np.zeros(8)
    assert p_of(unchanged, -0.01, above=True) == 2**-8
    assert p_of(unchanged, -0.01, above=False) == 1 - 2**-8
    # A difference that equals the margin up to rounding says nothing.
    assert p_of(np.full(8, 0.49) - 0.5, -0.01, above=True) == 0.5


def test_the_margin_of_a_sum_is_divided_among_the_queries() -> None:
    differences = draw(12, 1.0, 2.0)
    expected = p_of(differences, 0.25, above=True, test="t")
    assert p_of(differences, 3, above=True, name="NumRelRet", test="t") == pytest.approx(expected)


def test_without_variance_or_with_one_query_the_t_test_is_undefined() -> None:
    assert p_of(np.full(5, 0.1), 0.05, above=True, test="t") is None
    assert p_of(np.array([0.1]), 0.05, above=True, test="t") is None
    assert p_of(np.array([0.1]), 0.05, above=True) == 0.5


@settings(max_examples=40)
@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=10),
    st.floats(-0.5, 0.5),
    st.sampled_from(["randomization", "t", "wilcoxon", "bootstrap", "tukey"]),
)
def test_a_larger_margin_never_makes_it_easier_to_be_above_and_both_sides_add_up_to_one(
    values: list[float], margin: float, test: str
) -> None:
    differences = np.array(values)
    above, below = (p_of(differences, margin, above=side, test=test) for side in (True, False))
    if above is None or below is None:
        assert above is below
        return
    assert above + below >= 1 - 1e-12
    higher = p_of(differences, margin + 0.1, above=True, test=test)
    # The bootstrap and Wilcoxon's test are monotone only approximately.
    if higher is not None and test in ("randomization", "t"):
        assert higher >= above - 1e-9


# Equivalence


def test_a_small_difference_is_equivalent_and_an_uncertain_one_is_not() -> None:
    similar = compare(systems(draw(100, 0.0, 0.02)), equivalence=0.01)
    row = similar.row("AP")
    assert (row.margin, similar.equivalent(row)) == (0.01, True)
    assert "new and old are equivalent on AP within ±0.01 (p < 0.0001)" in similar.sentences[0]
    noisy = compare(systems(draw(20, 0.0, 0.3)), equivalence=0.01)
    assert not noisy.significant(noisy.row("AP"))
    assert not noisy.equivalent(noisy.row("AP"))
    assert "They are not shown to be equivalent within ±0.01 (p = 0.5" in noisy.sentences[0]


def test_the_p_value_of_equivalence_is_the_larger_one_of_two_one_sided_tests() -> None:
    differences = draw(40, 0.01)
    found = compare(systems(differences), test="t", equivalence=0.03).row("AP").p_equivalent
    sides = [
        stats.ttest_1samp(differences, margin, alternative=side).pvalue
        for margin, side in ((-0.03, "greater"), (0.03, "less"))
    ]
    assert found == pytest.approx(max(sides))


@settings(max_examples=30)
@given(st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=12), st.floats(0.001, 0.4))
def test_with_the_t_test_systems_are_equivalent_if_the_90_percent_interval_is_within_the_margin(
    values: list[float], margin: float
) -> None:
    differences = np.array(values)
    if np.ptp(differences) < 1e-6:
        return
    comparison = compare(systems(differences), test="t", equivalence=margin, resamples=1)
    low, high = stats.ttest_1samp(differences, 0).confidence_interval(0.9)
    if min(abs(low + margin), abs(high - margin)) > 1e-9:
        assert comparison.equivalent(comparison.row("AP")) == (-margin < low and high < margin)


def test_equivalence_does_not_depend_on_which_system_is_the_baseline() -> None:
    two = systems(draw(30, 0.02))
    one, other = (compare(two, baseline, equivalence=0.05).row("AP").p_equivalent for baseline in ("old", "new"))
    assert one == other


def of_three(**options: object) -> Comparison:
    names = ("a", "b", "c")
    values = {
        name: Scores(
            tuple(f"q{at:02}" for at in range(30)),
            {measure: 0.5 + draw(30, 0, 0.1, seed) for seed, measure in enumerate(("AP", "RR", "GMAP"), 3 * at)},
        )
        for at, name in enumerate(names)
    }
    return compare(values, **options)  # type: ignore[arg-type]


def test_p_values_of_equivalence_are_corrected_as_those_of_differences() -> None:
    rows = [row for row in of_three(equivalence=0.1, correction="bonferroni").rows if row.baseline and row.margin]
    assert {row.measure for row in rows} == {"AP", "RR"}
    for row in rows:
        assert row.p_equivalent is not None
        assert row.p_equivalent_corrected == min(1, 3 * row.p_equivalent)


def test_equivalence_is_a_column_of_the_table_and_of_files_only_if_it_is_asked_for() -> None:
    comparison = of_three(equivalence={"map": 0.2})
    assert "p (equivalence)" in comparison.table().header
    assert "equivalence: a difference within ±0.2 on AP, by two one-sided tests, Holm-corrected" in str(comparison)
    assert "≈ equivalent, p (equivalence) below 0.05" in str(comparison)
    (row, *_) = [row for row in csv.DictReader(io.StringIO(comparison.to_csv())) if row["baseline"]]
    assert float(row["margin"]) == 0.2
    assert float(row["p_equivalent"]) == comparison.row("AP", "b", "a").p_equivalent
    assert row.keys() == comparison.to_dict()["rows"][0].keys()
    assert "p (equivalence)" in comparison.slices({f"q{at:02}": str(at % 3) for at in range(30)}).table().header
    without = of_three()
    assert "p (equivalence)" not in without.table().header
    assert not any("equivalent" in name or name == "margin" for name in without.records()[0])


def test_within_groups_the_note_on_equivalence_names_the_correction_over_the_groups() -> None:
    by_group = compare(systems(draw(30)), equivalence=0.2).slices({f"q{at:04}": str(at % 3) for at in range(30)})
    assert "equivalence: a difference within ±0.2, by two one-sided tests, Holm-corrected" in str(by_group)


def test_equivalence_is_in_italics_since_bold_means_better() -> None:
    two = systems(draw(30, 0.1, 0.05))
    latex = compare(two, equivalence=0.2).slices({f"q{at:04}": str(at % 3) for at in range(30)}).to_latex()
    assert "bold: significantly better, p below 0.05" in latex
    assert "italics: equivalent, p (equivalence) below 0.05" in latex


def test_geometric_means_have_no_margin_and_a_note_says_so() -> None:
    comparison = of_three(equivalence=0.1)
    assert comparison.row("GMAP", "b", "a").p_equivalent is None
    assert any(note.startswith("GMAP: equivalence is not tested, because") for note in comparison.notes)
    with pytest.raises(KaratError, match=r"\{'GMAP': 0.1\}: equivalence is not tested"):
        of_three(equivalence={"GMAP": 0.1})


def test_equivalence_on_one_query_or_without_variance_cannot_be_tested() -> None:
    assert "Equivalence within ±0.1 cannot be tested: one query" in compare(
        systems(np.array([0.01])), equivalence=0.1
    ).sentences[0]  # fmt: skip
    constant = compare(systems(np.full(5, 0.01)), test="t", equivalence=0.1)
    assert "Equivalence within ±0.1 cannot be tested: all differences are equal" in constant.sentences[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"equivalence": 0}, "equivalence=0 is not a positive number"),
        ({"equivalence": "0.1"}, "is not a positive number"),
        ({"equivalence": {}}, "equivalence names no measure"),
        ({"equivalence": {"AP": -1}}, r"equivalence=\{'AP': -1\} is not a positive number"),
        ({"equivalence": {1: 0.1}}, "equivalence names 1, which is not a measure"),
        ({"equivalence": {"P@7": 0.1}}, r"equivalence=\{'P@7': 0.1\}: these scores have no 'P@7'"),
        ({"equivalence": {"AP": 0.1, "map": 0.2}}, "equivalence=.* has two margins for a measure"),
        ({"equivalence": 2}, "equivalence=2.0 is out of range: AP cannot differ by more than 1"),
        ({"equivalence": 0.1, "test": "tukey"}, "Tukey's test is about the range of all systems"),
    ],
)
def test_a_margin_that_makes_no_sense_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(KaratError, match=message):
        of_three(**options)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["nDCG@10"], "equivalence='nDCG@10' is not a number"),
        (["AP="], "is not of the form MEASURE=MARGIN"),
        (["0.1", "AP=0.2"], "equivalence='0.1' is for all measures, and there are other margins"),
        (["AP=0.1", "AP=0.2"], "AP has two margins"),
    ],
)
def test_a_wrong_margin_on_the_command_line_is_an_error_that_names_its_option(texts: list[str], message: str) -> None:
    with pytest.raises(KaratError, match=message):
        parse_margins(texts)


def test_no_margin_on_the_command_line_is_none() -> None:
    assert parse_margins([]) is None
