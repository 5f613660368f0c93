"""Gates: what passes, what fails, what is said of it, and what CI systems read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from karat import KaratError, Scores
from karat.gating import Gate, Outcome, Rule, gate, outputs
from karat.gating.rules import joined, rule_of, rules_of
from karat.scores import Finding

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


# What passes


@pytest.mark.parametrize(
    ("kind", "limit", "passed"), [("min", 0.4, True), ("min", 0.6, False), ("max", 0.6, True), ("max", 0.4, False)]
)
def test_a_value_is_held_against_its_limit(kind: str, limit: float, passed: bool) -> None:
    found = gate(scores({"AP": [0.2, 0.8]}), [Rule(kind, "AP", limit)])  # type: ignore[arg-type]
    assert (found.passed, only(found).passed, only(found).value) == (passed, passed, 0.5)


def test_a_value_at_its_limit_passes_whatever_rounding_says() -> None:
    almost = scores({"AP": [0.1 + 0.2]})
    assert gate(almost, [Rule("max", "AP", 0.3), Rule("min", "AP", 0.3)]).passed
    below = scores({"AP": [math.nextafter(0.6, 0)]})
    assert gate(below, [Rule("min", "AP", 0.6)]).passed


def test_a_drop_of_exactly_the_limit_passes() -> None:
    old, new = scores({"AP": [0.31]}), scores({"AP": [0.3]})
    assert 0.31 - 0.3 > 0.01
    assert gate(new, [Rule("max-drop", "AP", 0.01)], old).passed
    assert not gate(new, [Rule("max-drop", "AP", 0.00999)], old).passed


def test_a_rise_is_a_drop_where_lower_is_better(before: Scores) -> None:
    worse = scores({"Unjudged@10": spread(0.55)})
    outcome = only(gate(worse, [Rule("max-drop", "Unjudged@10", 0.01)], before))
    assert not outcome.passed
    assert outcome.drop == pytest.approx(0.05)
    assert outcome.said.startswith("at most 0.0100 above 0.5000: it rose by 0.0500")
    better = scores({"Unjudged@10": spread(0.4)})
    assert "it fell by 0.1000" in only(gate(better, [Rule("max-drop", "Unjudged@10", 0.01)], before)).said


def test_a_better_value_is_no_drop(before: Scores) -> None:
    outcome = only(gate(scores({"AP": spread(0.6)}), [Rule("max-drop", "AP", 0)], before))
    assert outcome.passed
    assert outcome.said.startswith("not below 0.5000: it rose by 0.1000")


def test_a_significant_gate_fails_only_on_a_drop_that_the_test_confirms(before: Scores) -> None:
    noise = np.random.default_rng(3).uniform(-0.4, 0.4, 40)
    new = scores(
        {"AP": [value - 0.03 for value in spread(0.5)], "RR": list(np.array(spread(0.47)) + noise - noise.mean())}
    )
    rules = [Rule("max-drop", "AP", 0.01), Rule("max-drop", "RR", 0.01)]
    strict, lenient = gate(new, rules, before), gate(new, rules, before, significant=True)
    assert [outcome.passed for outcome in strict.outcomes] == [False, False]
    assert [outcome.passed for outcome in lenient.outcomes] == [False, True]
    assert lenient.outcomes[0].said.endswith("it fell by 0.0300 (p < 0.0001, Holm-corrected)")
    assert "which the test does not confirm (p = " in lenient.outcomes[1].said
    assert [one.p for one in strict.outcomes] == [one.p for one in lenient.outcomes]


def test_p_is_corrected_over_all_drops_and_one_alone_needs_no_correction(before: Scores) -> None:
    new = scores({"AP": [*spread(0.5)[:-6], *(value - 0.1 for value in spread(0.5)[-6:])], "RR": spread(0.4)})
    alone = only(gate(new, [Rule("max-drop", "AP", 0)], before))
    both = gate(new, [Rule("max-drop", "AP", 0), Rule("max-drop", "RR", 0)], before, correction="bonferroni")
    assert alone.p == 1 / 32
    assert both.outcomes[0].p == 1 / 16
    assert alone.said.endswith("(p = 0.0312)")
    assert both.outcomes[0].said.endswith("(p = 0.0625, Bonferroni-corrected)")
    assert not gate(new, [Rule("max-drop", "AP", 0)], before, significant=True).passed
    assert gate(new, [Rule("max-drop", "AP", 0)], before, significant=True, level=0.99).passed


def test_a_p_of_exactly_one_minus_level_confirms_nothing(before: Scores) -> None:
    new = scores({"AP": [*spread(0.5)[:-6], *(value - 0.1 for value in spread(0.5)[-6:])]})
    rule = Rule("max-drop", "AP", 0)
    assert gate(new, [rule], before, significant=True, level=1 - 1 / 32).passed
    assert not gate(new, [rule], before, significant=True, level=0.968).passed


def test_one_query_cannot_confirm_a_drop_and_the_line_says_so() -> None:
    rule = Rule("max-drop", "AP", 0.1)
    outcome = only(gate(scores({"AP": [0.1]}), [rule], scores({"AP": [0.9]}), significant=True))
    assert outcome.passed
    assert outcome.said == "at most 0.1000 below 0.9000: it fell by 0.8000, which one query cannot confirm"
    assert not gate(scores({"AP": [0.1]}), [rule], scores({"AP": [0.9]})).passed


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "bootstrap", "tukey"])
def test_equal_and_constant_scores_are_judged_by_every_test(test: str) -> None:
    rule = Rule("max-drop", "AP", 0.01)
    same = scores({"AP": [0.5] * 8})
    found = gate(same, [rule], same, significant=True, test=test)  # type: ignore[arg-type]
    assert found.passed
    assert "it is the same" in only(found).said
    lower = gate(scores({"AP": [0.4] * 8}), [rule], same, test=test)  # type: ignore[arg-type]
    assert not lower.passed


def test_a_measure_without_any_value_fails_and_says_so() -> None:
    empty, full = scores({"AP": [math.nan, math.nan]}), scores({"AP": [0.5, 0.6]})
    found = gate(empty, [Rule("min", "AP", 0), Rule("max", "AP", 1), Rule("max-drop", "AP", 1)], full)
    assert [outcome.passed for outcome in found.outcomes] == [False] * 3
    assert found.outcomes[0].said == "at least 0.0000: no query has a value"
    assert found.outcomes[0].sentence == "AP has no value, and must be at least 0.0000: no query has a value"
    assert found.outcomes[2].said == "at most 1.0000 below the baseline: no query has a value in both"
    assert not gate(full, [Rule("max-drop", "AP", 1)], empty).passed


def test_a_drop_is_of_the_queries_that_have_a_value_in_both() -> None:
    old = scores({"AP": [0.2, 0.8, 0.8]})
    new = scores({"AP": [math.nan, 0.8, 0.7]})
    outcome = only(gate(new, [Rule("max-drop", "AP", 0.01)], old))
    assert (outcome.value, outcome.baseline) == (0.75, 0.8)
    assert outcome.drop == pytest.approx(0.05)


def test_counts_are_compared_as_sums() -> None:
    outcome = only(
        gate(scores({"NumRelRet": [5, 5]}), [Rule("max-drop", "NumRelRet", 2)], scores({"NumRelRet": [5, 8]}))
    )
    assert (outcome.value, outcome.baseline, outcome.drop) == (10, 13, 3)
    assert outcome.said.startswith("at most 2 below 13: it fell by 3")


# What cannot be judged


def test_no_rules_are_no_gate(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"there are no rules\. Give --min"):
        gate(before, [])


def test_a_drop_without_a_baseline_says_what_is_missing(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"karat\.toml: x: a drop of AP is from a baseline, and there is none\. Give"):
        gate(before, [Rule("max-drop", "AP", 0.1, "karat.toml: x")])


def test_a_measure_that_the_scores_lack_is_named_with_its_place(before: Scores) -> None:
    with pytest.raises(
        KaratError, match=r"here: these scores have no 'nDCG@10'\. .*The measures are AP, RR, Unjudged@10"
    ):
        gate(before, [Rule("min", "nDCG@10", 0.1, "here")])


def test_a_baseline_of_other_measures_or_queries_is_an_error(before: Scores) -> None:
    rule = [Rule("max-drop", "AP", 0.1)]
    with pytest.raises(KaratError, match="baseline: these scores have no 'AP'"):
        gate(before, rule, scores({"RR": spread(0.5)}))
    with pytest.raises(KaratError, match="no query in common"):
        gate(before, rule, scores({"AP": spread(0.5)}, [f"other{at}" for at in range(40)]))
    fewer = scores({"AP": spread(0.5)[:30]})
    with pytest.raises(KaratError, match="different queries"):
        gate(before, rule, fewer)
    assert gate(before, rule, fewer, queries="common").passed
    assert any("10 of 40 queries left out" in note for note in gate(before, rule, fewer, queries="common").notes)


def test_what_is_no_scores_is_refused(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"scores: \{'AP': 0\.5\} are no scores"):
        gate({"AP": 0.5}, [Rule("min", "AP", 0.1)])  # type: ignore[arg-type]
    with pytest.raises(KaratError, match=r"baseline: 'old\.parquet' are no scores"):
        gate(before, [Rule("max-drop", "AP", 0.1)], "old.parquet")  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", [{"AP": 0.5}, "AP", ["AP"], None, Rule("min", "AP", 0.5)])
def test_what_are_no_rules_is_refused(before: Scores, rules: object) -> None:
    with pytest.raises(KaratError, match=r"are no rules\. Give a list"):
        gate(before, rules)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option", [{"test": "z"}, {"correction": "sidak"}, {"queries": "all"}, {"level": 95}, {"level": True}]
)
def test_a_wrong_option_is_refused_also_where_no_rule_needs_it(before: Scores, option: dict[str, object]) -> None:
    (name,) = option
    with pytest.raises(KaratError, match=f"{name}="):
        gate(before, [Rule("min", "AP", 0.1)], **option)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "measure", "limit", "says"),
    [
        ("min", "nDCG@10", 60, "a limit of 60 is out of range: nDCG@10 goes from 0 to 1. Give a number from 0 to 1."),
        ("max", "nDCG@10", -0.1, "out of range"),
        ("min", "NumRelRet", -1, "goes from 0 on"),
        ("max-drop", "AP", -0.01, "a drop of -0.01 is no drop"),
        ("max-drop", "AP", 5, "no drop is larger than 1: AP goes from 0 to 1"),
        ("min", "AP", math.nan, "nan is no limit"),
        ("min", "NumRelRet", math.inf, "inf is no limit"),
        ("min", "NumRelRet", 10**400, "is no limit"),
        ("min", "AP", True, "True is not a number"),
        ("min", "AP", "0.5", "'0.5' is not a number"),
        ("min", "AP", [0.5], r"[0.5] is not a number"),
        ("least", "AP", 0.5, "'least' is no kind of rule. There are min, max, max-drop."),
    ],
)
def test_a_rule_that_cannot_be_is_refused(kind: str, measure: str, limit: object, says: str) -> None:
    with pytest.raises(KaratError) as caught:
        Rule(kind, measure, limit, "here")  # type: ignore[arg-type]
    assert says in str(caught.value)
    assert str(caught.value).startswith("here: ")


def test_the_same_rule_twice_is_an_error_however_it_is_spelled(before: Scores) -> None:
    with pytest.raises(KaratError, match=r"second: map has a min of 0\.1 and 0\.2, twice: AP and map are the same"):
        joined([Rule("min", "AP", 0.1), Rule("min", "map", 0.2, "second")], [])
    with pytest.raises(KaratError, match=r"AP has a min of 0\.1, twice\. Leave one"):
        gate(before, [Rule("min", "AP", 0.1), Rule("min", "map", 0.1)])
    assert len(gate(before, [Rule("min", "AP", 0.1), Rule("max", "AP", 0.9)]).outcomes) == 2


def test_a_measure_that_is_not_registered_is_gated_by_its_column() -> None:
    found = gate(scores({"my own": [3.0, 5.0]}), [Rule("min", "my own", 4)])
    assert found.passed
    assert only(found).rule.measure == "my own"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("AP", "this is not MEASURE=LIMIT"),
        ("AP=", "this is not MEASURE=LIMIT"),
        ("=0.5", "this is not MEASURE=LIMIT"),
        ("AP=high", "'high' is not a number"),
        ("AP(rel=2)", "'2)' is not a number"),
        ("AP=60%", "'60%' is not a number"),
        ("AP=nan", "nan is no limit"),
        ("AP=60", "out of range"),
    ],
)
def test_a_rule_of_the_command_line_that_is_wrong_names_its_option(text: str, says: str) -> None:
    with pytest.raises(KaratError) as caught:
        rule_of("min", text)
    assert str(caught.value).startswith(f"--min {text!r}: ")
    assert says in str(caught.value)


def test_a_name_may_hold_an_equals_sign() -> None:
    assert rule_of("max", " RBP(p=0.5)@10 = 0.25 ").measure == "RBP(p=0.5)@10"


def test_limits_that_are_no_mapping_are_refused() -> None:
    with pytest.raises(KaratError, match=r"max_drop: 0\.1 are no limits"):
        rules_of(max_drop=0.1)  # type: ignore[arg-type]


# What is said


def test_the_table_has_a_line_per_rule_the_worst_queries_and_the_verdict_last(before: Scores) -> None:
    new = scores({"AP": [*spread(0.5)[:-6], *(value - 0.2 for value in spread(0.5)[-6:])]})
    found = gate(new, [Rule("max-drop", "AP", 0.01), Rule("min", "AP", 0.4)], before)
    lines = str(found).splitlines()
    assert lines[0].split() == ["verdict", "measure", "score", "rule"]
    said = "at most 0.0100 below 0.5000: it fell by 0.0300 (p = 0.0312)"
    assert lines[2] == f"failed    AP        0.4700   {said}"
    assert lines[3] == "passed    AP        0.4700   at least 0.4000"
    assert lines[4].startswith("AP, the largest losses: q")
    assert lines[4].count("→") == 5
    assert lines[-2:] == ["40 queries", "gate failed: 1 of 2 rules"]
    assert str(gate(before, [Rule("min", "AP", 0.4)])).endswith("gate passed: 1 rule")


def test_the_worst_queries_are_those_furthest_on_the_wrong_side() -> None:
    values = scores({"AP": [0.5, 0.1, 0.9, 0.3, math.nan]})
    low, high = gate(values, [Rule("min", "AP", 0.46), Rule("max", "AP", 0.4)]).outcomes
    assert [each.query for each in low.worst] == ["q1", "q3"]
    assert [each.query for each in high.worst] == ["q2", "q0"]
    assert low.worst_line() == "AP, the lowest: q1 (0.1000), q3 (0.3000)"
    drop = only(gate(values, [Rule("max-drop", "AP", 0)], scores({"AP": [0.4, 0.7, 0.9, 0.8, 0.9]})))
    assert [(each.query, each.value, each.baseline) for each in drop.worst] == [("q1", 0.1, 0.7), ("q3", 0.3, 0.8)]


def test_numbers_that_four_digits_would_not_tell_apart_have_more() -> None:
    failed = only(gate(scores({"AP": [0.59996]}), [Rule("min", "AP", 0.6)]))
    assert (failed.passed, failed.shown, failed.said) == (False, "0.599960", "at least 0.6000")
    fine = only(gate(scores({"AP": [0.60004]}), [Rule("min", "AP", 0.60001)]))
    assert (fine.passed, fine.shown, fine.said) == (True, "0.600040", "at least 0.60001")
    drop = only(gate(scores({"AP": [0.48999]}), [Rule("max-drop", "AP", 0.01)], scores({"AP": [0.5]})))
    assert "it fell by 0.010010" in drop.said


def test_what_was_noticed_in_the_data_stands_under_the_table(before: Scores) -> None:
    noticed = Scores(before.queries, before.values, (Finding("missing-queries", "3 queries are missing", 3, ""),))
    found = gate(noticed, [Rule("max-drop", "AP", 0.1)], before)
    assert any("run: " in note and "3 queries are missing" in note for note in found.notes)


def test_a_gate_is_told_as_data_html_and_on_a_terminal(before: Scores) -> None:
    found = gate(before, [Rule("min", "map", 0.6), Rule("max-drop", "RR", 0.1)], before)
    told = found.to_dict()
    assert told["passed"] is False
    assert [rule["measure"] for rule in told["rules"]] == ["AP", "RR"]
    assert told["rules"][0]["limit"] == 0.6
    assert len(told["rules"][0]["worst"]) == 5
    assert told["rules"][1]["drop"] == 0
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
    return gate(
        scores({HOSTILE: [0.1, 0.9]}, [HOSTILE, "fine"]), [Rule("min", HOSTILE, 0.6), Rule("max", HOSTILE, 0.6)]
    )


def test_junit_reads_back_whatever_the_names_hold(hostile: Gate) -> None:
    root = ET.fromstring(hostile.junit().encode())
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "2", "1")
    failed, passed = root.findall("testsuite/testcase")
    assert str(failed.get("name")).startswith('min q"<&>%\\r\\n::error')
    failure = failed.find("failure")
    assert failure is not None
    assert "is 0.5000, and must be at least 0.6000" in str(failure.get("message"))
    assert "the lowest: q" in str(failure.text)
    assert passed.find("failure") is None


def test_github_reads_one_command_per_failed_rule_and_nothing_else(hostile: Gate) -> None:
    lines = outputs.commands(hostile).split("\n")
    assert len(lines) == 2
    assert lines[0].startswith('::error title=karat gate::q"<&>%25\\r\\n::error')
    assert lines[1] == ""
    assert not set(outputs.commands(hostile)) & set("\r\x1b")
    table = outputs.without_commands(str(hostile))
    assert "##[" in str(hostile)
    assert "##[" not in table
    assert not any(line.lstrip().startswith("::") for line in table.splitlines())


def test_the_summary_of_a_step_is_appended_to(hostile: Gate, tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    assert outputs.append_summary(hostile, {"GITHUB_STEP_SUMMARY": str(file)}) is None
    text = file.read_text("utf-8")
    assert text.startswith("before\n### karat: gate failed: 1 of 2 rules\n")
    assert "| failed |" in text
    assert "::error" not in [line[:7] for line in text.splitlines()]


def test_a_summary_that_cannot_be_written_is_a_note(hostile: Gate, tmp_path: Path) -> None:
    note = outputs.append_summary(hostile, {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert note is not None
    assert note.startswith("note: the summary of the step cannot be written: ")
    assert outputs.append_summary(hostile, {}) is None


# What holds for all


columns = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@settings(max_examples=25)
@given(columns, st.floats(0, 1), st.booleans())
def test_a_run_never_drops_from_itself(values: list[float], limit: float, significant: bool) -> None:
    same = scores({"AP": values, "Unjudged@10": values})
    rules = [Rule("max-drop", name, limit) for name in same.measures]
    assert gate(same, rules, same, significant=significant, test="t").passed


@settings(max_examples=25)
@given(st.data(), st.sampled_from(["AP", "Unjudged@10", "GMAP"]), st.booleans())
def test_a_tighter_limit_never_turns_failed_into_passed(data: st.DataObject, name: str, significant: bool) -> None:
    new = data.draw(columns)
    old = data.draw(st.lists(st.floats(0, 1), min_size=len(new), max_size=len(new)))
    loose, tight = sorted(data.draw(st.tuples(st.floats(0, 1), st.floats(0, 1))), reverse=True)
    for kind, first, second in (("max-drop", loose, tight), ("max", loose, tight), ("min", tight, loose)):
        passed = [
            gate(scores({name: new}), [Rule(kind, name, limit)], scores({name: old}), significant=significant, test="t")  # type: ignore[arg-type]
            for limit in (first, second)
        ]
        assert passed[0].passed or not passed[1].passed


@settings(max_examples=60)
@given(columns, st.floats(0, 1))
@example([0.59996], 0.6)
@example([0.600000000001], 0.6)
def test_the_numbers_shown_agree_with_the_verdict(values: list[float], limit: float) -> None:
    outcome = only(gate(scores({"AP": values}), [Rule("min", "AP", limit)]))
    said = float(outcome.said.removeprefix("at least "))
    assert said == limit
    assert outcome.passed == (float(outcome.shown) >= said - 1e-12)
