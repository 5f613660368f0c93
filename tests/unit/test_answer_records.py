"""Records of answers: pairs that are not, objects with attributes, and notes on names that were guessed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from karat import KaratError, evaluate_answers
from karat.reading.records.answers import read_gold_answers, read_predicted_answers

PAIRS = [("q1", "Paris"), ("q2", "Rome")]


class Result(NamedTuple):
    question: str
    reference: str


def gold_answers(*arguments: Any, **options: Any) -> dict[str, tuple[str, ...] | None]:
    return read_gold_answers(*arguments, **options).by_query


def predicted_answers(*arguments: Any, **options: Any) -> dict[str, str | None]:
    return read_predicted_answers(*arguments, **options).by_query


@pytest.mark.parametrize("pairs", [PAIRS, [(1, "Paris")], [("q", ["a", "b"])]])
def test_pairs_of_a_question_and_an_answer_are_not_read_as_two_answers(pairs: list[Any]) -> None:
    for read in (gold_answers, lambda source: predicted_answers(source, {})):
        for source in (pairs, iter(pairs)):
            with pytest.raises(KaratError, match=r"may be a question with its answer, or two answers.*dict\(pairs\)"):
                read(source)


def test_what_cannot_be_pairs_is_read_as_gold_answers() -> None:
    assert gold_answers(dict(PAIRS)) == {"q1": ("Paris",), "q2": ("Rome",)}
    assert gold_answers([("a", "b"), ("c",)]) == {"0": ("a", "b"), "1": ("c",)}
    assert gold_answers([["a", "b"], ["c", "d"]]) == {"0": ("a", "b"), "1": ("c", "d")}


@pytest.mark.parametrize("kind", [Result, SimpleNamespace])
def test_records_may_be_objects_with_attributes(kind: type) -> None:
    records = [kind(question="q", reference="a"), kind(question="r", reference="b")]
    for source in (records, iter(records)):
        found = read_gold_answers(source)
        assert found.by_query == {"q": ("a",), "r": ("b",)}
        note = "the ground truth: query is read from the field 'question' and gold_answers from 'reference'"
        assert found.notes == (note,)
    assert predicted_answers(records, {}, {"answer": "reference"}) == {"q": "a", "r": "b"}


def test_a_note_says_which_names_of_columns_and_fields_were_guessed(tmp_path: Path) -> None:
    record = {"id": "q", "question": "why?", "reference": "a"}
    lines, table = tmp_path / "truth.jsonl", tmp_path / "predictions.csv"
    lines.write_text("\n".join(json.dumps({**record, "id": query}) for query in "qr"))
    table.write_text("Query-ID,prediction\nq,a\n")
    of_lines = "query is read from the field 'id' rather than 'question' and gold_answers from 'reference'"
    of_table = "query is read from the column 'Query-ID' and answer from 'prediction'"
    assert read_gold_answers([record]).notes == (f"the ground truth: {of_lines}",)
    findings = evaluate_answers(lines, table, "EM").findings
    assert [each.message for each in findings if each.code == "reading"] == [
        f"{lines}: {of_lines}",
        f"{table}: {of_table}",
    ]
    # Gold answers that were read before keep their notes.
    assert evaluate_answers(read_gold_answers(lines), {"q": "a"}, "EM").findings[0].message == f"{lines}: {of_lines}"


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ({"query": "q", "gold_answers": "a"}, None),
        ({"query": "q", "answer": "a"}, None),
        ({"id": "q", "labels": "a"}, {"query": "id", "gold_answers": "labels"}),
    ],
)
def test_own_and_given_names_need_no_note(record: dict[str, str], fields: dict[str, str] | None) -> None:
    found = read_gold_answers([record], fields)
    assert (found.by_query, found.notes) == ({"q": ("a",)}, ())
