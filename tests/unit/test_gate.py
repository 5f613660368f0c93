"""Gates: which scores pass, explanations, errors, and the output for CI systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores
from karat.comparison.gate import Gate, Outcome, Rule, gate, gate_by_rules, github
from karat.comparison.gate.rules import merge_rules, parse_rules, rules_from_limits
from karat.errors import Parameter, Place
from karat.scores import Finding
from karat.testing import assert_scores

HOSTILE = 'q"<&>%\r\n::error title=x::hacked\x1b[2J ##[add-mask]é\ud800\ufffe]]>'


def scores(values: Mapping[str, Sequence[float]], queries: Sequence[str] | None = None) -> Scores:
    count = len(next(iter(values.values())))
    columns = {name: np.array(column, np.float64) for name, column in values.items()}
    return Scores(tuple(queries or [f"q{at}" for at in range(count)]), columns)


def only(found: Gate) -> Outcome:
    (outcome,) = found.outcomes
    return outcome


def spread(mean: float, count: int = 40) -> list[float]:
    """Values around a mean, the same at every call."""
    noise = np.random.default_rng(7).uniform(-0.2, 0.2, count)
    return list(mean + noise - noise.mean())


@pytest.fixture
def before() -> Scores:
    return scores({"AP": spread(0.5), "RR": spread(0.5), "Unjudged@10": spread(0.5)})


# Which scores pass


@pytest.mark.parametrize(
    ("kind", "limit", "passed"), [("min", 0.4, True), ("min", 0.6, False), ("max", 0.6, True), ("max", 0.4, False)]
)
def test_a_value_is_checked_against_its_limit(kind: str, limit: float, passed: bool) -> None:
    found = gate_by_rules(scores({"AP": [0.2, 0.8]}), [Rule(kind, "AP", limit)])  # type: ignore[arg-type]
    assert (found.passed, only(found).passed, only(found).value) == (passed, passed, 0.5)


def test_a_value_at_its_limit_passes_despite_rounding_errors() -> None:
    almost = scores({"AP": [0.1 + 0.2]})
    assert gate_by_rules(almost, [Rule("max", "AP", 0.3), Rule("min", "AP", 0.3)]).passed
    below = scores({"AP": [math.nextafter(0.6, 0)]})
    assert gate_by_rules(below, [Rule("min", "AP", 0.6)]).passed


def test_a_drop_of_exactly_the_limit_passes() -> None:
    old, new = scores({"AP": [0.31]}), scores({"AP": [0.3]})
    assert 0.31 - 0.3 > 0.01
    assert gate_by_rules(new, [Rule("max-drop", "AP", 0.01)], old).passed
    assert not gate_by_rules(new, [Rule("max-drop", "AP", 0.00999)], old).passed


def test_a_rise_is_a_drop_if_lower_is_better(before: Scores) -> None:
    worse = scores({"Unjudged@10": spread(0.55)})
    outcome = only(gate_by_rules(worse, [Rule("max-drop", "Unjudged@10", 0.01)], before))
    assert not outcome.passed
    assert outcome.drop == pytest.approx(0.05)
    assert outcome.explanation.startswith("at most 0.0100 above 0.5000: rose by 0.0500")
    better = scores({"Unjudged@10": spread(0.4)})
    assert "fell by 0.1000" in only(gate_by_rules(better, [Rule("max-drop", "Unjudged@10", 0.01)], before)).explanation


def test_a_better_value_passes_a_max_drop_of_zero(before: Scores) -> None:
    outcome = only(gate_by_rules(scores({"AP": spread(0.6)}), [Rule("max-drop", "AP", 0)], before))
    assert outcome.passed
    assert outcome.explanation.startswith("not below 0.5000: rose by 0.1000")


def test_with_significant_only_a_significant_drop_fails(before: Scores) -> None:
    noise = np.random.default_rng(3).uniform(-0.4, 0.4, 40)
    new = scores(
        {"AP": [value - 0.03 for value in spread(0.5)], "RR": list(np.array(spread(0.47)) + noise - noise.mean())}
    )
    rules = [Rule("max-drop", "AP", 0.01), Rule("max-drop", "RR", 0.01)]
    strict, lenient = gate_by_rules(new, rules, before), gate_by_rules(new, rules, before, significant=True)
    assert [outcome.passed for outcome in strict.outcomes] == [False, False]
    assert [outcome.passed for outcome in lenient.outcomes] == [False, True]
    assert lenient.outcomes[0].explanation.endswith(
        "fell by 0.0300, significantly more (p < 0.0001, one-sided, Holm-corrected)"
    )
    assert ", not significantly more (p = " in lenient.outcomes[1].explanation
    assert "significant: p below 0.05, one-sided, by the paired randomization test" in lenient.notes
    assert not any(note.startswith("significant") for note in strict.notes)


def test_p_values_are_corrected_over_all_drops_but_not_for_a_single_one(before: Scores) -> None:
    new = scores({"AP": [*spread(0.5)[:-6], *(value - 0.1 for value in spread(0.5)[-6:])], "RR": spread(0.4)})
    alone = only(gate_by_rules(new, [Rule("max-drop", "AP", 0)], before))
    both = gate_by_rules(new, [Rule("max-drop", "AP", 0), Rule("max-drop", "RR", 0)], before, correction="bonferroni")
    assert alone.p == 1 / 32
    assert both.outcomes[0].p == 1 / 16
    assert alone.explanation.endswith("(p = 0.0312)")
    assert both.outcomes[0].explanation.endswith("(p = 0.0625, Bonferroni-corrected)")
    assert not gate_by_rules(new, [Rule("max-drop", "AP", 0)], before, significant=True).passed
    assert gate_by_rules(new, [Rule("max-drop", "AP", 0)], before, significant=True, level=0.99).passed


def test_a_p_value_of_exactly_one_minus_level_is_not_significant(before: Scores) -> None:
    new = scores({"AP": [*spread(0.5)[:-6], *(value - 0.1 for value in spread(0.5)[-6:])]})
    rule = Rule("max-drop", "AP", 0)
    assert gate_by_rules(new, [rule], before, significant=True, level=1 - 1 / 64).passed
    assert not gate_by_rules(new, [rule], before, significant=True, level=0.984).passed


def test_a_drop_of_a_single_query_is_not_significant_and_the_explanation_says_why() -> None:
    rule = Rule("max-drop", "AP", 0.1)
    outcome = only(gate_by_rules(scores({"AP": [0.1]}), [rule], scores({"AP": [0.9]}), significant=True))
    assert outcome.passed
    assert outcome.explanation == (
        "at most 0.1000 below 0.9000: fell by 0.8000, not significantly more: one query is not enough for a test"
    )
    assert not gate_by_rules(scores({"AP": [0.1]}), [rule], scores({"AP": [0.9]})).passed


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "bootstrap", "tukey"])
def test_equal_and_constant_scores_work_with_every_test(test: str) -> None:
    rule = Rule("max-drop", "AP", 0.01)
    same = scores({"AP": [0.5] * 8})
    found = gate_by_rules(same, [rule], same, significant=True, test=test)
    assert found.passed
    assert "unchanged" in only(found).explanation
    lower = gate_by_rules(scores({"AP": [0.4] * 8}), [rule], same, test=test)
    assert not lower.passed


def test_a_measure_without_values_fails_with_an_explanation() -> None:
    empty, full = scores({"AP": [math.nan, math.nan]}), scores({"AP": [0.5, 0.6]})
    found = gate_by_rules(empty, [Rule("min", "AP", 0), Rule("max", "AP", 1), Rule("max-drop", "AP", 1)], full)
    assert [outcome.passed for outcome in found.outcomes] == [False] * 3
    assert found.outcomes[0].explanation == "at least 0.0000: no query has a value"
    assert found.outcomes[0].sentence == "AP has no value, but must be at least 0.0000: no query has a value"
    assert found.outcomes[2].explanation == "at most 1.0000 below the baseline: no query has a value in both runs"
    assert not gate_by_rules(full, [Rule("max-drop", "AP", 1)], empty).passed


def test_a_drop_is_computed_from_queries_with_a_value_in_both_runs() -> None:
    old = scores({"AP": [0.2, 0.8, 0.8]})
    new = scores({"AP": [math.nan, 0.8, 0.7]})
    outcome = only(gate_by_rules(new, [Rule("max-drop", "AP", 0.01)], old))
    assert (outcome.value, outcome.baseline) == (0.75, 0.8)
    assert outcome.drop == pytest.approx(0.05)


def test_counts_are_compared_as_sums() -> None:
    outcome = only(
        gate_by_rules(scores({"NumRelRet": [5, 5]}), [Rule("max-drop", "NumRelRet", 2)], scores({"NumRelRet": [5, 8]}))
    )
    assert (outcome.value, outcome.baseline, outcome.drop) == (10, 13, 3)
    assert outcome.explanation.startswith("at most 2 below 13: fell by 3")


# Limits as arguments


def test_limits_by_measure_are_the_rules_of_these_kinds(before: Scores) -> None:
    new = scores({"AP": spread(0.45), "RR": spread(0.45), "Unjudged@10": spread(0.5)})
    limits: dict[str, Any] = {"min": {"AP": 0.4}, "max": {"Unjudged@10": 0.4}, "max_drop": {"RR": 0.1}}
    rules = [Rule("min", "AP", 0.4), Rule("max", "Unjudged@10", 0.4), Rule("max-drop", "RR", 0.1)]
    found = gate(new, baseline=before, **limits, non_inferior={"AP": 0.2})
    assert found == gate_by_rules(new, [*rules, Rule("non-inferior", "AP", 0.2)], before)
    assert [outcome.passed for outcome in found.outcomes] == [True, False, True, True]


def test_a_limit_replaces_the_rule_of_the_same_kind_and_measure_in_the_file(before: Scores, tmp_path: Path) -> None:
    (tmp_path / "karat.toml").write_text("[gate.min]\nmap = 0.9\nRR = 0.1\n")
    found = karat.gate(before, config=tmp_path / "karat.toml", min={"AP": 0.2})
    assert [(outcome.rule.measure, outcome.rule.limit) for outcome in found.outcomes] == [("AP", 0.2), ("RR", 0.1)]


def test_a_gate_reads_rules_options_and_the_baseline_from_a_file_as_assert_scores_does(
    before: Scores, tmp_path: Path
) -> None:
    before.to_parquet(tmp_path / "old.parquet")
    (tmp_path / "karat.toml").write_text(
        '[gate]\nbaseline = "old.parquet"\nsignificant = true\n[gate.max-drop]\nAP = 0.01\n'
    )
    found = karat.gate(scores({"AP": spread(0.3)}), config=tmp_path / "karat.toml", min={"AP": 0.5})
    assert [outcome.rule.kind for outcome in found.outcomes] == ["max-drop", "min"]
    assert (found.passed, found.origin) == (False, str(tmp_path / "karat.toml"))
    with pytest.raises(AssertionError) as caught:
        assert_scores(scores({"AP": spread(0.3)}), config=tmp_path / "karat.toml", min={"AP": 0.5})
    assert found.verdict in str(caught.value)


def test_a_baseline_that_no_rule_compares_with_is_an_error(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"no rule compares with it\. Add one, for example max_drop="):
        gate(before, baseline=before, min={"AP": 0.1})


def test_an_unknown_option_of_a_gate_is_an_error_with_the_nearest_name(before: Scores) -> None:
    with pytest.raises(TypeError, match=r"unknown option 'significance'\. Did you mean significant\?"):
        gate(before, min={"AP": 0.1}, significance=True)  # type: ignore[call-arg]


# Errors


def test_a_gate_without_rules_is_an_error(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"there are no rules\. Add min="):
        gate_by_rules(before, [])


def test_a_max_drop_without_a_baseline_is_an_error(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"karat\.toml, x: a max-drop rule for AP needs a baseline\. Use"):
        gate_by_rules(before, [Rule("max-drop", "AP", 0.1, Place("karat.toml", field="x"))])


def test_an_error_names_the_measure_that_the_scores_lack_and_its_place(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"here: these scores have no .nDCG@10.*The measures are AP, RR, Unjudged@10"):
        gate_by_rules(before, [Rule("min", "nDCG@10", 0.1, Place("here"))])


def test_a_baseline_with_other_measures_or_queries_is_an_error(before: Scores) -> None:
    rule = [Rule("max-drop", "AP", 0.1)]
    with pytest.raises(KaratError, match="baseline: these scores have no 'AP'"):
        gate_by_rules(before, rule, scores({"RR": spread(0.5)}))
    with pytest.raises(KaratError, match="no query in common"):
        gate_by_rules(before, rule, scores({"AP": spread(0.5)}, [f"other{at}" for at in range(40)]))
    fewer = scores({"AP": spread(0.5)[:30]})
    with pytest.raises(KaratError, match="different queries"):
        gate_by_rules(before, rule, fewer)
    assert gate_by_rules(before, rule, fewer, common_queries=True).passed
    assert any(
        "10 of 40 queries left out" in note for note in gate_by_rules(before, rule, fewer, common_queries=True).notes
    )


def test_arguments_that_are_not_scores_are_rejected(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"scores: \{'AP': 0\.5\} is not a Scores object"):
        gate_by_rules({"AP": 0.5}, [Rule("min", "AP", 0.1)])  # type: ignore[arg-type]
    with pytest.raises(KaratError, match=r"baseline: \['old\.parquet'\] is not a Scores object"):
        gate_by_rules(before, [Rule("max-drop", "AP", 0.1)], ["old.parquet"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option", [{"test": "z"}, {"correction": "sidak"}, {"common_queries": "all"}, {"level": 95}, {"level": True}]
)
def test_an_invalid_option_is_rejected_even_if_no_rule_needs_it(before: Scores, option: dict[str, object]) -> None:
    (name,) = option
    with pytest.raises(KaratError, match=f"{name}="):
        gate_by_rules(before, [Rule("min", "AP", 0.1)], **option)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "measure", "limit", "message"),
    [
        ("min", "nDCG@10", 60, "a limit of 60 is out of range: nDCG@10 is between 0 and 1"),
        ("max", "nDCG@10", -0.1, "out of range"),
        ("min", "NumRelRet", -1, "NumRelRet is at least 0"),
        ("max-drop", "AP", -0.01, "a max-drop of -0.01 is negative. Use 0 or more"),
        ("max-drop", "AP", 5, "a max-drop of 5 is out of range: AP cannot get worse by more than 1"),
        ("min", "AP", math.nan, "nan is not a finite number"),
        ("min", "NumRelRet", math.inf, "inf is not a finite number"),
        ("min", "NumRelRet", 10**400, "is not a finite number"),
        ("min", "AP", True, "True is not a number"),
        ("min", "AP", "0.5", "'0.5' is not a number"),
        ("min", None, 0.5, "None is not the name of a measure"),
        ("min", "AP", [0.5], r"[0.5] is not a number"),
        ("least", "AP", 0.5, "'least' is not a kind of rule. Use min, max, max-drop, non-inferior."),
        ("non-inferior", "AP", 0, "a non-inferior limit of 0 is not above 0. Use the smallest drop that would matter"),
        ("non-inferior", "AP", -0.1, "a non-inferior limit of -0.1 is not above 0"),
        ("non-inferior", "AP", 2, "out of range: AP cannot get worse by more than 1"),
        ("non-inferior", "GMAP", 0.01, "GMAP is a geometric mean, which cannot be tested for a drop of 0.01"),
    ],
)
def test_an_invalid_rule_is_rejected(kind: str, measure: str, limit: object, message: str) -> None:
    with pytest.raises(KaratError) as caught:
        Rule(kind, measure, limit, Place("here"))  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert str(caught.value).startswith("here: ")


def test_a_repeated_rule_is_an_error_however_its_measure_is_spelled(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"second: map has two min limits, 0\.1 and 0\.2 \(AP and map are the same"):
        merge_rules([Rule("min", "AP", 0.1), Rule("min", "map", 0.2, Place("second"))], [])
    with pytest.raises(KaratError, match=r"map has two min limits, 0\.1 and 0\.1 \(AP and map"):
        karat.gate(before, min={"AP": 0.1, "map": 0.1})
    assert len(gate_by_rules(before, [Rule("min", "AP", 0.1), Rule("max", "AP", 0.9)]).outcomes) == 2


def test_a_rule_may_name_a_column_that_is_not_a_registered_measure() -> None:
    found = gate_by_rules(scores({"my own": [3.0, 5.0]}), [Rule("min", "my own", 4)])
    assert found.passed
    assert only(found).rule.measure == "my own"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AP", "is not of the form MEASURE=LIMIT"),
        ("AP=", "is not of the form MEASURE=LIMIT"),
        ("=0.5", "is not of the form MEASURE=LIMIT"),
        ("AP=high", "'high' is not a number"),
        ("AP(rel=2)", "'2)' is not a number"),
        ("AP=60%", "'60%' is not a number"),
        ("AP=nan", "nan is not a finite number"),
        ("AP=60", "out of range"),
    ],
)
def test_an_invalid_rule_on_the_command_line_is_an_error_that_names_its_option(text: str, message: str) -> None:
    with pytest.raises(KaratError) as caught:
        parse_rules("min", text)
    assert caught.value.parts[0] == Parameter("min", text)
    assert message in str(caught.value)


def test_a_measure_name_may_contain_an_equals_sign() -> None:
    assert [rule.measure for rule in parse_rules("max", " RBP(p=0.5)@10 = 0.25 ")] == ["RBP(p=0.5)@10"]


def test_a_rule_for_a_list_of_cutoffs_is_one_rule_for_each() -> None:
    for rules in (parse_rules("min", "nDCG@1,5=0.3"), rules_from_limits(min={"nDCG@1,5": 0.3})):
        assert [(rule.measure, rule.limit) for rule in rules] == [("nDCG@1", 0.3), ("nDCG@5", 0.3)]
    assert [rule.measure for rule in rules_from_limits(min={"my score, v2": 0.3})] == ["my score, v2"]


def test_limits_that_are_not_a_mapping_are_rejected() -> None:
    with pytest.raises(KaratError, match=r"max_drop=0\.1 is not a mapping of measures to limits"):
        rules_from_limits(max_drop=0.1)  # type: ignore[arg-type]


# The table and explanations


def test_the_table_has_a_line_per_rule_then_the_worst_queries_and_the_verdict(before: Scores) -> None:
    new = scores({"AP": [*spread(0.5)[:-6], *(value - 0.2 for value in spread(0.5)[-6:])]})
    found = gate_by_rules(new, [Rule("max-drop", "AP", 0.01), Rule("min", "AP", 0.4)], before)
    lines = str(found).splitlines()
    assert lines[0].split() == ["verdict", "measure", "score", "rule"]
    assert lines[2] == "failed    AP        0.4700   at most 0.0100 below 0.5000: fell by 0.0300 (p = 0.0312)"
    assert lines[3] == "passed    AP        0.4700   at least 0.4000"
    assert lines[4].startswith("AP, largest losses: q")
    assert lines[4].count("→") == 5
    assert lines[5] == "40 queries"
    assert lines[-1] == "gate failed: 1 of 2 rules"
    assert str(gate_by_rules(before, [Rule("min", "AP", 0.4)])).endswith("gate passed: 1 rule")


def test_the_worst_queries_are_furthest_on_the_wrong_side_of_the_limit() -> None:
    values = scores({"AP": [0.5, 0.1, 0.9, 0.3, math.nan]})
    low, high = gate_by_rules(values, [Rule("min", "AP", 0.46), Rule("max", "AP", 0.4)]).outcomes
    assert [each.query for each in low.worst] == ["q1", "q3"]
    assert [each.query for each in high.worst] == ["q2", "q0"]
    assert low.worst_line() == "AP, lowest scores: q1 (0.1000), q3 (0.3000)"
    drop = only(gate_by_rules(values, [Rule("max-drop", "AP", 0)], scores({"AP": [0.4, 0.7, 0.9, 0.8, 0.9]})))
    assert [(each.query, each.value, each.baseline) for each in drop.worst] == [("q1", 0.1, 0.7), ("q3", 0.3, 0.8)]


def test_numbers_have_more_than_four_digits_if_that_is_needed_to_tell_them_apart() -> None:
    failed = only(gate_by_rules(scores({"AP": [0.59996]}), [Rule("min", "AP", 0.6)]))
    assert (failed.passed, failed.value_text, failed.explanation) == (False, "0.599960", "at least 0.6000")
    fine = only(gate_by_rules(scores({"AP": [0.60004]}), [Rule("min", "AP", 0.60001)]))
    assert (fine.passed, fine.value_text, fine.explanation) == (True, "0.600040", "at least 0.60001")
    drop = only(gate_by_rules(scores({"AP": [0.48999]}), [Rule("max-drop", "AP", 0.01)], scores({"AP": [0.5]})))
    assert "fell by 0.010010" in drop.explanation


def test_findings_are_shown_under_the_table(before: Scores) -> None:
    with_finding = Scores(before.queries, before.values, (Finding("missing-queries", "3 queries are missing", 3, ""),))
    found = gate_by_rules(with_finding, [Rule("max-drop", "AP", 0.1)], before)
    assert any("run: " in note and "3 queries are missing" in note for note in found.notes)


def test_a_gate_is_shown_as_a_dict_in_html_and_on_a_terminal(before: Scores) -> None:
    found = gate_by_rules(before, [Rule("min", "map", 0.6), Rule("max-drop", "RR", 0.1)], before)
    as_dict = found.to_dict()
    assert as_dict["passed"] is False
    assert [rule["measure"] for rule in as_dict["rules"]] == ["AP", "RR"]
    assert as_dict["rules"][0]["explanation"] == "at least 0.6000"
    assert as_dict["rules"][0]["limit"] == 0.6
    assert len(as_dict["rules"][0]["worst"]) == 5
    assert as_dict["rules"][1]["drop"] == 0
    assert "<td" in found._repr_html_()
    from rich.console import Console

    console = Console(width=200, force_terminal=True, color_system="truecolor")
    with console.capture() as page:
        console.print(found)
    assert "\x1b[1;31mfailed" in page.get()
    assert "\x1b[1;32mpassed" in page.get()


# CI systems


@pytest.fixture
def hostile() -> Gate:
    return gate_by_rules(
        scores({HOSTILE: [0.1, 0.9]}, [HOSTILE, "fine"]), [Rule("min", HOSTILE, 0.6), Rule("max", HOSTILE, 0.6)]
    )


def test_junit_xml_can_be_parsed_whatever_characters_the_names_contain(hostile: Gate) -> None:
    root = ET.fromstring(hostile.junit().encode())
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "2", "1")
    failed, passed = root.findall("testsuite/testcase")
    assert str(failed.get("name")).startswith('min q"<&>%\\r\\n::error')
    failure = failed.find("failure")
    assert failure is not None
    assert "is 0.5000, but must be at least 0.6000" in str(failure.get("message"))
    assert "lowest scores: q" in str(failure.text)
    assert passed.find("failure") is None


def test_github_gets_one_workflow_command_per_failed_rule_and_no_other(hostile: Gate) -> None:
    lines = github.workflow_commands(hostile).split("\n")
    assert len(lines) == 2
    assert lines[0].startswith('::error title=karat gate::q"<&>%25\\r\\n::error')
    assert lines[1] == ""
    assert not set(github.workflow_commands(hostile)) & set("\r\x1b")


def test_the_table_is_appended_to_the_step_summary(hostile: Gate, tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    assert github.append_summary(hostile, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(file)}) is None
    text = file.read_text("utf-8")
    assert text.startswith("before\n### karat: gate failed: 1 of 2 rules\n")
    assert "| **failed** |" in text
    assert "::error" not in [line[:7] for line in text.splitlines()]


def test_a_step_summary_that_cannot_be_written_gives_a_note(hostile: Gate, tmp_path: Path) -> None:
    note = github.append_summary(hostile, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert note is not None
    assert note.startswith("note: cannot write the step summary: ")
    assert github.append_summary(hostile, {"GITHUB_STEP_SUMMARY": str(tmp_path)}) is None


# Properties


columns = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@settings(max_examples=25)
@given(columns, st.floats(0, 1), st.booleans())
def test_a_run_never_drops_from_itself(values: list[float], limit: float, significant: bool) -> None:
    same = scores({"AP": values, "Unjudged@10": values})
    rules = [Rule("max-drop", name, limit) for name in same.measures]
    assert gate_by_rules(same, rules, same, significant=significant, test="t").passed


@settings(max_examples=25)
@given(st.data(), st.sampled_from(["AP", "Unjudged@10", "GMAP"]), st.booleans())
def test_a_tighter_limit_never_turns_failed_into_passed(data: st.DataObject, name: str, significant: bool) -> None:
    new = data.draw(columns)
    old = data.draw(st.lists(st.floats(0, 1), min_size=len(new), max_size=len(new)))
    loose, tight = sorted(data.draw(st.tuples(st.floats(0, 1), st.floats(0, 1))), reverse=True)
    for kind, first, second in (("max-drop", loose, tight), ("max", loose, tight), ("min", tight, loose)):
        tested = significant and name != "GMAP"
        options: dict[str, Any] = {"significant": tested, "test": "t"} if kind == "max-drop" else {}
        baseline = scores({name: old}) if kind == "max-drop" else None
        passed = [
            gate_by_rules(scores({name: new}), [Rule(kind, name, limit)], baseline, **options)  # type: ignore[arg-type]
            for limit in (first, second)
        ]
        assert passed[0].passed or not passed[1].passed


@settings(max_examples=60)
@given(columns, st.floats(0, 1))
@example([0.59996], 0.6)
@example([0.600000000001], 0.6)
def test_the_numbers_shown_agree_with_the_verdict(values: list[float], limit: float) -> None:
    outcome = only(gate_by_rules(scores({"AP": values}), [Rule("min", "AP", limit)]))
    shown_limit = float(outcome.explanation.removeprefix("at least "))
    assert shown_limit == limit
    assert outcome.passed == (float(outcome.value_text) >= shown_limit - 1e-12)


def test_a_gate_knows_tests_by_the_names_of_other_tools_and_refuses_a_correction_that_a_test_ignores() -> None:
    rule = Rule("max-drop", "AP", 0.01)
    runs = scores({"AP": [0.1, 0.2, 0.3, 0.4]}), scores({"AP": [0.3, 0.3, 0.5, 0.9]})
    assert (
        only(gate_by_rules(runs[0], [rule], runs[1], test="student")).p
        == only(gate_by_rules(runs[0], [rule], runs[1], test="t")).p
    )
    with pytest.raises(KaratError, match="correction='bh' has no effect on Tukey's test"):
        gate_by_rules(runs[0], [rule], runs[1], test="tukey", correction="bh")


@pytest.mark.parametrize(
    "options",
    [
        {"significant": True}, {"test": "student"}, {"correction": "holm"}, {"level": 0.9}, {"common_queries": True},
        {"force": True},
    ],
)  # fmt: skip
def test_options_of_the_comparison_are_refused_without_a_max_drop_rule(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(KaratError, match=f"{name} has no effect without a max-drop "):
        gate_by_rules(scores({"AP": [0.5]}), [Rule("min", "AP", 0.1)], **options)


def test_a_small_change_is_not_called_0() -> None:
    rule = Rule("max-drop", "AP", 0.1)
    now, before = scores({"AP": [0.5, 0.7]}), scores({"AP": [0.50001, 0.7]})
    assert "fell by 5e-06" in only(gate_by_rules(now, [rule], before)).explanation
    assert "rose by 5e-06" in only(gate_by_rules(before, [rule], now)).explanation


def test_a_drop_that_could_never_be_significant_is_said_to_be_so() -> None:
    now, before = scores({"AP": [0.1, 0.2, 0.3, 0.5]}), scores({"AP": [0.5, 0.7, 0.9, 0.9]})
    found = gate_by_rules(now, [Rule("max-drop", "AP", 0.01)], before, significant=True)
    assert found.passed
    assert only(found).explanation.endswith(
        "not significantly more (p = 0.0625, one-sided; only 4 queries differ from the limit,"
        " so p cannot be below 0.0625)"
    )


def test_a_baseline_without_a_common_query_is_an_error() -> None:
    now, before = scores({"AP": [0.1]}, ["q"]), scores({"AP": [0.1]}, ["r"])
    for common_queries in (False, True):
        with pytest.raises(KaratError, match="no query in common: baseline has r; run has q"):
            gate_by_rules(now, [Rule("max-drop", "AP", 0.01)], before, common_queries=common_queries)


def test_the_sentence_on_a_drop_that_passes_does_not_claim_that_it_is_within_the_limit() -> None:
    now, before = scores({"AP": [0.1, 0.9, 0.5]}), scores({"AP": [0.5, 0.8, 0.6]})
    outcome = only(gate_by_rules(now, [Rule("max-drop", "AP", 0.01)], before, significant=True))
    assert outcome.sentence.startswith(
        "AP is 0.5000; rule: at most 0.0100 below 0.6333: fell by 0.1333, not significantly more"
    )
