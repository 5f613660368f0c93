"""Which documents a judge is asked about: a slow definition, the draw of the overlap, and errors."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.analysis.documents_to_judge import DocumentsToJudge, documents_to_judge
from karat.errors import KaratError
from karat.evaluation import evaluate_runs

_DOCUMENTS = st.sampled_from("abcdefgh")
_QUERIES = st.sampled_from(["q1", "q2", "q10", "é"])
_TRUTHS = st.dictionaries(_QUERIES, st.dictionaries(_DOCUMENTS, st.integers(-1, 3), min_size=1), min_size=1)
_RUNS = st.dictionaries(_QUERIES, st.lists(_DOCUMENTS, unique=True))


def _by_definition(
    truth: Mapping[str, Mapping[str, int]], runs: Mapping[str, Mapping[str, list[str]]], depth: int
) -> list[tuple[str, str]]:
    found: dict[tuple[str, str], int] = {}
    for run in runs.values():
        for query, documents in run.items():
            for rank, document in enumerate(documents[:depth]):
                if query in truth and truth[query].get(document, -1) < 0:
                    found[query, document] = min(rank, found.get((query, document), rank))
    return sorted(found, key=lambda pair: (pair[0], found[pair], pair[1]))


@settings(max_examples=40)
@given(
    _TRUTHS, st.dictionaries(st.sampled_from(["bm25", "dense"]), _RUNS, min_size=1), st.integers(1, 9), st.booleans()
)
def test_unjudged_documents_are_those_in_the_top_of_any_run_without_a_grade(
    truth: dict[str, dict[str, int]], runs: dict[str, dict[str, list[str]]], depth: int, scored: bool
) -> None:
    given_runs = {name: _with_scores(run) if scored else run for name, run in runs.items()}
    try:
        systems = evaluate_runs(truth, given_runs, "RR")
    except KaratError:  # no common query
        return
    found = documents_to_judge(systems, depth)
    assert list(found.pairs()) == _by_definition(truth, runs, depth)
    assert found.judged == {}


def _with_scores(run: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    return {query: {doc: -float(rank) for rank, doc in enumerate(documents)} for query, documents in run.items()}


def _drawn(overlap: int, queries: range = range(30), seed: int = 1) -> DocumentsToJudge:
    truth = {f"q{at}": {"a": 1, "b": 0, "c": -1} for at in queries} | {"unjudged": {"a": -1}}
    return documents_to_judge(evaluate_runs(truth, {"run": {"q1": ["a"]}}, "RR"), 1, overlap, seed)


def test_the_overlap_has_all_judged_documents_of_queries_drawn_with_a_seed() -> None:
    few, more, all_of_them = (_drawn(overlap).judged for overlap in (3, 10, 99))
    assert set(few.values()) == {("a", "b")}
    assert (len(few), len(more), len(all_of_them)) == (3, 10, 30)
    assert few.keys() < more.keys() < all_of_them.keys()
    assert few == _drawn(3, range(29, -1, -1)).judged  # whatever the order of the ground truth
    assert few != _drawn(3, seed=2).judged
    assert list(few) == sorted(few)


def test_a_table_in_memory_or_on_disk_gives_the_same_documents(tmp_path: object) -> None:
    truth = [("q1", "d1", 1), ("q2", "d9", 0), ("q2", "d2", -1)]
    rows = [(query, f"d{at}", -at // 2) for query in ("q1", "q2", "q3") for at in range(12)]
    path = f"{tmp_path}/run.trec"
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{query} Q0 {doc} 1 {score} tag\n" for query, doc, score in rows)
    in_memory, on_disk = (documents_to_judge(evaluate_runs(truth, {"run": run}, "RR"), 4) for run in (rows, path))
    # Tied documents are in descending order of their ids.
    assert in_memory == on_disk == (({"q1": ("d0", "d2", "d4"), "q2": ("d0", "d2", "d1", "d4")}), {})


def test_what_a_label_grades_is_neither_unjudged_nor_judged_by_people() -> None:
    row = {"query": "q", "type": "document", "task": "relevance", "by": "model"}
    labels = [{**row, "item": "x", "label": 1}, {**row, "item": "y", "label": None, "state": "failed"}]
    systems = evaluate_runs({"q": {"a": 1}}, {"run": {"q": ["x", "y", "a"]}}, "RR", verdicts=labels)
    assert documents_to_judge(systems, 3, overlap=1) == ({"q": ("y",)}, {"q": ("a",)})


def test_what_cannot_be_judged_by_id_is_an_error() -> None:
    systems = evaluate_runs({"q": {"a": 1}}, {"bm25": {"q": ["a"]}}, "RR", match="prefix")
    with pytest.raises(
        KaratError, match=r"bm25: documents are judged by their ids, and the runs are matched by prefix"
    ):
        documents_to_judge(systems)
    systems = evaluate_runs({"q": {"a": 1}}, {"bm25": {"q": ["a"]}}, "RR")
    with pytest.raises(KaratError, match="depth=0 is not a whole number of 1 or more"):
        documents_to_judge(systems, depth=0)
    with pytest.raises(KaratError, match="overlap=-1 is not a whole number of 0 or more"):
        documents_to_judge(systems, overlap=-1)
    with pytest.raises(KaratError, match="no system was given"):
        documents_to_judge({})
    with pytest.raises(KaratError, match="contain no run data"):
        documents_to_judge({"bm25": systems["bm25"].without_evidence()})
