"""Runs in files: executors read ranges of them with karat's own readers, so that no row passes through Java."""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from karat.engines.spark.buckets import Buckets, CollectedBuckets
from karat.engines.spark.documents import scores_of_collected
from karat.engines.spark.executor_results import Collect, ExecutorResults
from karat.engines.spark.measures import PortablePlan
from karat.engines.spark.shipping import for_executors
from karat.engines.spark.worker import BucketResult, BucketWork, schema_text
from karat.errors import KaratError, NoSuchFileError, shown
from karat.evaluation.document_parts import (
    PartResult,
    RangeReport,
    judge_range,
    judge_rest,
    queries_in_several,
    queries_of_range,
)
from karat.evaluation.documents import EvaluationPlan
from karat.evaluation.reading import ReadingOptions, read_judgments
from karat.matching.matcher import Matcher
from karat.reading.bytes.file_ranges import FileRange, UnreadableFileError
from karat.reading.bytes.threads import limit_threads
from karat.reading.pairs.any_source import Truth
from karat.reading.pairs.places import Locate
from karat.reading.pairs.range_plan import RunRanges
from karat.reading.pairs.range_runs import NotGroupedError
from karat.scores import Scores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

_TASKS_PER_CORE = 3  # so that no core waits for long at the end
_INPUTS_PER_TASK = 8  # what a task returns is in the memory of Java at once
_SHARED = "Put it where all machines can read it, such as s3://bucket/folder, hdfs://host/folder or a shared disk."


class TruthFiles(NamedTuple):
    """Ground truth that executors read: where it is, and how it is read."""

    path: str
    files: tuple[FileRange, ...]
    inputs: ReadingOptions
    matcher: Matcher
    is_large: bool = False
    """whether a Python process of an executor should not keep all of it in memory"""

    def read(self, queries: Container[str] | None = None) -> Truth:
        """The ground truth of all queries, or of some; an error if it was changed since."""
        for file in self.files:
            file.check_version(self.path)
        truth = read_judgments(self.path, self.inputs, self.matcher, queries)
        pa.default_memory_pool().release_unused()  # or Arrow keeps the memory of what was read and left out
        return truth


class RangeToJudge(NamedTuple):
    """A range, and the queries that are left out because other ranges have rows of them, too."""

    at: FileRange
    apart: frozenset[str] = frozenset()


class RestToJudge(NamedTuple):
    """What is judged after all parts of a run, on the driver."""

    truth: Truth
    reports: Sequence[RangeReport]
    """of all parts, in their order"""
    name: str
    """of the run"""
    locate: Locate

    def judged(self, plan: EvaluationPlan) -> BucketResult:
        """The values of the queries that are whole in no part."""
        done = frozenset(query for report in self.reports for query in report.queries)
        loose = [report.loose for report in self.reports]
        return part_result(judge_rest(self.truth, done, loose, plan, self.name, self.locate))


@dataclass(frozen=True)
class RangeWork:
    """The evaluation of a range of a run, or of the rest."""

    truth: TruthFiles
    plan: PortablePlan
    name: str

    def __call__(self, part: RangeToJudge | RestToJudge) -> BucketResult:
        """The values of a range, in an executor; or of the rest, on the driver."""
        plan = self.plan.received()
        if isinstance(part, RestToJudge):
            return part.judged(plan)
        try:
            with in_executor():
                judged = judge_range(self._truth_for(part.at, plan), part.at, plan, self.name, part.apart)
        except NotGroupedError as reason:
            return BucketResult((), {str(each): np.empty(0) for each in plan.measures}, {"judged": ()}, None, reason)
        return part_result(judged.part, judged.report)

    def _truth_for(self, at: FileRange, plan: EvaluationPlan) -> Truth:
        """The ground truth that a range needs, in an executor."""
        if self.truth.is_large:
            return self.truth.read(queries_of_range(at, plan, self.name))
        from pyspark import cloudpickle

        # A function that matches documents can be pickled in no other way.
        return truth_in_executor(cloudpickle.dumps(self.truth), self.truth.read)


@contextmanager
def in_executor() -> Iterator[None]:
    """Work with files in an executor: it has one core, and may lack a file that the driver has."""
    limit_threads(1)  # the other cores have tasks of their own
    try:
        yield
    except NoSuchFileError as error:
        raise _from_executor(error, "does not find this file, which the driver has found") from None
    except UnreadableFileError as error:
        raise _from_executor(error, f"cannot read this file, which the driver has read: {error.reason}") from None


def _from_executor(error: KaratError, what: str) -> KaratError:
    """An error about a file that the driver has read, with the name of the machine that cannot read it."""
    return KaratError(f"an executor (on {platform.node()}) {what}", place=error.place, hint=_SHARED)


def number_of_tasks(session: SparkSession) -> int:
    """How many tasks keep all cores busy; a session of Spark Connect does not tell how many these are."""
    try:
        cores = int(session.sparkContext.defaultParallelism)
    except Exception:  # it differs between releases which one is raised
        cores = 8
    return _TASKS_PER_CORE * cores


def tasks(session: SparkSession, work: BucketWork, inputs: Mapping[int, Any]) -> DataFrame:
    """What executors return for the inputs of some work, each of which has a number.

    Inputs that follow each other are in one task, if there are more of them than keep all cores busy: Spark and Python
    need some hundredths of a second for each task. A task unpickles its own inputs only, as there may be many in all.
    """
    from pyspark import cloudpickle

    numbered = list(inputs.items())
    size = max(1, min(_INPUTS_PER_TASK, len(numbered) // number_of_tasks(session)))
    pickled = [cloudpickle.dumps(numbered[at : at + size]) for at in range(0, len(numbered), size)]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task in (task for batch in batches for task in batch.column(0).to_pylist()):
            for number, value in pickle.loads(pickled[task]):  # noqa: S301  # the driver sent it
                yield from work.run(number, value).to_batches()

    return session.range(0, len(pickled), 1, len(pickled)).mapInArrow(for_executors(run), schema_text())


def part_result(part: PartResult, report: RangeReport | None = None) -> BucketResult:
    """The result of a part of the queries, as executors return it."""
    return BucketResult(part.queries, part.values, part.digests, part.facts, report)


_read: dict[bytes, Any] = {}
"""the ground truth that this process has read, by what it was read from"""


def truth_in_executor(source: bytes, read: Callable[[], T]) -> T:
    """The ground truth, which a Python process of an executor reads once for all parts of a run."""
    if source not in _read:
        _read.clear()
        _read[source] = read()
    truth: T = _read[source]
    return truth


@dataclass(frozen=True)
class RangeEvaluation:
    """An evaluation of a run in ranges of files."""

    session: SparkSession
    truth: Truth
    truth_files: TruthFiles
    run: RunRanges
    plan: EvaluationPlan
    name: str

    def buckets(self, progress: bool) -> Buckets:
        """The work on all ranges, which is not done yet."""
        work = RangeWork(self.truth_files, PortablePlan.of(self.plan, self.truth_files.inputs), self.name)
        of_ranges = BucketWork(work, (), tuple(map(str, self.plan.measures)), ("judged",))
        return Buckets(self.session, of_ranges, self._results, lambda: [self._rest({})], progress)

    def scores(self, collected: CollectedBuckets) -> Scores:
        """The scores of all queries, which are those of a local evaluation."""
        return scores_of_collected(collected, self.plan, (_TruthSide(self.truth), self.run), self.name)

    def _results(self, work: BucketWork, collect: Collect) -> ExecutorResults:
        results, reports = self._judged(work, dict.fromkeys(range(len(self.run.ranges)), frozenset()), collect)
        try:
            several = queries_in_several(reports.values())
        except NotGroupedError:
            raise self._not_grouped() from None
        if several and self.run.has_lists:
            what = f"query {shown(min(several))} is listed twice"
            raise KaratError(what, place=self.run.name, hint="List all documents of a query together.")
        if several:
            apart = {number: several.intersection(report.queries) for number, report in reports.items()}
            affected = {number: queries for number, queries in apart.items() if queries}
            judged_again, others = self._judged(work, affected, collect)
            results = results.without(affected).with_results(judged_again)
            reports |= others
        return results.with_table(work.run(len(self.run.ranges), self._rest(reports)))

    def _not_grouped(self) -> ShuffleNeededError:
        return ShuffleNeededError(f"{self.run.name} turned out not to be grouped by query")

    def _rest(self, reports: Mapping[int, RangeReport]) -> RestToJudge:
        in_order = [reports[number] for number in sorted(reports)]
        return RestToJudge(self.truth, in_order, self.run.name, self.run.locate)

    def _judged(
        self, work: BucketWork, apart: Mapping[int, frozenset[str]], collect: Collect
    ) -> tuple[ExecutorResults, dict[int, RangeReport]]:
        """The results of some ranges without the queries that are apart, and their reports.

        The error of the first range that has one.
        """
        ranges = {number: RangeToJudge(self.run.ranges[number], queries) for number, queries in apart.items()}
        results = collect(tasks(self.session, work, ranges))
        reports = results.reports()
        if any(isinstance(report, NotGroupedError) for report in reports.values()):
            raise self._not_grouped()
        return results, reports


class ShuffleNeededError(Exception):
    """Spark has to bring the rows of each query together. The message says why."""


class RowsInSparkError(ShuffleNeededError):
    """Only Spark has the rows: it brings those of each query together, unless its partitions can be judged."""


class _TruthSide(NamedTuple):
    """Ground truth that was read."""

    truth: Truth
    name: str = "the ground truth"
    empty_error: None = None

    @property
    def notes(self) -> tuple[Any, ...]:
        return self.truth.notes
