"""Explaining the scores of a query by its documents."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from karat import Document, KaratError, evaluate, evaluate_runs

TRUTH = {"q": ["Gold is soft.", "Iron rusts."]}
RUN = {"q": ["Lead is grey.", "is soft", "Iron rusts."]}


def test_each_rank_has_the_gold_it_matched_and_the_reason() -> None:
    rows = evaluate(TRUTH, RUN, "R", match="chunk").explain("q").rows
    assert [(row.rank, row.gold, row.reason) for row in rows] == [
        (1, "", ""), (2, "Gold is soft.", "contained"), (3, "Iron rusts.", "the whole text"),
    ]  # fmt: skip


def test_the_grade_is_the_score_of_the_gold_for_every_measure() -> None:
    truth = {"q": [{"id": "a", "score": 3}]}
    for measure in ("R", "nDCG"):
        assert evaluate(truth, {"q": ["a"]}, measure).explain("q").rows[0].grade == 3


def test_explaining_a_run_file_that_changed_is_an_error(tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    run.write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    scores = evaluate({"q": {"a": 1}}, run, "RR")
    run.write_text("q Q0 a 1 1 t\nq Q0 b 2 2 t\n")
    with pytest.raises(KaratError, match="changed since"):
        scores.explain("q")


def test_explaining_a_document_that_changed_is_an_error() -> None:
    document = Document("Gold is soft.")
    scores = evaluate(TRUTH, {"q": [document]}, "R", match="content")
    document.content = "Lead is grey."
    with pytest.raises(KaratError, match="changed since"):
        scores.explain("q")


@pytest.mark.parametrize("k", ["5", None, -1, 2.0, True])
def test_a_k_that_is_not_a_number_of_ranks_is_an_error(k: Any) -> None:
    with pytest.raises(KaratError, match="not a number of ranks"):
        evaluate(TRUTH, RUN, "R").explain("q", k)


def test_scores_without_evidence_and_pickled_scores_cannot_be_explained() -> None:
    scores = evaluate(TRUTH, RUN, "R", match="chunk")
    for restored in (scores.without_evidence(), pickle.loads(pickle.dumps(scores))):
        assert restored.means == scores.means
        with pytest.raises(KaratError, match="no run data"):
            restored.explain("q")


def test_several_runs_each_have_their_own_evidence() -> None:
    scores = evaluate_runs(TRUTH, {"all": RUN, "none": {"q": []}}, "R", match="chunk")
    assert [len(of_run.explain("q").rows) for of_run in scores.values()] == [3, 2]


def test_embeddings_can_be_matched_by_a_function() -> None:
    def near(one: Any, other: Any) -> bool:
        return bool(one @ other > 0.9)

    scores = evaluate(
        {"q": [np.array([1.0, 0.0])]}, {"q": [np.array([0.0, 1.0]), np.array([1.0, 0.0])]}, "RR", match=near
    )
    assert scores["RR"] == 0.5
    assert scores.explain("q").rows[1].reason == "near returned True"


@pytest.mark.parametrize("empty", [None, ""])
def test_a_matching_function_is_not_called_for_empty_documents(empty: str | None) -> None:
    scores = evaluate({"q": [empty, "a"]}, {"q": [empty, "b"]}, ["R", "NumRel"], match=lambda *_: True)
    assert dict(scores) == {"R": 1.0, "NumRel": 1.0}
    assert scores.explain("q").rows[0].gold == ""


def test_any_number_of_ranks_can_be_asked_for() -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, "RR")
    assert str(scores.explain("q", 2**64)) == str(scores.explain("q", 2))
