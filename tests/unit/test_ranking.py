"""Ranks, ties, duplicates and ignored documents, against a plain sort."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.matching.matchers import Same
from karat.options import Ties
from karat.ranking import RankingRules, rank_judged
from karat.ranking.ties import _DOCUMENTS_AT_ONCE
from karat.reading.pairs.any_source import read_run, read_truth
from tests.block_size import block_size

Data = Mapping[str, Mapping[str, float]]
Ranks = dict[str, dict[str, int]]

TIES: tuple[Ties, ...] = ("trec", "input", "best", "worst")
FORMS = ("mapping", "table", "file", "file in pieces", "scattered file")


def obvious_ranks(truth: Data, run: Data, ties: Ties, ignore_identical_ids: bool = False) -> Ranks:
    """The rank of each judged document, by sorting everything."""
    ranks: Ranks = {}
    for query, grades in truth.items():
        docs = [doc for doc in run.get(query, {}) if not (ignore_identical_ids and doc == query)]
        if ties != "input":
            docs.sort(key=lambda doc: doc.encode(), reverse=True)
        if ties in ("best", "worst"):
            docs.sort(key=lambda doc: max(0.0, grades.get(doc, 0.0)), reverse=ties == "best")
        docs.sort(key=lambda doc: run[query][doc], reverse=True)
        ranks[query] = {doc: rank for rank, doc in enumerate(docs, 1) if doc in grades}
    return ranks


def rows_of(run: Data) -> list[tuple[str, str, float]]:
    return [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]


def scattered(run: Data) -> list[tuple[str, str, float]]:
    """The rows of all queries interleaved."""
    order = [(at, query) for query, docs in run.items() for at in range(len(docs))]
    rows = {query: list(docs.items()) for query, docs in run.items()}
    return [(query, *rows[query][at]) for at, query in sorted(order)]


def found_ranks(truth: Data, run: Data, ties: Ties, form: str, path: Path, ignore_identical_ids: bool = False) -> Ranks:
    """The ranks that karat computes, from a run in any format."""
    source: Any = run
    if form == "table":
        source = pl.DataFrame(rows_of(run), schema=["query", "doc", "score"], orient="row").cast({"score": pl.Float64})
    elif form != "mapping":
        rows = scattered(run) if form == "scattered file" else rows_of(run)
        path.write_text("".join(f"{query} Q0 {doc} 0 {score!r} t\n" for query, doc, score in rows), "utf-8")
        source = path
    known = read_truth(truth)
    with block_size(16 if form == "file in pieces" else 1 << 23):
        judged, _ = rank_judged(
            known, read_run(source, known), RankingRules(ties, "error", ignore_identical_ids), Same()
        )
    ranks: Ranks = {query: {} for query in truth}
    for query, rank, gold in zip(judged.hit_query, judged.hit_rank, judged.hit_gold, strict=True):
        ranks[known.queries[query]][known.docs[gold]] = int(rank)
    return ranks


IDS = st.text(st.sampled_from("ab1Zé😀"), min_size=1, max_size=2)
GRADES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0])
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0, -1.0, 1e-300, float("inf"), float("-inf")])
TRUTHS = st.dictionaries(IDS, st.dictionaries(IDS, GRADES, min_size=1, max_size=10), min_size=1, max_size=4)
RUNS = st.dictionaries(IDS, st.dictionaries(IDS, SCORES, min_size=1, max_size=16), min_size=1, max_size=5)


@given(TRUTHS, RUNS, st.sampled_from(TIES), st.sampled_from(FORMS), st.booleans())
def test_ranks_agree_with_a_plain_sort(
    tmp_path_factory: pytest.TempPathFactory, truth: Data, run: Data, ties: Ties, form: str, ignore: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "ranked.trec"
    assert found_ranks(truth, run, ties, form, path, ignore) == obvious_ranks(truth, run, ties, ignore)


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.sampled_from(TIES),
    st.sampled_from(FORMS),
    st.sampled_from([1, 2, 5, 50, 1000]),
    st.booleans(),
)
def test_ranks_in_long_lists_with_many_hits_agree_with_a_plain_sort(
    tmp_path_factory: pytest.TempPathFactory, seed: int, ties: Ties, form: str, levels: int, in_order: bool
) -> None:
    truth, run = long_lists(seed, levels, in_order)
    path = tmp_path_factory.getbasetemp() / "long.trec"
    assert found_ranks(truth, run, ties, form, path) == obvious_ranks(truth, run, ties)


def long_lists(seed: int, levels: int, in_order: bool) -> tuple[Data, Data]:
    """Queries of many documents, of which few or many are judged."""
    import random

    chance = random.Random(seed)
    truth, run = {}, {}
    for query, (docs, judged) in {"long": (300, 100), "short": (20, 5), "wide": (900, 3), "deep": (100, 100)}.items():
        names = [f"d{name}" for name in chance.sample(range(10_000), docs)]
        scores = [float(chance.randrange(levels)) for _ in names]
        run[query] = dict(zip(names, sorted(scores, reverse=True) if in_order else scores, strict=True))
        truth[query] = {doc: float(chance.choice([-1, 0, 1, 2])) for doc in chance.sample(names, judged)} | {
            "none": 1.0
        }
    return truth, run


@pytest.mark.parametrize("form", ["mapping", "table"])
@pytest.mark.parametrize("ties", TIES)
def test_ranks_in_lists_of_one_length_in_order_or_not_agree_with_a_plain_sort(
    tmp_path: Path, ties: Ties, form: str
) -> None:
    chance = Random(5)
    truth: dict[str, dict[str, float]] = {}
    run: dict[str, dict[str, float]] = {}
    for query in range(30):
        names = [f"d{name}" for name in chance.sample(range(1000), 37)]
        scores = [chance.choice([float(chance.randrange(9)), -chance.random()]) for _ in names]
        run[f"q{query}"] = dict(zip(names, sorted(scores, reverse=True) if query % 3 else scores, strict=True))
        truth[f"q{query}"] = {doc: float(chance.choice([0, 1, 2])) for doc in chance.sample(names, query % 5 + 1)}
    assert found_ranks(truth, run, ties, form, tmp_path / "run") == obvious_ranks(truth, run, ties)


@pytest.mark.parametrize("form", ["mapping", "table"])
@pytest.mark.parametrize("in_a_tie", [2, 10, 1000, 10_000])
@pytest.mark.parametrize("ties", TIES)
def test_ranks_in_a_query_of_many_ties_agree_with_a_plain_sort(
    tmp_path: Path, ties: Ties, in_a_tie: int, form: str
) -> None:
    chance = Random(in_a_tie)
    names = [f"d{name}" for name in chance.sample(range(10_000), 2 * _DOCUMENTS_AT_ONCE + 7)]
    scores = [float(at // in_a_tie) for at in range(len(names))]
    chance.shuffle(scores)
    run = {"other": {"d1": 1.0, "d2": 1.0}, "q": dict(zip(names, scores, strict=True))}
    truth = {
        "q": {doc: float(chance.choice([-1, 0, 1, 2])) for doc in chance.sample(names, len(names) // 2)},
        "other": {"d1": 1.0},
    }
    assert found_ranks(truth, run, ties, form, tmp_path / "run") == obvious_ranks(truth, run, ties)


def test_scores_stay_in_single_precision_without_documents_that_have_the_id_of_their_query() -> None:
    truth = read_truth({"q": {"a": 1, "c": 1}, "r": {"a": 1}})
    rows = {"q": {"a": 0.1, "q": 0.3, "b": 0.1 + 1e-12, "c": 0.1 - 1e-12}, "r": {"a": 0.1 - 1e-12, "x": 0.1}}
    rules = RankingRules(ignore_identical_ids=True, single_precision=True)
    judged, observations = rank_judged(truth, read_run(rows, truth), rules, Same())
    assert judged.hit_rank.tolist() == [1, 3, 2]  # c, b and a are tied, and x and a
    assert judged.retrieved.tolist() == [3, 2]
    assert observations.identical_ids == 1


def test_a_subclass_of_dict_is_read_by_its_items() -> None:
    class Loud(dict[str, float]):
        def __getitem__(self, doc: str) -> float:
            raise AssertionError

        get = __getitem__  # type: ignore[assignment]

    assert karat.evaluate({"q": {"a": 1}}, {"q": Loud(a=1.0, b=2.0)}, "RR")["RR"] == 0.5


@given(TRUTHS, RUNS)
def test_the_best_order_of_ties_is_never_worse_than_trecs_and_the_worst_never_better(truth: Data, run: Data) -> None:
    run = {**run, next(iter(truth)): next(iter(run.values()))}  # at least one query is in both
    measures = ("nDCG", "nDCG@3", "AP", "AP@2", "RR")
    best, trec, worst = (karat.evaluate(truth, run, measures, ties=ties) for ties in ("best", "trec", "worst"))
    for measure in measures:
        assert (best.column(measure) >= trec.column(measure)).all()
        assert (trec.column(measure) >= worst.column(measure)).all()


def test_each_option_of_ties_orders_equal_scores_as_documented() -> None:
    truth, run = {"q": {"m": 1}}, {"q": {"b": 1.0, "m": 1.0, "z": 1.0, "y": 1.0}}
    ranks = {ties: 1 / karat.evaluate(truth, run, "RR", ties=ties)["RR"] for ties in TIES}
    assert ranks == {"trec": 3, "input": 2, "best": 1, "worst": 4}


def test_ids_in_a_tie_are_compared_by_their_bytes_as_strcmp_does() -> None:
    run = {"q": dict.fromkeys(["d2", "d10", "D3", "é", "z", "😀", "\uffff"], 1.0)}
    expected = ["😀", "\uffff", "é", "z", "d2", "d10", "D3"]
    for rank, doc in enumerate(expected, 1):
        assert karat.evaluate({"q": {doc: 1}}, run, "RR")["RR"] == 1 / rank


def test_the_order_of_a_list_is_its_ranking_with_every_option_of_ties() -> None:
    for ties in TIES:
        assert karat.evaluate({"q": ["b"]}, {"q": ["a", "b", "c"]}, "RR", ties=ties)["RR"] == 0.5


# Queries that are only in the truth or only in the run.

TRUTH: Data = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}


def runs(tmp_path: Path, data: Data) -> dict[str, Any]:
    """The same run in every format."""
    path = tmp_path / "run.trec"
    path.write_text("".join(f"{query} Q0 {doc} 0 {score!r} t\n" for query, doc, score in rows_of(data)))
    table = pl.DataFrame(rows_of(data), schema=["query", "doc", "score"], orient="row")
    return {"mapping": data, "file": path, "table": table}


@pytest.mark.parametrize("form", ["mapping", "file", "table"])
def test_a_query_that_is_not_in_the_run_scores_zero_and_is_reported(form: str, tmp_path: Path) -> None:
    scores = karat.evaluate(TRUTH, runs(tmp_path, {"q1": {"a": 1.0}})[form], ["AP", "P@1"])
    assert scores.per_query["q2"] == {"AP": 0, "P@1": 0}
    assert scores["AP"] == pytest.approx(1 / 3)
    (missing,) = (finding for finding in scores.findings if finding.code == "missing-queries")
    assert missing.queries == ("q2", "q3")
    assert missing.count == 2


@pytest.mark.parametrize("form", ["mapping", "file", "table"])
def test_a_query_that_is_not_in_the_run_can_be_left_out(form: str, tmp_path: Path) -> None:
    scores = karat.evaluate(
        TRUTH, runs(tmp_path, {"q3": {"c": 1.0}, "q1": {"x": 2.0, "a": 1.0}})[form], "AP", missing="skip"
    )
    assert scores.per_query == {"q1": {"AP": 0.5}, "q3": {"AP": 1}}
    assert scores["AP"] == 0.75
    assert {finding.code: finding.queries for finding in scores.findings}["missing-queries"] == ("q2",)


@pytest.mark.parametrize("form", ["mapping", "file", "table"])
def test_leaving_out_every_query_is_an_error(form: str, tmp_path: Path) -> None:
    with pytest.raises(KaratError) as caught:
        karat.evaluate(TRUTH, runs(tmp_path, {"Q1": {"a": 1.0}})[form], missing="skip")
    assert caught.value.hint


@pytest.mark.parametrize("form", ["mapping", "file", "table"])
def test_a_query_without_truth_is_ignored_and_reported(form: str, tmp_path: Path) -> None:
    data = {"new": {"a": 1.0, "new": 2.0}, "q1": {"a": 1.0}, "other": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"c": 1.0}}
    scores = karat.evaluate(TRUTH, runs(tmp_path, data)[form], ["AP", "NumRet", "NumQ"])
    assert scores.means == {"AP": 1, "NumRet": 3, "NumQ": 3}
    assert {finding.code: finding.queries for finding in scores.findings}["unknown-queries"] == ("new", "other")


@pytest.mark.parametrize("form", ["mapping", "file", "table"])
def test_a_document_with_the_id_of_its_query_can_be_left_out(form: str, tmp_path: Path) -> None:
    data = {"q1": {"q1": 3.0, "q2": 2.0, "a": 1.0}, "q2": {"q2": 1.0}, "q3": {"c": 1.0}}
    kept = karat.evaluate(TRUTH, runs(tmp_path, data)[form], ["RR", "NumRet"])
    left_out = karat.evaluate(TRUTH, runs(tmp_path, data)[form], ["RR", "NumRet"], ignore_identical_ids=True)
    assert [values["RR"] for values in kept.per_query.values()] == pytest.approx([1 / 3, 0, 1])
    assert [values["RR"] for values in left_out.per_query.values()] == [0.5, 0, 1]
    assert [values["NumRet"] for values in left_out.per_query.values()] == [2, 0, 1]
    assert {finding.code: finding.count for finding in left_out.findings}["identical-ids"] == 2


def test_a_document_with_the_id_of_its_query_can_be_left_out_of_lists() -> None:
    scores = karat.evaluate({"q": ["a"]}, {"q": ["q", "a", "q"]}, ["RR", "NumRet"], ignore_identical_ids=True)
    assert scores.means == {"RR": 1, "NumRet": 1}


def test_a_repeated_identical_id_that_is_left_out_is_not_a_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("q Q0 q 1 3 t\nq Q0 q 2 2 t\nq Q0 a 3 1 t\n")
    assert karat.evaluate({"q": ["a"]}, path, "RR", ignore_identical_ids=True)["RR"] == 1


@pytest.mark.parametrize("option", [{"ties": "random"}, {"missing": "drop"}, {"duplicates": "last"}, {"ties": None}])
def test_an_unknown_option_is_an_error_that_lists_the_known_ones(option: dict[str, Any]) -> None:
    with pytest.raises(KaratError, match="is not one of"):
        karat.evaluate(TRUTH, {"q1": ["a"]}, **option)


def test_nan_scores_never_reach_the_ranking() -> None:
    with pytest.raises(KaratError):
        karat.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": float("nan")}})


# Threads and the size of file pieces do not matter.


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("layout", ["grouped", "scattered"])
def test_results_do_not_depend_on_threads_or_on_how_a_file_is_split(
    ties: Ties, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, run = long_lists(seed=7, levels=4, in_order=False)
    more = {f"{query}{copy}": docs for copy in range(2) for query, docs in run.items()}
    truths = {f"{query}{copy}": docs for copy in range(2) for query, docs in truth.items()}
    rows = rows_of(more) if layout == "grouped" else scattered(more)
    path = tmp_path / "run.trec"
    path.write_text("".join(f"{query} Q0 {doc} 0 {score!r} t\n" for query, doc, score in rows))
    found = []
    for threads in (1, 16):
        monkeypatch.setattr(os, "cpu_count", lambda threads=threads: threads)
        for size in (300, 5_000, 1 << 23):
            with block_size(size):
                found.append(karat.evaluate(truths, path, ties=ties).to_json())
    assert len(set(found)) == 1


def test_a_run_read_many_times_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    truth, run = long_lists(seed=11, levels=3, in_order=True)
    path = tmp_path / "run.trec"
    path.write_text("".join(f"{query} Q0 {doc} 0 {score!r} t\n" for query, doc, score in rows_of(run)))
    with block_size(300):
        assert len({karat.evaluate(truth, path).to_json() for _ in range(10)}) == 1
