"""Rows of many queries packed into bytes: Spark moves a few large values from executor to executor instead of rows.

A row costs Spark more in a shuffle than it costs Arrow to copy it, because each is a record of its own in Java. So
executors sort the rows by bucket, a few megabytes at a time, and write those of each bucket as an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from karat.engines.spark.shipping import arrow_type
from karat.engines.spark.worker import BUCKET, BucketWork, arrow_streams

SIDE, ROWS = "__karat_side", "__karat_rows"
"""columns of packed rows, besides the bucket: which of the tables they are of, and an Arrow stream"""

PACKED = f"{BUCKET} int, {SIDE} int, {ROWS} binary"
"""the columns of packed rows, as Spark reads a schema"""

_AT_ONCE = 1 << 24  # bytes of rows that are sorted together
_STREAM = 1 << 16  # bytes of rows in a stream: Spark sends thousands of streams to Python at once


@dataclass(frozen=True)
class Packing:
    """Packs the rows of one table, which have a column with the number of their bucket."""

    side: int
    large_types: bool = False
    """whether Spark wants values whose bytes are counted in 64 bits"""
    at_once: int = _AT_ONCE
    stream: int = _STREAM

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The packed rows of a partition, in an executor."""
        waiting: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            waiting.append(batch)
            size += batch.nbytes
            if size >= self.at_once:
                yield self._packed(pa.Table.from_batches(waiting))
                waiting, size = [], 0
        if waiting:
            yield self._packed(pa.Table.from_batches(waiting))

    def _packed(self, table: pa.Table) -> pa.RecordBatch:
        numbers = table[BUCKET].to_numpy()
        order = np.argsort(numbers, kind="stable")
        rows, numbers = table.drop_columns([BUCKET]).take(pa.array(order)), numbers[order]
        in_stream = max(1, self.stream * len(table) // max(1, table.nbytes))
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        ends = [*starts[1:], len(numbers)]
        cuts = [cut for start, end in zip(starts, ends, strict=True) for cut in range(start, end, in_stream)]
        lengths = np.diff([*cuts, len(numbers)])
        streams = (rows.slice(cut, length) for cut, length in zip(cuts, lengths, strict=True))
        return pa.record_batch(
            {
                BUCKET: pa.array(numbers[cuts], pa.int32()),
                SIDE: pa.array([self.side] * len(cuts), pa.int32()),
                ROWS: arrow_streams(streams, arrow_type(pa.binary(), self.large_types)),
            }
        )


@dataclass(frozen=True)
class WorkOnPacked:
    """The work on the buckets of a partition, whose rows are packed; all rows of a bucket follow each other."""

    work: BucketWork
    schemas: Sequence[pa.Schema]
    """of the tables, for those of which a bucket has no rows"""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of the buckets, in an executor, which has the rows of one of them at a time in memory."""
        number: int | None = None
        bucket: list[list[pa.RecordBatch]] = [[] for _ in self.schemas]
        for packed in batches:
            numbers, sides = (packed.column(name).to_pylist() for name in (BUCKET, SIDE))
            for next_number, side, stream in zip(numbers, sides, packed.column(ROWS), strict=True):
                if number is not None and number != next_number:
                    yield from self._result(number, bucket)
                number = next_number
                with pa.ipc.open_stream(stream.as_buffer()) as reader:
                    bucket[side].extend(reader)
        if number is not None:
            yield from self._result(number, bucket)

    def _result(self, number: int, bucket: list[list[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """The rows of the result; the bucket is empty afterwards."""
        tables = []
        for batches, schema in zip(bucket, self.schemas, strict=True):
            tables.append(pa.Table.from_batches(batches) if batches else schema.empty_table())
            batches.clear()
        result = self.work.run(number, *tables)
        del tables
        pa.default_memory_pool().release_unused()
        yield from result.to_batches()
