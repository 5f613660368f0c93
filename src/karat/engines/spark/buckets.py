"""Work on buckets of queries: the transport of data to executors, and of values per query back to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Floats
from karat.engines.spark.executor_results import Collect, ExecutorResults, Keeping, collected, queries_of, write_queries
from karat.engines.spark.session import job_progress, quiet
from karat.engines.spark.shipping import large_types
from karat.engines.spark.shuffle import MOST_BUCKETS, ShuffledTables, changed_settings
from karat.engines.spark.tables import SparkTable, check_case
from karat.engines.spark.worker import FACTS, LARGE, QUERY, BucketSide, BucketWork, Work
from karat.errors import KaratError, Message, Parameter
from karat.errors.arguments import as_count
from karat.scores.finding import Finding, finding_about_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class CollectedBuckets:
    """The results of all buckets, on the driver."""

    queries: tuple[str, ...]
    """in the order of their ids"""
    values: dict[str, Floats]
    texts: dict[str, list[str | None]]
    facts: list[Any]
    """one per bucket, in the order of bucket numbers; at least one"""
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class WrittenBuckets:
    """What the driver gets if values and texts were written to files."""

    facts: list[Any]
    findings: tuple[Finding, ...]


def in_buckets(
    work: Work,
    left: SparkTable,
    right: SparkTable | None = None,
    *,
    values: Sequence[str],
    texts: Sequence[str] = (),
    buckets: int | None = None,
    progress: bool = False,
) -> Buckets:
    """Call `work` in the executors with the rows of each bucket of queries, as Arrow tables.

    A query is in the bucket that a hash of its id gives, so that all its rows, of both tables, are in the same one.
    Nothing is computed before `collect` or `write` of the result is called.
    """
    number = None if buckets is None else as_count(buckets, 1, MOST_BUCKETS)
    if number is None and buckets is not None:
        hint = f"Pass a whole number from 1 to {MOST_BUCKETS:,}; without it, the number of rows decides."
        raise KaratError([Parameter("buckets", buckets), " is not a number of buckets"], hint=hint)
    tables = (left,) if right is None else (left, right)
    sides = tuple(
        BucketSide(
            table.name,
            table.query,
            table.order,
            table.columns["doc"] if table.by_query and not table.records else None,
            table.records,
        )
        for table in tables
    )
    shuffled = ShuffledTables(tables, number)
    bucket_work = BucketWork(work, sides, tuple(values), tuple(texts))
    return Buckets(
        left.frame.sparkSession, bucket_work, shuffled.results, shuffled.without_rows, progress, shuffled.settings()
    )


@dataclass(frozen=True)
class Buckets:
    """Work on buckets that is not done yet."""

    session: SparkSession
    work: BucketWork
    results: Callable[[BucketWork, Collect], ExecutorResults]
    """what executors return for this work: that of `BucketWork.run` for all buckets"""
    without_rows: Callable[[], Sequence[Any]]
    """the inputs of the work if there is no bucket at all"""
    progress: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    """what Spark's settings should be meanwhile"""

    def collect(self) -> CollectedBuckets:
        """The results of all buckets."""
        with self._running() as work:
            results = self.results(work, collected)
        facts, findings = self._facts(results)
        queries = queries_of(results.table, self.work)
        return CollectedBuckets(
            tuple(queries[QUERY].to_pylist()),
            {name: _floats(queries[f"value{at}"]) for at, name in enumerate(self.work.values)},
            {name: queries[f"text{at}"].to_pylist() for at, name in enumerate(self.work.texts)},
            facts,
            findings,
        )

    def write(self, path: str | Path, check: Callable[[WrittenBuckets], object] | None = None) -> WrittenBuckets:
        """Write values and texts to a folder of Parquet files, from the executors; nothing if there is an error.

        `check` is called with the facts before anything is written, and may raise an error.
        """
        names = [QUERY, *self.work.values, *self.work.texts]
        hint: Message = ["Write them to different folders, or leave ", Parameter("per_query_path"), " out."]
        check_case(names, str(path), hint)
        with self._running() as work, ExitStack() as stack:
            results = self.results(work, Keeping(stack))
            written = WrittenBuckets(*self._facts(results))
            if check is not None:
                check(written)
            write_queries(results, work, names, str(path))
        return written

    @contextmanager
    def _running(self) -> Iterator[BucketWork]:
        """The work as this session wants it. Meanwhile, progress is shown, and settings are what they should be."""
        with job_progress(self.session, self.progress), changed_settings(self.session, self.settings), quiet():
            yield replace(self.work, large_types=large_types(self.session))

    def _facts(self, results: ExecutorResults) -> tuple[list[Any], tuple[Finding, ...]]:
        """The facts about the buckets; the error of the first bucket that has one."""
        pickled = results.facts()[FACTS].drop_null().to_pylist()
        if not pickled:
            return self._facts(ExecutorResults(self.work.run(0, *self.without_rows())))
        buckets = [pickle.loads(each) for each in pickled]  # noqa: S301  # executors sent it, which run our code
        return [facts for facts, _ in buckets], _large_queries(large for _, large in buckets)


def _floats(column: pa.ChunkedArray) -> Floats:
    """The numbers of a column; NaN where there is none."""
    return np.asarray(pc.fill_null(column, float("nan")).to_numpy(), np.float64)


def _large_queries(by_bucket: Iterable[list[str]]) -> tuple[Finding, ...]:
    large = sorted({query for queries in by_bucket for query in queries})
    what = f"with more than {LARGE:,} documents, which one executor reads at once"
    return (finding_about_queries("large-queries", large, what),) if large else ()
