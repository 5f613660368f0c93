"""Verdicts on Spark: the scores, bounds, findings and errors are those of the local engine."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import karat
from karat.engines.spark import evaluate_verdicts
from karat.registry.registry import definitions
from tests.random_verdicts import RUBRIC, labelled_by_several
from tests.spark.local_comparison import outcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEASURES = [each.name for each in definitions() if each.takes == "verdicts"]
DEMO = Path(karat.__file__).parent / "cli" / "demo_data" / "verdicts.jsonl"
Records = list[dict[str, Any]]


def table_of(records: Records) -> pa.Table:
    """Records as a table, in which a label is against passages only: a column has one type."""
    kept = [each for each in records if not isinstance(each.get("against"), list)]
    return pa.Table.from_pylist([{"at": at, **_plain(each)} for at, each in enumerate(kept)], _SCHEMA)


_SCHEMA = pa.schema(
    [("at", pa.int64())]
    + [
        (name, pa.string())
        for name in (
            "record query system id type of text importance digest item task against label state by why call key error"
            " name question model prompt reply against_digest"
        ).split()
    ]
    + [("rank", pa.int64()), ("sample", pa.int64()), ("version", pa.int64()), ("removed", pa.bool_())]
    + [("cites", pa.list_(pa.string()))]
    + [("scale", pa.struct([(name, pa.float64()) for name in ("rude", "neutral", "polite")]))]
)


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in record.items() if name in _SCHEMA.names}
    return given | ({"label": str(given["label"])} if given.get("label") is not None else {})


def frame(spark: SparkSession, table: pa.Table, seed: int = 0) -> DataFrame:
    """A DataFrame with the rows of a table in another order, in several partitions."""
    rows = list(range(len(table)))
    Random(seed).shuffle(rows)
    return spark.createDataFrame(table.take(rows)).repartition(3)


def demo() -> pa.Table:
    return table_of([json.loads(line) for line in DEMO.read_text().splitlines()])


@pytest.mark.parametrize("buckets", [1, 2, 7])
def test_scores_of_the_demo_are_those_of_the_local_engine(spark: SparkSession, buckets: int) -> None:
    table = demo()
    by = "human" if buckets == 2 else None
    local = outcome(lambda: karat.evaluate_verdicts(table, author=by))
    assert isinstance(local, dict) or by is None
    on_spark = outcome(lambda: evaluate_verdicts(frame(spark, table, buckets), author=by, order="at", buckets=buckets))
    assert on_spark == local


def test_a_verdict_file_in_json_lines_has_the_scores_of_the_local_engine(spark: SparkSession) -> None:
    local = outcome(lambda: karat.evaluate_verdicts(DEMO, author="human"))
    assert isinstance(local, dict)
    assert outcome(lambda: evaluate_verdicts(DEMO, author="human", session=spark, buckets=5)) == local


@pytest.mark.parametrize("seed", range(3))
def test_scores_of_random_records_are_those_of_the_local_engine(spark: SparkSession, seed: int) -> None:
    table, unknown = table_of(labelled_by_several(Random(seed))), "error" if seed == 2 else "bounds"
    options: dict[str, Any] = {"unknown": unknown}
    local = outcome(lambda: karat.evaluate_verdicts(table, **options))
    buckets = (1, 2, 7)[seed % 3]
    assert outcome(lambda: evaluate_verdicts(frame(spark, table), order="at", buckets=buckets, **options)) == local


def test_every_measure_has_the_values_of_the_local_engine(spark: SparkSession) -> None:
    records = [RUBRIC, *(each for seed in range(40, 60) for each in _queries(seed))]
    table = table_of(records)
    measures = [*MEASURES, "Correctness(task=tone)", "Faithfulness(unit=sentences)"]
    able = [each for each in measures if isinstance(outcome(partial(karat.evaluate_verdicts, table, each)), dict)]
    local = outcome(lambda: karat.evaluate_verdicts(table, able))
    assert len(able) >= 12
    assert outcome(lambda: evaluate_verdicts(frame(spark, table), able, order="at", buckets=7)) == local


def _queries(seed: int) -> Records:
    """The records of queries that others have not, all by one author."""
    found = [each for each in labelled_by_several(Random(seed)) if "query" in each]
    return [{**each, "query": f"{seed}-{each['query']}", "by": "model"} for each in found]


@pytest.mark.parametrize(
    ("records", "options"),
    [
        ([{"record": "file", "version": 1}], {}),
        ([{"record": "file", "version": 2}], {}),
        ([{"query": "q", "item": "answer", "task": "correctnes", "label": "correct"}], {}),
        ([{"query": "q", "item": "answer", "task": "correctness", "label": "right"}], {}),
        ([{"query": "q", "item": "c9", "task": "support", "against": "context", "label": "full"}], {}),
        ([{"query": "q", "item": "answer", "task": "correctness", "label": "correct"}], {"author": "humman"}),
        ([{"query": "q", "item": "answer", "task": "correctness", "label": "correct"}], {"measures": "Faithfulness"}),
        (
            [
                {"query": q, "system": s, "item": "answer", "task": "correctness", "label": "correct"}
                for q, s in (("q", "b"), ("r", "a"))
            ],
            {},
        ),
        (
            [
                {"query": "q", "item": "answer", "task": "correctness", "label": "correct", "by": by}
                for by in ("model", "human:a")
            ],
            {},
        ),
        ([{"item": "answer", "task": "correctness", "label": "correct"}], {}),
        (
            [
                {"query": "q", "item": "answer", "task": "tone", "label": "rude"},
                RUBRIC,
                RUBRIC | {"scale": {"rude": 1, "neutral": 2, "polite": 3}},
            ],
            {},
        ),
    ],
)
def test_errors_are_those_of_the_local_engine(spark: SparkSession, records: Records, options: dict[str, Any]) -> None:
    table = table_of(records)
    local = outcome(lambda: karat.evaluate_verdicts(table, **options))
    assert isinstance(local, tuple)
    assert outcome(lambda: evaluate_verdicts(frame(spark, table), buckets=3, **options)) == local


def test_labels_that_were_given_twice_need_an_order(spark: SparkSession) -> None:
    row = {"query": "q", "item": "answer", "task": "correctness", "by": "a-model"}
    table = table_of([{**row, "label": "correct"}, {**row, "label": "incorrect"}])
    shuffled = spark.createDataFrame(table.take([1, 0]))
    assert evaluate_verdicts(shuffled, order="at", buckets=1).means == {"Correctness": 0.0}
    with pytest.raises(karat.KaratError, match="more than once, and the last one counts, but rows have no order"):
        evaluate_verdicts(shuffled, buckets=1)


def test_an_error_names_the_query(spark: SparkSession) -> None:
    row = {"query": "q7", "item": "answer", "task": "correctness", "label": "correct"}
    table = table_of([{**row, "query": f"q{at}"} for at in range(5)] + [{**row, "label": "right"}])
    with pytest.raises(karat.KaratError) as error:
        evaluate_verdicts(frame(spark, table), buckets=2)
    assert str(error.value.place) == "the verdicts, query q7"


def test_the_error_of_a_call_that_names_a_query_is_found(spark: SparkSession) -> None:
    row = {"record": "verdict", "item": "answer", "by": "model"}
    failed = {**row, "task": "support", "against": "context", "state": "failed"}
    records = [{**row, "query": f"q{at}", "task": "correctness", "label": "correct"} for at in range(9)]
    records += [{**failed, "query": f"q{at}", "call": f"k{at}"} for at in range(9)]
    call = {"record": "call", "state": "failed", "error": "no reply"}
    records += [{**call, "query": f"q{8 - at}", "key": f"k{at}"} for at in range(9)]
    table = table_of(records)
    local = outcome(lambda: karat.evaluate_verdicts(table))
    assert "no reply" in str(local)
    assert outcome(lambda: evaluate_verdicts(frame(spark, table), buckets=3)) == local
