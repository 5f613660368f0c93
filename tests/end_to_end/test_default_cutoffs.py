"""The measures of logs by default: their cut-offs fit the length of the lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karat import Scores, evaluate, evaluate_results
from karat.registry.selection import DEFAULT_MEASURES
from tests.end_to_end.in_process import printed, run_here

FIVE = ("nDCG@5", "AP", "RR", "P@5", "R@5")
TEN = ("nDCG@10", "AP", "RR", "P@10", "R@10")


def log(longest: int) -> list[dict[str, Any]]:
    lists = [[f"d{at}" for at in range(length)] for length in (1, longest)]
    return [{"query": f"q{at}", "truth": ["d0"], "retrieved": documents} for at, documents in enumerate(lists)]


def write(folder: Path, name: str, longest: int) -> None:
    (folder / name).write_text("".join(json.dumps(record) + "\n" for record in log(longest)))


def notes(scores: Scores) -> list[str]:
    return [finding.message for finding in scores.findings if "cut-offs" in finding.message]


@pytest.mark.parametrize(
    ("longest", "measures"), [(1, FIVE), (9, FIVE), (10, TEN), (11, DEFAULT_MEASURES), (200, DEFAULT_MEASURES)]
)
def test_the_longest_list_decides_on_the_cutoffs(longest: int, measures: tuple[str, ...]) -> None:
    assert evaluate_results(log(longest)).measures == measures


def test_a_note_says_that_the_cutoffs_were_chosen_from_the_length_of_the_lists() -> None:
    assert notes(evaluate_results(log(4))) == ["the cut-offs are 5, because no list has more than 4 documents"]
    assert notes(evaluate_results(log(10))) == ["the cut-offs are 10, because no list has more than 10 documents"]
    assert notes(evaluate_results(log(11))) == []
    assert notes(evaluate_results(log(4), ["P@10"])) == []
    answers = [{"query": "q", "gold_answers": ["a"], "answer": "a", "retrieved": ["d"]}]
    assert notes(evaluate_results(answers)) == []


def test_scores_of_lists_are_lists_too() -> None:
    records = [{"query": "q", "truth": ["d0"], "retrieved": {f"d{at}": 1 / (at + 1) for at in range(10)}}]
    assert evaluate_results(records).measures == TEN


def test_runs_keep_the_usual_measures() -> None:
    assert evaluate({"q": {"d": 1}}, {"q": ["d"]}).measures == DEFAULT_MEASURES


@pytest.mark.parametrize(("lengths", "measures"), [((4, 10), TEN), ((10, 4), TEN), ((4, 12), DEFAULT_MEASURES)])
def test_several_logs_have_the_measures_of_the_longest_list(
    tmp_path: Path, lengths: tuple[int, int], measures: tuple[str, ...]
) -> None:
    for name, length in zip(("a.jsonl", "b.jsonl"), lengths, strict=True):
        write(tmp_path, name, length)
    printed(run_here(tmp_path, "evaluate", "a.jsonl", "b.jsonl", "-o", "scores.json"))
    for system in ("a", "b"):
        table = printed(run_here(tmp_path, "compare", f"scores.json:{system}", f"scores.json:{system}"))
        assert all(name in table for name in measures)
    table = printed(run_here(tmp_path, "compare", "a.jsonl", "b.jsonl"))
    assert "left out" not in table
    assert table.count("the cut-offs are") == (measures == TEN)


def test_a_log_has_the_cutoffs_of_saved_scores_that_it_is_compared_with(tmp_path: Path) -> None:
    write(tmp_path, "long.jsonl", 12)
    write(tmp_path, "short.jsonl", 4)
    for one, other, measure in (("long", "short", "R@100"), ("short", "long", "R@5")):
        printed(run_here(tmp_path, "evaluate", f"{one}.jsonl", "-o", f"{one}.json"))
        table = printed(run_here(tmp_path, "compare", f"{one}.json", f"{other}.jsonl"))
        assert measure in table
        assert "left out" not in table
    assert "note: short: the cut-offs are 5, because no list has more than 4 documents" in table


def test_a_report_of_short_lists_has_the_measures_that_fit(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", 4)
    printed(run_here(tmp_path, "evaluate", "a.jsonl", "--report", "report.html"))
    page = (tmp_path / "report.html").read_text()
    assert "nDCG@5" in page
    assert "R@100" not in page
