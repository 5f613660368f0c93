"""Comparisons that could mislead: ranks against means, nulls, rounding, and too few queries."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from karat import KaratError, Scores, compare
from karat.comparison.differences import MeasureValues, Pair
from karat.comparison.gate import Rule, gate_by_rules
from karat.comparison.sentences import p_text
from karat.errors import Place
from karat.output.tables import Cell, Table
from karat.scores.combining import differences
from karat.stats import bootstrap_means, rank_sum, weak_group


def scores_of(values: Any, measure: str = "AP") -> Scores:
    column = np.asarray(values, np.float64)
    return Scores(tuple(f"q{at:03}" for at in range(len(column))), {measure: column})


def many_small_gains_and_a_few_large_losses() -> tuple[Scores, Scores]:
    old = np.full(40, 0.5)
    new = old.copy()
    new[:35] += 0.01 + np.arange(35) * 1e-4
    new[35:] -= 0.4 + np.arange(5) * 0.01
    return scores_of(old), scores_of(new)


def test_wilcoxons_test_is_not_significant_if_ranks_and_mean_disagree() -> None:
    old, new = many_small_gains_and_a_few_large_losses()
    found = compare({"old": old, "new": new}, test="wilcoxon")
    (sentence,) = found.sentences
    assert found.row("AP").p is not None
    assert not found.significant(found.row("AP"))
    assert sentence.startswith("no significant difference between new and old on AP: -0.042")
    assert "the ranks, which this test compares, and the mean disagree on which system is better" in sentence
    assert "^{" not in found.to_latex()
    assert "_{" not in found.to_latex()


def test_a_drop_of_the_mean_is_not_significant_if_ranks_rise() -> None:
    old, new = many_small_gains_and_a_few_large_losses()
    rules = [Rule("max-drop", "AP", 0.01)]
    found = gate_by_rules(new, rules, old, significant=True, test="wilcoxon")
    assert found.passed
    assert "one-sided; the ranks, which this test compares, disagree with the mean)" in str(found)
    assert not gate_by_rules(new, rules, old, test="wilcoxon").passed


def test_the_rank_sum_equals_scipys() -> None:
    from scipy.stats import rankdata

    values = np.random.default_rng(3).integers(-4, 5, 60) / 10
    kept = values[values != 0]
    assert rank_sum(values) == (np.sign(kept) * rankdata(np.abs(kept).round(9))).sum()
    assert rank_sum(np.zeros(3)) == rank_sum(np.empty(0)) == 0


def test_tukeys_p_value_and_the_difference_use_the_same_queries() -> None:
    chance = np.random.default_rng(5)
    base = chance.random(60)
    third = base.copy()
    third[30:] = np.nan
    better_on_the_first_half = base + np.where(np.arange(60) < 30, 0.1, -0.3)
    found = compare(
        {"a": scores_of(base), "b": scores_of(better_on_the_first_half), "c": scores_of(third)}, test="tukey"
    )
    row = found.row("AP", "b", "a")
    assert row.difference == pytest.approx(0.1)
    assert (row.wins, row.ties, row.losses) == (30, 0, 0)
    assert found.notes[-1] == "AP: 30 queries left out (not all systems have a value)."
    assert "30 queries" in found.sentences[0]


@pytest.mark.parametrize(
    ("nulls", "note"),
    [
        ([0, 2], "2 queries left out (b or a has no value)"),
        ([0, 0, 2], "up to 2 queries left out of a comparison (c has no value)"),
        ([1, 0, 2], "up to 3 queries left out of a comparison (a, c have no value)"),
        ([1, 2, 3, 4], "up to 7 queries left out of a comparison (a, b, c, … have no value)"),
    ],
)
def test_one_note_per_measure_says_how_many_queries_are_left_out(nulls: list[int], note: str) -> None:
    """Of 20 queries, the systems have no value for so many, each for other ones."""
    before = np.cumsum([0, *nulls])
    systems = {}
    for name, first, last in zip("abcd", before, before[1:], strict=False):
        values = np.random.default_rng(int(last)).random(20)
        values[first:last] = np.nan
        systems[name] = scores_of(values)
    assert compare(systems).notes[1:] == (f"AP: {note}.",)


def test_queries_that_no_system_has_a_value_for_are_left_out_of_each_comparison() -> None:
    values = np.random.default_rng(0).random((3, 20))
    values[:, :2] = np.nan
    found = compare(dict(zip("abc", map(scores_of, values), strict=True)))
    assert found.notes[1:] == ("AP: 2 queries left out of each comparison (a, b, c have no value).",)


def test_tukeys_test_has_no_queries_if_one_system_has_no_values() -> None:
    empty = scores_of([math.nan] * 5)
    found = compare({"a": scores_of([0.1] * 5), "b": scores_of([0.2] * 5), "c": empty}, test="tukey")
    assert {*found.sentences} == {"no query has a value for AP in all systems"}


def test_tukeys_test_ignores_rounding_errors() -> None:
    values = np.random.default_rng(6).random(400)
    found = compare({"one": scores_of(values), "two": scores_of(values * (1 + 4e-16))}, test="tukey")
    assert found.row("AP").p == 1
    assert "^{" not in found.to_latex()


def test_too_few_queries_for_a_significant_result_are_reported() -> None:
    old = np.array([0.1, 0.2, 0.15])
    (sentence,) = compare(
        {"o": scores_of(old), "n": scores_of(old + np.array([0.5, 0.51, 0.52]))}, detect=0.5
    ).sentences
    assert "only 3 queries differ, so p cannot be below 0.2500" in sentence
    assert "3 queries are too few for this test to find a significant difference" in sentence
    assert sentence.endswith("Detecting a difference of 0.5 takes 6 queries at statistical power 0.8")


def test_with_many_comparisons_more_queries_must_differ() -> None:
    chance = np.random.default_rng(7)
    systems = {str(at): scores_of(chance.random(8)) for at in range(12)}
    sentence = compare(systems, permutations=9, resamples=9).sentences[0]
    assert "only 8 queries differ, so p cannot be below 0.0078 before the correction over 66 comparisons" in sentence
    assert "8 queries are too few for this test to find a significant difference" in sentence


def test_a_minimum_detectable_difference_beyond_the_range_of_the_measure_is_not_shown() -> None:
    (sentence,) = compare({"a": scores_of([0, 1, 0]), "b": scores_of([1, 0, 0.1])}, test="t").sentences
    assert "3 queries are too few to detect any possible difference in AP at statistical power 0.8" in sentence


def test_an_unknown_measure_has_a_note_on_its_direction() -> None:
    slow, quick = scores_of([200.0, 210.0], "latency_ms"), scores_of([100.0, 101.0], "latency_ms")
    note = (
        "latency_ms is not a registered measure, so higher values are assumed to be better; if lower values are, use"
        " --lower-is-better (lower_is_better= in Python)."
    )
    assert note in compare({"slow": slow, "quick": quick}).notes
    assert f"note: {note}" in gate_by_rules(slow, [Rule("max-drop", "latency_ms", 1)], quick).notes


@pytest.mark.parametrize("test", ["t", "bootstrap"])
def test_a_drop_of_every_query_by_the_same_amount_fails_without_a_test(test: Any) -> None:
    found = gate_by_rules(
        scores_of([0.1] * 9), [Rule("max-drop", "AP", 0.01)], scores_of([0.5] * 9), significant=True, test=test
    )
    assert not found.passed


def test_an_infinite_value_is_an_error_in_a_gate() -> None:
    with pytest.raises(KaratError, match="latency is inf"):
        gate_by_rules(scores_of([math.inf, 1.0], "latency"), [Rule("max", "latency", 5)])


def test_a_gate_computes_no_bootstrap_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a gate does not show intervals")

    monkeypatch.setattr("karat.scores.intervals.bootstrap_means", fail)
    chance = np.random.default_rng(8)
    found = gate_by_rules(scores_of(chance.random(30)), [Rule("max-drop", "AP", 0.5)], scores_of(chance.random(30)))
    assert found.passed


def test_a_query_that_appears_twice_is_rejected() -> None:
    twice = Scores(("q", "q"), {"AP": np.zeros(2)})
    with pytest.raises(KaratError, match="a: query q appears twice"):
        compare({"a": twice, "b": twice})


def test_a_p_value_just_below_alpha_is_not_shown_as_alpha() -> None:
    assert (p_text(0.049999, 0.05), p_text(0.05, 0.05), p_text(0.050001, 0.05)) == ("0.049999", "0.0500", "0.050001")


def test_very_many_comparisons_are_counted_instead_of_listed() -> None:
    chance = np.random.default_rng(9)
    systems = {str(at): scores_of(chance.random(6)) for at in range(12)}
    with patch("karat.comparison.sentences.sentence_for") as sentence_for:
        last = str(compare(systems, permutations=9, resamples=9)).splitlines()[-1]
    assert last == "0 of 66 differences on AP are significant"
    assert not sentence_for.called


def test_nulls_of_one_system_do_not_change_intervals_of_the_others() -> None:
    chance = np.random.default_rng(10)
    a, b, c = chance.random((3, 40))
    c[:7] = np.nan
    alone = compare({"a": scores_of(a), "b": scores_of(b)}).row("AP")
    with_third = compare({"a": scores_of(a), "b": scores_of(b), "c": scores_of(c)}).row("AP", "b", "a")
    for field in ("mean", "low", "high", "difference", "difference_low", "difference_high", "p"):
        assert getattr(alone, field) == getattr(with_third, field)
    with_nulls = compare({"a": scores_of(a), "c": scores_of(c)}).row("AP", "c")
    on_33 = compare({"a": scores_of(a[7:]), "c": scores_of(c[7:])}).row("AP", "c")
    # Random signs depend on the number of queries.
    assert with_nulls.difference_low == pytest.approx(on_33.difference_low, abs=0.003)
    assert with_nulls.difference_high == pytest.approx(on_33.difference_high, abs=0.003)


def test_a_latex_row_that_begins_with_a_bracket_or_a_star_is_guarded() -> None:
    table = Table(("q", "n"), ((Cell("[1]"), Cell("1")), (Cell("*"), Cell("2"))))
    assert "\n{}[1] & 1" in table.latex()
    assert "\n{}* & 2" in table.latex()


def test_dollars_and_tildes_are_escaped_in_markdown() -> None:
    assert r"\$x\$ \~y\~ \&amp;" in Table(("a",), ((Cell("$x$ ~y~ &amp;"),),)).markdown()


def test_differences_within_rounding_error_are_zero() -> None:
    assert differences(np.array([0.3, 1e9 + 1e-4, 0.5]), np.array([0.1 + 0.2, 1e9, 0.4])).tolist() == [
        0, 0, pytest.approx(0.1),
    ]  # fmt: skip


def test_a_weak_group_has_at_least_the_required_number_of_values() -> None:
    columns = [np.zeros(3), np.ones(30)]
    assert [(weak_group(columns, least=least) or (None,))[0] for least in (5, 3)] == [1, 0]


def test_too_few_permutations_for_a_significant_result_are_reported() -> None:
    chance = np.random.default_rng(11)
    old = chance.random(60)
    (sentence,) = compare({"a": scores_of(old), "b": scores_of(old + chance.random(60))}, permutations=10).sentences
    assert "with 10 permutations, p cannot be below 0.0909" in sentence
    assert "minimum detectable difference" not in sentence


def test_a_difference_to_detect_beyond_the_range_of_the_measure_is_reported() -> None:
    (sentence,) = compare({"a": scores_of([0.1, 0.2, 0.4]), "b": scores_of([0.2, 0.1, 0.3])}, detect=2).sentences
    assert sentence.endswith("A difference in AP cannot be as large as 2")


def test_zero_is_shown_without_a_sign() -> None:
    found = compare({"a": scores_of([0.1, 0.2]), "b": scores_of([0.2, 0.1 - 1e-7])})
    assert "-0.0000" not in str(found)
    assert "-0.00 " not in str(found)


def test_a_line_announces_that_only_the_first_measure_is_described() -> None:
    values = np.random.default_rng(12).random((14, 6))
    columns = {f"P@{at}": values[at] for at in range(1, 14)}
    queries = tuple("abcdef")
    found = compare({"x": Scores(queries, columns), "y": Scores(queries, {**columns, "P@1": values[0]})}, resamples=9)
    lines = str(found).splitlines()
    assert lines[-2] == "summary for P@1, the first measure:"
    assert len(found.sentences) == 13


def test_a_gate_without_queries_is_an_error() -> None:
    with pytest.raises(KaratError, match="no queries to check"):
        gate_by_rules(Scores((), {"AP": np.empty(0)}), [Rule("min", "AP", 0)])


def test_a_baseline_without_the_measure_of_a_rule_names_the_rule() -> None:
    rules = [Rule("max-drop", "AP", 0.01, Place("karat.toml", field="gate.max-drop.AP"))]
    with pytest.raises(KaratError, match=r"karat.toml, gate.max-drop.AP: the baseline: these scores have no 'AP'"):
        gate_by_rules(scores_of([0.1, 0.2]), rules, scores_of([0.1, 0.2], "RR"))


def test_ranks_without_a_significant_result_are_not_reported_as_disagreeing() -> None:
    for new in ([0.6, 0.7, 0.2, 0.5, 0.5], [0.2, 0.2, 0.2, 0.81, 0.81], [0.6, 0.6, 0.3, 0.5, 0.5]):
        (sentence,) = compare({"a": scores_of([0.5] * 5), "b": scores_of(new)}, test="wilcoxon").sentences
        assert "disagree" not in sentence


def test_a_mean_difference_of_zero_is_not_significant() -> None:
    old = np.full(40, 0.5)
    new = old + np.where(np.arange(40) < 35, 0.01, -0.07)
    found = compare({"old": scores_of(old), "new": scores_of(new)}, test="wilcoxon")
    assert not found.significant(found.row("AP"))
    assert found.to_dict()["power"][0]["ranks_disagree"]


def test_systems_that_skip_the_same_queries_are_compared() -> None:
    from karat import evaluate_runs

    truth = {f"q{at}": {"a": 1} for at in range(10)}
    half = {f"q{at}": ["a"] for at in range(4)}
    runs = {"x": half, "y": {query: ["x", "a"] for query in half}}
    assert len(compare(evaluate_runs(truth, runs, "RR", missing="skip")).queries) == 4
    assert len(compare(evaluate_runs(truth, runs, "RR")).queries) == 10
    with pytest.raises(KaratError, match="x: the system has no results for any of the queries"):
        compare({name: scores.take([8, 9]) for name, scores in evaluate_runs(truth, runs, "RR").items()})
    part = {name: scores.take([0, 9]) for name, scores in evaluate_runs(truth, runs, "RR").items()}
    assert compare(part).row("RR", "y").difference == -0.25


def test_a_few_hundred_permutations_are_enough_for_tukeys_test_of_many_systems() -> None:
    chance = np.random.default_rng(13)
    systems = {str(at): scores_of(chance.random(30)) for at in range(8)}
    sentences = compare(systems, test="tukey", permutations=400, resamples=9).sentences
    assert not any("permutations, p cannot be below" in sentence for sentence in sentences)


def test_benjamini_hochberg_can_be_significant_where_holm_cannot() -> None:
    columns = {
        "a": [0.1] * 6, "b": [0.2, 0.25, 0.3, 0.35, 0.4, 0.45], "c": [0.6, 0.61, 0.62, 0.7, 0.8, 0.9],
        "d": [0.11, 0.09, 0.12, 0.08, 0.13, 0.07],
    }  # fmt: skip
    systems = {name: scores_of(column) for name, column in columns.items()}
    assert not any("too few" in sentence for sentence in compare(systems, correction="bh").sentences)
    assert any("too few" in sentence for sentence in compare(systems, correction="holm").sentences)


def test_four_queries_are_too_few_for_tukeys_test_of_two_systems() -> None:
    (sentence,) = compare(
        {"a": scores_of([0.1, 0.2, 0.3, 0.4]), "b": scores_of([0.5, 0.65, 0.8, 0.75])}, test="tukey"
    ).sentences
    assert "only 4 queries differ, so p cannot be below 0.1250" in sentence
    assert sentence.endswith("4 queries are too few for this test to find a significant difference")


def test_columns_with_the_same_nulls_are_resampled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, ...]] = []

    def counted(columns: Any, *options: Any) -> Any:
        drawn.append(columns.shape)
        return bootstrap_means(columns, *options)

    monkeypatch.setattr("karat.scores.intervals.bootstrap_means", counted)
    values = np.random.default_rng(14).random((6, 30))
    values[:, :3] = np.nan
    compare({str(at): scores_of(column) for at, column in enumerate(values)}, test="bootstrap")
    assert drawn == [(27, 6)]


def test_the_note_says_up_to_how_many_differing_queries_p_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(15)
    base = random.random(40)
    systems = {str(size): scores_of(np.where(np.arange(40) < size, random.random(40), base)) for size in (0, 22, 24)}
    assert "randomization test (exact), Holm" in str(compare(systems, resamples=9))
    monkeypatch.setattr("karat.stats.random_signs._MAX_SUMS", 1 << 11)
    comparison = compare(systems, resamples=9, permutations=50)
    assert "(50 permutations; exact if at most 23 queries differ)" in str(comparison)
    assert [comparison.power("AP", *pair).exact for pair in (("22", "0"), ("24", "0"), ("24", "22"))] == [
        True,
        False,
        False,
    ]
    assert comparison.row("AP", "24", "0").p in [count / 51 for count in range(1, 52)]


def test_comparing_each_pair_of_many_systems_gives_the_same_p_as_comparing_two() -> None:
    values = np.random.default_rng(16).random((6, 50))
    values[2, 5:9] = np.nan
    systems = {str(at): scores_of(column) for at, column in enumerate(values)}
    together = compare(systems, resamples=9, permutations=500, correction="none")
    for one, other in (("1", "0"), ("2", "1"), ("5", "3")):
        alone = compare({other: systems[other], one: systems[one]}, resamples=9, permutations=500, correction="none")
        assert together.row("AP", one, other).p == alone.row("AP", one, other).p
        for end in ("difference_low", "difference_high"):  # up to rounding
            ends = (getattr(each.row("AP", one, other), end) for each in (together, alone))
            assert next(ends) == pytest.approx(next(ends), rel=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-6])
def test_the_interval_of_two_geometric_means_that_move_together_is_resampled(noise: float) -> None:
    random = np.random.default_rng(1)
    logarithms = random.normal(0, 0.1, 10_001)
    logarithms -= logarithms.mean()
    # The difference of the geometric means is the same, to first order, whatever queries are drawn: its bias is
    # larger than its standard error.
    theirs = math.e * logarithms - 2 + noise * random.normal(size=len(logarithms))
    pair = Pair(MeasureValues("GMAP", (logarithms - 1, theirs), higher_is_better=True), 0, 1)
    assert pair.limit(0.95) is None
