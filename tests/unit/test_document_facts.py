"""Queries that are evaluated in parts, as on several machines: the scores are those of all queries together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores
from karat.evaluation.documents import EvaluationPlan, JudgedDocuments, check_facts, scores_of_documents
from karat.evaluation.facts import DocumentFacts
from karat.evaluation.reading import CorpusMatcher
from karat.matching.matchers import matcher_of
from karat.options import complete_options
from karat.reading.pairs.any_source import Truth
from karat.registry.selection import select_measures

MEASURES = ["AP", "nDCG@10", "P(rel=2)@3", "RR(rel=3)", "Judged@5", "infAP", "nDCG(judged_only=true)@3"]
DOCS = ["a/1", "a/2", "b", "c/1", "c/2/3", "q1", ""]
QUERIES = [f"q{number}" for number in (1, 2, 10, 11)] + ["é", "007"]
truths = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(DOCS[:-1]), st.integers(-1, 3)), min_size=1
)
listed = st.lists(st.sampled_from(DOCS[:-1]).map(lambda doc: {"id": doc, "content": doc[:2]}), max_size=4)
runs = st.dictionaries(
    st.sampled_from([*QUERIES, "x", "y"]),
    st.dictionaries(st.sampled_from(DOCS[:-1]), st.sampled_from([0.5, 1.0, 2.0])),
)
options = st.fixed_dictionaries(
    {
        "missing": st.sampled_from(["zero", "skip"]),
        "match": st.sampled_from(["id", "prefix", "id(normalize=case)"]),
        "ignore_identical_ids": st.booleans(),
        "ties": st.sampled_from(["trec", "worst"]),
    }
)


def evaluated_in_parts(truth: Any, run: Any, parts: int, **given: Any) -> Scores:
    """The scores of queries that are judged in several parts, of which some may be empty."""
    chosen, measures = complete_options(given), select_measures(MEASURES)
    matcher = matcher_of(chosen["match"])
    plan = EvaluationPlan(measures, chosen, CorpusMatcher(matcher))
    nothing = Truth((), np.zeros(1, np.int64), [], np.empty(0))
    judged = []
    for part in range(parts):
        golds, lists = (
            {q: docs for q, docs in each.items() if sum(map(ord, q)) % parts == part} for each in (truth, run)
        )
        judged.append(JudgedDocuments.read(golds or nothing, lists, plan))
    facts = DocumentFacts.merged(each.facts for each in judged)
    check_facts(facts, matcher, chosen["missing"], "the run")
    values = [each.values(measures) for each in judged]
    return scores_of_documents(
        tuple(query for each in judged for query in each.judged.queries),
        {str(measure): np.concatenate([each[str(measure)] for each in values]) for measure in measures},
        facts,
        {"judged": {query: digest for each in judged for query, digest in each.truths["judged"].items()}},
        plan,
    )


def outcome(evaluate: Any) -> Any:
    """What an evaluation says, whatever the order of queries is; or the message of its error."""
    try:
        scores = evaluate()
    except KaratError as error:
        return str(error)
    assert scores.fingerprint is not None
    return (
        scores.per_query,
        scores.means,
        [finding.to_dict() for finding in scores.findings],
        {kind: dict(digests) for kind, digests in scores.fingerprint.truths.items()},
        (scores.fingerprint.match, scores.fingerprint.options, scores.asked),
    )


@settings(max_examples=150)
@given(truths, runs, options, st.integers(1, 4))
def test_the_scores_of_parts_are_those_of_all_queries(truth: Any, run: Any, given: Any, parts: int) -> None:
    expected = outcome(lambda: karat.evaluate(dict(sorted(truth.items())), run, MEASURES, **given))
    assert outcome(lambda: evaluated_in_parts(truth, run, parts, **given)) == expected


@settings(max_examples=80)
@given(st.dictionaries(st.sampled_from(QUERIES), listed, min_size=1), st.dictionaries(st.sampled_from(QUERIES), listed))
def test_the_scores_of_parts_that_are_lists_of_documents_are_those_of_all_queries(truth: Any, run: Any) -> None:
    for match in ("content", "meta.source"):
        expected = outcome(lambda match=match: karat.evaluate(dict(sorted(truth.items())), run, MEASURES, match=match))
        assert outcome(lambda match=match: evaluated_in_parts(truth, run, 3, match=match)) == expected


@pytest.mark.parametrize(
    ("queries", "shown"),
    [
        (["q10", "q9", "q1"], "q1, q9, q10"),
        (["b", "a"], "a, b"),
        (["q02", "q2", "q1"], "q1, q02, q2"),
    ],
)
def test_findings_list_queries_by_id_with_numbers_in_them_by_value(queries: list[str], shown: str) -> None:
    scores = karat.evaluate({query: ["a"] for query in queries} | {"z": ["a"]}, {"z": ["a"]})
    [finding] = [each for each in scores.findings if each.code == "missing-queries"]
    assert finding.message.endswith(f": {shown}")
