"""Files on Spark: executors read ranges of them, and the result is that of a local evaluation."""

from __future__ import annotations

import gzip
import logging
import pickle
import random
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat import KaratError
from karat.engines.spark import evaluate
from karat.engines.spark.executor_results import collected
from karat.engines.spark.ranges import tasks
from karat.engines.spark.session import quiet
from karat.engines.spark.worker import BUCKET, FACTS, BucketResult, BucketWork
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.pairs.range_plan import plan_ranges
from tests.spark.local_comparison import outcome
from tests.unit.test_document_parts import Row, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEASURES = ["AP", "nDCG@10", "RR", "Judged@5"]
Plans = Callable[[], str]


@pytest.fixture
def plan(caplog: pytest.LogCaptureFixture) -> Plans:
    """What was said about how a run is read."""
    caplog.set_level(logging.INFO, logger="karat.spark")
    return lambda: "\n".join(record.getMessage() for record in caplog.records)


def rows_of_queries(queries: int, seed: int = 1) -> list[Row]:
    chance = random.Random(seed)
    docs = [f"d{at}" for at in range(30)]
    return [
        (f"q{query:03}", doc, chance.choice([0.5, 1.0, 2.0, 3.5]))
        for query in range(queries)
        for doc in chance.sample(docs, chance.randint(1, 8))
    ]


def write_truth(folder: Path, queries: int) -> Path:
    chance = random.Random(7)
    lines = [f"q{query:03} 0 d{doc} {chance.randint(0, 2)}" for query in range(queries) for doc in range(0, 30, 7)]
    path = folder / "qrels.trec"
    path.write_text("\n".join([*lines, "missing 0 d1 1"]) + "\n")
    return path


@pytest.mark.parametrize("form", ["trec", "csv", "jsonl", "lists.jsonl", "parquet"])
def test_files_are_read_in_ranges_and_evaluated_as_locally(
    spark: SparkSession, tmp_path: Path, plan: Plans, form: str
) -> None:
    truth, run = write_truth(tmp_path, 38), write_run(tmp_path, rows_of_queries(40), form, 25)
    found = outcome(lambda: evaluate(truth, run, MEASURES, session=spark))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))
    assert f"{run}: executors read the files directly, in " in plan()
    assert "executors read the files directly, in " in plan()


def test_a_compressed_file_is_one_range_and_a_folder_has_those_of_its_files(
    spark: SparkSession, tmp_path: Path, plan: Plans
) -> None:
    truth, run = write_truth(tmp_path, 38), write_run(tmp_path, rows_of_queries(40), "trec")
    folder = tmp_path / "we[i]rd {run} ä *"
    folder.mkdir()
    lines = run.read_bytes().splitlines(keepends=True)
    (folder / "part-0").write_bytes(gzip.compress(b"".join(lines[:50])))
    (folder / "part-1.trec").touch()
    (folder / "part-2.trec").write_bytes(b"\xef\xbb\xbf" + b"".join(lines[50:]))
    (folder / "_SUCCESS").touch()
    local = outcome(lambda: karat.evaluate(truth, run, MEASURES))
    for path in (str(folder), f"file://{folder}"):
        assert outcome(partial(evaluate, truth, path, MEASURES, session=spark)) == local
    assert "executors read the files directly, in " in plan()


def test_a_query_with_rows_in_several_places_is_put_together(spark: SparkSession, tmp_path: Path, plan: Plans) -> None:
    rows = rows_of_queries(60)
    rows = [row for row in rows if row[0] != "q007"] + [("q007", f"d{at}", at / 3) for at in range(30)]
    rows.insert(3, ("q007", "d40", 0.5))
    truth, run = write_truth(tmp_path, 38), write_run(tmp_path, rows, "parquet", 25)
    found = outcome(lambda: evaluate(truth, run, MEASURES, session=spark))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))
    assert "not grouped" not in plan()


def test_ranges_that_follow_each_other_share_a_task_if_there_are_many(spark: SparkSession) -> None:
    def task(at: int) -> BucketResult:
        from pyspark import TaskContext

        return BucketResult((), {}, {}, (at, TaskContext.get().partitionId()))

    inputs = {7 + at: at for at in range(100)}
    with quiet():
        table = collected(tasks(spark, BucketWork(task, (), (), ()), inputs)).table.sort_by(BUCKET)
    assert table[BUCKET].to_pylist() == [*inputs]
    numbers, of_tasks = zip(*(pickle.loads(facts)[0] for facts in table[FACTS].to_pylist()), strict=True)
    assert [*numbers] == [*inputs.values()]
    assert [*of_tasks] == sorted(of_tasks)
    assert max(Counter(of_tasks).values()) == 8


def test_rows_in_any_order_go_through_the_shuffle_with_the_same_scores(
    spark: SparkSession, tmp_path: Path, plan: Plans
) -> None:
    rows = rows_of_queries(40)
    random.Random(3).shuffle(rows)
    truth, run = write_truth(tmp_path, 38), write_run(tmp_path, rows, "parquet", 25)
    found = outcome(lambda: evaluate(truth, run, MEASURES, session=spark))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))
    assert f"shuffles them by query, because {run} turned out not to be grouped by query" in plan()


def test_a_query_that_fills_several_ranges_is_judged_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("q001", f"d{at}", float(at % 97)) for at in range(2000)] + [("q002", "d7", 1.0)]
    truth, run = write_truth(tmp_path, 3), write_run(tmp_path, rows, "parquet", 100)
    found = outcome(lambda: evaluate(truth, run, MEASURES, session=spark))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))


def test_a_query_of_five_million_rows_is_judged_as_locally(spark: SparkSession, tmp_path: Path, plan: Plans) -> None:
    sizes = [300] * 40 + [5_000_000] + [300] * 40
    queries = pa.array([f"q{query:03}" for query in range(len(sizes))])
    docs = np.concatenate([np.arange(size) for size in sizes])
    columns = {
        "query": queries.take(pa.array(np.repeat(np.arange(len(sizes)), sizes))),
        "doc": pa.array(docs).cast(pa.string()),
        "score": docs * 7919 % 1009 / 8,  # with ties
    }
    pq.write_table(pa.table(columns), tmp_path / "run.parquet", row_group_size=500_000)
    truth = tmp_path / "qrels.trec"
    judged = [(query, doc) for query in range(len(sizes)) for doc in (5, 60, 299, 999_999)]
    truth.write_text("".join(f"q{query:03} 0 {doc} 1\n" for query, doc in judged))
    found = outcome(lambda: evaluate(truth, tmp_path / "run.parquet", MEASURES, session=spark))
    assert found == outcome(lambda: karat.evaluate(truth, tmp_path / "run.parquet", MEASURES))
    assert "executors read the files directly, in " in plan()


@pytest.mark.parametrize("options", [{"ties": "input"}, {"missing": "skip"}, {"duplicates": "first"}])
def test_options_mean_what_they_mean_locally(spark: SparkSession, tmp_path: Path, options: dict[str, Any]) -> None:
    rows = [*rows_of_queries(20), ("q019", "d1", 9.0), ("q019", "d1", 8.0)]
    truth, run = write_truth(tmp_path, 22), write_run(tmp_path, rows, "trec")
    found = outcome(lambda: evaluate(truth, run, MEASURES, session=spark, **options))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES, **options))


def test_a_function_that_matches_documents_is_sent_to_the_executors(spark: SparkSession, tmp_path: Path) -> None:
    truth, run = tmp_path / "truth.jsonl", tmp_path / "run.jsonl"
    truth.write_text("".join(f'{{"query": "q{at}", "docs": ["D{at}"]}}\n' for at in range(9)))
    run.write_text("".join(f'{{"query": "q{at}", "docs": ["x", "d{at}"]}}\n' for at in range(9)))

    def match(found: Any, gold: Any) -> bool:
        return str(found) == str(gold).lower()

    found = outcome(lambda: evaluate(truth, run, MEASURES, session=spark, match=match))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES, match=match))
    assert found["means"]["RR"] == 0.5


def test_an_error_names_the_file_and_the_line(spark: SparkSession, tmp_path: Path) -> None:
    truth, run = write_truth(tmp_path, 10), write_run(tmp_path, rows_of_queries(20), "trec")
    lines = run.read_text().splitlines()
    lines[50] = "q012 Q0 d5 1 high tag"
    run.write_text("\n".join(lines) + "\n")
    with pytest.raises(KaratError, match=r"run\.trec:51: score 'high' is not a number\. A TREC run has six columns"):
        evaluate(truth, run, MEASURES, session=spark)
    (tmp_path / "qrels.trec").write_text("q1 0 d1 1\nq1 0 d2 x\n")
    with pytest.raises(KaratError, match=r"qrels\.trec:2: grade 'x' is not a number"):
        evaluate(truth, run, MEASURES, session=spark)


def test_a_file_that_changes_between_planning_and_reading_is_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, run = write_truth(tmp_path, 10), write_run(tmp_path, rows_of_queries(20), "trec")
    planned = plan_ranges

    def plan_and_write(path: str, *arguments: Any) -> Any:
        ranges = planned(path, *arguments)
        run.write_text(run.read_text() + "q020 Q0 d1 1 1 tag\n")
        return ranges

    monkeypatch.setattr("karat.engines.spark.planning.plan_ranges", plan_and_write)
    with pytest.raises(KaratError, match=r"run\.trec: the file was changed while it was evaluated\. Evaluate it again"):
        evaluate(truth, run, MEASURES, session=spark)


def test_files_without_rows_are_the_error_of_a_local_evaluation(spark: SparkSession, tmp_path: Path) -> None:
    truth, run = write_truth(tmp_path, 3), tmp_path / "run.trec"
    run.write_text("")
    assert outcome(lambda: evaluate(truth, run, MEASURES, session=spark)) == outcome(
        lambda: karat.evaluate(truth, run, MEASURES)
    )
    schema = pa.schema([("query", pa.string()), ("doc", pa.string()), ("score", pa.float64())])
    pq.write_table(schema.empty_table(), tmp_path / "run.parquet")
    with pytest.raises(KaratError, match=r"run\.parquet: the table has no rows"):
        evaluate(truth, tmp_path / "run.parquet", MEASURES, session=spark)
    folder = tmp_path / "folder"
    folder.mkdir()
    for part in ("part-0.parquet", "part-1.parquet"):
        assert outcome(lambda: evaluate(truth, folder, MEASURES, session=spark)) == outcome(
            lambda: karat.evaluate(truth, folder, MEASURES)
        )
        pq.write_table(schema.empty_table(), folder / part)
    with pytest.raises(KaratError, match="the table has no rows"):
        evaluate(truth, folder, MEASURES, session=spark)


def test_scores_are_written_to_a_folder_by_the_executors(spark: SparkSession, tmp_path: Path) -> None:
    rows = [*rows_of_queries(60), ("q007", "d40", 0.5)]
    truth, run = write_truth(tmp_path, 38), write_run(tmp_path, rows, "parquet", 25)
    stored = evaluate(truth, run, MEASURES, session=spark, per_query_path=tmp_path / "scores")
    local = karat.evaluate(truth, run, MEASURES)
    assert dict(stored.means) == dict(local.means)
    loaded = stored.load()
    assert [loaded.queries[at] for at in loaded.by_id] == sorted(local.queries)
    for name, column in local.values.items():
        assert loaded.values[name][loaded.by_id].tobytes() == column[local.by_id].tobytes()


def test_what_is_wrong_with_a_remote_file_is_said_if_spark_has_no_file_system_for_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(KaratError, match="would send your credentials to the server 'elsewhere'"):
        evaluate(write_truth(tmp_path, 3), "s3://bucket/run.trec?endpoint_override=elsewhere", MEASURES, session=spark)


@pytest.mark.parametrize("path", ["table/*.parquet", "table/day=1", "table/day=*/*.parquet"])
def test_files_in_a_table_of_delta_lake_are_refused_as_the_table_is(
    spark: SparkSession, tmp_path: Path, path: str
) -> None:
    for folder in ("_delta_log", "day=1"):
        (tmp_path / "table" / folder).mkdir(parents=True)
    write_run(tmp_path / "table", rows_of_queries(3), "parquet")
    write_run(tmp_path / "table" / "day=1", rows_of_queries(3), "parquet")
    with pytest.raises(KaratError, match="table of Delta Lake, whose files may have rows that were deleted"):
        evaluate(write_truth(tmp_path, 3), tmp_path / path, MEASURES, session=spark)


def test_other_ways_to_read_a_run_say_why(spark: SparkSession, tmp_path: Path, plan: Plans) -> None:
    truth, run = write_truth(tmp_path, 10), write_run(tmp_path, rows_of_queries(12), "parquet")
    evaluate(truth, spark.read.parquet(str(run)), MEASURES, session=spark)
    without_shuffle = (
        "executors judge the partitions of the DataFrame, without a shuffle; Spark reads the rows, because"
    )
    assert f"the run: {without_shuffle} the run is a DataFrame" in plan()
    evaluate(truth, run, MEASURES, session=spark, buckets=2)
    assert "Spark reads the rows and shuffles them by query, because buckets= was given" in plan()
    partitioned = tmp_path / "days" / "day=1"
    partitioned.mkdir(parents=True)
    run.rename(partitioned / "part-0.parquet")
    local = karat.evaluate(truth, partitioned / "part-0.parquet", MEASURES)
    assert dict(evaluate(truth, tmp_path / "days", MEASURES, session=spark).means) == dict(local.means)
    days = tmp_path / "days"
    assert f"{days}: {without_shuffle} {days} is partitioned, and the names of its folders are columns" in plan()


@pytest.mark.parametrize(("name", "folders"), [("Delta Lake", ["_delta_log"]), ("Iceberg", ["metadata", "data"])])
def test_tables_whose_files_may_have_deleted_rows_are_refused(
    spark: SparkSession, tmp_path: Path, name: str, folders: list[str]
) -> None:
    for folder in folders:
        (tmp_path / "table" / folder).mkdir(parents=True)
    write_run(tmp_path / "table", rows_of_queries(3), "parquet")
    with pytest.raises(KaratError, match=f"table of {name}, whose files may have rows that were deleted. Pass a Data"):
        evaluate(write_truth(tmp_path, 3), tmp_path / "table", MEASURES, session=spark)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/no/such.trec", "does not find this file, which the driver has found"),
        (f"{__file__}/run.trec", "cannot read this file, which the driver has read: Not a directory"),
    ],
)
def test_an_executor_that_cannot_read_a_file_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, reason: str
) -> None:
    """The driver reads a file whose name is another one for executors, as on a disk of its own."""
    truth, run = write_truth(tmp_path, 10), write_run(tmp_path, rows_of_queries(12), "trec")
    planned = plan_ranges

    def plan_elsewhere(*arguments: Any) -> Any:
        found = planned(*arguments)
        return found._replace(ranges=[FileRange(path, *each[1:]) for each in found.ranges])

    monkeypatch.setattr("karat.engines.spark.planning.plan_ranges", plan_elsewhere)
    with pytest.raises(KaratError, match=rf"{re.escape(path)}: an executor \(on .*\) {reason}\. Put it where all"):
        evaluate(truth, run, MEASURES, session=spark)


@pytest.mark.parametrize("form", ["trec", "lists.jsonl"])
def test_of_large_ground_truth_executors_read_only_the_queries_of_their_range(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr("karat.engines.spark.planning._MOST_JUDGMENTS", 10)
    rows = [*rows_of_queries(40), ("unknown", "d1", 1.0)]
    truth, run = write_truth(tmp_path, 38), write_run(tmp_path, rows, form)
    found = outcome(lambda: evaluate(truth, run, MEASURES, session=spark))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))
