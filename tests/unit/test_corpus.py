"""Matching by text if ground truth and runs contain only ids: the texts come from a corpus."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import Document, compare, evaluate, evaluate_runs
from karat.errors import KaratError

TRUTH = {"q1": {"g1": 2, "g2": 1}, "q2": {"g3": 1, "g9": 1}}
RUN = {"q1": {"c1": 3.0, "c2": 2.0}, "q2": {"c3": 3.0, "c9": 2.0, "c1": 1.0}}
CORPUS = {
    "g1": "Gold is soft. It melts at 1064 °C.", "g2": "Iron rusts.", "g3": "Lead is heavy.",
    "c1": "It melts at", "c2": "Zinc", "c3": "Lead is",
}  # fmt: skip
ROWS = [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
QRELS = "".join(f"{query} 0 {doc} {grade}\n" for query, docs in TRUTH.items() for doc, grade in docs.items())
LISTS = {query: list(docs) for query, docs in RUN.items()}


def messages(scores: Any) -> list[str]:
    return [finding.message for finding in scores.findings]


RUNS: dict[str, Callable[[], Any]] = {
    "a mapping": lambda: RUN,
    "rows": lambda: iter(ROWS),
    "a data frame": lambda: pd.DataFrame(ROWS, columns=["query", "doc", "score"]),
    "lists of ids": lambda: LISTS,
    "documents with and without a content": lambda: {
        "q1": [Document("It melts at", id="c1"), {"id": "c2"}], "q2": [Document(id="c3"), {"id": "c9"}, "c1"],
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_the_texts_of_ids_come_from_the_corpus(name: str) -> None:
    scores = evaluate(TRUTH, RUNS[name](), ["AP", "P@2"], match="chunk", corpus=CORPUS)
    assert scores.means == {"AP": 0.75, "P@2": 0.5}
    assert messages(scores)[:4] == [
        "the corpus: no text for 2 of 8 documents (c9, g9)",
        "matched by chunk",
        "1 judged document without content (cannot match)",
        "1 retrieved document without content (cannot match)",
    ] or name.startswith("documents")


def test_trec_files_are_matched_by_texts_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text(QRELS)
    (tmp_path / "run.trec").write_text("".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in ROWS))
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in CORPUS.items()))
    with (tmp_path / "truth.qrels").open() as truth, (tmp_path / "run.trec").open("rb") as run:
        scores = evaluate(truth, run, "AP", match="chunk", corpus=tmp_path / "corpus.jsonl")
        assert scores["AP"] == 0.75
        explained = scores.explain("q1")
    assert [(row.document[:2], row.gold[:2], row.reason) for row in explained.rows] == [
        ("c1", "g1", "contained"), ("c2", "", ""), ("", "g2", "not retrieved"),
    ]  # fmt: skip


def test_several_runs_share_one_reading_of_a_corpus_that_can_be_read_only_once() -> None:
    corpus = iter([{"_id": key, "text": text} for key, text in CORPUS.items()])
    scores = evaluate_runs(TRUTH, {"a": RUN, "b": {"q1": ["c1"]}}, "R", match="chunk", corpus=corpus)
    assert {name: each["R"] for name, each in scores.items()} == {"a": 0.75, "b": 0.25}


def test_golds_with_the_same_text_are_one_gold_with_the_largest_grade() -> None:
    scores = evaluate(
        {"q": {"a": 1, "b": 3}}, {"q": {"c": 1.0}}, ["nDCG", "R"], match="content", corpus=dict.fromkeys("abc", "x")
    )
    assert scores.means == {"nDCG": 1.0, "R": 1.0}
    assert scores.explain("q").rows[0].grade == 3


def test_scores_remember_the_texts_of_the_gold_documents() -> None:
    one, same, other = (
        evaluate(TRUTH, RUN, "R", match="chunk", corpus=corpus)
        for corpus in (CORPUS, {**CORPUS, "c1": "other"}, {**CORPUS, "g1": "other"})
    )
    assert compare({"one": one, "same": same}).queries == ("q1", "q2")
    with pytest.raises(KaratError, match=r"different ground truth for 1 of 2 queries \(q1\)"):
        compare({"one": one, "other": other})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corpus": CORPUS}, "the corpus has no effect if documents are matched by id. Match by content, chunk"),
        ({"corpus": CORPUS, "match": "prefix"}, "no effect if documents are matched by prefix"),
        ({"corpus": CORPUS, "match": "meta.x"}, r"no effect if documents are matched by meta\.x"),
        (
            {"corpus": CORPUS, "match": lambda one, other: one == other},
            "no effect if documents are matched by <lambda>",
        ),
        ({"match": "chunk"}, r"contains only ids.*name their texts with corpus,"),
        (
            {"corpus": {"x": "y"}, "match": "chunk"},
            "no text found for any of the 8 documents. Their ids are c1, c2",
        ),
        ({"corpus": {"c1": "y"}, "match": "chunk"}, "the ground truth: the corpus has no text for any judged document"),
        ({"corpus": {"g1": "y"}, "match": "chunk"}, "the run: the corpus has no text for any retrieved document"),
        ({"corpus": 5, "match": "chunk"}, "the corpus: 5 is not a source of texts"),
    ],
)
def test_a_corpus_that_cannot_be_used_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KaratError, match=message):
        evaluate(TRUTH, RUN, "R", **options)


ids = st.sampled_from("abcdefg")
MATCHES = ["content", "content(normalize=case)", "chunk", "overlap", "fuzzy"]


@given(
    truth=st.dictionaries(st.sampled_from("pq"), st.dictionaries(ids, st.integers(0, 2), min_size=1), min_size=1),
    run=st.dictionaries(st.sampled_from("pqr"), st.dictionaries(ids, st.integers(0, 9)), min_size=1),
    corpus=st.dictionaries(ids, st.text("gG is", min_size=1).filter(str.strip), min_size=7),
    match=st.sampled_from(MATCHES),
)
def test_texts_from_a_corpus_match_as_those_of_documents_do(
    truth: dict[str, dict[str, int]], run: dict[str, dict[str, int]], corpus: dict[str, str], match: str
) -> None:
    if not truth.keys() & run.keys():
        return
    ranked = {
        query: [Document(corpus[doc]) for doc in sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True)]
        for query, docs in run.items()
    }
    graded = {
        query: [Document(corpus[doc], score=grade) for doc, grade in docs.items()] for query, docs in truth.items()
    }
    # In binary measures, documents in lists have grade 1, whatever their score.
    relevant = {query: dict.fromkeys(docs, 1) for query, docs in truth.items()}
    for judged, measures in ((truth, ["nDCG", "DCG@2"]), (relevant, ["AP", "RR", "P@2", "R"])):
        of_ids = evaluate(judged, run, measures, match=match, corpus=corpus)
        assert of_ids.per_query == evaluate(graded, ranked, measures, match=match).per_query


def test_an_explanation_shows_the_texts_of_a_corpus_and_of_the_query() -> None:
    explained = evaluate(TRUTH, RUN, "R", match="chunk", corpus=CORPUS).explain("q1", queries={"q1": "how soft?"})
    assert [(row.document, row.gold, row.text) for row in explained.rows] == [
        ("c1: It melts at", "g1: Gold is soft. It melts at 1064 °C.", "It melts at"),
        ("c2: Zinc", "", "Zinc"),
        ("", "g2: Iron rusts.", "Iron rusts."),
    ]
    assert "query q1: how soft?" in str(explained)
    assert explained.to_dict()["text"] == "how soft?"
    by_id = evaluate(TRUTH, {"q1": ["g2", "x"]}, "R")
    assert [row.document for row in by_id.explain("q1", corpus=CORPUS).rows] == ["g2: Iron rusts.", "x", ""]
    assert by_id.explain("q1", corpus=CORPUS).notes == ("the corpus: no text for 1 of 3 documents (x)",)
    assert "text" not in by_id.explain("q1").to_dict()
    assert [row.text for row in by_id.explain("q1").rows] == [None, None, None]
    with pytest.raises(KaratError, match="the queries: no text found for any of the 2 queries"):
        by_id.explain("q1", queries={"other": "x"})
