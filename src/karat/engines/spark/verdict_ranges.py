"""Verdicts in files: executors read ranges of them with karat's own readers, so that records are in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from karat.engines.spark.buckets import Buckets
from karat.engines.spark.executor_results import Collect, ExecutorResults
from karat.engines.spark.measures import portable
from karat.engines.spark.planning import read_without_spark, say_ranges, say_rows, unreadable
from karat.engines.spark.ranges import ShuffleNeededError, in_executor, number_of_tasks, tasks
from karat.engines.spark.worker import BucketResult, BucketWork
from karat.evaluation.verdict_ranges import evaluate_ranges, plan_verdicts
from karat.options import Unknown
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.pairs.range_runs import NotGroupedError
from karat.registry.selection import Measures
from karat.scores import Scores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")


def scores_of_verdict_ranges(
    verdicts: Any,
    measures: Measures | None,
    system: str | None,
    author: str | None,
    unknown: Unknown,
    name: str,
    session: SparkSession,
    rows_needed_for: str | None,
    progress: bool,
) -> Scores | None:
    """The scores of verdict files in ranges; None if Spark has to read the rows.

    `rows_needed_for` is an argument that only rows in Spark can have, if it was given.
    """
    try:
        path, ranges = _planned(verdicts, session, rows_needed_for)
        say_ranges(path, ranges)
        return evaluate_ranges(
            path, ranges, partial(in_tasks, session, progress), measures, system=system, author=author,
            unknown=unknown, name=name, portable=portable,
        )  # fmt: skip
    except ShuffleNeededError as reason:
        say_rows(reason)
    except NotGroupedError:
        say_rows(f"{path} turned out not to be grouped by query")
    return None


def _planned(verdicts: Any, session: SparkSession, rows_needed_for: str | None) -> tuple[str, list[FileRange]]:
    if not isinstance(verdicts, str | os.PathLike):
        raise ShuffleNeededError("the verdicts are a DataFrame")
    if rows_needed_for is not None:
        raise ShuffleNeededError(f"{rows_needed_for}= was given")
    path = os.fsdecode(verdicts)
    if reason := unreadable(path):
        raise ShuffleNeededError(reason)
    with read_without_spark(session, path):
        ranges = plan_verdicts(path, number_of_tasks(session))
    if ranges is None:
        raise ShuffleNeededError(f"{path} is not in JSON lines")
    return path, ranges


@dataclass(frozen=True)
class _TaskWork:
    """Work in an executor of which only facts come back."""

    work: Callable[[Any], Any]

    def __call__(self, value: Any) -> BucketResult:
        with in_executor():
            return BucketResult((), {}, {}, self.work(value))


def in_tasks(
    session: SparkSession, progress: bool, work: Callable[[Any], Result], inputs: Sequence[Any]
) -> list[Result]:
    """What a function returns for each input, in executors."""
    of_tasks = BucketWork(_TaskWork(work), (), (), ())
    numbered = dict(enumerate(inputs))

    def results(work: BucketWork, collect: Collect) -> ExecutorResults:
        return collect(tasks(session, work, numbered))

    return Buckets(session, of_tasks, results, list, progress).collect().facts
