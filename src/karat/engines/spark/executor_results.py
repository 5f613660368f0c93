"""What executors return, on the driver: all of it, or all but the values of queries, which executors write to files."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from karat.engines.spark.session import quiet
from karat.engines.spark.shipping import arrow_type, error_from, failure, for_executors
from karat.engines.spark.worker import BUCKET, ERROR, QUERIES, QUERY, REPORT, BucketWork, returned_schema, schema_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCHEMA = returned_schema(large_types=True)
"""of tables on the driver, which may be larger than those that executors return"""


def collect_table(frame: DataFrame) -> pa.Table:
    """The rows of a DataFrame, on the driver."""
    with quiet():
        try:
            return frame.toArrow()
        except Exception as error:
            raise failure(error) from None


class ExecutorResults(NamedTuple):
    """What executors have returned."""

    table: pa.Table
    """facts, reports and errors; and queries, if they do not stay in the executors"""
    in_executors: DataFrame | None = None
    """the rows with queries, if they stay there"""

    def facts(self) -> pa.Table:
        """Facts and reports, in the order of buckets; the error of the first bucket that has one."""
        table = self.table.filter(pc.is_null(self.table[QUERIES])).sort_by(BUCKET)
        for text in table[ERROR].drop_null():
            raise error_from(text.as_py())
        return table

    def reports(self) -> dict[int, Any]:
        """The report of each bucket by its number; the error of the first bucket that has an error."""
        table = self.facts()
        rows = zip(table[BUCKET].to_pylist(), table[REPORT].to_pylist(), strict=True)
        return {number: pickle.loads(report) for number, report in rows}  # noqa: S301  # executors run our code

    def with_results(self, other: ExecutorResults) -> ExecutorResults:
        """These results and others."""
        frames = [each for each in (self.in_executors, other.in_executors) if each is not None]
        in_executors = reduce(lambda first, second: first.unionByName(second), frames) if frames else None
        return ExecutorResults(pa.concat_tables([self.table, other.table]), in_executors)

    def with_table(self, table: pa.Table) -> ExecutorResults:
        """These results, and what was computed on the driver."""
        if self.in_executors is None:
            return self.with_results(ExecutorResults(table.cast(_SCHEMA)))
        has_queries = pc.is_valid(table[QUERIES])
        frame = self.in_executors.sparkSession.createDataFrame(table.filter(has_queries), schema=schema_text())
        return self.with_results(ExecutorResults(table.filter(pc.invert(has_queries)).cast(_SCHEMA), frame))

    def without(self, buckets: Collection[int]) -> ExecutorResults:
        """The results of the other buckets."""
        from pyspark.sql import functions as F

        others = self.table.filter(pc.invert(pc.is_in(self.table[BUCKET], pa.array(list(buckets), pa.int32()))))
        frame = self.in_executors
        return ExecutorResults(others, None if frame is None else frame.where(~F.col(BUCKET).isin(list(buckets))))


Collect = Callable[["DataFrame"], ExecutorResults]
"""does the work of executors, whose rows have the columns of `returned_schema`"""


def collected(frame: DataFrame) -> ExecutorResults:
    """All that executors return."""
    return ExecutorResults(collect_table(frame).cast(_SCHEMA))


@dataclass(frozen=True)
class Keeping:
    """Leaves queries in the executors, until the stack ends."""

    stack: ExitStack

    def __call__(self, frame: DataFrame) -> ExecutorResults:
        from pyspark import StorageLevel
        from pyspark.sql import functions as F

        kept = frame.persist(StorageLevel.DISK_ONLY)  # or everything would be computed twice
        self.stack.callback(kept.unpersist)
        in_executors = kept.where(F.col(QUERIES).isNotNull())
        return collected(kept.where(F.col(QUERIES).isNull()))._replace(in_executors=in_executors)


def queries_of(table: pa.Table, work: BucketWork) -> pa.Table:
    """The queries that are in streams: a row for each, in the order of their ids."""
    streams = [stream.as_buffer() for stream in table[QUERIES].drop_null()]
    tables = [pa.ipc.open_stream(stream).read_all() for stream in streams]
    return pa.concat_tables([work.query_schema.empty_table(), *tables]).sort_by(QUERY)


def write_queries(results: ExecutorResults, work: BucketWork, names: Sequence[str], path: str) -> None:
    """Write the queries in these streams to a new folder of Parquet files, from the executors."""
    from pyspark.sql import functions as F

    if results.in_executors is None:
        raise TypeError("the queries are on the driver")
    rows = results.in_executors.select(QUERIES).mapInArrow(
        for_executors(_Unpacking(work)), schema_text(work.query_columns)
    )
    named = [F.col(column).alias(name) for column, name in zip(work.query_columns, names, strict=True)]
    try:
        rows.select(*named).write.parquet(path)
    except Exception as error:
        reason = failure(error)
        place = path.removeprefix("file:")
        raise reason.but(what=["cannot be written: ", *reason.parts], place=place) from None


@dataclass(frozen=True)
class _Unpacking:
    """The rows in streams, in an executor."""

    work: BucketWork

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        types = [arrow_type(kind, self.work.large_types) for kind in self.work.query_schema.types]
        schema = pa.schema(zip(self.work.query_schema.names, types, strict=True))
        for stream in (stream for batch in batches for stream in batch.column(QUERIES)):
            yield from pa.ipc.open_stream(stream.as_buffer()).read_all().cast(schema).to_batches()
