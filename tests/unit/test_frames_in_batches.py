"""A run in a data frame is ranked in batches, whose size changes nothing."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import karat
from karat.errors import KaratError
from karat.reading.pairs import grouping

MEASURES = ("AP", "nDCG", "RR", "NumRet")


def table_of(rows: list[tuple[str, str, float]], kind: pa.DataType) -> pa.Table:
    query, doc, score = zip(*rows, strict=True)
    columns = {"query": pa.array(query), "doc": pa.array(doc), "score": pa.array(score)}
    return pa.table({name: column.cast(kind) if name != "score" else column for name, column in columns.items()})


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.int64()], ids=str)
@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("rows_per_batch", [1, 7, 100])
def test_the_size_of_batches_changes_no_score(
    monkeypatch: pytest.MonkeyPatch, rows_per_batch: int, scattered: bool, kind: pa.DataType
) -> None:
    chance = Random(rows_per_batch)
    run = {str(query): {str(doc): float(doc % 3) for doc in chance.sample(range(50), 8)} for query in range(12)}
    truth = {str(query): {str(doc): doc % 4 for doc in range(0, 50, 2)} for query in range(1, 14)}
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    if scattered:
        chance.shuffle(rows)
    monkeypatch.setattr(grouping, "_ROWS_PER_BATCH", rows_per_batch)
    table = table_of(rows, kind)
    chunked = pa.concat_tables([table.slice(0, 5), table.slice(5)])
    expected = karat.evaluate(truth, run, MEASURES)
    for frame in (table, chunked):
        scores = karat.evaluate(truth, frame, MEASURES)
        assert scores.per_query == expected.per_query
        codes = [finding.code for finding in scores.findings if finding.code != "reading"]  # a note on numeric ids
        assert codes == [finding.code for finding in expected.findings]


def test_a_duplicate_in_a_later_batch_is_named_by_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_ROWS_PER_BATCH", 2)
    table = table_of([("1", "a", 3.0), ("1", "b", 2.0), ("2", "a", 1.0), ("2", "b", 2.0), ("2", "a", 0.5)], pa.string())
    with pytest.raises(KaratError, match="document a is listed twice for query 2") as caught:
        karat.evaluate({"1": {"a": 1}}, table)
    assert str(caught.value.place) == "the run, rows 2 and 4"


def test_a_data_frame_without_rows_is_a_run_that_retrieved_nothing() -> None:
    table = pa.table(
        {"query": pa.array([], pa.string()), "doc": pa.array([], pa.string()), "score": pa.array([], pa.float64())}
    )
    assert karat.evaluate({"1": {"a": 1}}, table, "AP")["AP"] == 0
