"""`--verdicts` beside ground truth and runs: labels of documents as grades, in every command that evaluates runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.end_to_end.in_process import good, mistake, run_here

_SHARE = "judged documents in the top 10 with a grade from labels by model: a 33%, b 50%."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\nq2 0 d2 2\nq2 0 d9 -1\n")
    (tmp_path / "a.trec").write_text("q1 Q0 x 1 3 t\nq1 Q0 d1 2 2 t\nq2 Q0 d2 1 3 t\n")
    (tmp_path / "b.trec").write_text("q1 Q0 d1 1 3 t\nq2 Q0 d9 1 2 t\n")
    row = {"record": "verdict", "type": "document", "task": "relevance", "against": "question", "by": "model"}
    labels = [{**row, "query": "q1", "item": "x", "label": 2}, {**row, "query": "q2", "item": "d9", "label": 0}]
    labels.append({**row, "query": "q1", "item": "x", "label": 0, "by": "human"})
    (tmp_path / "verdicts.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    # The same grades, written into the ground truth.
    (tmp_path / "merged.qrels").write_text("q1 0 d1 1\nq2 0 d2 2\nq2 0 d9 0\nq1 0 x 2\n")
    return tmp_path


LABELS = ("--verdicts", "verdicts.jsonl", "--author", "model")


def test_labels_are_grades_and_their_share_stands_below_the_table(folder: Path) -> None:
    printed = good(folder, "evaluate", "truth.qrels", "a.trec", "b.trec", "-m", "nDCG@10", *LABELS)
    merged = good(folder, "evaluate", "merged.qrels", "a.trec", "b.trec", "-m", "nDCG@10")
    assert printed.splitlines()[:6] == merged.splitlines()[:6]
    assert f"note: {_SHARE}" in printed.splitlines()
    one = good(folder, "evaluate", "truth.qrels", "a.trec", *LABELS, "--format", "json")
    assert "labels" in [finding["code"] for finding in json.loads(one)["findings"]]
    explained = good(folder, "evaluate", "truth.qrels", "a.trec", *LABELS, "--explain", "q1")
    assert "same id, graded by model" in explained


def test_every_command_for_runs_takes_labels(folder: Path) -> None:
    files = ("truth.qrels", "a.trec", "b.trec")
    assert _SHARE in good(folder, "compare", *files, "-m", "nDCG@10", *LABELS)
    assert "q1" in good(folder, "diff", *files, "-m", "nDCG@10", *LABELS)
    good(folder, "gate", "truth.qrels", "a.trec", "--min", "nDCG@10=0.9", *LABELS)
    run_here(folder, "report", *files, *LABELS, "-o", "report.html")
    page = (folder / "report.html").read_text("utf-8")
    assert "grades_by" in page
    assert "verdicts.jsonl" in page
    assert "with a grade from labels by model" in page
    assert "same id, graded by model" in page


def test_saved_scores_with_labels_are_only_compared_with_such_scores(folder: Path) -> None:
    good(folder, "evaluate", "truth.qrels", "a.trec", "-o", "with.json", *LABELS)
    good(folder, "evaluate", "truth.qrels", "b.trec", "-o", "without.json")
    assert "with labels by model and no labels" in mistake(folder, "compare", "with.json", "without.json")
    good(folder, "compare", "truth.qrels", "with.json", "b.trec", *LABELS)
    printed = good(folder, "compare", "truth.qrels", "with.json", "with.json")
    assert "whether truth.qrels is their ground truth is not known" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--verdicts", "verdicts.jsonl"], "Choose one with --author;"),
        ([*LABELS, "--unknown", "error"], "--unknown is about labels of answers, and these are ground truth and runs"),
        ([*LABELS, "--match", "prefix"], "labels grade documents by their ids"),
    ],
    ids=["several authors", "unknown", "match"],
)
def test_a_mistake_about_labels_of_documents_is_explained(folder: Path, words: list[str], message: str) -> None:
    assert message in mistake(folder, "evaluate", "truth.qrels", "a.trec", *words)


def test_the_agreement_of_a_model_with_people_is_printed_or_written(folder: Path) -> None:
    (folder / "people.qrels").write_text("q1 0 x 1\nq2 0 d9 0\n")
    words = ["verdicts", "agreement", "verdicts.jsonl", "--truth", "people.qrels", "--run", "a.trec", "--run", "b.trec"]
    printed = good(folder, *words, "-m", "P@1", "--digits", "2").splitlines()
    assert printed[2].split()[:7] == ["model", "relevance", "of", "documents", "2", "2", "0.50"]
    assert "relevance of documents: a row per label by people, a column per label by model" in printed
    assert ["P@1", "a", "2", "0.50", "0.50", "0.00"] in [line.split()[:6] for line in printed]
    (row,) = csv.DictReader(run_here(folder, *words, "--format", "csv").stdout.splitlines())
    assert (row["by"], row["pairs"], row["equal"]) == ("model", "2", "0.5")
    good(folder, *words, "-o", "agreement.json")
    assert json.loads((folder / "agreement.json").read_text())["tasks"][0]["scale"] == ["0", "1", "2", "3"]
    assert "Add --truth." in mistake(folder, *words[:3], "--run", "a.trec")
