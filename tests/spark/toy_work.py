"""Work on buckets that is easy to check: the sum of the numbers of each query in both tables."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from karat import KaratError
from karat.engines.spark.buckets import Buckets, CollectedBuckets, in_buckets
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BucketResult
from karat.errors import Place
from tests.spark.cluster import wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[tuple[str, float]]

LEFT: Rows = [(f"q{n % 7}", float(n)) for n in range(50)]
RIGHT: Rows = [(f"q{n % 11}", float(n)) for n in range(60)]


def table_of(spark: SparkSession, rows: Rows, name: str = "the run") -> SparkTable:
    frame = spark.createDataFrame(rows, "query string, number double")
    return SparkTable(name, frame, "query", frame["query"])


def buckets_of(work: Any, *tables: SparkTable, **options: Any) -> Buckets:
    """Two columns of values, whose names differ in case only, and one of texts."""
    return in_buckets(work, *tables, values=["sum", "SUM"], texts=["id"], **options)


def sums(left: pa.Table, right: pa.Table | None = None) -> BucketResult:
    """The sum of each query on the left and on the right, NaN where it has no rows; the fact is the number of rows."""
    both = [_rows(left), [] if right is None else _rows(right)]
    totals = [sums_of(rows) for rows in both]
    queries = [*{query: None for of_side in totals for query in of_side}]
    left_sums, right_sums = (np.array([of_side.get(query, np.nan) for query in queries]) for of_side in totals)
    return BucketResult(queries, {"sum": left_sums, "SUM": right_sums}, {"id": queries}, len(left))


def sums_of(rows: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for query, number in rows:
        found[query] += number
    return dict(found)


def assert_sums(found: CollectedBuckets, left: Rows, right: Rows) -> None:
    """Whether the result is that of these rows: each query once, in the order of ids."""
    queries = sorted({query for query, _ in left + right})
    assert found.queries == tuple(queries)
    for name, totals in (("sum", sums_of(left)), ("SUM", sums_of(right))):
        np.testing.assert_array_equal(found.values[name], [totals.get(query, np.nan) for query in queries])
    assert found.texts == {"id": queries}
    assert sum(found.facts) == len(left)


def _rows(table: pa.Table) -> list[tuple[str, float]]:
    return list(zip(table["query"].to_pylist(), table["number"].to_pylist(), strict=True))


def partition(left: pa.Table, right: pa.Table) -> BucketResult:
    """The same sums; the fact is the number of the partition."""
    from pyspark import TaskContext

    return replace(sums(left, right), facts=TaskContext.get().partitionId())


def fails_at_first(left: pa.Table, right: pa.Table) -> BucketResult:
    """An exception in the first attempt of each task."""
    if _attempt() == 0:
        raise OSError("the disk is full")
    return sums(left, right)


def dies_at_first(left: pa.Table, right: pa.Table) -> BucketResult:
    """The end of the process in the first attempt of the task that has a certain query."""
    if _attempt() == 0 and "q3" in left["query"].to_pylist():
        os._exit(1)
    return sums(left, right)


def always_fails(left: pa.Table, right: pa.Table) -> BucketResult:
    raise ZeroDivisionError("a fault of the program\nin two lines")


def refuses(left: pa.Table, right: pa.Table) -> BucketResult:
    """An error in the input, in every bucket that has rows on the left."""
    if _attempt() > 0:
        raise AssertionError("an error in the input does not go away, so it is not tried again")
    if len(left):
        numbers = left["number"].to_pylist()
        place = Place("the ground truth", row=numbers.index(max(numbers)))
        raise KaratError("the largest number", place=place, hint="Ä hint.")
    return sums(left, right)


def without_pandas(left: pa.Table) -> BucketResult:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return sums(left)
    raise AssertionError("pandas is there")


class Waiting:
    """Sums that say in a file where they are computed, and wait until there is a file named go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, left: pa.Table, right: pa.Table) -> BucketResult:
        (self.folder / f"{os.getpid()}-{time.monotonic_ns()}").write_text(os.getcwd())
        wait_for((self.folder / "go").exists)
        return sums(left, right)


def _attempt() -> int:
    from pyspark import TaskContext

    return int(TaskContext.get().attemptNumber())
