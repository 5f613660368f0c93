"""Rules of a gate that are tested against their limits: `max-drop` with `significant`, and `non-inferior`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from karat import KaratError, Scores, evaluate
from karat.comparison.gate import Gate, Outcome, Rule, gate_by_rules, github
from karat.comparison.gate.config import read_config
from karat.comparison.gate.rules import Kind, parse_rules, rules_from_limits
from karat.testing import assert_scores

FALL = np.random.default_rng(5).normal(-0.03, 0.05, 60)
FALL += -0.03 - FALL.mean()


def scores(values: np.ndarray | list[float], name: str = "AP") -> Scores:
    return Scores(tuple(f"q{at:04}" for at in range(len(values))), {name: np.asarray(values, np.float64)})


def two(differences: np.ndarray, name: str = "AP") -> tuple[Scores, Scores]:
    """The scores of a run with these differences, and those of its baseline."""
    return scores(0.5 + differences, name), scores(np.full(len(differences), 0.5), name)


def checked(differences: np.ndarray, rule: Rule, **options: object) -> Outcome:
    run, baseline = two(differences, rule.measure)
    (outcome,) = gate_by_rules(run, [rule], baseline, **options).outcomes  # type: ignore[arg-type]
    return outcome


# max-drop with significant


def test_a_significant_drop_that_may_be_at_its_limit_passes() -> None:
    """The drop is certain, and that it is larger than the limit is not."""
    assert stats.ttest_1samp(FALL, 0).pvalue < 0.0001
    outcome = checked(FALL, Rule("max-drop", "AP", 0.025), significant=True)
    assert outcome.passed
    assert ": fell by 0.0300, not significantly more (p = 0.2" in outcome.explanation
    assert not checked(FALL, Rule("max-drop", "AP", 0.025)).passed
    beyond = checked(FALL, Rule("max-drop", "AP", 0.01), significant=True)
    assert not beyond.passed
    assert ": fell by 0.0300, significantly more (p = 0.00" in beyond.explanation


@pytest.mark.parametrize("kind", ["max-drop", "non-inferior"])
@pytest.mark.parametrize(("name", "sign"), [("AP", 1), ("Unjudged@10", -1)])
def test_p_is_that_of_the_one_sided_test_against_the_limit(kind: str, name: str, sign: int) -> None:
    rule = Rule(kind, name, 0.02)  # type: ignore[arg-type]
    outcome = checked(sign * FALL, rule, test="t", significant=kind == "max-drop")
    side = "less" if kind == "max-drop" else "greater"
    assert outcome.p == pytest.approx(stats.ttest_1samp(FALL, -0.02, alternative=side).pvalue)


def test_without_significant_p_is_two_sided_and_about_any_difference() -> None:
    outcome = checked(FALL, Rule("max-drop", "AP", 0.025), test="t")
    assert outcome.p == pytest.approx(stats.ttest_1samp(FALL, 0).pvalue)
    assert "one-sided" not in outcome.explanation


def test_a_drop_within_the_limit_needs_no_test_to_pass() -> None:
    outcome = checked(FALL, Rule("max-drop", "AP", 0.05), significant=True)
    assert outcome.passed
    assert outcome.explanation == "at most 0.0500 below 0.5000: fell by 0.0300"


def test_the_limit_of_a_sum_is_tested_as_a_whole() -> None:
    changes = np.array([-3.0, -2, -3, -2, -3, -2, -3, -2])
    run, baseline = scores(10 + changes, "NumRelRet"), scores(np.full(8, 10.0), "NumRelRet")
    found = [
        gate_by_rules(run, [Rule("max-drop", "NumRelRet", limit)], baseline, significant=True) for limit in (10, 19)
    ]
    assert [each.passed for each in found] == [False, True]
    assert found[0].outcomes[0].p == 2**-8


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "bootstrap", "tukey"])
def test_every_test_has_a_one_sided_form(test: str) -> None:
    large, small = FALL * 3, FALL / 30
    assert not checked(large, Rule("max-drop", "AP", 0.01), significant=True, test=test).passed
    assert checked(small, Rule("max-drop", "AP", 0.01), significant=True, test=test).passed
    assert not checked(large, Rule("non-inferior", "AP", 0.01), test=test).passed
    assert checked(small, Rule("non-inferior", "AP", 0.01), test=test).passed


@pytest.mark.parametrize("test", ["randomization", "t", "bootstrap"])
def test_if_all_queries_change_by_the_same_amount_there_is_no_doubt(test: str) -> None:
    change = np.full(9, -0.02)
    assert not checked(change, Rule("max-drop", "AP", 0.01), significant=True, test=test).passed
    assert not checked(change, Rule("non-inferior", "AP", 0.01), test=test).passed


def test_a_drop_that_is_the_same_on_every_query_says_so_instead_of_p() -> None:
    for name, limit, change, expected in (
        ("AP", 0.01, -0.1, "at most 0.0100 below 0.5000: fell by 0.1000 on every query"),
        ("NumRelRet", 1, -0.5, "fell by 4.5000, by the same amount on every query"),
        ("GMAP", 0, -0.25, "not below 0.5000: fell by 0.2500, by the same factor on every query"),
    ):
        outcome = checked(np.full(9, change), Rule("max-drop", name, limit), significant=True, test="t")
        assert not outcome.passed
        assert outcome.explanation.endswith(expected)


@pytest.mark.parametrize("test", ["t", "bootstrap"])
@pytest.mark.parametrize(("change", "text"), [(0, "unchanged"), (-0.005, "fell by 0.0050"), (0.01, "rose by 0.0100")])
def test_nothing_is_shown_to_be_non_inferior_by_an_undefined_test(test: str, change: float, text: str) -> None:
    outcome = checked(np.full(9, change), Rule("non-inferior", "AP", 0.01), test=test)
    assert (outcome.passed, outcome.p) == (False, None)
    assert outcome.explanation.endswith(
        f": {text}, not shown: all differences are equal, so this test is undefined; use the randomization test"
    )
    assert checked(np.full(9, change), Rule("non-inferior", "AP", 0.01)).passed


def test_any_drop_is_called_significant_and_not_significantly_more() -> None:
    drop = checked(FALL, Rule("max-drop", "AP", 0), significant=True)
    assert ": fell by 0.0300, significantly (p < " in drop.explanation
    noise = np.array([-0.1, 0.1, -0.1, 0.05])
    assert ", not significantly (p = " in checked(noise, Rule("max-drop", "AP", 0), significant=True).explanation


def test_of_two_systems_tukeys_test_is_the_randomization_test() -> None:
    run, baseline = two(FALL)
    found = gate_by_rules(run, [Rule("max-drop", "AP", 0.01)], baseline, significant=True, test="tukey", level=0.875)
    assert "significant: p below 0.125, one-sided, by the paired randomization test" in found.notes


def test_a_geometric_mean_is_tested_for_any_drop_only() -> None:
    run, baseline = two(FALL, "GMAP")
    with pytest.raises(KaratError, match="GMAP is a geometric mean, which cannot be tested for a drop"):
        gate_by_rules(run, [Rule("max-drop", "GMAP", 0.01)], baseline, significant=True)
    assert not gate_by_rules(run, [Rule("max-drop", "GMAP", 0)], baseline, significant=True).passed
    assert not gate_by_rules(run, [Rule("max-drop", "GMAP", 0.01)], baseline).passed


def test_rules_of_each_kind_are_corrected_together() -> None:
    values = dict.fromkeys(("AP", "RR", "P@5"), 0.5 + FALL)
    run = Scores(tuple(f"q{at:04}" for at in range(60)), values)
    baseline = Scores(run.queries, {name: np.full(60, 0.5) for name in values})
    drops = [Rule("max-drop", name, 0.025) for name in ("AP", "RR")]
    rules = [*drops, *(Rule("non-inferior", name, 0.04) for name in values)]
    alone = [gate_by_rules(run, [rule], baseline, test="t", significant=rule.kind == "max-drop") for rule in rules]
    together = gate_by_rules(run, rules, baseline, test="t", significant=True, correction="bonferroni")
    expected = [(found.outcomes[0].p or 0) * times for found, times in zip(alone, (2, 2, 3, 3, 3), strict=True)]
    assert [outcome.p for outcome in together.outcomes] == pytest.approx(expected)


# non-inferior


def test_a_system_is_non_inferior_only_if_there_is_evidence() -> None:
    noise = np.random.default_rng(2).normal(0, 0.1, 400)
    noise -= noise.mean()
    rule = Rule("non-inferior", "AP", 0.02)
    few, many = checked(noise[:20] - noise[:20].mean(), rule), checked(noise, rule)
    assert (few.passed, many.passed) == (False, True)
    assert many.explanation.startswith("shown to be less than 0.0200 below 0.5000: unchanged (p < 0.0001, one-sided)")
    assert few.explanation.startswith("shown to be less than 0.0200 below 0.5000: unchanged, not significant (p = 0.")
    assert few.sentence.startswith("AP is 0.5000, but must be shown to be less than 0.0200 below 0.5000")


def test_a_rule_without_enough_evidence_says_how_many_queries_are_probably_needed() -> None:
    differences = np.random.default_rng(2).normal(0, 1, 20)
    differences = 0.1 * (differences - differences.mean()) / differences.std(ddof=1)
    explanation = checked(differences, Rule("non-inferior", "AP", 0.02)).explanation
    assert explanation.endswith("one-sided; if both are equally good, about 156 queries are needed)")
    # The power of the one-sided t-test with so many queries is 0.8.
    power = stats.nct.sf(stats.t.ppf(0.95, 155), 155, 0.02 / 0.1 * 156**0.5)
    assert power == pytest.approx(0.8, abs=0.002)


def test_few_unchanged_queries_are_not_enough_evidence() -> None:
    few, enough = (checked(np.zeros(n), Rule("non-inferior", "AP", 0.02)) for n in (4, 5))
    assert not few.passed
    assert few.explanation.endswith("only 4 queries differ from the limit, so p cannot be below 0.0625)")
    assert enough.passed
    one = checked(np.zeros(1), Rule("non-inferior", "AP", 0.02))
    assert one.explanation.endswith("unchanged, not significant: one query is not enough for a test")


def test_a_note_says_that_few_queries_differ() -> None:
    rule = Rule("non-inferior", "AP", 0.02)
    numbers = {0: "no query of 30 differs", 1: "1 query of 30 differs", 2: "2 queries of 30 differ", 12: None}
    for differing, text in numbers.items():
        run, baseline = two(np.array([0.01] * differing + [0.0] * (30 - differing)))
        found = gate_by_rules(run, [rule], baseline)
        assert found.passed
        notes = [each for each in found.notes if "rare large losses" in each]
        expected = [f"note: AP: {text} from the baseline; rare large losses may be missing."] if text else []
        assert notes == expected


def test_a_drop_of_the_limit_or_more_is_not_called_a_lack_of_evidence() -> None:
    for limit in (0.01, 0.03):
        outcome = checked(FALL, Rule("non-inferior", "AP", limit))
        assert not outcome.passed
        assert "fell by 0.0300 (p = " in outcome.explanation
        assert "queries are needed" not in outcome.explanation
        assert len(outcome.worst) == 5


@pytest.mark.parametrize(("kind", "limit"), [("min", 0.6), ("max-drop", 0.01), ("non-inferior", 0.01)])
def test_hints_suggest_a_limit_that_suits_the_kind_of_rule(kind: Kind, limit: float, tmp_path: Path) -> None:
    config = tmp_path / "karat.toml"
    config.write_text(f"[gate]\n{kind} = 1\n")
    name = kind.replace("-", "_")
    for call, hint in (
        (lambda: parse_rules(kind, "AP"), f"{name}='nDCG@10={limit}'."),
        (lambda: Rule(kind, "AP", "high"), f"Use a limit such as {limit}."),  # type: ignore[arg-type]
        (lambda: rules_from_limits(**{name: 1}), f"Write {name}={{'nDCG@10': {limit}}}."),  # type: ignore[arg-type]
        (lambda: read_config(config), f'for example "nDCG@10" = {limit}.'),
    ):
        with pytest.raises(KaratError) as caught:
            call()
        assert (caught.value.hint or "").endswith(hint)


def test_a_measure_without_values_is_not_non_inferior() -> None:
    nothing = scores([np.nan, np.nan])
    (outcome,) = gate_by_rules(nothing, [Rule("non-inferior", "AP", 0.1)], scores([0.5, 0.6])).outcomes
    assert not outcome.passed
    assert outcome.explanation.endswith("below the baseline: no query has a value in both runs")


def test_options_of_the_comparison_apply_to_non_inferior_rules_but_significant_does_not() -> None:
    rule = Rule("non-inferior", "AP", 0.05)
    assert checked(FALL, rule, level=0.9, correction="none").passed
    run, baseline = two(FALL)
    with pytest.raises(KaratError, match="significant has no effect without a max-drop rule"):
        gate_by_rules(run, [rule], baseline, significant=True)
    with pytest.raises(KaratError, match="a non-inferior rule for AP needs a baseline"):
        gate_by_rules(run, [rule])


def test_non_inferior_rules_can_be_written_in_python_and_in_files(tmp_path: Path) -> None:
    run, baseline = two(FALL)
    assert assert_scores(run, non_inferior={"map": 0.05}, baseline=baseline).passed
    with pytest.raises(AssertionError, match=r"shown to be less than 0\.0200 below"):
        assert_scores(run, non_inferior={"AP": 0.02}, baseline=baseline)
    baseline.to_json(tmp_path / "old.json")
    (tmp_path / "karat.toml").write_text('[gate]\nbaseline = "old.json"\nlevel = 0.9\n[gate.non-inferior]\nAP = 0.05\n')
    assert assert_scores(run, config=tmp_path / "karat.toml").passed


def test_ci_systems_get_the_outcome_of_non_inferior_rules() -> None:
    run, baseline = two(FALL)
    found: Gate = gate_by_rules(run, [Rule("non-inferior", "AP", 0.02)], baseline)
    case = ET.fromstring(found.junit()).find("testsuite/testcase")
    assert case is not None
    assert case.get("name") == "non-inferior AP"
    assert "AP, largest losses: " in str(found)
    assert github.workflow_commands(found).startswith(
        "::error title=karat gate::AP is 0.4700, but must be shown to be less than"
    )
    assert found.to_dict()["rules"][0]["kind"] == "non-inferior"


@settings(max_examples=40)
@given(
    st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=12),
    st.floats(0.001, 0.5),
    st.sampled_from(["randomization", "t", "wilcoxon"]),
)
def test_a_system_that_is_non_inferior_never_drops_by_more_than_the_same_limit(
    values: list[float], limit: float, test: str
) -> None:
    differences = np.array(values)
    if checked(differences, Rule("non-inferior", "AP", limit), test=test).passed:
        assert checked(differences, Rule("max-drop", "AP", limit)).passed


def test_a_name_of_different_measures_is_an_error() -> None:
    run, baseline = (evaluate({"q": {"a": 1}}, {"q": ["a"]}, "P@5", rel=rel) for rel in (1, 2))
    problem = r"the systems have different measures: baseline has P\(rel=2\)@5; run has P@5\."
    with pytest.raises(KaratError, match=problem):
        gate_by_rules(run, [Rule("max-drop", "P@5", 0.1)], baseline)
