"""Labels of documents as grades: they stand for judgments that ground truth lacks, and are never mixed in silently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.errors import KaratError
from karat.reading.pairs.any_source import read_truth
from karat.reading.pairs.labelled_truth import with_labels
from karat.scores import Scores
from tests.random_verdicts import Record

_Grades = dict[str, dict[str, int]]
_QUERIES = st.sampled_from(["q1", "q2", "q10"])
_DOCUMENTS = st.sampled_from("abcdef")
_TRUTHS = st.dictionaries(_QUERIES, st.dictionaries(_DOCUMENTS, st.integers(-2, 3), min_size=1), min_size=1)
_LABELS = st.dictionaries(_QUERIES, st.dictionaries(_DOCUMENTS, st.integers(0, 3), min_size=1), min_size=1)
_RUN = {query: ["a", "b", "c", "d", "e", "f", "g"] for query in ("q1", "q2", "q10")}
_MEASURES = ["nDCG@3", "AP", "RR", "P@5", "bpref", "Judged@5", "R@5", "ERR@7"]


def _label(query: str, name: str, label: int | None, by: str = "model", **more: Any) -> Record:
    state = {"state": "failed"} if label is None else {}
    about = {"query": query, "item": name, "type": "document", "task": "relevance"}
    return {**about, "label": label, "by": by, **state, **more}


def _records(labels: _Grades) -> list[Record]:
    return [_label(query, doc, grade) for query, of_query in labels.items() for doc, grade in of_query.items()]


def _by_definition(truth: _Grades, labels: _Grades) -> _Grades:
    """Ground truth into which grades were written by hand."""
    merged = {query: dict(docs) for query, docs in truth.items()}
    for query, docs in merged.items():
        for doc, grade in labels.get(query, {}).items():
            if docs.get(doc, -1) < 0:
                docs[doc] = grade
    return merged


def _values(scores: Scores) -> dict[str, list[float]]:
    return {name: scores.column(name).tolist() for name in scores.measures}


@settings(max_examples=40)
@given(_TRUTHS, _LABELS, st.sampled_from(["zero", "skip"]))
def test_scores_are_those_of_ground_truth_with_the_grades_written_into_it(
    truth: _Grades, labels: _Grades, missing: Any
) -> None:
    run = {query: _RUN[query] for query in list(truth)[:2]}
    with_verdicts = karat.evaluate(truth, run, _MEASURES, verdicts=_records(labels), missing=missing)
    by_hand = karat.evaluate(_by_definition(truth, labels), run, _MEASURES, missing=missing)
    assert _values(with_verdicts) == _values(by_hand)
    assert dict(with_verdicts.fingerprint.truths["judged"]) == dict(by_hand.fingerprint.truths["judged"])  # type: ignore[union-attr]
    others = [each for each in with_verdicts.findings if each.code not in ("reading", "labels")]
    assert others == list(by_hand.findings)


@settings(max_examples=40)
@given(_TRUTHS, _LABELS)
def test_a_column_of_documents_is_merged_as_a_list_is(truth: _Grades, labels: _Grades) -> None:
    rows = [(query, doc, grade) for query, docs in truth.items() for doc, grade in docs.items()]
    in_memory, in_columns = (with_labels(read_truth(each), labels, "model") for each in (truth, rows))
    for each in (in_memory, in_columns):
        merged = {
            query: {each.docs[gold]: each.grades[gold] for gold in each.golds(at)}
            for at, query in enumerate(each.queries)
        }
        assert merged == _by_definition(truth, labels)
        assert each.labels is not None
        used = {
            (query, each.docs[gold])
            for at, query in enumerate(each.queries)
            for gold in each.golds(at)
            if each.labels.rows[gold]
        }
        wanted = {(query, doc) for query, docs in labels.items() for doc in docs}
        assert used == {(q, d) for q, d in wanted if q in truth and truth[q].get(d, -1) < 0}


def test_scores_of_listed_documents_are_grades_too() -> None:
    golds = {"q": [karat.Document(id="a", score=3.0), karat.Document(id="b", score=1.0)]}
    retrieved = {"q": ["x", "a", "b"]}
    scores = karat.evaluate(golds, retrieved, ["nDCG", "R"], verdicts=[_label("q", "x", 2), _label("q", "a", 0)])
    by_hand = karat.evaluate({"q": {"a": 3, "b": 1, "x": 2}}, retrieved, ["nDCG", "R"])
    assert _values(scores) == _values(by_hand)


def _findings(truth: Any, run: Any, measures: Any, labels: list[Record], **options: Any) -> dict[str, str]:
    scores = karat.evaluate(truth, run, measures, verdicts=labels, **options)
    return {each.code: each.message for each in scores.findings}


def test_the_share_of_the_judged_top_that_rests_on_labels_is_a_finding() -> None:
    labels = [_label("q", "x", 0), _label("q", "z", 1), _label("q", "a", 1), _label("r", "x", 1)]
    found = _findings({"q": {"a": 1, "b": 0}}, {"q": ["x", "a", "b", "y", "z"]}, ["P@3", "P@1"], labels)
    assert found["labels"] == "33% of the judged documents in the top 3 have their grade from labels by model"
    assert found["reading"] == (
        "labels by model grade 2 unjudged documents; 1 label of judged documents not used;"
        " 1 query without ground truth ignored: r"
    )
    found = _findings({"q": {"a": 1, "b": 0}}, {"q": ["x", "a", "b", "y", "z"]}, "AP", labels)
    assert found["labels"].startswith("50% of the judged documents that were retrieved")
    found = _findings({"q": {"a": 1}}, {"q": ["a"]}, "AP", labels)
    assert found["labels"].startswith("0% of")


def test_the_shares_of_systems_are_one_line() -> None:
    runs = {"bm25": {"q": ["x", "a"]}, "dense": {"q": ["a", "y"]}}
    scores = karat.evaluate_runs({"q": {"a": 1}}, runs, "P@2", verdicts=[_label("q", "x", 0)])
    line = "judged documents in the top 2 with a grade from labels by model: bm25 50%, dense 0%."
    assert f"note: {line}" in str(scores).splitlines()
    assert scores["bm25"].to_dict()["fingerprint"]["options"]["grades_by"] == "model"


@pytest.mark.parametrize(
    ("labels", "grade"),
    [
        ([_label("q", "x", grade, sample=at) for at, grade in enumerate([3, 0, 2])], 2),
        ([_label("q", "x", grade, sample=at) for at, grade in enumerate([3, 0, 2, 1])], 1),
        ([_label("q", "x", grade, sample=at) for at, grade in enumerate([3, None, 2])], 2),
        ([_label("q", "x", grade, f"human:{grade}{at}") for at, grade in enumerate([3, 3, 1])], 3),
        ([_label("q", "x", grade, f"human:{grade}") for grade in [3, 1]], None),
        ([_label("q", "x", 1), _label("q", "x", 2)], 2),
        ([_label("q", "x", 1), _label("q", "x", None)], 1),
        ([_label("q", "x", None)], None),
        ([_label("q", "x", 3, text="new", digest="0" * 16)], None),
    ],
    ids=[
        "odd samples",
        "even samples",
        "a failed sample",
        "people",
        "a tie",
        "later",
        "later failure",
        "failed",
        "stale",
    ],
)
def test_one_grade_from_several_labels(labels: list[Record], grade: int | None) -> None:
    scores = karat.evaluate({"q": {"a": 1}}, {"q": ["x"]}, ["DCG@1", "Judged@1"], verdicts=labels)
    assert scores.means == {"DCG@1": grade or 0, "Judged@1": float(grade is not None)}


def test_documents_that_stay_unjudged_are_counted_with_the_reason() -> None:
    labels = [_label("q", "x", None), _label("q", "y", 1, text="new", digest="0" * 16), _label("q", "z", 1)]
    note = _findings({"q": {"a": 1}}, {"q": ["x"]}, "P@1", labels)["reading"]
    assert note == (
        "labels by model grade 1 unjudged document; 1 document left unjudged (failed labels);"
        " 1 document left unjudged (labels of a text that has changed since)"
    )
    labels = [_label("q", "x", 0, "human:ann"), _label("q", "x", 1, "human:ben")]
    note = _findings({"q": {"a": 1}}, {"q": ["x"]}, "P@1", labels)["reading"]
    assert note.endswith("grade 0 unjudged documents; 1 document left unjudged (people are divided)")


def test_the_author_is_chosen_if_there_are_several() -> None:
    labels = [_label("q", "x", 1, "human"), _label("q", "x", 3, "model")]
    with pytest.raises(KaratError, match=r"by several authors. Choose one .* human \(1 label\), model \(1 label\)"):
        karat.evaluate({"q": {"a": 1}}, {"q": ["x"]}, "DCG", verdicts=labels)
    values = [
        karat.evaluate({"q": {"a": 1}}, {"q": ["x"]}, "DCG", verdicts=labels, author=author)["DCG"]
        for author in ("human", "model")
    ]
    assert values == [1.0, 3.0]


def test_scores_with_labels_are_not_compared_with_scores_without_them() -> None:
    truth, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": ["x", "a"], "r": ["a"]}
    labels = [_label("q", "x", 1)]
    with_labels, without = (karat.evaluate(truth, run, "AP", verdicts=each) for each in (labels, None))
    expected = r"against different ground truth for 1 of 2 queries \(q\), with labels by model and no labels"
    with pytest.raises(KaratError, match=expected):
        karat.compare({"with": with_labels, "without": without})
    karat.compare({"one": with_labels, "other": karat.evaluate(truth, run, "AP", verdicts=labels)})


def test_an_explanation_says_whose_label_a_grade_is() -> None:
    labels = [_label("q", "x", 2), _label("q", "y", 1)]
    scores = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, "AP", verdicts=labels)
    reasons = {row.gold: row.reason for row in scores.explain("q").rows}
    assert reasons == {"x": "same id, graded by model", "a": "same id", "y": "not retrieved, graded by model"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"author": "model"}, "author applies to verdicts, and there are none. Add verdicts, or leave it out"),
        ({"verdicts": [_label("q", "x", 1)], "author": "modle"}, "no label is by 'modle'. Did you mean model"),
        ({"verdicts": [_label("q", "x", 1)], "match": "prefix"}, "documents are matched by prefix. Use match='id'"),
        (
            {"verdicts": [{"query": "q", "task": "correctness", "item": "answer", "label": "correct"}]},
            "no label is about a document. `karat judge TRUTH RUN... --task relevance` grades documents",
        ),
    ],
    ids=["no verdicts", "unknown author", "match", "labels of answers"],
)
def test_labels_that_cannot_be_grades_are_an_error(options: Any, message: str) -> None:
    with pytest.raises(KaratError, match=message.replace("...", r"\.\.\.")):
        karat.evaluate({"q": {"a": 1}}, {"q": ["x"]}, "AP", **options)


def test_labels_do_not_grade_spans() -> None:
    spans = {"q": [{"doc": "a", "start": 0, "end": 4}]}
    with pytest.raises(KaratError, match="labels grade documents, and measures of spans read spans"):
        karat.evaluate(spans, spans, "SpanRecall", verdicts=[_label("q", "a", 1)])


def test_ground_truth_that_lists_documents_is_no_longer_only_relevant_ones() -> None:
    """Then the share of unjudged documents means something, as with the same grades in a file."""
    scores = karat.evaluate({"q": ["a"]}, {"q": ["x", "a", "y"]}, "P@3", verdicts=[_label("q", "x", 0)])
    assert "33% of the documents in the top 3 are unjudged" in [each.message for each in scores.findings]
    assert np.isfinite(scores["P@3"])
