"""`karat evaluate --engine spark`: it prints what a local evaluation prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from karat import Scores
from tests.end_to_end.in_process import run_here
from tests.spark.test_documents import PAIRS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    golds, found = PAIRS
    # Tables on Spark have no order of rows: queries are in that of their ids.
    pq.write_table(golds.sort_by("query").rename_columns(["qid", "doc", "grade"]), tmp_path / "truth.parquet")
    pq.write_table(found, tmp_path / "bm25.parquet")
    pq.write_table(found.slice(20), tmp_path / "dense.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        ["--format", "json", "-m", "map", "--per-query", "--ci", "--sort", "map"],
        ["--column", "truth.query=qid", "--missing", "skip"],
    ],
)
def test_runs_on_spark_are_printed_as_locally(folder: Path, spark: SparkSession, options: list[str]) -> None:
    # Java was started in another folder, so paths are absolute.
    words: list[str | Path] = [
        "evaluate",
        *(folder / f"{name}.parquet" for name in ("truth", "bm25", "dense")),
        *options,
    ]
    locally, found = run_here(folder, *words), run_here(folder, *words, "--engine", "spark")
    assert (found.returncode, found.stderr) == (0, locally.stderr)
    assert found.stdout == locally.stdout


def test_an_error_on_spark_is_one_line_and_status_2_as_locally(folder: Path, spark: SparkSession) -> None:
    run = folder / "wrong.trec"
    run.write_text("q1 Q0 d1 1 2 tag\nq1 Q0 d2 2 high tag\n")
    words: list[str | Path] = ["evaluate", folder / "truth.parquet", run]
    locally, done = run_here(folder, *words), run_here(folder, *words, "--engine", "spark")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == locally.stderr
    assert done.stderr.startswith(f"karat: {run}:2: score 'high' is not a number. ")


def test_verbose_says_how_the_run_is_read_and_why(folder: Path, spark: SparkSession) -> None:
    run = folder / "bm25.parquet"
    words: list[str | Path] = ["evaluate", folder / "truth.parquet", run, "--engine", "spark", "-v"]
    assert run_here(folder, *words).stderr == (f"karat: {run}: executors read the files directly, in 1 range\n")
    assert run_here(folder, *words, "--order", "score").stderr == (
        "karat: Spark reads the rows and shuffles them by query, because order= was given\n"
    )
    done = run_here(folder, "evaluate", folder / "truth.parquet", run, "-v")
    assert (done.returncode, done.stderr) == (
        2, "karat: --verbose is an option of Spark. Add --engine spark, or leave --verbose out.\n",
    )  # fmt: skip


def test_labels_alone_are_not_taken_for_ground_truth_without_a_run(folder: Path, spark: SparkSession) -> None:
    labels = folder / "labels.jsonl"
    labels.write_text('{"record": "verdict", "query": "q1", "task": "faithfulness", "label": "supported"}\n')
    done = run_here(folder, "evaluate", labels, "--engine", "spark")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{labels}: labels are not evaluated on Spark by this command. Leave --engine spark out; " in done.stderr
    done = run_here(folder, "evaluate", folder / "truth.parquet", "--engine", "spark")
    assert "this is read as ground truth, but no run was given. Add a run after it. Results, " in done.stderr


def test_scores_that_executors_write_to_a_folder_are_printed_without_those_of_queries(
    folder: Path, spark: SparkSession
) -> None:
    words: list[str | Path] = [
        "evaluate",
        folder / "truth.parquet",
        folder / "bm25.parquet",
        "-m",
        "AP",
        "-m",
        "NumRet",
    ]
    locally = json.loads(run_here(folder, *words, "--format", "json").stdout)
    words += ["--engine", "spark", "--per-query-path"]
    table = run_here(folder, *words, folder / "one", "--ci")
    assert table.returncode == 0, table.stderr
    assert "20 queries, with 95% confidence intervals\nnote" in table.stdout
    as_json = json.loads(run_here(folder, *words, folder / "two", "--format", "json").stdout)
    assert as_json["means"] == locally["means"]
    assert as_json == json.loads((folder / "two" / "_karat.json").read_text())
    as_csv = run_here(folder, *words, folder / "three", "--format", "csv", "--ci")
    assert as_csv.stdout.startswith("run,AP,NumRet,AP low,AP high,NumRet low,NumRet high\nbm25,")
    assert as_csv.stderr.startswith("20 queries, with 95% confidence intervals\nnote")
    assert Scores.load(folder / "two").means == locally["means"]
    again = run_here(folder, *words, folder / "one")
    assert (again.returncode, again.stdout) == (2, "")
    assert "this folder exists already" in again.stderr


def test_without_java_the_command_says_what_to_install(folder: Path, tmp_path: Path) -> None:
    words: list[str | Path] = [
        "evaluate",
        folder / "truth.parquet",
        folder / "bm25.parquet",
        "--engine",
        "spark",
        "--master",
        "local",
    ]
    (tmp_path / "empty").mkdir()
    done = run_here(folder, *words, environment={"JAVA_HOME": str(tmp_path / "empty")})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"karat: Spark: JAVA_HOME is {tmp_path / 'empty'}, which contains no Java."
        " Spark needs Java 17 or newer: install it, or set JAVA_HOME.\n"
    )


def test_master_and_python_of_the_configuration_are_used(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[3]\nspark.pyspark.python /opt/python\n")
    code = "from karat.engines.spark.session import spark_session as session"
    code += "\nwith session() as found: print(found.sparkContext.master, found.sparkContext.pythonExec)"
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("local[3] /opt/python\n", "")
