"""Group the rows of a table by query."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import compress, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from karat.data.judged import Floats, Ints
from karat.reading.pairs.arrays import Column, ColumnBuilder, row_indices, to_numpy
from karat.reading.pairs.containers import ScoredRows
from karat.reading.pairs.places import Locate

# As many rows as a block of a file usually has.
_ROWS_PER_BATCH = 1 << 18
_PEEK = 1 << 10  # rows


class NumberedRows(NamedTuple):
    """Rows in any order; the query of a row is `queries[number]`, and queries are in order of first appearance."""

    queries: list[str]
    query_number: NDArray[np.int32]
    docs: Column
    scores: Floats

    def of_queries(self, wanted: Container[str]) -> NumberedRows:
        """The rows of some queries."""
        is_wanted = np.fromiter((query in wanted for query in self.queries), bool, len(self.queries))
        rows = np.flatnonzero(is_wanted[self.query_number])
        numbers = (np.cumsum(is_wanted, dtype=np.int32) - 1)[self.query_number[rows]]
        queries = list(compress(self.queries, is_wanted))
        return NumberedRows(queries, numbers, self.docs.take(row_indices(rows)), self.scores[rows])


def group_consecutive(query: Column, doc: Column, number: Floats, locate: Locate) -> ScoredRows:
    """A table with one segment per stretch of consecutive rows with the same query; a query may have several."""
    stretches = _stretches(query)
    offsets = np.concatenate(([0], to_numpy(stretches.run_ends, np.int32))).astype(np.int64)
    return ScoredRows(stretches.values.to_pylist(), offsets, doc, number, locate)


def group_by_query(query: Column, doc: Column, number: Floats, locate: Locate) -> ScoredRows:
    """A table with one segment per query; queries and rows are in order of first appearance."""
    table = group_consecutive(query, doc, number, locate)
    if len(set(table.queries)) == len(table.queries):
        return table
    return as_table(number_queries(query, doc, number), locate)


def number_queries(query: Column, doc: Column, number: Floats) -> NumberedRows:
    """Replace the query of each row by a number. Strings are made only of distinct queries."""
    if not _is_encoded(query) and len(pc.run_end_encode(query.slice(0, _PEEK)).values) > _PEEK // 2:
        # The rows are not grouped by query, so stretches would be as many as rows.
        distinct = pc.dictionary_encode(query)
        return NumberedRows(distinct.dictionary.to_pylist(), to_numpy(distinct.indices, np.int32), doc, number)
    stretches = _stretches(query)
    sizes = np.diff(to_numpy(stretches.run_ends, np.int32), prepend=0)
    distinct = pc.dictionary_encode(stretches.values)
    numbers = np.repeat(to_numpy(distinct.indices, np.int32), sizes)
    return NumberedRows(distinct.dictionary.to_pylist(), numbers, doc, number)


def _stretches(query: Column) -> Column:
    """The queries of rows, run-end encoded, as some sources give them."""
    return query if _is_encoded(query) else pc.run_end_encode(query)


def _is_encoded(query: Column) -> bool:
    return bool(pa.types.is_run_end_encoded(query.type))


class RowBuilder:
    """Appends rows to one another, with common numbers of their queries. To save memory, parts are not kept."""

    def __init__(self) -> None:
        self._number_of: dict[str, int] = {}
        self._clear()

    def __len__(self) -> int:
        return len(self._scores) // np.dtype(np.float64).itemsize

    def append(self, part: NumberedRows) -> None:
        """Append the rows of a part."""
        common = [self._number_of.setdefault(query, len(self._number_of)) for query in part.queries]
        self._numbers += np.asarray(common, np.int32)[part.query_number].data
        self._scores += np.ascontiguousarray(part.scores).data
        self._docs.append(part.docs)

    def take(self) -> NumberedRows:
        """The rows since the last call, and the queries of all rows until now."""
        numbers, scores = np.frombuffer(self._numbers, np.int32), np.frombuffer(self._scores, np.float64)
        rows = NumberedRows(list(self._number_of), numbers, self._docs.column(), scores)
        self._clear()
        return rows

    def _clear(self) -> None:
        self._numbers, self._scores, self._docs = bytearray(), bytearray(), ColumnBuilder()


def as_table(rows: NumberedRows, locate: Locate) -> ScoredRows:
    """A table with one segment per query."""
    offsets, order = _grouped(rows)
    return _batch(rows, offsets, order, locate, 0, len(rows.queries))


def as_batches(rows: NumberedRows, locate: Locate) -> Iterator[Callable[[], ScoredRows]]:
    """Tables with one segment per query, each made when its function is called."""
    offsets, order = _grouped(rows)
    starts = np.flatnonzero(np.diff(offsets[:-1] // _ROWS_PER_BATCH, prepend=-1))
    for first, stop in pairwise([*starts.tolist(), len(rows.queries)]):
        yield partial(_batch, rows, offsets, order, locate, first, stop)


def _grouped(rows: NumberedRows) -> tuple[Ints, Ints | None]:
    """Where the rows of each query start, and the order that groups rows by query, or None if they are in order."""
    numbers = rows.query_number
    offsets = np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=len(rows.queries)))))
    if (numbers[1:] >= numbers[:-1]).all():
        return offsets, None
    if len(rows.queries) <= 1 << 16:
        # NumPy sorts numbers of 16 bits in linear time.
        return offsets, np.argsort(numbers.astype(np.uint16), kind="stable")
    # Sorting numbers that contain the row is stable, and several times as fast as a stable argsort.
    keys = numbers.astype(np.int64) << 32
    keys |= np.arange(len(keys))
    keys.sort()
    keys &= (1 << 32) - 1
    return offsets, keys


def _batch(rows: NumberedRows, offsets: Ints, order: Ints | None, locate: Locate, first: int, stop: int) -> ScoredRows:
    """The table of the queries from `first` up to `stop`."""
    start, end = int(offsets[first]), int(offsets[stop])
    if order is None:
        docs, scores = rows.docs.slice(start, end - start), rows.scores[start:end]
    else:
        docs, scores = rows.docs.take(row_indices(order[start:end])), rows.scores[order[start:end]]
    return ScoredRows(rows.queries[first:stop], offsets[first : stop + 1] - start, docs, scores, locate)
