"""Answers on Spark: the scores, findings and errors are those of the local engine."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.engines.spark import evaluate_answers
from karat.registry.registry import definitions
from tests.spark.local_comparison import outcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEASURES = [each.name for each in definitions() if each.takes == "answers" and each.name != "SAS"]
DEMO = Path(karat.__file__).parent / "cli" / "demo_data" / "generated.jsonl"


def frame(spark: SparkSession, table: pa.Table, seed: int = 0) -> DataFrame:
    """A DataFrame with the rows of a table in another order, in several partitions."""
    rows = list(range(len(table)))
    Random(seed).shuffle(rows)
    return spark.createDataFrame(table.take(pa.array(rows, pa.int64()))).repartition(3)


def demo() -> tuple[pa.Table, pa.Table]:
    records = [json.loads(line) for line in DEMO.read_text().splitlines()]
    golds = pa.table({name: [each.get(name) for each in records] for name in ("query", "gold_answers")})
    return golds, pa.table({name: [each.get(name) for each in records] for name in ("query", "answer")})


def random_answers(seed: int) -> tuple[pa.Table, pa.Table]:
    """Gold and predicted answers, of which some are missing, null, empty or about other questions."""
    random = Random(seed)
    texts = ["", "the gold", "a gold ring", "Paris, France", "13", "née Müller", "13 rings of gold"]
    golds = [(f"q{random.randrange(40)}", random.choice([None, *texts])) for _ in range(60)]
    predicted = [(f"q{at}", random.choice([None, *texts])) for at in random.sample(range(50), 35)]
    columns = [pa.array([each[at] for each in golds], pa.string()) for at in (0, 1)]
    others = [pa.array([each[at] for each in predicted], pa.string()) for at in (0, 1)]
    return pa.table(columns, ["query", "answer"]), pa.table(others, ["id", "prediction"])


@pytest.mark.parametrize(("buckets", "missing"), [(1, "zero"), (2, "skip"), (7, "zero")])
def test_scores_are_those_of_the_local_engine(spark: SparkSession, buckets: int, missing: Any) -> None:
    golds, predicted = random_answers(buckets)
    local = outcome(lambda: karat.evaluate_answers(golds, predicted, MEASURES, missing=missing, name="a system"))
    frames = frame(spark, golds, buckets), frame(spark, predicted, buckets)
    on_spark = outcome(lambda: evaluate_answers(*frames, MEASURES, missing=missing, name="a system", buckets=buckets))
    assert on_spark == local
    assert len(local["findings"]) == 3  # a guessed name, missing and unknown questions


def test_scores_of_the_demo_are_those_of_the_local_engine(spark: SparkSession, tmp_path: Path) -> None:
    golds, predicted = demo()
    local = outcome(lambda: karat.evaluate_answers(golds, predicted))
    assert outcome(lambda: evaluate_answers(frame(spark, golds), frame(spark, predicted), buckets=3)) == local
    for name, table in (("golds", golds), ("predicted", predicted)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    paths = str(tmp_path / "golds.parquet"), tmp_path / "predicted.parquet"
    assert outcome(lambda: evaluate_answers(*paths, session=spark)) == local
    assert outcome(lambda: evaluate_answers(DEMO, str(DEMO), session=spark, buckets=2)) == local


def test_scores_of_questions_are_written_by_executors(spark: SparkSession, tmp_path: Path) -> None:
    golds, predicted = random_answers(5)
    local = karat.evaluate_answers(golds, predicted, missing="skip")
    frames = frame(spark, golds), frame(spark, predicted)
    stored = evaluate_answers(*frames, missing="skip", buckets=3, per_query_path=tmp_path / "scores")
    assert (stored.means, stored.findings) == (local.means, local.findings)
    assert outcome(stored.load) == outcome(lambda: local) | {"asked": {}}  # which are not saved


@pytest.mark.parametrize(
    ("golds", "predicted", "options"),
    [
        ({"query": ["a", "b"], "answer": ["x", "y"]}, {"query": ["c", "d"], "answer": ["x", "y"]}, {}),
        ({"query": ["a", "b"], "answer": ["x", "y"]}, {"query": ["a"], "answer": [None]}, {"missing": "skip"}),
        ({"query": ["a"], "answer": [None]}, {"query": ["a"], "answer": ["x"]}, {}),
        ({"query": [], "answer": []}, {"query": ["a"], "answer": ["x"]}, {}),
        ({"query": ["a"], "text": ["x"]}, {"query": ["a"], "answer": ["x"]}, {}),
        ({"query": ["a"], "answer": ["x"]}, {"query": ["a"], "answer": ["x"]}, {"fields": {"answer": "reply"}}),
        ({"query": ["a"], "answer": ["x"]}, {"query": ["a"], "answer": ["x"]}, {"fields": {"reply": "answer"}}),
        ({"query": ["a"], "answer": ["x"]}, {"query": ["a"], "answer": ["x"]}, {"measures": "AP"}),
    ],
)
def test_errors_are_those_of_the_local_engine(
    spark: SparkSession, golds: dict[str, Any], predicted: dict[str, Any], options: dict[str, Any]
) -> None:
    tables = [
        pa.table({name: pa.array(values, pa.string()) for name, values in each.items()}) for each in (golds, predicted)
    ]
    found = outcome(lambda: karat.evaluate_answers(*tables, **options))
    assert isinstance(found, tuple)
    on_spark = outcome(lambda: evaluate_answers(*(frame(spark, each) for each in tables), buckets=2, **options))
    assert on_spark == found


def test_lists_written_as_text_are_texts_if_another_bucket_has_other_texts(spark: SparkSession) -> None:
    golds = pa.table({"query": [f"q{at}" for at in range(9)], "answer": ["['x']"] * 8 + ["x"]})
    predicted = pa.table({"query": ["q1", "q8"], "answer": ["['x']", "x"]})
    local = outcome(lambda: karat.evaluate_answers(golds, predicted, "EM"))
    assert outcome(lambda: evaluate_answers(frame(spark, golds), frame(spark, predicted), "EM", buckets=9)) == local
    assert local["means"] == {"EM": 2 / 9}


def test_an_error_names_the_question(spark: SparkSession) -> None:
    golds = pa.table({"query": ["q1", "q2"], "answer": ["x", "y"]})
    twice = pa.table({"query": ["q1", "q2", "q2"], "answer": ["x", "y", "z"]})
    with pytest.raises(karat.KaratError) as error:
        evaluate_answers(frame(spark, golds), frame(spark, twice), buckets=2)
    assert (error.value.what, str(error.value.place)) == (
        "question 'q2' was already in another row",
        "the predictions, query q2",
    )


def test_a_measure_of_ones_own_is_sent_to_the_executors(spark: SparkSession) -> None:
    @karat.register(takes="answers", name="AnswerLength")
    def answer_length(answers):  # type: ignore[no-untyped-def]
        """The length of the predicted answer."""
        return answers.best([float(len(text)) for text in answers.pairs.predictions])

    golds, predicted = random_answers(0)
    local = outcome(lambda: karat.evaluate_answers(golds, predicted, answer_length))
    frames = frame(spark, golds), frame(spark, predicted)
    assert outcome(lambda: evaluate_answers(*frames, answer_length, buckets=2)) == local
