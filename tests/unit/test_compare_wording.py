"""Sentences and tables of comparisons: they agree with the numbers, and say why a test and an interval disagree."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import Scores, compare
from karat.comparison import Comparison, choose_method
from karat.comparison.sentences import p_text
from karat.data.judged import Floats
from karat.errors import KaratError

TESTS = ("randomization", "t", "wilcoxon", "bootstrap", "tukey")


def systems_of(*columns: Sequence[float] | Floats, measure: str = "AP") -> dict[str, Scores]:
    """Systems a, b, …, with the queries q0, q1, …"""
    queries = tuple(f"q{at}" for at in range(len(columns[0])))
    names = "abcdefgh"
    return {name: Scores(queries, {measure: np.array(column, float)}) for name, column in zip(names, columns)}  # noqa: B905


def shifted(*means: float, n: int = 40, spread: float = 0.1, seed: int = 3) -> dict[str, Scores]:
    """Systems whose differences from the first have exactly these means, with the same spread."""
    chance = np.random.default_rng(seed)
    columns = [np.full(n, 0.5)]
    for mean in means:
        noise = chance.normal(size=n)
        columns.append(0.5 + mean + spread * (noise - noise.mean()) / noise.std())
    return systems_of(*columns)


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        *((name, "randomization") for name in ("fisher", "Fisher", "permutation", "randomisation", "randomization")),
        *((name, "t") for name in ("student", "ttest", "t-test", "T_test", "paired t-test", "t")),
        *((name, "wilcoxon") for name in ("wilcoxon", "Wilcoxon signed-rank")),
        *((name, "tukey") for name in ("tukey", "tukey_hsd", "HSD")),
    ],
)
def test_tests_are_known_by_the_names_that_other_tools_use(given: str, canonical: str) -> None:
    comparison = compare(shifted(0.1), test=given, resamples=9)
    assert comparison.method.test == comparison.to_dict()["test"] == canonical
    assert comparison.rows == compare(shifted(0.1), test=canonical, resamples=9).rows


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        *((name, "bh") for name in ("benjamini-hochberg", "Benjamini-Hochberg", "fdr_bh", "fdr", "BH")),
        *((name, "holm") for name in ("Holm", "holm-bonferroni", None)),
        *((name, "bonferroni") for name in ("Bonferroni", "bonf")),
        ("None", "none"),
    ],
)
def test_corrections_are_known_by_the_names_that_other_tools_use(given: str | None, canonical: str) -> None:
    assert compare(shifted(0.1, 0.2), correction=given, resamples=9).to_dict()["correction"] == canonical


def test_tukeys_test_is_not_corrected_again_and_refuses_a_correction() -> None:
    comparison = compare(shifted(0.1, 0.2), test="tukey", permutations=99, resamples=9)
    assert comparison.to_dict()["correction"] == "none"
    assert choose_method("tukey", "none", "measure").correction == "none"
    for options in ({"correction": "holm"}, {"correction": "Bonferroni"}, {"family": "all"}):
        with pytest.raises(KaratError, match="has no effect on Tukey's test, which corrects over all systems"):
            compare(shifted(0.1, 0.2), test="tukey", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("test", ["t", "wilcoxon", "bootstrap"])
def test_a_number_of_permutations_is_refused_by_tests_that_permute_nothing(test: str) -> None:
    with pytest.raises(KaratError, match=f"permutations=99 has no effect on the {test} test"):
        compare(shifted(0.1), test=test, permutations=99)


def test_a_family_is_refused_if_nothing_is_corrected() -> None:
    with pytest.raises(KaratError, match="family='measure' has no effect on p-values that are not corrected"):
        compare(shifted(0.1), correction="none", family="measure")


def test_a_single_comparison_is_not_called_corrected() -> None:
    text = str(compare(shifted(0.1), resamples=99))
    assert "corrected" not in text
    assert "p (Holm)" not in text
    several = compare(shifted(0.1, 0.2), "a", resamples=99)
    assert str(several).count("Holm-corrected") == 3
    assert "Holm-corrected over 2 comparisons" in str(several)


def test_comparisons_that_were_not_tested_do_not_count() -> None:
    constant = {**shifted(0.1), "c": systems_of([0.75] * 40)["a"]}
    comparison = compare(constant, "a", test="t", resamples=9)
    assert comparison.row("AP", "c").p is None
    assert "corrected" not in str(comparison)
    assert comparison.row("AP", "b").p == comparison.row("AP", "b").p_corrected
    assert comparison.power("AP", "b").alpha == comparison.method.alpha


def test_the_sentence_says_that_the_correction_is_why_the_interval_excludes_0() -> None:
    comparison = compare(shifted(0.037, 0.037, 0.037), "a", test="t", resamples=2000)
    row = comparison.row("AP", "b")
    assert row.difference_low is not None
    assert row.difference_low > 0
    assert row.p is not None
    assert row.p < 0.05
    assert comparison.sentences[0].startswith("no significant difference between b and a on AP")
    why = "; the interval excludes 0 because it, unlike p, is not corrected over 3 comparisons)"
    assert why in comparison.sentences[0]


def test_the_sentence_says_that_test_and_interval_are_different_methods() -> None:
    # The bootstrap interval, which is narrower than the t interval, excludes 0.
    differences = [0.0, 0.0, 0.0, 0.1, 0.1, 0.2, 0.4]
    comparison = compare(systems_of([0.1] * 7, [0.1 + each for each in differences]), test="bootstrap", resamples=2000)
    assert not comparison.significant(comparison.row("AP"))
    assert "; the interval excludes 0 because it is computed by another method, the BCa bootstrap)" in str(comparison)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "at 95%, not corrected: they exclude 0 exactly if p before the correction is below 0.05"),
        ({"correction": "none"}, "from the test: they exclude 0 exactly if p is below 0.05"),
        (
            {"correction": "bonferroni", "level": 0.9},
            "at 96.67%, corrected like p: they exclude 0 exactly if the corrected p is below 0.1",
        ),
        ({"test": "wilcoxon"}, "by the BCa bootstrap, not corrected: they may disagree with p, which compares ranks"),
        ({"test": "bootstrap", "correction": "none"}, "by the BCa bootstrap: they may disagree with p"),
    ],
)
def test_a_line_says_what_the_intervals_of_differences_are(options: dict[str, Any], line: str) -> None:
    lines = str(compare(shifted(0.1, 0.2), resamples=99, **options)).splitlines()
    assert f"intervals of differences are {line}" in lines


def test_levels_are_shown_with_as_many_digits_as_they_need() -> None:
    text = str(compare(shifted(0.1, 0.2), level=0.999999, test="t", correction="bonferroni"))
    assert "40 queries, with 99.9999% confidence intervals" in text
    assert "intervals of differences are at 99.99997%, corrected like p" in text
    assert "intervals of differences are at 97.125%, not corrected" in str(compare(shifted(0.1, 0.2), level=0.97125))
    assert "if p is below 0.125\n" in str(compare(shifted(0.1), level=0.875))
    assert "significantly better, p below 0.125" in str(compare(shifted(0.1), level=0.875))


def test_intervals_by_tukeys_test_hold_for_all_pairs_at_once() -> None:
    text = str(compare(shifted(0.1, 0.2), test="tukey", permutations=999, resamples=9))
    assert "intervals of differences hold for all pairs at once: they exclude 0 exactly if p is below 0.05\n" in text


def test_the_interval_of_a_geometric_mean_may_disagree_with_p() -> None:
    both = {
        name: Scores(each.queries, {**each.values, "GMAP": each.values["AP"]}) for name, each in shifted(0.1).items()
    }
    assert "is below 0.05; those of GMAP are by the BCa bootstrap: they may disagree with p" in str(compare(both))


def test_a_note_says_if_few_queries_differ() -> None:
    few = systems_of([0.5] * 50, [0.5] * 43 + [0.6, 0.7, 0.6, 0.8, 0.6, 0.9, 0.7])
    note = "AP: only 7 of 50 queries differ, so the interval of the difference may be too narrow."
    assert note in compare(few).notes
    all_differ = systems_of([0.5] * 7, [0.6, 0.7, 0.6, 0.8, 0.6, 0.9, 0.7])
    assert note.replace("7 of 50", "7") in compare(all_differ).notes
    three = {**few, "c": shifted(0.1, n=50)["b"]}
    note = "AP: fewer than 10 queries differ in 1 of 3 comparisons: intervals may be too narrow."
    assert note in compare(three).notes
    same = {**few, "c": few["b"], "d": few["b"]}
    assert note.replace("1 of 3", "all 3") in compare(same, "a").notes
    del same["d"]
    assert note.replace("1 of 3", "both") in compare(same, "a").notes
    one = compare(systems_of([0.5] * 20, [0.5] * 19 + [0.6]), level=0.4)
    assert "AP: only 1 of 20 queries differs, so the interval of the difference may be too narrow." in one.notes
    assert not any("narrow" in note for note in compare(shifted(0.1)).notes)


def test_a_note_says_if_there_are_too_few_queries_for_an_interval() -> None:
    comparison = compare(systems_of([0.5] * 5, [0.6, 0.7, 0.6, 0.8, 0.6]))
    assert "AP: too few queries or permutations for an interval of the difference." in comparison.notes
    assert comparison.row("AP").difference_low is None
    assert "intervals of differences" not in str(comparison)


def test_the_sentence_says_that_wilcoxons_test_does_not_compare_means() -> None:
    # Many small gains, and one large loss that leaves the mean barely positive.
    columns = [0.5] * 20, [0.56] * 19 + [0.0]
    comparison = compare(systems_of(*columns), test="wilcoxon", resamples=2000)
    assert comparison.significant(comparison.row("AP"))
    assert comparison.sentences[0].endswith(
        "; the interval contains 0 because it is for the mean, whereas this test compares ranks)"
    )


def test_an_interval_that_excludes_0_does_not_seem_to_contain_it() -> None:
    gains = [0.0004, 0.012] * 20
    comparison = compare(systems_of([0.5] * 40, [0.5 + gain for gain in gains], [0.5 + gain / 1e4 for gain in gains]))
    row = comparison.row("AP", "c", "a")
    assert row.difference_low is not None
    assert 0 < row.difference_low < 0.00005
    for line in (*comparison.sentences, *str(comparison).splitlines()):
        assert "by 0.000 " not in line
        assert "[0.000" not in re.sub(r"\[0\.000\d*[1-9]", "", line)


def test_a_p_value_below_a_very_small_alpha_is_shown_on_its_side() -> None:
    assert p_text(0.00005, 0.00001) == "5e-05"
    assert p_text(0.0000104, 0.00001) == "1.04e-05"
    assert p_text(0.00001, 0.05) == "< 0.0001"


values = st.lists(
    st.tuples(*[st.sampled_from([0.0, 1e-7, 0.0004, 0.125, 0.5, 0.5004, 1.0])] * 3), min_size=1, max_size=9
)


@given(
    values, st.sampled_from(TESTS), st.sampled_from(["AP", "Unjudged@10", "NumRelRet", "GMAP", "cost"]), st.booleans()
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_no_number_in_a_sentence_contradicts_another(
    rows: list[tuple[float, ...]], test: str, measure: str, with_baseline: bool
) -> None:
    systems = systems_of(*zip(*rows, strict=True), measure=measure)
    options: dict[str, Any] = {"permutations": 49} if test in ("randomization", "tukey") else {}
    comparison = compare(systems, "a" if with_baseline else None, test=test, resamples=49, **options)
    sentences = iter(comparison.sentences)
    column = next(at for at, name in enumerate(comparison.table().header) if name.startswith("difference"))
    for row, cells in zip(comparison.rows, comparison.table().rows, strict=True):
        if row.baseline is None:
            continue
        check(comparison, next(sentences), row.system, row.baseline, measure)
        shown = cells[column].text
        if row.difference_low is not None and row.difference_high is not None:
            assert_signs(shown, [row.difference or 0.0, row.difference_low, row.difference_high])


def check(comparison: Comparison, sentence: str, system: str, baseline: str, measure: str) -> None:
    """Check a sentence against the row that it is about."""
    row = comparison.row(measure, system, baseline)
    alpha = comparison.method.alpha
    if found := re.search(r"p (=|<) ([\d.e-]+)", sentence):
        p = float(found[2])
        assert (p < alpha) == (row.p_corrected is not None and row.p_corrected < alpha)
    significant = "significantly better" in sentence
    assert significant == comparison.significant(row)
    if significant:
        better, worse = (system, baseline) if row.is_improvement else (baseline, system)
        assert sentence.startswith(f"{better} is significantly better than {worse} on {measure}, by ")
        assert float(re.findall(r", by ([\d.e-]+)", sentence)[0]) > 0
    if shown := re.search(r"(?:by|:) ([+-]?[\d.e-]+) \[([\d.e-]+), ([\d.e-]+)\]", sentence):
        low, high = sorted((float(shown[2]), float(shown[3])))
        excludes = low > 0 or high < 0
        explained = "interval" in sentence or "cannot be below" in sentence or "disagree" in sentence
        assert excludes == significant or explained or "all differences are equal" in sentence, sentence


def assert_signs(shown: str, numbers: Sequence[float]) -> None:
    """A number that is shown as 0 is 0, up to rounding."""
    largest = max(map(abs, numbers))
    for text, number in zip(re.findall(r"[+-]?\d[\d.,]*(?:e-\d+)?", shown), numbers, strict=True):
        value = float(text.strip("+,").replace(",", ""))
        real = 0.0 if abs(number) <= 1e-9 * largest else number
        assert math.copysign(1, value) == math.copysign(1, real) if real else value == 0, shown


def test_a_difference_that_a_test_is_not_defined_for_is_not_called_insignificant() -> None:
    (sentence,) = compare(systems_of([0.5] * 4, [0.75] * 4), test="t", resamples=9).sentences
    assert sentence == (
        "the difference between b and a on AP cannot be tested: +0.250 (4 queries; all differences are"
        " equal, so their variance cannot be estimated)"
    )


def test_every_kind_of_sentence_ends_without_a_stop_and_names_both_systems() -> None:
    columns = ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.2, 0.3, 0.4, 0.5, 0.6, 0.7], [math.nan] * 6, [0.0, 1, 0, 1, 0, 1])
    for test, n in itertools.product(TESTS, (1, 2, 6)):
        comparison = compare(systems_of(*(column[:n] for column in columns)), test=test, detect=0.1, resamples=49)
        for sentence, row in zip(comparison.sentences, comparison.rows[1:], strict=True):
            assert not sentence.endswith(".")
            assert row.system in sentence
            assert "nan" not in sentence
            assert not re.search(r"\b1 queries", sentence)
