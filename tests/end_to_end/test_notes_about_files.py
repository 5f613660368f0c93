"""A note of the same words about several files appears once, with the files that it is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.in_process import printed, run_here

FIELDS = "query is read from the field 'question' and retrieved from 'contexts'."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record = {"question": "q1", "truth": ["d1"], "contexts": ["d1", "d2"]}
    for name in "abcd":
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "other.jsonl").write_text(json.dumps({"query": "q1", "truth": ["d1"], "retrieved": ["d1"]}) + "\n")
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\n")
    for name in ("x.csv", "y.csv"):
        (tmp_path / name).write_text("qid,docno,score\nq1,d1,2\n")
    return tmp_path


def notes(folder: Path, *words: str) -> list[str]:
    lines = printed(run_here(folder, *words)).splitlines()
    return [line.removeprefix("note: ") for line in lines if line.startswith("note: ") and "read from" in line]


@pytest.mark.parametrize(
    ("files", "about"),
    [
        ("a", "a.jsonl"),
        ("ab", "a.jsonl and b.jsonl"),
        ("abc", "a.jsonl, b.jsonl and c.jsonl"),
        ("abcd", "a.jsonl, b.jsonl and 2 other files"),
    ],
)
def test_logs_that_are_read_in_the_same_way_have_one_note(folder: Path, files: str, about: str) -> None:
    names = [f"{name}.jsonl" for name in files]
    assert notes(folder, "evaluate", *names) == [f"{about}: {FIELDS}"]
    if len(names) > 1:
        assert notes(folder, "compare", *names) == [f"{about}: {FIELDS}"]


def test_a_note_names_only_the_files_that_it_is_about(folder: Path) -> None:
    assert notes(folder, "evaluate", "a.jsonl", "other.jsonl", "b.jsonl") == [f"a.jsonl and b.jsonl: {FIELDS}"]


def test_runs_that_are_read_in_the_same_way_have_one_note(folder: Path) -> None:
    expected = "x.csv and y.csv: query is read from the column 'qid' and doc from 'docno'."
    assert notes(folder, "evaluate", "truth.qrels", "x.csv", "y.csv", "-m", "RR") == [expected]


def test_saved_scores_keep_the_note_and_its_files(folder: Path) -> None:
    run_here(folder, "evaluate", "a.jsonl", "b.jsonl", "-o", "scores.json")
    assert notes(folder, "compare", "scores.json") == [f"a.jsonl and b.jsonl: {FIELDS}"]


def test_notes_of_a_gate_and_below_data_are_one_line_too(folder: Path) -> None:
    words = ("gate", "a.jsonl", "--baseline", "b.jsonl", "--max-drop", "RR=0.1")
    assert notes(folder, *words) == [f"a.jsonl and b.jsonl: {FIELDS}"]
    done = run_here(folder, "evaluate", "a.jsonl", "b.jsonl", "--format", "csv")
    assert done.stderr.count("read from") == 1
