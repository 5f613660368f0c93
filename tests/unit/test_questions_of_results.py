"""The texts of questions that results contain beside their queries."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from karat import KaratError, Scores, compare, evaluate_results


def scores_of(*records: dict[str, Any], **fields: str) -> Scores:
    known = {"truth": ["a"], "retrieved": ["a", "b"]}
    return evaluate_results([{**known, **record} for record in records], "RR", fields=fields or None)


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"query": "q1", "question": "How soft is gold?"}, "How soft is gold?"),
        ({"id": "q1", "query": "How soft is gold?"}, None),  # the query is the question itself
        ({"qid": 7, "question": "How soft is gold?"}, "How soft is gold?"),
        ({"query": "q1", "text": "How soft is gold?"}, "How soft is gold?"),
        ({"query": "How soft?", "prompt": "You are an expert. How soft?"}, None),
        ({"query": "a name", "question": "How soft is gold?"}, "How soft is gold?"),
        ({"query": "q1", "question": ["How", "soft"]}, None),
        ({"query": "q1", "question": " \n"}, None),
        ({"query": "q1", "question": None}, None),
        ({"query": "q1"}, None),
    ],
)
def test_the_question_is_the_text_beside_the_query(record: dict[str, Any], text: str | None) -> None:
    scores = scores_of(record)
    assert list(scores.questions.values()) == ([] if text is None else [text])
    assert set(scores.questions) <= set(scores.queries)


def test_a_field_that_is_read_as_something_else_is_not_the_question() -> None:
    scores = scores_of({"id": "q1", "query": "How soft is gold?", "prompt": "Answer this."}, query="id")
    assert scores.questions == {"q1": "How soft is gold?"}
    assert scores_of({"query": "q1", "text": "a", "title": "gold"}, retrieved="text").questions == {"q1": "gold"}


def test_queries_are_grouped_by_the_length_of_their_questions() -> None:
    scores = scores_of(
        {"query": "q1", "question": "How soft is gold?"}, {"query": "q2", "question": "gold"}, {"query": "q3"}
    )
    assert {label: each.queries for label, each in scores.slices("length").groups.items()} == {
        "1": ("q2",), "4": ("q1",), "(none)": ("q3",),
    }  # fmt: skip
    # What is given comes first.
    given = scores.slices("length", queries={"q1": "one two"})
    assert {label: len(each.queries) for label, each in given.groups.items()} == {"2": 1, "(none)": 2}


def test_a_comparison_knows_the_questions_of_any_of_its_systems() -> None:
    texts = ("How soft is gold?", "gold")
    with_texts = scores_of(*({"query": f"q{at}", "question": text} for at, text in enumerate(texts)))
    without = scores_of({"query": "q0"}, {"query": "q1"})
    for systems in ({"a": with_texts, "b": without}, {"a": without, "b": with_texts}):
        assert list(compare(systems, resamples=9).slices("length").groups) == ["1", "4"]


def test_questions_are_released_with_the_evidence_and_not_pickled() -> None:
    scores = scores_of({"query": "q1", "question": "How soft is gold?"})
    for without in (scores.without_evidence(), pickle.loads(pickle.dumps(scores))):
        assert without.questions == {}
        with pytest.raises(KaratError, match=r"only their ids are known\. Add their texts, such as queries="):
            without.slices("length")
