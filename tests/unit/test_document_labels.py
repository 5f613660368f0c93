"""Labels of documents: grades of a collection's documents in a verdict file, apart from labels about answers."""

from __future__ import annotations

from typing import Any

import pytest

from karat.errors import KaratError
from karat.evaluation.verdicts import evaluate_verdicts
from karat.grounding.labels.counting import label_status
from karat.grounding.labels.summary import summarize
from karat.grounding.verdict_file.reading import read_verdict_records
from tests.random_verdicts import Record


def _document(name: str, query: str = "q", **more: Any) -> Record:
    return {"record": "item", "query": query, "id": name, "type": "document", **more}


def _grade(name: str, label: int | None, query: str = "q", **more: Any) -> Record:
    failed = {"state": "failed"} if label is None else {}
    about = {"record": "verdict", "query": query, "task": "relevance", "item": name, "against": "question"}
    return {**about, "label": label, "by": "model", **failed, **more}


_PASSAGE: Record = {"record": "item", "query": "q", "system": "rag", "id": "d", "type": "passage", "rank": 1}


def test_measures_of_answers_do_not_read_the_grade_of_a_document_with_the_id_of_a_passage() -> None:
    passage = [_PASSAGE, _grade("d", 0, system="rag", by="human")]
    scores = evaluate_verdicts([*passage, _document("d"), _grade("d", 3)], "ContextRelevance")
    assert scores["ContextRelevance"] == 0.0
    notes = [finding.message for finding in scores.findings]
    assert notes == ["1 label of documents not used: grades for runs, not about answers"]


def test_a_file_with_grades_of_documents_alone_says_what_they_are_for() -> None:
    with pytest.raises(KaratError, match=r"all labels are about documents, .* They are for runs: evaluate"):
        evaluate_verdicts([_document("d"), _grade("d", 1)])


def test_documents_may_have_the_ids_that_answers_reserve() -> None:
    answer = {"record": "verdict", "query": "q", "task": "correctness", "item": "answer", "label": "correct"}
    scores = evaluate_verdicts([_document("answer"), _grade("answer", 0), answer], "Correctness")
    assert scores["Correctness"] == 1.0


def test_the_summary_counts_grades_of_documents_and_notices_another_text() -> None:
    rows = [_document("d", text="new", digest="0" * 16), _grade("d", 2), _document("e", text="same"), _grade("e", None)]
    records = read_verdict_records(rows)
    assert label_status(records) == ["stale", "counts"]
    counted = [(each.task, each.system, each.by, each.label, each.state) for each in summarize(records).labels]
    assert counted == [("relevance", None, "model", "2", "labelled"), ("relevance", None, "model", None, "failed")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([_document("d", system="rag")], "the document 'd' has the system 'rag'. A document belongs to the collection"),
        ([_document("d"), {**_PASSAGE, "system": None}], "is a document in the verdicts, row 0, but a passage here"),
        ([{**_PASSAGE, "system": None}, _document("d")], "but a document here. Name the system of passages"),
        ([{**_PASSAGE, "system": None}, _grade("d", 1, type="document")], "but a document here"),
    ],
    ids=["with a system", "then a passage", "after a passage", "named by a label"],
)
def test_what_cannot_be_a_document_is_an_error(rows: list[Record], message: str) -> None:
    with pytest.raises(KaratError, match=message):
        read_verdict_records(rows)


def test_a_document_may_have_the_id_of_a_passage_that_was_removed() -> None:
    passage: Record = {**_PASSAGE, "system": None}
    records = read_verdict_records([passage, {**passage, "removed": True}, _document("d"), _grade("d", 2)])
    assert label_status(records) == ["counts"]
