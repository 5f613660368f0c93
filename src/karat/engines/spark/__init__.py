"""The evaluation of large data on Spark: the same functions as locally, applied to parts of the data.

This folder brings data to the path and values back; it computes no scores. On a cluster, no process sees the whole
run, so an evaluation has two halves, locally too:

- Judging reads the ground truth and the documents of some queries and returns their values, the digests of their
  ground truth, and facts: how many queries have no results, which are unknown, how many documents are unjudged, which
  notes the readers made.
- Putting together makes `Scores` of the values, and checks and findings of the facts. Facts can be merged, in any
  grouping and order.

Locally there is one part, and on Spark there are many. So both engines have the same findings and the same errors
without a second definition. For labels, more depends on all records: each part guesses it, and is evaluated again if it
guessed wrong; results are read in this way, too. There are three kinds of parts:

- Ranges of files. Executors open the files themselves, and read their ranges with the readers of the local engine: no
  row passes through Java, and nothing is shuffled. The rows of queries at the borders of ranges come to the driver,
  which judges them together (`evaluation.document_parts` for runs, `evaluation.verdict_ranges` for verdict files). A
  question is in one range of predicted answers (`evaluation.answer_parts`) or of results (`evaluation.result_ranges`),
  or that is an error. None of the four knows an engine.
- Partitions of DataFrames, and of files that only Spark can open: Spark sends the rows to Python as they are, and
  nothing is shuffled. They are judged in chunks, as ranges are (`evaluation.document_parts`). There is one pass: if it
  shows that a query is in several chunks, or that there is an error, buckets are the way.
- Buckets of queries: rows that are not grouped by query, and answers or labels that Spark reads. It brings all rows of
  a query together.

    planning     ranges, partitions or buckets, and why
    ranges       ranges of files to executors, and what they report
    partitions   chunks of the partitions of a DataFrame, and what they report
    inputs       which columns of a DataFrame or of files are read, decided by the functions in `reading`, from the
                 schema and the first lines; text, which karat's readers parse in executors
    transport    buckets of queries to executors as Arrow tables, values of queries back as Arrow streams: the driver,
                 an executor, functions and errors on their way, rows in errors that become queries
    evaluation   the work on a bucket, and the scores of all parts
    results      in a folder, written by executors; only exact sums come to the driver

All rows of a query are in the same bucket, which a hash of its id decides on. They are not sorted: executors pack the
rows of each bucket into Arrow streams, which Spark moves as values, with a partition for each bucket (`packing` in
executors, `shuffle` on the driver). Rows arrive in any order, and a task may run twice; neither may change a digit.
Values do not depend on the order of rows, sums are exact, facts are merged in the order of buckets, and queries are in
the order of their ids.

- A `KaratError` comes back as data, and the driver raises that of the first bucket: Spark would try the task again,
  and print a trace of Java. Any other exception is left to Spark, which repeats the task.
- If there is an error, the rows are sorted and read again, so that it is always the same error; it names the query
  instead of the number of a row.
- Functions are sent to executors by value, in a wrapper that needs nothing of karat and first compares versions.
- If the Python of an executor cannot do the work, the error names it. Where pyspark fails before it calls a function of
  karat, another task asks: Java runs that Python as a program.

If Spark writes the scores of queries to a folder, their means and intervals come from `stats.Moments`: for each bucket
the number of values, their sum and the sum of their squares, without rounding errors, as a few floats each. Added in
any grouping, they give the mean that `math.fsum` gives for all values, to the last bit. The intervals of measures with
a range need nothing else. Those of the others are mean ± t · standard error, because a bootstrap would need the
values. The folder is a saved Parquet file in parts; what such a file has in its metadata is in a JSON file, which is
written last.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Unpack, overload

from karat.engines.spark.answers import evaluate_answers
from karat.engines.spark.results import evaluate_results
from karat.engines.spark.verdicts import evaluate_verdicts
from karat.errors import Message, Parameter, require
from karat.errors.arguments import check_switch, check_text
from karat.evaluation.documents import EvaluationPlan, need_pool
from karat.evaluation.reading import CorpusMatcher, EvaluationOptions, ReadingOptions, check_corpus, check_reading
from karat.matching.matcher import Matcher
from karat.matching.matchers import Match, matcher_of
from karat.options import complete_options
from karat.registry.selection import DEFAULT_MEASURES, Measures, Selection, select_measures
from karat.scores import Scores, StoredScores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from karat.engines.spark.documents import DocumentEvaluation

__all__ = ["evaluate", "evaluate_answers", "evaluate_results", "evaluate_verdicts"]


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
    author: str | None
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
    author: str | None = None,
    buckets: int | None = None,
    per_query_path: str | os.PathLike[str] | None = None,
    session: SparkSession | None = None,
    progress: bool = False,
    name: str = "",
    **options: Unpack[EvaluationOptions],
) -> Scores | StoredScores:
    """Evaluate a run against ground truth on Spark: the scores are those of `karat.evaluate`, to the last bit.

    `truth` and `run` are each a DataFrame with a row per document, or with a row per query and its documents in an
    array; or a path: TREC, CSV, TSV, JSON lines or Parquet, a file, a folder or a pattern. Executors read files
    themselves, if they can, and otherwise Spark reads the rows. Queries are in the order of their ids. The other
    arguments are those of `karat.evaluate` but `split`; `verdicts` and `author` are refused. These differ, or are new:

    - `order`: a column of the run that gives the order of its rows, which `ties="input"` needs if Spark reads them.
    - `truth_order`: the same for ground truth. If Spark reads the rows, and without it, a document that matches several
      judged documents of the same grade is credited with the first of them by id; with a corpus, by text.
    - `corpus`: a DataFrame or Parquet files with ids and texts; ground truth and run then have a row per document.
    - `buckets`: of queries, into which Spark shuffles the rows; by default, rows that are grouped by query are not
      shuffled, and others into so many buckets that each has about a million rows.
    - `per_query_path`: a new folder that the scores of every query are written to, from the executors. The result is
      then a `StoredScores`: the means and their intervals; its `load()` reads the folder.
    - `session`: the Spark session; by default that of the DataFrames, the active one, or a new local one.
    - `progress`: whether a terminal shows how many tasks are done.

    >>> pairs = spark.createDataFrame([("q1", "d1", 1)], "query string, doc string, grade int")
    >>> evaluate(pairs, pairs.withColumnRenamed("grade", "score"), "RR").means
    {'RR': 1.0}
    """
    inputs = ReadingOptions(truth_columns, run_columns, truth_format, run_format)
    plan = _plan(measures, complete_options(options), inputs, corpus is not None)
    show_progress = check_switch("progress", progress)
    _check(plan.measures, verdicts, author, name=name, order=order, truth_order=truth_order)
    from karat.engines.spark.session import spark_session

    with spark_session(session, truth, run) as spark, ExitStack() as stack:
        from karat.engines.spark.planning import scores_of_ranges, scores_of_rows
        from karat.engines.spark.ranges import ShuffleNeededError

        rows_needed_for = {"order": order, "truth_order": truth_order, "corpus": corpus, "buckets": buckets}
        try:
            return scores_of_ranges(truth, run, plan, name, spark, rows_needed_for, per_query_path, show_progress)
        except ShuffleNeededError as error:
            reason = error
        evaluation = _of_rows(truth, run, truth_order, order, plan, name, corpus, spark, stack)
        return scores_of_rows(evaluation, reason, buckets, per_query_path, show_progress)


def _of_rows(
    truth: Any,
    run: Any,
    truth_order: str | None,
    order: str | None,
    plan: EvaluationPlan,
    name: str,
    corpus: Any,
    session: SparkSession,
    stack: ExitStack,
) -> DocumentEvaluation:
    """The evaluation of rows that Spark reads, with the texts of a corpus, if there is one."""
    from karat.engines.spark.documents import DocumentEvaluation
    from karat.engines.spark.inputs import spark_table

    inputs = plan.inputs
    judgments = spark_table(truth, "truth", inputs.truth_columns, inputs.truth_format, "", session, truth_order)
    retrieved = spark_table(run, "run", inputs.run_columns, inputs.run_format, name, session, order)
    if corpus is None:
        return DocumentEvaluation(judgments, retrieved, plan, name)
    from karat.engines.spark.corpus import read_corpus

    joined = stack.enter_context(read_corpus(corpus, session).joined(judgments, retrieved))
    return DocumentEvaluation(joined.truth, joined.run, plan, name, joined)


def _check(measures: Selection, verdicts: Any, author: str | None, **texts: str | None) -> None:
    """Reject what is not a text, and what `karat.evaluate` can do, but an evaluation on Spark cannot."""
    for option, text in texts.items():
        if text is not None or option == "name":
            check_text(option, text)
    what = "Hole depends on the judged documents of other queries, and is not supported on Spark"
    require(not need_pool(measures), what, "Use Unjudged@k, or karat.evaluate.")
    unsupported: Message = [Parameter("verdicts"), " and ", Parameter("author"), " are not supported on Spark"]
    hint = "Join the grades with the ground truth, and pass the result; or use karat.evaluate."
    require(verdicts is None and author is None, unsupported, hint)


def _plan(measures: Measures, settings: Mapping[str, Any], inputs: ReadingOptions, has_corpus: bool) -> EvaluationPlan:
    selected = select_measures(measures, settings["rel"])
    check_reading(inputs, None)
    return EvaluationPlan(selected, settings, CorpusMatcher(_matcher(settings["match"], has_corpus)), inputs)


def _matcher(match: Match, has_corpus: bool) -> Matcher:
    """What counts as a hit; with a corpus, documents are matched by its texts, which each bucket brings."""
    matcher = matcher_of(match)
    if not has_corpus:
        return matcher
    check_corpus(matcher)
    return matcher.with_texts({})
