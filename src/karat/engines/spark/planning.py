"""How a run is read: in ranges, by executors that open its files themselves; or by Spark, in partitions or buckets."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import glob
from typing import TYPE_CHECKING, Any

from karat.engines.spark.documents import DocumentEvaluation
from karat.engines.spark.files import reject_table_formats
from karat.engines.spark.partitions import PartitionEvaluation, check_beginning
from karat.engines.spark.ranges import (
    RangeEvaluation,
    RowsInSparkError,
    ShuffleNeededError,
    TruthFiles,
    number_of_tasks,
)
from karat.engines.spark.session import quiet
from karat.engines.spark.stored import scores_of_buckets
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import ROW_ERROR
from karat.errors import KaratError, plural
from karat.errors.arguments import is_remote
from karat.evaluation.documents import EvaluationPlan, need_spans
from karat.reading.bytes.file_ranges import FileRange, FileVersion
from karat.reading.bytes.part_files import files_of_path, is_partitioned, part_files
from karat.reading.bytes.remote import local_path
from karat.reading.pairs.data_sets import is_data_set, qrels_of_split
from karat.reading.pairs.files import Reading
from karat.reading.pairs.range_plan import plan_ranges
from karat.scores import Scores, StoredScores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN = logging.getLogger("karat.spark")
"""says how a run is read, and why"""

_MOST_JUDGMENTS = 1 << 20  # in the memory of each Python process, where they take up to 100 MB
_MOST_BYTES = 1 << 26  # of texts
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def scores_of_ranges(
    truth: Any,
    run: Any,
    plan: EvaluationPlan,
    name: str,
    session: SparkSession,
    rows_needed_for: Mapping[str, Any],
    per_query_path: str | os.PathLike[str] | None,
    progress: bool,
) -> Scores | StoredScores:
    """The scores of a run in ranges of its files; a `ShuffleNeededError` if Spark has to read the rows.

    `rows_needed_for` are arguments that only rows in Spark can have, with their values.
    """
    evaluation = _in_ranges(truth, run, plan, name, session, rows_needed_for)
    say_ranges(evaluation.run.name, evaluation.run.ranges)
    return scores_of_buckets(evaluation.buckets(progress), evaluation.scores, per_query_path)


def scores_of_rows(
    rows: DocumentEvaluation,
    reason: ShuffleNeededError,
    buckets: int | None,
    per_query_path: str | os.PathLike[str] | None,
    progress: bool,
) -> Scores | StoredScores:
    """The scores of a run that Spark reads: in the partitions of a DataFrame, or after a shuffle.

    `reason` says why Spark reads the rows; it may be a reason to shuffle them, too.
    """
    try:
        if not isinstance(reason, RowsInSparkError):
            raise reason
        if per_query_path is not None:  # executors would write what may come from another computation of the rows
            raise ShuffleNeededError("per_query_path= was given")
        return _scores_of_partitions(rows, reason, progress)
    except ShuffleNeededError as error:
        say_rows(error)
    return scores_of_buckets(rows.buckets(buckets, progress), rows.scores, per_query_path)


def _scores_of_partitions(rows: DocumentEvaluation, reason: RowsInSparkError, progress: bool) -> Scores:
    """The scores of a run in the partitions of a DataFrame; a `ShuffleNeededError` if they cannot be judged."""
    rows.check()
    name = rows.run.name
    if rows.run.records or ROW_ERROR in rows.run.frame.columns:
        raise ShuffleNeededError(f"{name} is a text file")
    try:
        with quiet():
            _check_size(rows.truth)
            check_beginning(rows.run)
            evaluation = PartitionEvaluation(rows, rows.read_truth())
    except KaratError as error:  # which names the same place, whatever the order of rows is, after a shuffle
        raise ShuffleNeededError(str(error)) from None
    what = "%s: executors judge the partitions of the DataFrame, without a shuffle; Spark reads the rows, because %s"
    PLAN.info(what, name, reason)
    return evaluation.scores(evaluation.buckets(progress).collect())


def _check_size(truth: SparkTable) -> None:
    """A `ShuffleNeededError` if not all processes should have the whole ground truth in memory."""
    if truth.document_count > _MOST_JUDGMENTS or (not truth.has_short_rows and truth.byte_count > _MOST_BYTES):
        raise ShuffleNeededError(f"the ground truth has more than {_MOST_JUDGMENTS:,} judgments, or long texts")


def say_ranges(name: str, ranges: Sequence[FileRange]) -> None:
    """Log that executors read files in ranges."""
    what = "%s: executors read the files directly, in %s"
    PLAN.info(what, name, plural(len(ranges), "range"))


def say_rows(reason: object) -> None:
    """Log that Spark reads rows, and why."""
    PLAN.info("Spark reads the rows and shuffles them by query, because %s", reason)


def _in_ranges(
    truth: Any,
    run: Any,
    plan: EvaluationPlan,
    name: str,
    session: SparkSession,
    rows_needed_for: Mapping[str, Any],
) -> RangeEvaluation:
    """The evaluation of a run in ranges of its files, if karat can read them."""
    if reason := _shuffle_because(plan, rows_needed_for):
        raise ShuffleNeededError(reason)
    if reason := _rows_because(truth, run):
        raise RowsInSparkError(reason)
    paths = os.fsdecode(truth), os.fsdecode(run)
    with read_without_spark(session, *paths):
        return _planned(*paths, plan, name, session)


@contextmanager
def read_without_spark(session: SparkSession, *paths: str) -> Iterator[None]:
    """Planning that reads files itself. If karat cannot open remote files and Spark may, Spark has to read the rows."""
    try:
        yield
    except KaratError as error:
        is_about_content = error.place is not None and error.place.line is not None
        if is_about_content or not any(is_remote(path) and _may_open(session, path) for path in paths):
            raise
        # The settings of Spark may have other credentials.
        raise RowsInSparkError(f"karat cannot open the files itself ({error})") from None


def _may_open(session: SparkSession, path: str) -> bool:
    """Whether Spark has a file system for a remote path; a session of Spark Connect does not tell."""
    of_java = getattr(session, "_jsparkSession", None)
    if of_java is None:
        return True
    scheme, settings = path.partition("://")[0], of_java.sessionState().newHadoopConf()
    try:
        session._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, settings)
    except Exception:  # of Java
        return False
    return True


def _planned(truth: str, run: str, plan: EvaluationPlan, name: str, session: SparkSession) -> RangeEvaluation:
    inputs, matcher = plan.inputs, plan.matching.matcher
    if is_data_set(truth):
        truth = qrels_of_split(truth, None)
    truth_files = TruthFiles(truth, versions_of_files(truth), inputs, matcher)
    judgments = truth_files.read()
    truth_files = truth_files._replace(is_large=len(judgments.docs) > _MOST_JUDGMENTS)
    reading = Reading("score", inputs.run_columns, inputs.run_format)
    ranges = plan_ranges(run, reading, number_of_tasks(session))
    return RangeEvaluation(session, judgments, truth_files, ranges, plan, name)


def _shuffle_because(plan: EvaluationPlan, rows_needed_for: Mapping[str, Any]) -> str | None:
    """Why the rows of each query have to be brought together, whatever the sources are; None if they need not."""
    for argument, value in rows_needed_for.items():
        if value is not None:
            return f"{argument}= was given"
    return "measures of spans read whole documents" if need_spans(plan.measures) else None


def _rows_because(truth: Any, run: Any) -> str | None:
    """Why Spark has to read the rows; None if executors can open the files."""
    for side, source in (("ground truth", truth), ("run", run)):
        if not isinstance(source, str | os.PathLike):
            return f"the {side} is a DataFrame"
    for source in map(os.fsdecode, (truth, run)):
        if reason := unreadable(source):
            return reason
    return several_texts(os.fsdecode(truth))


def several_texts(truth: str) -> str | None:
    """That ground truth is in several text files, if it is: they are one table on Spark only."""
    if is_data_set(truth) or files_of_path(local_path(truth)) is None or part_files(truth) is not None:
        return None
    return "the ground truth is in several text files"


def unreadable(path: str) -> str | None:
    """Why karat cannot read the files of a path without Spark; None if it can."""
    reject_table_formats(path)
    local = local_path(path)
    if is_remote(local):
        return None
    if os.path.isdir(local) and is_partitioned(local):
        return f"{path} is partitioned, and the names of its folders are columns"
    if os.path.exists(local) or glob(local, recursive=True):
        return None
    return f"only Spark can open {path}" if _SCHEME.match(path) else f"{path} is not on this machine"


def versions_of_files(path: str) -> tuple[FileRange, ...]:
    """The files of a path as they are now."""
    paths = files_of_path(local_path(path)) or [path]
    return tuple(FileRange(each, FileVersion.of(each)) for each in paths)
