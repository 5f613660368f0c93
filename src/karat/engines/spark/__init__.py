"""The evaluation of large data on Spark: the same functions as locally, applied to buckets of queries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Unpack, overload

from karat.engines.spark.answers import evaluate_answers
from karat.engines.spark.verdicts import evaluate_verdicts
from karat.errors import Parameter, require
from karat.errors.arguments import check_switch, check_text
from karat.evaluation.corpus import CorpusMatcher, check_corpus
from karat.evaluation.documents import need_pool
from karat.evaluation.reading import EvaluationOptions, ReadingOptions, check_reading
from karat.matching.matchers import matcher_of
from karat.options import AUTHOR, complete_options
from karat.registry.selection import DEFAULT_MEASURES, Measures, select_measures
from karat.scores import Scores, StoredScores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["evaluate", "evaluate_answers", "evaluate_verdicts"]


class SparkOptions(EvaluationOptions, total=False):
    """The options of `evaluate`, besides those of every evaluation."""

    truth_columns: Mapping[str, str] | None
    run_columns: Mapping[str, str] | None
    truth_format: str | None
    run_format: str | None
    order: str | None
    truth_order: str | None
    corpus: Any
    verdicts: Any
    by: str | None
    buckets: int | None
    session: SparkSession | None
    progress: bool
    name: str


@overload
def evaluate(
    truth: DataFrame | str | os.PathLike[str],
    run: DataFrame | str | os.PathLike[str],
    measures: Measures = DEFAULT_MEASURES,
    *,
    per_query_path: None = None,
    **options: Unpack[SparkOptions],
) -> Scores: ...


@overload
def evaluate(
    truth: DataFrame | str | os.PathLike[str],
    run: DataFrame | str | os.PathLike[str],
    measures: Measures = DEFAULT_MEASURES,
    *,
    per_query_path: str | os.PathLike[str],
    **options: Unpack[SparkOptions],
) -> StoredScores: ...


def evaluate(
    truth: DataFrame | str | os.PathLike[str],
    run: DataFrame | str | os.PathLike[str],
    measures: Measures = DEFAULT_MEASURES,
    *,
    truth_columns: Mapping[str, str] | None = None,
    run_columns: Mapping[str, str] | None = None,
    truth_format: str | None = None,
    run_format: str | None = None,
    order: str | None = None,
    truth_order: str | None = None,
    corpus: DataFrame | str | os.PathLike[str] | None = None,
    verdicts: Any = None,
    by: str | None = None,
    buckets: int | None = None,
    per_query_path: str | os.PathLike[str] | None = None,
    session: SparkSession | None = None,
    progress: bool = False,
    name: str = "",
    **options: Unpack[EvaluationOptions],
) -> Scores | StoredScores:
    """Evaluate a run against ground truth on Spark: the scores are those of `karat.evaluate`, to the last bit.

    `truth` and `run` are each a DataFrame with a row per document, or with a row per query and its documents in an
    array; or a path that Spark reads: TREC, CSV, TSV, JSON lines or Parquet, a file or a folder. The queries of the
    result are in the order of their ids. The other arguments are those of `karat.evaluate` but `split`; `verdicts` and
    `by` are refused. These differ, or are new:

    - `order`: a column of the run that gives the order of its rows, which `ties="input"` needs.
    - `truth_order`: a column of the ground truth that gives the order of its rows. Without it, a document that matches
      several judged documents of the same grade is credited with the first of them by id; with a corpus, by text.
    - `corpus`: a DataFrame with the ids and texts of documents, or Parquet files. Ground truth and run then have a row
      per document.
    - `buckets`: the number of buckets of queries; by default so many that each has about a million rows.
    - `per_query_path`: a new folder that the scores of every query are written to, from the executors. The result is
      then a `StoredScores`: the means and their intervals; its `load()` reads the folder.
    - `session`: the Spark session; by default that of the DataFrames, the active one, or a new local one.
    - `progress`: whether a terminal shows how many tasks are done.
    """
    settings = complete_options(options)
    selected = select_measures(measures, settings["rel"])
    check_text("name", name)
    check_reading(ReadingOptions(truth_columns, run_columns, truth_format, run_format), None)
    for option, column in (("order", order), ("truth_order", truth_order)):
        if column is not None:
            check_text(option, column)
    show_progress = check_switch("progress", progress)
    what = "Hole depends on the judged documents of other queries, and is not supported on Spark"
    require(not need_pool(selected), what, "Use Unjudged@k, or karat.evaluate.")
    hint = "Join the grades with the ground truth, and pass the result; or use karat.evaluate."
    require(
        verdicts is None and by is None, [Parameter("verdicts"), " and ", AUTHOR, " are not supported on Spark"], hint
    )
    matching = CorpusMatcher(matcher_of(settings["match"]))
    if corpus is not None:
        check_corpus(matching.matcher)
        matching = CorpusMatcher(matching.matcher.with_texts({}))

    from karat.engines.spark.session import spark_session

    with spark_session(session, truth, run) as spark, ExitStack() as stack:
        from karat.engines.spark.corpus import read_corpus
        from karat.engines.spark.documents import DocumentEvaluation
        from karat.engines.spark.inputs import spark_table
        from karat.engines.spark.stored import scores_of_buckets

        judgments = spark_table(truth, "truth", truth_columns, truth_format, session=spark, order=truth_order)
        retrieved = spark_table(run, "run", run_columns, run_format, name, spark, order)
        joined = None
        if corpus is not None:
            joined = stack.enter_context(read_corpus(corpus, spark).joined(judgments, retrieved))
            judgments, retrieved = joined.truth, joined.run
        evaluation = DocumentEvaluation(judgments, retrieved, selected, settings, matching, name, joined)
        work = evaluation.buckets(buckets, show_progress)
        return scores_of_buckets(work, evaluation.scores, per_query_path)
