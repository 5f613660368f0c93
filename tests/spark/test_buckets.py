"""The transport: tables to executors in buckets of queries, values per query back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from karat.engines.spark.buckets import in_buckets
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BucketResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def table(spark: SparkSession, rows: list[tuple[str, float]], name: str = "the run") -> SparkTable:
    frame = spark.createDataFrame(rows, "query string, number double")
    return SparkTable(name, frame, "query", frame["query"])


def counts(left: pa.Table, right: pa.Table | None = None) -> BucketResult:
    """How many rows each query has on the left and on the right, with NaN for none, and their sum as text."""
    sides = [left["query"].to_pylist(), [] if right is None else right["query"].to_pylist()]
    queries = sorted({*sides[0], *sides[1]})
    rows = [[side.count(query) or float("nan") for query in queries] for side in sides]
    values = {"left": np.array(rows[0]), "Left": np.array(rows[1])}
    return BucketResult(queries, values, {"text": [f"{q}!" for q in queries]}, {"rows": len(left)})


def collect(work: Any, *tables: SparkTable, **options: Any) -> Any:
    return in_buckets(work, *tables, values=["left", "Left"], texts=["text"], **options).collect()


LEFT = [(f"q{n % 7}", float(n)) for n in range(50)]
RIGHT = [(f"q{n % 11}", float(n)) for n in range(50)]


@pytest.mark.parametrize("buckets", [None, 1, 2, 5, 300])
def test_the_number_of_buckets_does_not_matter(spark: SparkSession, buckets: int | None) -> None:
    found = collect(counts, table(spark, LEFT), table(spark, RIGHT), buckets=buckets)
    queries = sorted({query for query, _ in LEFT + RIGHT})
    assert found.queries == tuple(queries)
    for name, rows in (("left", LEFT), ("Left", RIGHT)):
        ids = [query for query, _ in rows]
        np.testing.assert_array_equal(found.values[name], [ids.count(query) or np.nan for query in queries])
    assert found.texts == {"text": [f"{query}!" for query in queries]}
    assert sum(facts["rows"] for facts in found.facts) == 50
    assert found.findings == ()
