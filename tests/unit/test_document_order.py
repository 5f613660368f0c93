"""The order of the documents of a log: that of the list, unless it is sorted by score."""

from types import SimpleNamespace
from typing import Any

import pytest

from karat import Document, KaratError, Scores, evaluate_results
from karat.grounding.responses.results import read_responses

WRONG = [{"id": "d2", "score": 0.5}, {"id": "d1", "score": 0.9}]
RIGHT = [{"id": "d1", "score": 0.9}, {"id": "d2", "score": 0.5}]
CONTRADICTION = "the scores of documents contradict the order of their list for query q2"
DISTANCES = "the scores of documents rise from the first to the last one, as distances do"


def record(query: str, retrieved: Any) -> dict[str, Any]:
    return {"query": query, "truth": ["d1"], "retrieved": retrieved, "answer": "Soft."}


def notes(scores: Scores) -> str:
    return " ".join(map(str, scores.findings))


def test_the_order_of_the_list_counts_and_a_note_names_the_first_query_whose_scores_contradict_it() -> None:
    scores = evaluate_results([record("q1", RIGHT), record("q2", WRONG)], "RR")
    assert scores.column("RR").tolist() == [1.0, 0.5]
    assert CONTRADICTION in notes(scores)


def test_documents_are_sorted_by_score() -> None:
    scores = evaluate_results([record("q1", RIGHT), record("q2", WRONG)], "RR", order="score")
    assert scores.column("RR").tolist() == [1.0, 1.0]
    assert "documents are ordered by score, which changes the lists of 1 query" in notes(scores)


def test_a_note_counts_the_queries_whose_scores_contradict_their_list() -> None:
    scores = evaluate_results([record(query, WRONG) for query in ("q2", "q3")] + [record("q4", RIGHT)], "RR")
    assert "contradict the order of their list for 2 queries, first for q2;" in notes(scores)


def test_scores_may_be_texts_that_are_numbers_as_in_csv() -> None:
    texts = [{**document, "score": str(document["score"])} for document in WRONG]
    assert CONTRADICTION in notes(evaluate_results([record("q1", RIGHT), record("q2", texts)], "RR"))
    assert evaluate_results([record("q1", texts)], "RR", order="score")["RR"] == 1


def test_documents_with_equal_scores_stay_in_the_order_of_the_list() -> None:
    tied = [{"id": name, "score": 0.5} for name in ("d3", "d2", "d1")]
    assert evaluate_results([record("q1", tied)], "RR", order="score")["RR"] == pytest.approx(1 / 3)
    assert "contradict" not in notes(evaluate_results([record("q1", tied), record("q2", RIGHT)], "RR"))


@pytest.mark.parametrize(
    "retrieved",
    [
        [{"node": {"id_": "d2", "text": "a"}, "score": 0.5}, {"node": {"id_": "d1", "text": "b"}, "score": 0.9}],
        [Document(id="d2", content="a", score=0.5), Document(id="d1", content="b", score=0.9)],
        [SimpleNamespace(id="d2", content="a", score=0.5), SimpleNamespace(id="d1", content="b", score=0.9)],
    ],
    ids=["LlamaIndex", "Haystack", "objects"],
)
def test_the_scores_of_documents_of_all_frameworks_count(retrieved: list[Any]) -> None:
    records = [record("q1", RIGHT), record("q2", retrieved)]
    assert CONTRADICTION in notes(evaluate_results(records, "RR"))
    assert evaluate_results(records, "RR", order="score")["RR"] == 1


def test_the_scores_of_spans_count() -> None:
    def span(name: str, kind: str, parent: str | None, **attributes: Any) -> dict[str, Any]:
        context = {"trace_id": "t1", "span_id": name}
        kinds = {"openinference.span.kind": kind}
        return {"context": context, "parent_id": parent, "span_kind": kind, "attributes": {**kinds, **attributes}}

    documents = [{"document.id": each["id"], "document.score": each["score"]} for each in WRONG]
    spans = [
        span("a", "CHAIN", None, **{"input.value": "How?", "output.value": "So."}),
        span("b", "RETRIEVER", "a", **{"retrieval.documents": documents}),
    ]
    [unsorted], [by_score] = (read_responses(spans, order=order).responses for order in (None, "score"))
    assert [passage.id for passage in unsorted.passages] == ["d2", "d1"]
    assert [passage.id for passage in by_score.passages] == ["d1", "d2"]


def test_the_name_of_the_score_can_be_given() -> None:
    retrieved = [{"id": "d2", "similarity": 0.5}, {"id": "d1", "similarity": 0.9}]
    records, fields = [record("q1", retrieved)], {"retrieved.score": "similarity"}
    assert evaluate_results(records, "RR", order="score", fields=fields)["RR"] == 1


def test_scores_that_rise_in_all_lists_look_like_distances() -> None:
    scores = evaluate_results([record("q1", WRONG), record("q2", WRONG)], "RR")
    assert DISTANCES in notes(scores)
    assert "contradict" not in notes(scores)
    assert scores["RR"] == 0.5
    by_score = evaluate_results([record("q1", WRONG), record("q2", WRONG)], "RR", order="score")
    assert f"{DISTANCES}, and the highest score now comes first" in notes(by_score)


@pytest.mark.parametrize(
    "retrieved",
    [["d1", "d2"], [{"id": "d1", "score": 1}, {"id": "d2"}], [{"id": "d1", "score": "high"}], [["d1", 0, 5]]],
)
def test_a_document_without_a_score_cannot_be_sorted(retrieved: list[Any]) -> None:
    with pytest.raises(KaratError) as caught:
        evaluate_results([record("q1", RIGHT), record("q2", retrieved)], "RR", order="score")
    assert "of query q2 has no score that is a number, and order='score' needs one" in str(caught.value)
    assert str(caught.value.place) == "the results[1]"


def test_lists_without_scores_in_all_documents_are_no_contradiction() -> None:
    for retrieved in (["d2", "d1"], [{"id": "d2", "score": 1}, {"id": "d1"}], [{"id": "d2", "score": float("nan")}]):
        assert "score" not in notes(evaluate_results([record("q1", retrieved)], "RR"))


def test_documents_with_scores_in_an_object_are_ranked_by_score_in_any_case() -> None:
    scores = evaluate_results([record("q1", {"d2": 0.5, "d1": 0.9}), record("q2", WRONG)], "RR", order="score")
    assert scores["RR"] == 1
    with pytest.raises(KaratError, match=r"order='score' has no effect on \{document: score\}"):
        evaluate_results([record("q1", {"d2": 0.5, "d1": 0.9})], "RR", order="score")


def test_an_order_that_is_not_known_is_an_error() -> None:
    order: Any = "scores"
    with pytest.raises(KaratError, match="order='scores' is not an order of documents"):
        evaluate_results([record("q1", RIGHT)], order=order)


def test_passages_are_judged_in_the_order_of_scores() -> None:
    [response] = read_responses([record("q1", WRONG)], order="score").responses
    assert [(passage.id, passage.rank) for passage in response.passages] == [("d1", 1), ("d2", 2)]
    read = read_responses([record("q1", RIGHT), record("q2", WRONG)])
    assert CONTRADICTION in " ".join(read.notes)
