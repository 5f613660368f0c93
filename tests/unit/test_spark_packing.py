"""Rows on their way from executor to executor, without Spark: packed by bucket, and unpacked again."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.engines.spark.packing import ROWS, Packing, WorkOnPacked
from karat.engines.spark.worker import BUCKET, FACTS, BucketResult, BucketSide, BucketWork

SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("docs", pa.list_(pa.struct([("id", pa.string()), ("meta", pa.map_(pa.string(), pa.int64()))]))),
        ("score", pa.float64()),
    ]
)


def rows_of(*tables: pa.Table) -> BucketResult:
    """Work whose facts are the rows of both tables."""
    return BucketResult([], {}, {}, [table.to_pylist() for table in tables])


def batches(rows: list[tuple[int, float]], size: int) -> Iterator[pa.RecordBatch]:
    """Rows with the number of their bucket, `size` in each batch."""
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        docs = [[{"id": f"d{at}", "meta": [("n", int(score))]} for at in range(int(score) % 3)] for _, score in part]
        columns = [[f"q{number}" for number, _ in part], docs, [score for _, score in part]]
        table = pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)
        numbers = pa.array([number for number, _ in part], pa.int32())
        yield from table.append_column(BUCKET, numbers).to_batches()


def worked(streams: list[pa.RecordBatch]) -> dict[int, Any]:
    work = BucketWork(rows_of, (BucketSide("the ground truth", "query"), BucketSide("the run", "query")), (), ())
    results = [row for rows in WorkOnPacked(work, [SCHEMA, SCHEMA])(iter(streams)) for row in rows.to_pylist()]
    found = {row[BUCKET]: pickle.loads(row[FACTS])[0] for row in results}
    assert len(found) == len(results), "a bucket is worked on once"
    return found


ROWS_OF_TABLE = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 9).map(float)), max_size=40)


@given(ROWS_OF_TABLE, ROWS_OF_TABLE, st.integers(1, 9), st.integers(1, 3000), st.integers(1, 600))
def test_every_row_arrives_once_in_its_bucket_whatever_is_packed_together(
    left: list[tuple[int, float]], right: list[tuple[int, float]], size: int, at_once: int, stream: int
) -> None:
    packed = [
        packed_rows
        for side, rows in enumerate((left, right))
        for packed_rows in Packing(side, at_once=at_once, stream=stream)(batches(rows, size))
    ]
    in_order = pa.Table.from_batches(packed, packed[0].schema).sort_by(BUCKET).to_batches() if packed else []
    found = worked(in_order)
    assert found.keys() == {number for number, _ in left + right}
    for number, tables in found.items():
        for table, rows in zip(tables, (left, right), strict=True):
            assert sorted(row["score"] for row in table) == sorted(score for bucket, score in rows if bucket == number)
            assert all(row["query"] == f"q{number}" and len(row["docs"]) == row["score"] % 3 for row in table)


def test_a_table_without_rows_in_a_bucket_has_its_columns() -> None:
    packed = list(Packing(0)(batches([(2, 1.0)], 1)))
    work = BucketWork(
        lambda left, right: BucketResult([], {}, {}, (left.schema.names, right.schema)),
        (BucketSide("the ground truth", "query"), BucketSide("the run", "query")), (), (),
    )  # fmt: skip
    [result] = WorkOnPacked(work, [SCHEMA, SCHEMA])(iter(packed))
    [facts] = result.column(FACTS).drop_null().to_pylist()
    assert pickle.loads(facts)[0] == (SCHEMA.names, SCHEMA)


def test_a_bucket_is_worked_on_before_the_rows_of_the_next_are_read() -> None:
    packed = [each for number in range(3) for each in Packing(0)(batches([(number, 1.0)] * 5, 5))]
    read: list[int] = []

    def reading() -> Iterator[pa.RecordBatch]:
        for each in packed:
            read.append(each.column(BUCKET)[0].as_py())
            yield each

    results = WorkOnPacked(BucketWork(rows_of, (BucketSide("the run", "query"),), (), ()), [SCHEMA])(reading())
    assert [(next(results).column(BUCKET)[0].as_py(), list(read)) for _ in range(3)] == [
        (0, [0, 1]),
        (1, [0, 1, 2]),
        (2, [0, 1, 2]),
    ]


@pytest.mark.parametrize("large", [False, True])
def test_streams_have_the_type_that_the_session_wants(large: bool) -> None:
    [packed] = Packing(0, large_types=large)(batches([(2, 1.0)], 1))
    assert packed.schema.field(ROWS).type == (pa.large_binary() if large else pa.binary())
