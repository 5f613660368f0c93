"""The transport: tables go to executors in buckets of queries, and values per query come back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import karat
from karat import KaratError
from tests.spark.toy_work import (
    LEFT,
    RIGHT,
    Rows,
    always_fails,
    assert_sums,
    buckets_of,
    dies_at_first,
    fails_at_first,
    refuses,
    sums,
    table_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOSTILE = ["", "\0", "a\0b", "7", "007", "7.0", "ä", "a\u0308", "😀", "q" * 100_000, "null", " ", "\n", '"`', "../x"]


@pytest.mark.parametrize("buckets", [None, 1, 3, 40])
def test_the_number_of_buckets_and_partitions_does_not_matter(spark: SparkSession, buckets: int | None) -> None:
    left, right = table_of(spark, LEFT), table_of(spark, RIGHT)
    assert_sums(buckets_of(sums, left, right, buckets=buckets).collect(), LEFT, RIGHT)


@pytest.mark.parametrize(("left", "right"), [(LEFT, []), ([], RIGHT), ([], [])], ids=["right", "left", "both"])
def test_either_side_may_be_empty(spark: SparkSession, left: Rows, right: Rows) -> None:
    found = buckets_of(sums, table_of(spark, left), table_of(spark, right), buckets=2).collect()
    assert_sums(found, left, right)
    assert found.facts, "work on empty tables, if there is nothing else, so that its checks take place"


def test_one_table_is_enough(spark: SparkSession) -> None:
    assert_sums(buckets_of(sums, table_of(spark, LEFT), buckets=2).collect(), LEFT, [])


def test_ids_may_be_any_text(spark: SparkSession) -> None:
    rows = [(query, float(number)) for number, query in enumerate(HOSTILE)]
    found = buckets_of(sums, table_of(spark, rows), table_of(spark, rows[::-1]), buckets=5).collect()
    assert_sums(found, rows, rows)


def test_values_are_written_by_the_executors(spark: SparkSession, tmp_path: Path) -> None:
    buckets = buckets_of(lambda left, right: sums(left, right), table_of(spark, LEFT), table_of(spark, RIGHT), buckets=3)
    columns = buckets_of(sums, table_of(spark, LEFT), table_of(spark, RIGHT), buckets=3)
    with pytest.raises(KaratError, match=r"^Spark: .*sum"):
        columns.write(tmp_path / "case")
    assert buckets
