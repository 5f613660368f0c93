"""The transport: tables go to executors in buckets of queries, and values per query come back."""

from __future__ import annotations

import os
import platform
import sys
import threading
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from karat import KaratError
from karat import __version__ as VERSION
from karat.engines.spark import shuffle
from karat.engines.spark.buckets import in_buckets
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import Work
from tests.spark.toy_work import (
    LEFT,
    RIGHT,
    Rows,
    always_fails,
    assert_sums,
    buckets_of,
    dies_at_first,
    fails_at_first,
    partition,
    refuses,
    sums,
    sums_of,
    table_of,
    without_pandas,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOSTILE = ["", "\0", "a\0b", "7", "007", "7.0", "ä", "a\u0308", "😀", "q" * 100_000, "null", " ", "\n", '"`', "../x"]


@pytest.mark.parametrize("buckets", [None, 1, 3, 40])
def test_the_number_of_buckets_and_partitions_does_not_matter(spark: SparkSession, buckets: int | None) -> None:
    left, right = table_of(spark, LEFT), table_of(spark, RIGHT)
    assert_sums(buckets_of(sums, left, right, buckets=buckets).collect(), LEFT, RIGHT)


def test_each_bucket_has_a_partition_of_its_own(spark: SparkSession) -> None:
    found = buckets_of(partition, table_of(spark, LEFT), table_of(spark, RIGHT), buckets=5).collect()
    assert found.facts == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("has_partition_ids", [True, False], ids=["Spark 4.1", "Spark 4.0"])
def test_a_partition_may_have_several_buckets(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, has_partition_ids: bool
) -> None:
    monkeypatch.setattr(shuffle, "_MOST_PARTITIONS", 2)
    if not has_partition_ids:
        classes = type(spark.range(1)).__mro__
        for each in classes:
            if "repartitionById" in vars(each):
                monkeypatch.delattr(each, "repartitionById")
    found = buckets_of(sums, table_of(spark, LEFT), table_of(spark, RIGHT), buckets=9).collect()
    assert_sums(found, LEFT, RIGHT)
    assert len(found.facts) <= 9, "a bucket is worked on once"


def test_both_tables_may_be_made_of_the_same_dataframe(spark: SparkSession) -> None:
    table = table_of(spark, LEFT)
    large = table.frame.where("number > 20")
    other = replace(table, frame=large, key=large["query"])
    assert_sums(buckets_of(sums, table, other, buckets=3).collect(), LEFT, [row for row in LEFT if row[1] > 20])
    assert_sums(buckets_of(sums, table, table, buckets=3).collect(), LEFT, LEFT)


def test_a_query_with_most_of_the_rows_is_in_one_bucket(spark: SparkSession) -> None:
    frame = spark.range(300_000).selectExpr("if(id % 100 = 0, concat('q', id % 700), 'large') query", "1D number")
    table = SparkTable("the run", frame, "query", frame["query"])
    found = buckets_of(sums, table, buckets=4).collect()
    assert found.values["sum"].sum() == 300_000
    assert dict(zip(found.queries, found.values["sum"], strict=True))["large"] == 297_000


def test_settings_of_the_session_are_what_they_were_afterwards(spark: SparkSession) -> None:
    rows, size = (f"spark.sql.execution.arrow.max{what}PerBatch" for what in ("Records", "Bytes"))
    pairs = spark.createDataFrame([("q", "d", 1.0)], "query string, doc string, number double")
    table = SparkTable("the run", pairs, "query", pairs["query"], columns={name: name for name in pairs.columns})
    before = dict(spark.conf.getAll)
    spark.conf.set(rows, "77")
    try:
        buckets = buckets_of(sums, table, buckets=1)
        assert {*buckets.settings} == {rows, size}
        assert_sums(buckets.collect(), [("q", 1.0)], [])
        with pytest.raises(KaratError):
            buckets_of(always_fails, table, table, buckets=1).collect()
        assert dict(spark.conf.getAll) == before | {rows: "77"}
    finally:
        spark.conf.unset(rows)


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


def test_values_are_written_by_the_executors_and_nothing_if_there_is_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    left, right = table_of(spark, LEFT, "the ground truth"), table_of(spark, RIGHT)
    options: dict[str, Any] = {"values": ["sum"], "texts": ["id"], "buckets": 3}
    written = in_buckets(sums, left, right, **options).write(tmp_path / "sums")
    rows = pq.read_table(tmp_path / "sums").to_pylist()
    totals = sums_of(LEFT)
    assert sorted(rows, key=itemgetter("query")) == [
        {"query": query, "sum": totals.get(query), "id": query} for query in sorted({*totals, *sums_of(RIGHT)})
    ]
    assert sum(written.facts) == len(LEFT)
    with pytest.raises(KaratError, match=r"sums: cannot be written: .*already exists"):
        in_buckets(sums, left, right, **options).write(tmp_path / "sums")
    with pytest.raises(KaratError, match="the largest number"):
        in_buckets(refuses, left, right, **options).write(tmp_path / "refused")
    with pytest.raises(KaratError, match="'sum' and 'SUM' differ in case only"):
        buckets_of(sums, left, right).write(tmp_path / "case")
    assert [path.name for path in tmp_path.iterdir()] == ["sums"]


def test_an_error_in_the_input_is_the_same_as_locally_and_is_not_tried_again(spark: SparkSession) -> None:
    rows = [("ä", 1.0), ("ä", 3.0), ("b", 2.0)]
    with pytest.raises(KaratError) as raised:
        buckets_of(refuses, table_of(spark, rows, "the ground truth"), table_of(spark, RIGHT), buckets=1).collect()
    assert str(raised.value) == "the ground truth, query ä: the largest number. Ä hint."
    assert raised.value.hint == "Ä hint."


def test_of_several_errors_that_of_the_first_bucket_is_raised(spark: SparkSession) -> None:
    left, right = table_of(spark, LEFT, "the ground truth"), table_of(spark, RIGHT)
    messages = set()
    for frame in (left.frame, left.frame.repartition(5), left.frame.orderBy("number", ascending=False)):
        with pytest.raises(KaratError) as raised:
            buckets_of(refuses, replace(left, frame=frame, key=frame["query"]), right, buckets=3).collect()
        messages.add(str(raised.value))
    assert len(messages) == 1


@pytest.mark.parametrize("work", [fails_at_first, dies_at_first])
def test_a_task_that_fails_at_first_changes_nothing(spark: SparkSession, work: Work) -> None:
    assert_sums(buckets_of(work, table_of(spark, LEFT), table_of(spark, RIGHT), buckets=2).collect(), LEFT, RIGHT)


def test_a_task_that_always_fails_is_an_error_in_one_line(spark: SparkSession) -> None:
    with pytest.raises(KaratError) as raised:
        buckets_of(always_fails, table_of(spark, LEFT), table_of(spark, RIGHT), buckets=1).collect()
    hint = "The logs of the executors tell more."
    assert str(raised.value) == f"Spark: a task failed: ZeroDivisionError: a fault of the program. {hint}"
    assert raised.value.__suppress_context__, "no trace of Java follows"


def test_what_cannot_be_pickled_is_an_error(spark: SparkSession) -> None:
    lock = threading.Lock()
    with pytest.raises(KaratError, match=r"cannot be sent to the executors of Spark: .*lock"):
        buckets_of(lambda left: (lock, sums(left)), table_of(spark, LEFT), buckets=1).collect()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"karat/__init__.py": "__version__ = '0.0.9'"},
            f"Spark: an executor has karat 0.0.9, while the driver has karat {VERSION}: ",
        ),
        (
            {"karat/__init__.py": "raise ImportError('no karat here')"},
            f"Spark: an executor cannot import karat {VERSION} (no karat here): ",
        ),
    ],
    ids=["another", "none"],
)
def test_executors_need_the_same_karat(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], message: str
) -> None:
    executors_import(spark, tmp_path, monkeypatch, files)
    with pytest.raises(KaratError) as raised:
        buckets_of(sums, table_of(spark, LEFT), buckets=1).collect()
    python = f"Python {platform.python_version()} ({sys.executable}"
    assert f"{message}it runs {python}, on {platform.node()}), and the driver runs {python}). " in str(raised.value)


def test_executors_need_no_pandas(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executors_import(spark, tmp_path, monkeypatch, {"pandas.py": "raise ImportError('no pandas here')"})
    assert_sums(buckets_of(without_pandas, table_of(spark, LEFT), buckets=1).collect(), LEFT, [])


def executors_import(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    """Let executors find these modules before all others. Spark starts new Python processes for another environment."""
    for name, code in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(code)
    path = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", path)
