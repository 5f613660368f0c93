"""Rows of partitions in chunks, without Spark: however they are cut, the scores are those of all rows together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores
from karat.engines.spark.chunks import Chunking, RowChunk
from karat.evaluation.document_parts import (
    PartResult,
    RangeResult,
    judge_rest,
    judge_rows,
    queries_in_several,
    scores_of_parts,
)
from karat.evaluation.documents import EvaluationPlan
from karat.evaluation.reading import CorpusMatcher
from karat.matching.matchers import matcher_of
from karat.options import complete_options
from karat.reading.pairs.any_source import read_truth
from karat.reading.pairs.places import queries_in
from karat.reading.pairs.range_runs import NotGroupedError
from karat.registry.selection import select_measures

MEASURES = ["AP", "nDCG@3", "RR", "R@2", "Judged@5"]
TRUTH = pa.table(
    {
        "query": ["q1", "q1", "q2", "q3", "q4", "q5"],
        "doc": ["a", "b", "c", "a", "d", "x"],
        "grade": [1, 0, 2, 0, 1, 1],
    }
)
Row = tuple[str, str, float]
runs = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2", "q3", "q4", "q5", "q6"]), st.sampled_from("abcd"), st.sampled_from([0.5, 1.0, 2.0])
    ),
    max_size=24,
    unique_by=lambda row: row[:2],
)
cuts = st.lists(st.integers(0, 24), max_size=6).map(sorted)


def table_of(rows: list[Row]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    names = {"query": pa.string(), "doc": pa.string(), "score": pa.float64()}
    return pa.table({name: pa.array(list(each), kind) for (name, kind), each in zip(names.items(), columns)})  # noqa: B905


class _Side:
    name, notes, empty_error = "the run", (), None


def evaluate_in_chunks(partitions: list[pa.Table], batch: int, chunking: Chunking) -> Scores | None:
    """An engine that judges the chunks of one partition after the other; None if they are not grouped by query."""
    plan = EvaluationPlan(select_measures(MEASURES), complete_options({}), CorpusMatcher(matcher_of("id")))
    truth = read_truth(TRUTH)
    results: list[RangeResult] = []
    try:
        for table in partitions:
            for rows, first, last in chunking.chunks(iter(table.to_batches(batch))):
                results.append(judge_rows(truth, rows, plan, first_is_whole=first, last_is_whole=last))
        if queries_in_several([each.report for each in results]):
            return None
    except NotGroupedError:
        return None
    done = [query for each in results for query in each.report.queries]
    rest = judge_rest(truth, done, [each.loose for each in results], plan, "the run", partial(queries_in, "the run"))
    return scores_of([*(each.part for each in results), rest], plan)


def scores_of(parts: list[PartResult], plan: EvaluationPlan) -> Scores:
    queries = tuple(query for part in parts for query in part.queries)
    values = {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values}
    digests = {"judged": [digest for part in parts for digest in part.digests["judged"]]}
    facts = [part.facts for part in parts]
    return scores_of_parts(queries, values, digests, facts, plan, (_Side(), _Side()), "")


def outcome(compute: Any) -> Any:
    try:
        scores = compute()
    except KaratError as error:
        return error.what
    if scores is None:
        return None
    rows = scores.by_id
    values = {name: column[rows].tobytes() for name, column in scores.values.items()}
    return (
        [scores.queries[row] for row in rows],
        values,
        scores.findings,
        scores.fingerprint.to_dict(sorted(scores.queries)),
    )


@given(runs, cuts, st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_any_partitions_and_chunks_give_the_scores_of_all_rows_unless_they_are_not_grouped_by_query(
    rows: list[Row], borders: list[int], batch: int, most: int, grouped: bool
) -> None:
    if grouped:
        rows = sorted(rows, key=lambda row: row[0])
    table = table_of(rows)
    partitions = [table.slice(start, end - start) for start, end in pairwise([0, *borders, 99])]
    found = outcome(lambda: evaluate_in_chunks(partitions, batch, Chunking("query", most=most)))
    if grouped or found is not None:
        assert found == outcome(lambda: karat.evaluate(TRUTH, table, MEASURES))


@given(runs, st.integers(1, 9), st.integers(1, 9))
def test_every_row_is_in_one_chunk_and_a_query_ends_with_its_chunk_unless_it_is_larger(
    rows: list[Row], batch: int, most: int
) -> None:
    rows = sorted(rows)
    chunks = list(Chunking("query", most=most).chunks(iter(table_of(rows).to_batches(batch))))
    assert [tuple(row.values()) for each in chunks for row in each.rows.to_pylist()] == rows
    assert [each.first_is_whole for each in chunks] == [False, *(each.last_is_whole for each in chunks)][: len(chunks)]
    assert not any(each.last_is_whole for each in chunks[-1:])
    for each, after in pairwise(chunks):
        if each.last_is_whole:
            assert each.rows["query"][-1] != after.rows["query"][0]
        else:
            assert len(set(each.rows["query"].to_pylist())) == 1


def test_rows_of_a_query_with_more_rows_than_a_chunk_are_not_kept() -> None:
    table = table_of([("q1", f"d{at}", 1.0) for at in range(100)])
    taken = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal taken
        for each in table.to_batches(5):
            taken += len(each)
            yield each

    chunks = Chunking("query", most=20).chunks(batches())
    sizes = []
    for each in chunks:
        sizes.append(len(each.rows))
        assert sum(sizes) == taken, "no row waits for those after it"
    assert sizes == [20, 20, 20, 20, 20]


@pytest.mark.parametrize("of", ["lists", "maps"])
def test_of_rows_with_lists_the_documents_are_counted_and_none_is_divided(of: str) -> None:
    kind = pa.list_(pa.string()) if of == "lists" else pa.map_(pa.string(), pa.float64())
    docs: list[Any] = [["a", "b"] if of == "lists" else [("a", 1.0), ("b", 2.0)]] * 10 + [None, []]
    table = pa.table({"query": [f"q{at}" for at in range(12)], "docs": pa.array(docs, kind)})
    chunks = list(Chunking("query", "docs", most=7).chunks(iter(table.to_batches(1))))
    assert [len(each.rows) for each in chunks] == [4, 4, 4]
    assert pa.concat_tables([each.rows for each in chunks]) == table


def test_long_texts_end_a_chunk() -> None:
    table = table_of([(f"q{at}", "d" * 1000, 1.0) for at in range(10)])
    chunks = list(Chunking("query", size=2500).chunks(iter(table.to_batches(1))))
    assert {len(each.rows) for each in chunks[1:-1]} == {2}


@pytest.mark.parametrize("query", [None, "q1"])
def test_ids_that_are_null_are_in_some_chunk(query: str | None) -> None:
    table = pa.table({"query": pa.array([query, None, None, query], pa.string())})
    chunks = Chunking("query", most=2).chunks(iter([*table.to_batches(2), *table.slice(0, 0).to_batches()]))
    assert pa.concat_tables([each.rows for each in chunks]) == table


def test_a_chunk_is_a_table_and_what_is_known_of_its_borders() -> None:
    [chunk] = Chunking("query").chunks(iter(table_of([("q1", "a", 1.0)]).to_batches()))
    assert chunk == RowChunk(table_of([("q1", "a", 1.0)]), first_is_whole=False, last_is_whole=False)
