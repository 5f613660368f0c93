"""Hole@k is BEIR's: the share of the top k that no query of the ground truth judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, compare, evaluate, evaluate_results, evaluate_runs, parse
from karat.components.evaluators import DocumentMeasureEvaluator
from karat.engines.spark import evaluate as evaluate_on_spark

Truth = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

documents = st.sampled_from([f"d{number}" for number in range(12)])
queries = st.sampled_from(["a", "b", "c", "d"])
truths = st.dictionaries(queries, st.dictionaries(documents, st.integers(-1, 2), min_size=1, max_size=3), min_size=1)
runs = st.dictionaries(queries, st.dictionaries(documents, st.floats(0, 1), min_size=1, max_size=10), min_size=1)


def hole(truth: Truth, run: Run, k: int) -> float:
    judged = {doc for docs in truth.values() for doc in docs}
    top = {query: sorted(run.get(query, {}), key=lambda doc: (run[query][doc], doc))[-k:] for query in truth}
    return sum(len([doc for doc in docs if doc not in judged]) for docs in top.values()) / k / len(truth)


@given(truth=truths, run=runs, k=st.integers(1, 12))
def test_a_document_counts_as_judged_if_any_query_judges_it_whatever_the_grade(truth: Truth, run: Run, k: int) -> None:
    run = {query: docs for query, docs in run.items() if query in truth} or {next(iter(truth)): {"d1": 1.0}}
    for name in (f"hole@{k}", f"Hole_at_{k}"):
        assert evaluate(truth, run, name)[name] == pytest.approx(hole(truth, run, k))


TRUTH = {"q": {"a": 1, "b": 0}, "r": {"c": 1, "d": -1}}
RUN = {"q": {"a": 4.0, "c": 3.0, "d": 2.0, "x": 1.0}, "r": {"y": 2.0, "a": 1.0}}


@pytest.mark.parametrize("kind", ["mapping", "lists", "trec", "scattered"])
def test_the_value_does_not_depend_on_the_source(kind: str, tmp_path: Path) -> None:
    lines = [f"{query} Q0 {doc} 1 {score} tag\n" for query, docs in RUN.items() for doc, score in docs.items()]
    run: Any = {"mapping": RUN, "lists": {query: list(docs) for query, docs in RUN.items()}}.get(kind)
    if run is None:
        run = tmp_path / "run.trec"
        run.write_text("".join(lines if kind == "trec" else lines[::2] + lines[1::2]))
    scores = evaluate(TRUTH, run, ["hole@4", "Unjudged@4"])
    assert [scores.value_of(query, "hole@4") for query in scores.queries] == [0.25, 0.25]
    assert [row["Unjudged@4"] for row in scores.per_query.values()] == [0.75, 0.5]
    assert not scores.higher_is_better("hole@4")


def test_queries_that_are_left_out_still_judge_documents() -> None:
    scores = evaluate(TRUTH, {"q": RUN["q"]}, "hole@4", missing="skip")
    assert scores.per_query == {"q": {"Hole@4": 0.25}}
    record = {"query": "q", "truth": [{"id": "a"}], "retrieved": [{"id": "a"}, {"id": "b"}]}
    other = {"query": "r", "truth": [{"id": "b"}], "retrieved": [{"id": "x"}]}
    assert evaluate_results([record, other], "hole@2", match="id").value_of("q", "hole@2") == 0


def test_what_reads_the_documents_of_one_query_refuses_the_measure() -> None:
    scores = evaluate(TRUTH, RUN, ["hole@4", "AP"])
    assert scores.evidence is not None
    with pytest.raises(KaratError, match="Hole reads documents that any query judges, but was given judged documents"):
        parse("hole@4").compute(scores.evidence.judged)
    with pytest.raises(KaratError, match="Hole@4 has no bounds"):
        scores.bounds("hole@4")
    with pytest.raises(KaratError, match="Hole@4 measures the documents of all queries"):
        DocumentMeasureEvaluator("hole@4")
    with pytest.raises(KaratError, match=r"Hole cannot be computed with match='chunk'\. .*use Unjudged@k"):
        evaluate({"q": ["a text"]}, {"q": ["text"]}, "hole@4", match="chunk")
    with pytest.raises(KaratError, match="Hole depends on the judged documents of other queries"):
        evaluate_on_spark(TRUTH, RUN, "hole@4")


def test_systems_are_compared_by_it_but_a_difference_is_not_attributed_to_judged_documents() -> None:
    systems = evaluate_runs(TRUTH, {"one": RUN, "two": {"q": ["x"], "r": ["c"]}}, ["hole@1"])
    comparison = compare(systems)
    assert comparison.row("hole@1", "two").difference == 0.0
    assert "differences cannot be attributed to judged documents" in str(comparison.diff("hole@1"))
    other = evaluate({**TRUTH, "q": {"a": 2}}, RUN, "hole@1")
    with pytest.raises(KaratError, match="were evaluated against different ground truth"):
        compare({"one": systems["one"], "other": other})
