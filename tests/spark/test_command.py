"""`karat evaluate --engine spark`: it prints what a local evaluation prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

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


def test_an_error_on_spark_is_one_line_and_status_2(folder: Path, spark: SparkSession) -> None:
    run = folder / "bm25.parquet"
    done = run_here(folder, "evaluate", folder / "truth.parquet", run, "--engine", "spark", "--ties", "input")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f'karat: {run}: the rows of a table on Spark have no order, which ties="input" needs.'
        " Name a column that gives the order: order= (--order). Or use another value of ties.\n"
    )
