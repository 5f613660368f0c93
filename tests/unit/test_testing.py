"""assert_scores: when it fails, and what the message shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import karat
from karat import KaratError, Measure, Scores
from karat.testing import assert_scores

TRUTH = {f"q{at}": {"a": 1} for at in range(8)}
GOOD = {query: ["a", "x"] for query in TRUTH}
POOR = GOOD | {"q3": ["x", "y"], "q5": ["x", "a"]}


@pytest.fixture
def good() -> Scores:
    return karat.evaluate(TRUTH, GOOD, ["RR", "P@1", "AP(rel=2)"])


@pytest.fixture
def poor() -> Scores:
    return karat.evaluate(TRUTH, POOR, ["RR", "P@1"])


def test_scores_that_pass_return_the_result_of_the_gate(good: Scores, poor: Scores) -> None:
    least: dict[str | Measure, float] = {"RR": 0.5, karat.parse("P@1"): 0.5}
    found = assert_scores(poor, min=least, max={"RR": 0.9}, max_drop={"RR": 0.5}, baseline=good)
    assert found.passed
    assert [outcome.rule.kind for outcome in found.outcomes] == ["min", "min", "max", "max-drop"]


def test_scores_that_fail_show_the_table_and_the_worst_queries(good: Scores, poor: Scores) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_scores(poor, min={"P@1": 0.9, "RR": 0.5}, max_drop={"RR": 0.1}, baseline=good)
    lines = str(caught.value).splitlines()
    assert lines[0] == "gate failed: 2 of 3 rules"
    assert "failed    P@1       0.7500   at least 0.9000" in lines
    assert "passed    RR        0.8125   at least 0.5000" in lines
    assert "P@1, lowest scores: q3 (0.0000), q5 (0.0000)" in lines
    assert "RR, largest losses: q3 (1.0000 → 0.0000), q5 (1.0000 → 0.5000)" in lines


def test_with_significant_a_drop_that_may_be_noise_passes(good: Scores, poor: Scores) -> None:
    with pytest.raises(AssertionError):
        assert_scores(poor, max_drop={"RR": 0.1}, baseline=good)
    assert assert_scores(poor, max_drop={"RR": 0.1}, baseline=good, significant=True).passed


@pytest.mark.parametrize("name", ["old.parquet", "old.json", "old.csv"])
def test_a_baseline_may_be_a_file_of_saved_scores(good: Scores, poor: Scores, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("parquet"):
        good.to_parquet(path)
    else:
        (good.to_json if name.endswith("json") else good.to_csv)(path)
    with pytest.raises(AssertionError, match=r"fell by 0\.1875"):
        assert_scores(poor, max_drop={"RR": 0.1}, baseline=path)
    with pytest.raises(AssertionError, match=r"fell by 0\.1875"):
        assert_scores(poor, max_drop={"RR": 0.1}, baseline=str(path))


def test_rules_and_options_are_read_from_a_file_and_arguments_override_them(
    good: Scores, poor: Scores, tmp_path: Path
) -> None:
    good.to_parquet(tmp_path / "old.parquet")
    config = tmp_path / "karat.toml"
    config.write_text('[gate]\nbaseline = "old.parquet"\n[gate.min]\nRR = 0.99\n[gate.max-drop]\nRR = 0.1\n')
    with pytest.raises(AssertionError, match=f"rules from {config}\n") as caught:
        assert_scores(poor, config=config)
    assert "gate failed: 2 of 2 rules" in str(caught.value)
    with pytest.raises(AssertionError, match="gate failed: 1 of 2 rules"):
        assert_scores(poor, config=config, min={"RR": 0.5})
    assert assert_scores(poor, config=config, min={"recip_rank": 0.5}, significant=True).passed
    assert assert_scores(good, config=config, baseline=good).passed


def test_rel_in_the_file_applies_to_its_measures(good: Scores, tmp_path: Path) -> None:
    config = tmp_path / "karat.toml"
    config.write_text("[gate]\nrel = 2\n[gate.min]\nAP = 0\n")
    assert assert_scores(good, config=config).outcomes[0].rule.measure == "AP(rel=2)"


def test_a_baseline_in_the_file_is_not_read_if_no_rule_needs_it(good: Scores, tmp_path: Path) -> None:
    config = tmp_path / "karat.toml"
    config.write_text('[gate]\nbaseline = "nowhere.parquet"\n[gate.min]\nRR = 0.9\n')
    assert assert_scores(good, config=config).passed
    with pytest.raises(KaratError, match=r"nowhere\.parquet: no such file"):
        assert_scores(good, config=config, max_drop={"RR": 0})


def test_a_wrong_use_is_an_error_and_not_a_failed_assertion(good: Scores) -> None:
    with pytest.raises(KaratError, match="there are no rules"):
        assert_scores(good)
    with pytest.raises(KaratError, match=r"min=.*: a limit of 50 is out of range"):
        assert_scores(good, min={"RR": 50})
    with pytest.raises(KaratError, match=r"max_drop=.*: a max-drop rule for RR needs a baseline"):
        assert_scores(good, max_drop={"RR": 0.1})


FAILING = """
import karat
from karat.testing import assert_scores

def test_search_is_good_enough():
    scores = karat.evaluate({"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": ["a"], "q2": ["x", "a"]}, ["RR"])
    assert_scores(scores, min={"RR": 0.8})

def test_with_a_wrong_limit():
    scores = karat.evaluate({"q1": {"a": 1}}, {"q1": ["a"]}, ["RR"])
    assert_scores(scores, min={"RR": 80})

def test_that_passes():
    assert_scores(karat.evaluate({"q1": {"a": 1}}, {"q1": ["a"]}, ["RR"]), min={"RR": 0.8})
"""


def test_in_pytest_a_failure_shows_the_table_and_no_code_of_karat(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FAILING)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_it.py"]
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=quick)
    assert done.returncode == 1
    assert "2 failed, 1 passed" in done.stdout
    shown = [line.removeprefix("E").strip() for line in done.stdout.splitlines()]
    assert "AssertionError: gate failed: 1 of 1 rule" in shown
    assert "failed    RR        0.7500   at least 0.8000" in shown
    assert "RR, lowest scores: q2 (0.5000)" in shown
    assert "karat.errors.KaratError: min={'RR': 80}: a limit of 80 is out of range: RR is between 0 and 1" in shown
    assert "karat/testing.py" not in done.stdout
    assert "gating" not in done.stdout
    assert "__tracebackhide__" not in done.stdout
