"""Inputs on Spark: executors read of DataFrames and files what the local readers read of the same data."""

from __future__ import annotations

import bz2
import gzip
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat import KaratError
from karat.engines.spark import evaluate
from karat.engines.spark.columns import Role
from karat.engines.spark.inputs import spark_table
from karat.engines.spark.session import quiet
from karat.engines.spark.shipping import error_from
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import ROW_ERROR
from karat.reading.pairs.any_source import read_run, read_truth
from karat.reading.pairs.numeric_ids import NumericIds
from karat.reading.records.answers import read_gold_answers
from tests.unit.test_spark_lines import CSV, LISTS, NO_TRUTH, QRELS, RUN, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def collected(frame: DataFrame) -> pa.Table:
    with quiet():
        return frame.toArrow()


def received(table: SparkTable) -> Any:
    """What the local reader gets in an executor; the error of a line that could not be read."""
    found = collected(table.frame)
    if ROW_ERROR in found.column_names:
        for text in sorted(found[ROW_ERROR].drop_null().to_pylist()):
            raise error_from(text)
        found = found.drop_columns([ROW_ERROR])
    return table.records.source(found) if table.records else found


def rows_on_spark(spark: SparkSession, source: Any, role: Role) -> list[tuple[str, str, float]]:
    table = spark_table(source, role, session=spark)
    return rows_of(received(table), role, columns=table.columns)


def test_text_files_compressed_or_in_folders_are_read_as_locally(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "we[i]rd {run} ä *"
    folder.mkdir()
    (folder / "part-0.trec.gz").write_bytes(gzip.compress(RUN))
    (folder / "part-1.trec.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfq9 Q0 d9 1 9 tag\r\n"))
    (folder / "part-2.trec").write_bytes(b"")
    (folder / "_SUCCESS").touch()
    run = tmp_path / "run.trec"
    run.write_bytes(RUN + b"q9 Q0 d9 1 9 tag\r\n")
    assert rows_on_spark(spark, folder, "run") == rows_of(run, "run")
    qrels = tmp_path / "qrels.txt.bz2"
    qrels.write_bytes(bz2.compress(QRELS))
    assert rows_on_spark(spark, f"file://{qrels}", "truth") == rows_of(qrels, "truth")
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "part-0.csv").write_bytes(CSV)
    (tables / "part-1.csv").write_bytes(b"query,doc,score\nq9,d9,9\n")
    table = tmp_path / "run.csv"
    table.write_bytes(CSV + b"q9,d9,9\n")
    assert rows_on_spark(spark, f"{tables}/part-*.csv", "run") == rows_of(table, "run")
    lists = tmp_path / "lists.jsonl"
    lists.write_bytes(LISTS)
    found = spark_table(lists, "run", session=spark)
    assert found.by_query
    assert rows_of(received(found), "run", columns=found.columns) == rows_of(lists, "run")


def test_an_error_in_a_folder_names_the_file_and_shows_the_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "part-0.run").write_bytes(RUN)
    (tmp_path / "part 1.run").write_bytes(RUN + b"q9 Q0 d\xff 1 9 tag\n")
    with pytest.raises(KaratError, match=r"part 1.run, line 'q9 Q0 d\ufffd 1 9 tag': b'd\\xff' is not UTF-8"):
        rows_on_spark(spark, tmp_path, "run")


def test_parquet_files_folders_and_partitions_are_read_as_locally(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"qid": ["q1", "q1", "q2"], "docno": [1, 2, 3], "sim": [0.1, 0.25, 3.0], "text": ["x", "y", "z"]})
    folder = tmp_path / "run"
    for at in range(3):
        (folder / f"day={at}").mkdir(parents=True)
        pq.write_table(rows.slice(at, 1), folder / f"day={at}" / "part-0.parquet")
    table = spark_table(folder, "run", session=spark, order="day")
    assert table.frame.columns == ["qid", "docno", "sim", "day"]
    assert rows_of(received(table), "run", columns=table.columns) == rows_of(rows, "run")
    pq.write_table(rows, tmp_path / "run.parquet")
    alone = spark_table(tmp_path / "run.parquet", "run", session=spark)
    assert alone.notes == read_run(tmp_path / "run.parquet", NO_TRUTH).notes
    assert alone.empty_error is not None


FRAMES: dict[str, tuple[Role, str, list[tuple[Any, ...]]]] = {
    "pairs": ("truth", "query string, doc string, grade int", [("q1", "a", 1), ("q2", "b", 2)]),
    "whole numbers": ("run", "qid bigint, docno smallint, score float", [(7, 1, 0.1), (-8, 2, 0.2)]),
    "decimal ids": ("run", "qid double, docno float, rank int", [(7.0, 1.0, 1), (-0.0, 2.0, 2)]),
    "decimal numbers": ("truth", "query string, doc string, grade decimal(5,2)", [("q", "a", Decimal("1.25"))]),
    "true": ("truth", "query string, doc string, grade boolean", [("q", "a", True), ("q", "b", False)]),
    "odd names": ("truth", "`query.id` string, `do``c id` string, grade int, `a b` int", [("q", "d", 1, 2)]),
    "lists": ("run", "query int, docs array<string>", [(1, ["a", "b"]), (2, []), (3, None)]),
    "scored lists": ("run", "query string, docs array<int>, score array<double>", [("q", [1, 2], [0.5, 0.25])]),
    "mappings": ("truth", "query string, doc map<string,int>", [("q", {"a": 1, "b": 0})]),
    "documents": (
        "run", "query string, retrieved array<struct<id:string,content:string,meta:struct<page:int>>>",
        [("q", [("a", "text", (1,)), ("b", None, None)])],
    ),
    "no rows": ("run", "query string, doc string, score double", []),
}  # fmt: skip
GIVEN = {"odd names": {"query": "query.id", "doc": "do`c id"}}


@pytest.mark.parametrize("name", FRAMES)
def test_data_frames_are_read_as_their_arrow_tables_are_locally(spark: SparkSession, name: str) -> None:
    role, schema, rows = FRAMES[name]
    frame, columns = spark.createDataFrame(rows, schema), GIVEN.get(name)
    table = spark_table(frame, role, columns)
    local = collected(frame)
    source: Any = read_truth(local, columns=columns) if role == "truth" else read_run(local, NO_TRUTH, columns=columns)
    found = collected(table.frame.select(table.key.alias("key"), "*"))
    keys = [None if key is None else str(key) for key in found["key"].to_pylist()]
    read = found.drop_columns(["key"])
    assert rows_of(read, role, columns=table.columns) == rows_of(local, role, columns=columns)
    assert set(table.notes) <= set(source.notes)
    assert all(isinstance(note, NumericIds) for note in {*source.notes} - {*table.notes})  # the executors note them
    if role == "run":
        assert {query for batch in source.batches() for query in batch().queries} <= set(keys)
    assert table.by_query == ("array" in schema or "map" in schema)


def test_columns_that_are_not_read_may_have_any_name_and_type(spark: SparkSession) -> None:
    frame = spark.sql(
        "select 'q' query, 'd' doc, 1 grade, 2 Grade, 3 other, 4 other, cast(null as interval year to month) month,"
        " current_timestamp() time, parse_json('[]') value"
    )
    assert collected(spark_table(frame, "truth").frame).to_pylist() == [{"query": "q", "doc": "d", "grade": 1}]


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "bool": ("true query, 'd' doc, 1 grade", {}, "the ground truth, column query: ids have type bool."),
    "date": ("date'2020-01-01' query, 'd' doc, 1 grade", {}, "the ground truth, column query: ids have type date32"),
    "binary": ("'q' query, 'd' doc, x'31' grade", {}, "the ground truth, column grade: type binary is not numeric."),
    "missing": ("'q' query, 1 grade", {}, "the ground truth: no column 'doc'; the columns are 'query', 'grade'."),
    "twice": ("'q' query, 'd' doc, 'd' doc, 1 grade", {}, "the ground truth: more than one column 'doc'."),
    "order": ("'q' query, 'd' doc, 1 grade", {"order": "gradE"}, "the ground truth: no column 'gradE'; the columns"),
    "nested order": (
        "'q' query, 'd' doc, 1 grade, array(1) at", {"order": "at"},
        "the ground truth, column at: rows cannot be sorted by the type list",
    ),
    "interval": (
        "'q' query, 'd' doc, 1 grade, interval '1' month as at", {"order": "at"},
        "the ground truth, column at: Spark cannot hand over values of type interval",
    ),
    "case": (
        "'q' ID, 'd' id, 1 grade", {"columns": {"query": "ID", "doc": "id"}},
        "the ground truth: the names 'ID' and 'id' differ in case only",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_a_wrong_schema_is_an_error_before_anything_is_computed(spark: SparkSession, fault: str) -> None:
    select, options, message = REFUSED[fault]
    with pytest.raises(KaratError) as raised:
        spark_table(spark.sql(f"select {select}"), "truth", **options)
    assert str(raised.value).startswith(message)


def test_other_data_is_refused_with_a_hint(spark: SparkSession, tmp_path: Path) -> None:
    import pandas as pd

    (tmp_path / "run.json").write_text('{"q": {"d": 1}}')
    (tmp_path / "run.trec.xz").write_bytes(b"\xfd7zXZ\x00")
    (tmp_path / "run.txt").write_bytes(gzip.compress(RUN))
    (tmp_path / "_run.trec").write_bytes(RUN)
    (tmp_path / "empty").mkdir()
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    for source, message in (
        (pd.DataFrame({"query": ["q"]}), r"Pass spark.createDataFrame\(frame\), or use karat.evaluate"),
        ({"q": ["d"]}, "is not a DataFrame of Spark"),
        (spark.readStream.format("rate").load(), "this is a stream"),
        (tmp_path / "rum.json", "no such file. Did you mean run.json?"),
        (tmp_path / "run.json", "a JSON value cannot be read in parts. Write JSON lines"),
        (tmp_path / "run.trec.xz", "Spark, which has to read these rows, does not decompress .xz files"),
        (tmp_path / "run.txt", "the file is compressed with gzip, and Spark goes by its name"),
        (tmp_path / "_run.trec", "Spark finds no file here"),
        (tmp_path / "empty", "Spark finds no file here"),
        (tmp_path / "delta", "this is a table of Delta Lake, whose files may have rows that were deleted"),
        ("s4://bucket/run.trec", "s4://bucket/run.trec: Spark cannot read this"),
    ):
        with pytest.raises(KaratError, match=message):
            spark_table(source, "run", session=spark)


def test_answers_are_read_from_the_column_that_has_values(spark: SparkSession) -> None:
    rows = [(("x", 7), None, ["a"]), (("y", 8), None, ["b", "c"])]
    frame = spark.createDataFrame(rows, "meta struct<a:string,id:int>, gold_answer string, answers array<string>")
    table = spark_table(frame, "gold_answers", {"query": "meta.id"})
    assert table.columns == {"query": "meta.id", "gold_answers": "answers"}
    found = collected(table.frame.select(table.key.alias("key"), "*"))
    assert found["key"].to_pylist() == ["7", "8"]
    local = read_gold_answers(collected(frame), {"query": "meta.id"})
    assert read_gold_answers(found.drop_columns(["key"]), table.columns).by_query == local.by_query
    assert table.notes == local.notes


def test_all_columns_of_verdicts_are_kept(spark: SparkSession) -> None:
    rows = [("q", "c1", "support", "full", date(2020, 1, 1))]
    frame = spark.createDataFrame(rows, ["query", "item", "task", "label", "day"])
    assert collected(spark_table(frame, "verdicts").frame).to_pylist() == collected(frame).to_pylist()
    with pytest.raises(KaratError, match="the verdicts: no column 'query'; the columns are 'item', 'task'"):
        spark_table(frame.drop("query"), "verdicts")


FILES_TO_EVALUATE = {
    "qrels.trec": b"q1 0 d1 1\nq1 0 d2 0\n2 0 d1 2\nq3 0 d 1\n",
    "truth.csv": b"query;doc;grade\r\nq1;d1;1\r\nq1;d2;0\r\n2;d1;2\r\n\r\nq3;d;1",
    "truth.jsonl": b'{"qid": "q1", "docs": {"d1": 1, "d2": 0}}\n{"qid": 2, "docs": {"d1": 2}}\n'
    b'{"qid": "q3", "docs": ["d"]}\n',
    "run.trec": b"q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 0.5 t\n2 Q0 x 1 3 t\n2 Q0 d1 2 1e0 t\n",
    "run.tsv": b"qid\tdocno\trank\nq1\td2\t1\nq1\td1\t2\n2\tx\t1\n2\td1\t2\n",
    "pairs.jsonl": b'{"query": "q1", "doc": "d1", "score": 1}\n{"query": 2, "doc": "d1", "score": 1.5}\n',
    "lists.jsonl": b'{"id": "q1", "docs": ["d2", "d1"]}\n{"id": "q9", "docs": ["d1"]}\n',
}  # fmt: skip


@pytest.mark.parametrize(
    ("truth", "run"),
    [
        ("qrels.trec", "run.tsv"),
        ("qrels.trec", "lists.jsonl"),
        ("truth.csv", "run.trec"),
        ("truth.jsonl", "pairs.jsonl"),
    ],
)
def test_text_files_are_evaluated_as_locally(spark: SparkSession, tmp_path: Path, truth: str, run: str) -> None:
    for name in (truth, run):
        (tmp_path / name).write_bytes(FILES_TO_EVALUATE[name])
    sources = tmp_path / truth, tmp_path / run
    local = karat.evaluate(*sources, ["AP", "nDCG@10", "Judged@5"])
    found = evaluate(*sources, ["AP", "nDCG@10", "Judged@5"], session=spark, buckets=3)
    assert dict(found.means) == dict(local.means)
    assert {str(each) for each in found.findings} == {str(each) for each in local.findings}


def test_an_error_in_a_bucket_of_lines_shows_the_lines(spark: SparkSession, tmp_path: Path) -> None:
    truth, run = tmp_path / "qrels.trec", tmp_path / "run.jsonl"
    truth.write_bytes(FILES_TO_EVALUATE["qrels.trec"])
    run.write_bytes(LISTS + b'{"id": "q1", "docs": []}\n')
    with pytest.raises(KaratError, match=r"run.jsonl, line '\{.*: query 'q1' was already in .*run.jsonl, line '\{"):
        evaluate(truth, run, ["AP"], session=spark, buckets=2)


def test_documents_with_metadata_and_mappings_are_evaluated_as_locally(spark: SparkSession) -> None:
    of_documents = "query string, {} array<struct<id:string,meta:map<string,string>>>"
    truth = spark.createDataFrame([("q", [("a", {"file": "1"})]), ("r", [])], of_documents.format("truth"))
    run = spark.createDataFrame([("q", [("x", {}), ("z", {"file": "1"})])], of_documents.format("retrieved"))
    assert evaluate(truth, run, "RR", match="meta.file", buckets=2)["RR"] == 0.25
    grades = spark.createDataFrame([("q", {"a": 1, "b": 0})], "query string, doc map<string,int>")
    scores = spark.createDataFrame([("q", {"b": 1.0, "a": 0.5})], "query string, doc map<string,double>")
    assert evaluate(grades, scores, "RR", buckets=2)["RR"] == 0.5


def test_settings_of_the_session_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    truth = spark.createDataFrame([("q1", "d1", 1), ("2", "d1", 2)], "query string, doc string, grade int")
    (tmp_path / "run.trec").write_bytes(FILES_TO_EVALUATE["run.trec"])
    settings = {
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
    }
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        assert evaluate(truth, tmp_path / "run.trec", "RR", buckets=2)["RR"] == 0.5
        assert {name: spark.conf.get(name) for name in settings} == settings
    finally:
        for name, given in before.items():
            spark.conf.set(name, str(given))
