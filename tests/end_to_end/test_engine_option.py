"""`karat evaluate --engine spark`, as far as it needs no Spark: what it refuses, and what is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from karat.errors.installing import pip_install
from tests.end_to_end.in_process import run_here


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "run").write_text("q1 Q0 d1 1 0.5 bm25\n")
    (tmp_path / "log").write_text('{"query": "q1", "truth": ["d1"], "retrieved": ["d1"]}\n')
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("qrels run --master local[2]", "karat: --master is an option of Spark. Add --engine spark, or leave --master"),
        ("qrels run --order position", "karat: --order position is not an order of documents. Use --order score"),
        ("qrels run --per-query-path scores", "karat: --per-query-path is an option of Spark. Add --engine spark, or"),
        (
            "qrels run --engine spark --per-query-path scores --per-query",
            "karat: --per-query needs the scores of every query, and with --per-query-path they stay in the folder.",
        ),
        (
            "qrels run --engine spark --per-query-path scores --names asked",
            "karat: with --per-query-path, measures are",
        ),
        ("qrels run --engine spark --per-query-path scores --sort AP", "karat: --sort orders several runs, and"),
        ("qrels run --engine spark --per-query-path scores -o a.parquet", "karat: a.parquet: a Parquet file can"),
        ("qrels run run --engine spark --per-query-path scores", "karat: --per-query-path takes one run. Evaluate one"),
        ("qrels run --engine ray", "karat: --engine ray is not one of local, spark"),
        ("qrels run --engine spark --explain q1", "karat: --explain needs documents in this process, and on Spark"),
        ("qrels run --engine spark --bounds", "karat: --bounds needs documents in this process, and on Spark they"),
        (
            "qrels run --engine spark --by relevant",
            "karat: --by relevant needs documents in this process, and on Spark",
        ),
        ("qrels run --engine spark --report r.html", "karat: --report needs documents in this process, and on Spark"),
        ("qrels run --engine spark --field query=id", "karat: --field needs documents in this process, and on Spark"),
        ("qrels run --engine spark --verdicts run", "karat: --verdicts is not supported on Spark. Evaluate the run"),
        (
            "qrels run --order score",
            "karat: qrels: --order is about the lists of results, and runs are ranked by score. Leave it out.",
        ),
        ("qrels run --engine spark --lower-is-better latency", "karat: --lower-is-better is not supported on Spark."),
        ("qrels run --engine spark --corpus run", "karat: --corpus is not supported on Spark. Evaluate the run"),
        ("qrels --engine spark", "karat: qrels: this is read as ground truth, but no run was given. Add a run"),
        ("log --engine spark", "karat: log: results are not evaluated on Spark by this command. Leave --engine spark"),
        ("qrels - --engine spark", "karat: standard input cannot be read by Spark. Save it as a file."),
        ("qrels run --engine spark -m nDGC@10", "karat: unknown measure 'nDGC'. Did you mean nDCG"),
        ("qrels run --engine spark -m TokenF1", "karat: TokenF1 measures answers, not documents"),
    ],
)
def test_what_does_not_fit_the_engine_is_refused_before_spark_is_started(
    folder: Path, words: str, message: str
) -> None:
    done = run_here(folder, "evaluate", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message), done.stderr


def test_without_pyspark_the_error_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyspark", "pyspark.sql", "pandas"):
        monkeypatch.setitem(sys.modules, module, None)
    done = run_here(folder, "evaluate", "qrels", "run", "--engine", "spark")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("karat: Spark cannot be used: ")
    assert done.stderr.endswith(f"Run: {pip_install('spark')}\n")
    assert done.stderr.count("\n") == 1
