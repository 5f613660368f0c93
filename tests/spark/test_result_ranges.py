"""Results on Spark: executors read ranges of files, and every score, finding and error is the local one."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import karat
from karat.engines.spark import evaluate_results
from tests.random_logs import random_log
from tests.spark.local_comparison import outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEMO = Path(karat.__file__).parent / "cli" / "demo_data"


def same_as_local(path: Path, spark: SparkSession, measures: Any = None, **options: Any) -> Any:
    """What both engines return, or the error of both."""
    on_spark = outcome(lambda: evaluate_results(path, measures, session=spark, **options))
    assert on_spark == outcome(lambda: karat.evaluate_results(path, measures, **options))
    return on_spark


@pytest.mark.parametrize("name", ["generated.jsonl", "results.jsonl"])
def test_scores_of_the_demo_are_those_of_the_local_engine(
    spark: SparkSession, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="karat.spark")
    assert same_as_local(DEMO / name, spark)["values"]
    assert "executors read the files directly, in 6 ranges" in caplog.text
    same_as_local(DEMO / name, spark, ["nDCG@10", "AP", "TokenF1"], match="chunk", missing="skip", name="a system")


@pytest.mark.parametrize("seed", range(6))
def test_random_logs_have_the_scores_and_errors_of_the_local_engine(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(random_log(Random(seed), with_faults=seed % 2 == 1))
    same_as_local(path, spark)


def test_an_error_has_the_line_in_the_whole_file(spark: SparkSession, tmp_path: Path) -> None:
    lines = [json.dumps({"query": f"q{at}", "truth": ["a"], "retrieved": ["a"]}) for at in range(30)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, json.dumps({"query": "q30", "truth": 3, "retrieved": ["a"]})]))
    with pytest.raises(karat.KaratError) as error:
        evaluate_results(path, session=spark)
    assert str(error.value.place) == f"{path}:31, truth"
    assert isinstance(same_as_local(path, spark), tuple)


def test_a_measure_of_ones_own_is_sent_to_the_executors(spark: SparkSession) -> None:
    @karat.register(takes="answers", name="LengthOfAnswer")
    def length_of_answer(answers):  # type: ignore[no-untyped-def]
        """The length of the predicted answer."""
        return answers.best([float(len(text)) for text in answers.pairs.predictions])

    same_as_local(DEMO / "generated.jsonl", spark, "LengthOfAnswer")
    same_as_local(DEMO / "generated.jsonl", spark, length_of_answer)


def test_what_cannot_be_read_in_ranges_is_an_error_that_says_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("q1", "a")], ["query", "answer"])
    with pytest.raises(karat.KaratError, match=r"is not the path of any. Write it to files, with frame.write.json"):
        evaluate_results(frame)
    with pytest.raises(karat.KaratError, match=r"results are read by karat itself, and .* is not on this machine"):
        evaluate_results(tmp_path / "missing.jsonl", session=spark)
    with pytest.raises(karat.KaratError, match=r"unknown measure 'nope'"):
        evaluate_results(DEMO / "generated.jsonl", "nope", session=spark)
    with pytest.raises(karat.KaratError, match=r"input_format='jsnl' is not a format"):
        evaluate_results(DEMO / "generated.jsonl", input_format="jsnl", session=spark)
