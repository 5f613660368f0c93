"""Rankings of many queries, read in one pass, compared with a slow definition that sorts each query by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import Scores, evaluate
from karat.analysis.evidence import Evidence
from karat.analysis.rankings import Hit, read_ranking, read_rankings
from karat.data.judged import stretches
from karat.documents.fields import document_keys
from karat.matching.joiner import Joiner
from karat.matching.matchers import FunctionMatcher
from karat.ranking.ties import in_order_of_ties
from karat.reading.pairs.containers import RankedLists, ScoredMappings
from tests.block_size import block_size

QUERIES = ("q", "r", "d1", "absent")
TEXTS = ("d1", "d2", "d3", "D1", "d1::0", "d1::1::a", "gold is soft", "gold", "Gold is  soft", "iron rusts")


def slow_ranking(evidence: Evidence, query: str) -> tuple[list[Any], tuple[Hit, ...]]:
    """All documents of a query in rank order, and the hits among them, found by comparing all of them again."""
    listed: list[Any] = []
    scores: dict[str, float] = {}
    for load in evidence.run.batches():
        batch = load()
        for at in (at for at, name in enumerate(batch.queries) if name == query):
            if isinstance(batch, RankedLists):
                listed += batch.documents[at]
                continue
            if isinstance(batch, ScoredMappings):
                rows = list(batch.docs[at].items())
            else:
                of_query = slice(*batch.offsets[at : at + 2].tolist())
                rows = list(zip(batch.docs.to_pylist()[of_query], batch.scores[of_query].tolist(), strict=True))
            for doc, score in rows:
                if doc not in scores or score > scores[doc]:
                    scores.pop(doc, None)
                    scores[doc] = score
    documents = listed or list(scores)
    if evidence.rules.ignore_identical_ids:
        ids = document_keys(documents, "id", "")
        documents = [document for document, name in zip(documents, ids, strict=True) if name != query]
    hits = _hits(evidence, query, documents)
    if scores:
        grades: dict[str, float] = {}
        for hit in hits:
            doc = documents[hit.rank - 1]
            grades[doc] = max(float(evidence.truth.grades[hit.gold]), grades.get(doc, 0.0))
        documents = sorted(documents, key=scores.__getitem__, reverse=True)
        ties = stretches(np.array([scores[doc] for doc in documents]))
        documents = in_order_of_ties(
            documents, ties, lambda tied: np.array([grades.get(doc, 0.0) for doc in tied]), evidence.rules.ties
        )
        hits = _hits(evidence, query, documents)
    return documents, hits


def _hits(evidence: Evidence, query: str, documents: list[Any]) -> tuple[Hit, ...]:
    keys = evidence.match.key.of_retrieved(documents, "")
    batch = RankedLists([query], [keys], [documents])
    _, rows, golds = Joiner(evidence.truth, evidence.match).find_in_lists(
        batch, np.array([evidence.truth.positions[query]])
    )
    compared = documents if isinstance(evidence.match, FunctionMatcher) else keys
    pairs = sorted(zip(rows.tolist(), golds.tolist(), strict=True))
    return tuple(
        Hit(row + 1, gold, evidence.match.reason(compared[row], evidence.truth.docs[gold])) for row, gold in pairs
    )


def begins_alike(retrieved: Any, gold: Any) -> bool:
    return str(retrieved)[:2] == str(gold)[:2]


DOCS = st.sampled_from(TEXTS)
SCORES = st.sampled_from([0.5, 1.0, 1.0, 2.0, -1.0])
LISTS = st.dictionaries(st.sampled_from(QUERIES[:3]), st.lists(DOCS, max_size=12), max_size=3)
MAPPINGS = st.dictionaries(st.sampled_from(QUERIES[:3]), st.dictionaries(DOCS, SCORES, max_size=12), max_size=3)
ROWS = st.lists(st.tuples(st.sampled_from(QUERIES[:3]), DOCS, SCORES), min_size=1, max_size=25)
GOLDS = st.lists(DOCS, min_size=1, max_size=4, unique=True)


@settings(deadline=None)
@given(
    GOLDS,
    LISTS | MAPPINGS | ROWS,
    st.sampled_from(["id", "id(normalize=case+space)", "prefix"]),
    st.sampled_from(["trec", "input", "best", "worst"]),
    st.booleans(),
    st.integers(0, 6),
)
def test_rankings_are_those_of_sorting_each_query(
    golds: list[str], run: Any, match: str, ties: Any, identical: bool, k: int
) -> None:
    truth = {
        query: {gold: place % 3 for place, gold in enumerate(golds[at:] or golds, 1)}
        for at, query in enumerate(QUERIES)
    }
    options: Any = {"match": match, "ties": ties, "duplicates": "first", "ignore_identical_ids": identical}
    check_rankings(evaluate(truth, run, "RR", **options), k)


@settings(deadline=None)
@given(
    GOLDS,
    LISTS,
    st.sampled_from(["content", "chunk", "chunk(normalize=all)", "overlap", begins_alike]),
    st.booleans(),
    st.integers(0, 6),
)
def test_rankings_of_texts_are_those_of_comparing_each_query(
    golds: list[str], run: Any, match: Any, identical: bool, k: int
) -> None:
    truth = {query: golds[at:] or golds for at, query in enumerate(QUERIES)}
    check_rankings(evaluate(truth, run, "RR", match=match, ignore_identical_ids=identical), k)


def check_rankings(scores: Scores, k: int) -> None:
    evidence = scores.evidence
    assert evidence is not None
    found = read_rankings(evidence, QUERIES, k)
    assert list(found) == list(QUERIES)
    for query, ranking in found.items():
        documents, hits = slow_ranking(evidence, query)
        assert ranking.hits == hits
        assert ranking.retrieved == len(documents)
        kept = sorted({*range(1, min(k, len(documents)) + 1), *(hit.rank for hit in hits)})
        assert list(ranking.documents.items()) == [(rank, documents[rank - 1]) for rank in kept]
    assert read_ranking(evidence, "r", k) == found["r"]


@pytest.mark.parametrize("scattered", [False, True])
def test_a_file_is_read_once_for_all_queries_and_twice_if_they_are_scattered(tmp_path: Path, scattered: bool) -> None:
    rows = [f"q{query} Q0 d{doc} 0 {score} x\n" for query in range(40) for doc, score in ((1, 1), (2, 3), (3, 2))]
    path = tmp_path / "run.trec"
    path.write_text("".join(sorted(rows, key=lambda row: row[::-1]) if scattered else rows))
    evidence = evaluate({f"q{query}": {"d1": 1} for query in range(50)}, path, "RR").evidence
    assert evidence is not None
    run = type(evidence.run)
    with (
        block_size(1 << 20),
        patch.object(run, "batches", autospec=True, side_effect=run.batches) as once,
        patch.object(run, "grouped_batches", autospec=True, side_effect=run.grouped_batches) as again,
    ):
        found = read_rankings(evidence, evidence.truth.queries, 2)
    assert (once.call_count, again.call_count) == (1, scattered)
    assert found["q7"].documents == {1: "d2", 2: "d3", 3: "d1"}
    assert (found["q7"].retrieved, found["q7"].hits) == (3, (Hit(3, evidence.truth.positions["q7"], "same id"),))
    assert found["q45"] == ({}, 0, ())
