"""Rows in chunks: the rows of a partition follow each other in many batches, and are cut where the query changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from karat.engines.spark.worker import lengths

_DOCUMENTS = 1 << 19
_BYTES = 1 << 26  # texts may be long


class RowChunk(NamedTuple):
    """Rows of a partition, and whether all rows of their first and their last query that follow each other are here."""

    rows: pa.Table
    first_is_whole: bool
    last_is_whole: bool


@dataclass(frozen=True)
class Chunking:
    """How the rows of a partition are cut."""

    query: str
    """the column with the ids of queries"""
    documents: str | None = None
    """the lists of documents, if a row has all documents of a query"""
    most: int = _DOCUMENTS
    """the documents of a chunk"""
    size: int = _BYTES

    def chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[RowChunk]:
        """All rows, in their order. The rows of the last query of a chunk are put into the next one."""
        waiting: list[pa.RecordBatch] = []
        first_is_whole = False
        documents = size = 0
        for batch in batches:
            if not len(batch):
                continue
            waiting.append(batch)
            documents += self._documents(batch)
            size += batch.nbytes
            if documents < self.most and size < self.size:
                continue
            done, rest = self._cut(waiting)
            yield RowChunk(pa.Table.from_batches(done or rest), first_is_whole, bool(done))
            first_is_whole = bool(done)
            waiting = rest if done else []  # of a query with more rows than a chunk, none are kept
            documents, size = sum(map(self._documents, waiting)), sum(each.nbytes for each in waiting)
        if waiting:
            yield RowChunk(pa.Table.from_batches(waiting), first_is_whole, last_is_whole=False)

    def _documents(self, batch: pa.RecordBatch) -> int:
        return len(batch) if self.documents is None else pc.sum(lengths(batch.column(self.documents))).as_py() or 0

    def _cut(self, batches: Sequence[pa.RecordBatch]) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
        """The rows before those of the last query, which may be none, and the rows of the last query."""
        if self.documents is not None:
            return [*batches], []
        last = batches[-1].column(self.query)[-1]
        for at in reversed(range(len(batches))):
            others = pc.indices_nonzero(pc.not_equal(batches[at].column(self.query), last))
            if len(others):
                cut = others[-1].as_py() + 1
                return [*batches[:at], batches[at].slice(0, cut)], [batches[at].slice(cut), *batches[at + 1 :]]
        return [], [*batches]
