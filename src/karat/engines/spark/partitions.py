"""Runs in DataFrames: executors judge the rows of each partition where they are, if they are grouped by query.

A task reads the rows of its partition once, in chunks. A chunk is what a range is of a file: whole queries are judged,
and the rows of those at the borders of partitions come to the driver. Spark may compute a partition again, with its
rows in another order, so everything has to come from one job. If a query turns out to be in several chunks, or if there
is any error in the rows, all of them are shuffled instead: then each error is the one that it always is.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from karat.engines.spark.buckets import Buckets, CollectedBuckets
from karat.engines.spark.chunks import Chunking, RowChunk
from karat.engines.spark.documents import DocumentEvaluation
from karat.engines.spark.executor_results import Collect, ExecutorResults
from karat.engines.spark.measures import PortablePlan
from karat.engines.spark.ranges import RestToJudge, ShuffleNeededError, part_result, truth_in_executor
from karat.engines.spark.shipping import failure, for_executors
from karat.engines.spark.shuffle import settings_for
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import ERROR, REPORT, BucketResult, BucketWork, schema_text
from karat.errors import KaratError, shown
from karat.evaluation.document_parts import judge_rows, queries_in_several
from karat.evaluation.reading import ReadingOptions
from karat.reading.bytes.threads import limit_threads
from karat.reading.pairs.any_source import Truth
from karat.reading.pairs.places import queries_in
from karat.reading.pairs.range_runs import NotGroupedError, most_apart
from karat.scores import Scores

_FIRST_ROWS = 1 << 15


class SentTruth(NamedTuple):
    """Ground truth on its way to executors; a Python process unpickles it once."""

    digest: bytes
    pickled: bytes

    @classmethod
    def of(cls, truth: Truth) -> SentTruth:
        """Ground truth that was read on the driver."""
        pickled = pickle.dumps(truth)
        return cls(hashlib.sha256(pickled).digest(), pickled)

    def received(self) -> Truth:
        """The ground truth, in an executor."""
        truth: Truth = truth_in_executor(self.digest, partial(pickle.loads, self.pickled))
        return truth


class ChunkToJudge(NamedTuple):
    """A chunk, and the queries that were whole in the chunks before it in the same partition."""

    chunk: RowChunk
    done: set[str]


@dataclass(frozen=True)
class ChunkWork:
    """The evaluation of a chunk of a run, or of the rest."""

    truth: SentTruth
    plan: PortablePlan
    name: str
    """of the run in messages"""

    def __call__(self, part: ChunkToJudge | RestToJudge) -> BucketResult:
        """The values of a chunk, in an executor; or of the rest, on the driver."""
        plan = self.plan.received()
        if isinstance(part, RestToJudge):
            return part.judged(plan)
        chunk, done = part
        try:
            judged = judge_rows(
                self.truth.received(),
                chunk.rows,
                plan,
                self.name,
                first_is_whole=chunk.first_is_whole,
                last_is_whole=chunk.last_is_whole,
            )
            if not done.isdisjoint(judged.report.queries):
                raise NotGroupedError
        except NotGroupedError:
            raise _not_grouped(self.name) from None
        done.update(judged.report.queries)
        return part_result(judged.part, judged.report)


@dataclass(frozen=True)
class PartitionWork:
    """The work on the chunks of a partition."""

    work: BucketWork
    chunking: Chunking

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of the chunks up to the first error, in an executor."""
        from pyspark import TaskContext

        limit_threads(1)  # the other cores have tasks of their own
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        done: set[str] = set()
        for chunk in self.chunking.chunks(batches):
            result = self.work.run(number, ChunkToJudge(chunk, done))
            del chunk
            pa.default_memory_pool().release_unused()
            yield from result.to_batches()
            if result[ERROR].null_count < len(result):
                # Spark sends the rest in any case, and a process that does not read it cannot be used again.
                deque(batches, maxlen=0)


@dataclass(frozen=True)
class PartitionEvaluation:
    """An evaluation of a run in the partitions of a DataFrame."""

    rows: DocumentEvaluation
    truth: Truth

    def buckets(self, progress: bool) -> Buckets:
        """The work on all partitions, which is not done yet."""
        run, plan = self.rows.run, self.rows.plan
        portable_plan = PortablePlan.of(plan, ReadingOptions(run_columns=run.columns))
        work = ChunkWork(SentTruth.of(self.truth), portable_plan, run.name)
        of_chunks = BucketWork(work, (), tuple(map(str, plan.measures)), ("judged",))
        session = run.frame.sparkSession
        return Buckets(session, of_chunks, self._results, list, progress, settings_for(run))

    def scores(self, collected: CollectedBuckets) -> Scores:
        """The scores of all queries, which are those of a local evaluation."""
        return self.rows.scores(collected)

    def _results(self, work: BucketWork, collect: Collect) -> ExecutorResults:
        run = self.rows.run
        chunking = Chunking(run.query, run.columns["doc"] if run.by_query else None)
        results = collect(run.frame.mapInArrow(for_executors(PartitionWork(work, chunking)), schema_text()))
        try:
            reports = [pickle.loads(each) for each in results.facts()[REPORT].to_pylist()]  # noqa: S301  # our code
            if queries := queries_in_several(reports):
                what = f"query {shown(min(queries))} has rows in several places"
                raise KaratError(what, place=run.name)
            rest = RestToJudge(self.truth, reports, run.name, partial(queries_in, run.name))
            all_results = results.with_table(work.run(0, rest))
            all_results.facts()
        except NotGroupedError:
            raise ShuffleNeededError(str(_not_grouped(run.name))) from None
        except KaratError as error:
            raise ShuffleNeededError(str(error)) from None
        return all_results


def check_beginning(run: SparkTable) -> None:
    """A `ShuffleNeededError` if the first rows show that those of many queries are not next to each other.

    A task cannot tell Spark that it needs no more rows, so an attempt that fails takes as long as reading all of them.
    """
    if run.by_query:
        return
    try:
        first = run.frame.select(run.key).take(_FIRST_ROWS)
    except Exception as error:
        raise failure(error) from None
    times = Counter(query for (query,), _ in groupby(first))
    if sum(count > 1 for count in times.values()) > most_apart(len(times)):
        raise ShuffleNeededError(str(_not_grouped(run.name)))


def _not_grouped(name: str) -> KaratError:
    return KaratError("the rows turned out not to be grouped by query", place=name)
