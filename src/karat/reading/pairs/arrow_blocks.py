"""Read Parquet and Arrow files in blocks of rows, and join the blocks into parts that end where the query changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Floats, Ints
from karat.errors import KaratError, Place
from karat.reading.bytes.arrow_file import LARGEST_COLUMN, ArrowFile, decoded, errors_of, rows_at_once
from karat.reading.bytes.rejected_rows import row_numbers
from karat.reading.bytes.threads import in_threads
from karat.reading.pairs.arrays import Column, concatenate, to_numpy
from karat.reading.pairs.arrow_columns import checked_columns, rules_of, valid_ids, valid_numbers
from karat.reading.pairs.columns import ReadColumns
from karat.reading.pairs.pair_checks import PairRules
from karat.reading.pairs.tables import Columns, Number

# Parts of this size are ranked fastest: larger ones do not fit into the processor's cache.
_ROWS_PER_PART = 1 << 18
_FEWEST_ROWS = 1 << 16  # a part of fewer rows is joined with the next
# Row groups with more rows, or with columns of more bytes, are not read as a whole: their size has no limit.
_LARGEST_ROW_GROUP = 1 << 20
_LARGEST_COLUMNS = 1 << 26
_FEW_BYTES = 16  # of a row; if documents are not repeated, rows have more
_BUFFER = 1 << 20  # bytes of a column that are read at a time, from such a row group
_MOST_READERS = 4  # threads that read ahead, each a row group
MOST_ROWS_OF_QUERY = 1 << 25


class RowBlock(NamedTuple):
    """Some rows of a file: the query of each stretch of rows with the same query, and where it ends."""

    file: ArrowFile
    first_row: int
    queries: Column
    ends: Ints
    docs: Column
    numbers: Floats
    done: float
    """the share of the file that was read"""

    def places(self, rows: Ints) -> Iterator[Place]:
        """The file and the numbers of some rows of this block, which are in ascending order."""
        numbers = row_numbers(self.file.name, rows.tolist(), self.first_row, self.file.file.rejected)
        return (Place(self.file.name, row=row) for row in numbers)


class _Rows(NamedTuple):
    """Some rows of a file as Arrow gives them: a function that reads them, which may be called in a thread."""

    first_row: int
    done: float
    read: Callable[[], pa.Table]


def blocks_of(file: ArrowFile, columns: ReadColumns, number: Number) -> Iterator[RowBlock]:
    """The rows of a file in blocks, none of which is empty."""
    with file.opened() as opened, opened() as native:
        rows = (
            _row_groups(file, opened, native, columns) if file.format == "parquet" else _slices(file, native, columns)
        )
        calls = (partial(_block, file, columns, rules_of(columns, number), each) for each in rows)
        yield from (block for block in in_threads(calls, _MOST_READERS) if len(block.numbers))


def _row_groups(
    file: ArrowFile, opened: Callable[[], pa.NativeFile], native: pa.NativeFile, columns: ReadColumns
) -> Iterator[_Rows]:
    """The rows of a Parquet file: one row group, or a part of a large one, at a time."""
    from pyarrow.parquet import ParquetFile

    # Of a remote file, all columns of a row group are requested at once.
    open_parquet = partial(ParquetFile, pre_buffer=file.is_remote)
    metadata = open_parquet(native).metadata
    sizes, groups = file.expanded_sizes(native, metadata), file.row_groups(metadata)
    first_row = sum(metadata.row_group(group).num_rows for group in range(groups.start))
    for group in groups:
        rows, size = metadata.row_group(group).num_rows, sizes[group]
        row_group = _RowGroup(partial(open_parquet, metadata=metadata), group, rows, size)
        if row_group.rows > _LARGEST_ROW_GROUP or size > _LARGEST_COLUMNS:
            for batch in row_group.batches(native, columns):
                done = (first_row + len(batch)) / max(metadata.num_rows, 1)
                yield _Rows(first_row, done, partial(pa.Table.from_batches, [batch]))
                first_row += len(batch)
        elif row_group.rows:
            done = (group + 1 - groups.start) / len(groups)
            yield _Rows(first_row, done, partial(row_group.read, opened, columns))
            first_row += row_group.rows


class _RowGroup(NamedTuple):
    """A row group of a Parquet file: a function that opens the file, its number, and its rows and bytes."""

    open_parquet: Callable[..., Any]
    number: int
    rows: int
    size: int

    def read(self, opened: Callable[[], pa.NativeFile], columns: ReadColumns) -> pa.Table:
        """All rows."""
        with opened() as native:  # a reader of its own: readers are not to be used by several threads
            parquet = self.open_parquet(native, read_dictionary=self._dictionaries(native, columns))
            return parquet.read_row_group(self.number, columns=columns.names, use_threads=False)

    def batches(self, native: pa.NativeFile, columns: ReadColumns) -> Iterator[pa.RecordBatch]:
        """The rows in parts."""
        dictionaries = self._dictionaries(native, columns)
        parquet = self.open_parquet(native, read_dictionary=dictionaries, buffer_size=_BUFFER, pre_buffer=False)
        rows = rows_at_once(self.rows, self.size, _ROWS_PER_PART)
        yield from parquet.iter_batches(rows, row_groups=[self.number], columns=columns.names)

    def _dictionaries(self, native: pa.NativeFile, columns: ReadColumns) -> list[str]:
        """The columns that are read as numbers, and a dictionary of their texts.

        Queries are repeated. Documents hardly are, and reading them so would take long. But a dictionary with long
        texts could fill the memory, if there are many rows for their few bytes.
        """
        if self.size < _FEW_BYTES * self.rows and self.size * self.rows > LARGEST_COLUMN:
            parquet = self.open_parquet(native, read_dictionary=[columns.doc], buffer_size=_BUFFER, pre_buffer=False)
            for batch in parquet.iter_batches(1, row_groups=[self.number], columns=[columns.doc]):
                texts = getattr(batch.column(0), "dictionary", None)
                longest = pc.max(pc.binary_length(texts)).as_py() if texts is not None and len(texts) else 0
                return [columns.query, columns.doc] if longest * self.rows > LARGEST_COLUMN else [columns.query]
        return [columns.query]


def _slices(file: ArrowFile, native: pa.NativeFile, columns: ReadColumns) -> Iterator[_Rows]:
    """The rows of an Arrow file: one record batch, or a part of a large one, at a time."""
    first_row = 0
    for done, batch in file.batches(native, columns.names):
        for start in range(0, len(batch), _ROWS_PER_PART):
            rows = batch.slice(start, _ROWS_PER_PART)
            yield _Rows(first_row, done, partial(pa.Table.from_batches, [rows]))
            first_row += len(rows)


def _block(file: ArrowFile, columns: ReadColumns, rules: PairRules, rows: _Rows) -> RowBlock:
    with errors_of(file):
        table = rows.read()
        # Arrow trusts a file: its texts may not be UTF-8, and a damaged offset would be read outside of the data.
        table.validate(full=True)
        places = [Place(file.name, column=name) for name in columns.names]
        query, doc, number = (table[name] for name in columns.names)
        stretches = _stretches(query, places[0])
        docs, values = valid_ids(doc, places[1]), valid_numbers(number, rules, places[2])
        if stretches is None or docs is None or values is None:
            read = checked_columns(table, columns, rules, file.name, file.file.rejected, rows.first_row)
            encoded = pc.run_end_encode(read.query)
            stretches, docs, values = (encoded.values, to_numpy(encoded.run_ends, np.int32)), read.doc, read.number
    return RowBlock(file, rows.first_row, *stretches, docs, values, rows.done)


def _stretches(column: pa.ChunkedArray, place: Place) -> tuple[Column, Ints] | None:
    """The query of each stretch of rows with the same query, and where it ends; None if a query may be wrong."""
    encoded = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type) and not chunk.null_count:
            codes = pc.run_end_encode(chunk.indices)
            repeated = pa.DictionaryArray.from_arrays(codes.values, chunk.dictionary)
            encoded.append((concatenate(decoded(pa.chunked_array([repeated]), place).chunks), codes.run_ends))
        elif pa.types.is_integer(chunk.type) and not chunk.null_count:
            codes = pc.run_end_encode(chunk)
            encoded.append((codes.values, codes.run_ends))
        else:
            ids = valid_ids(pa.chunked_array([chunk]), place)
            if ids is None:
                return None
            codes = pc.run_end_encode(ids)
            encoded.append((codes.values, codes.run_ends))
    sizes = np.cumsum([0, *map(len, column.chunks)])
    ends = [to_numpy(of_chunk, np.int32) + size for (_, of_chunk), size in zip(encoded, sizes[:-1], strict=True)]
    queries = valid_ids(pa.chunked_array([values for values, _ in encoded]), place)
    return None if queries is None else _merged(queries, np.concatenate(ends))


def _merged(queries: Column, ends: Ints) -> tuple[Column, Ints]:
    """The same stretches; neighbours with the same query are one."""
    encoded = pc.run_end_encode(queries)
    return encoded.values, ends[to_numpy(encoded.run_ends, np.int32) - 1]


class _Piece(NamedTuple):
    """Some rows of a block."""

    block: RowBlock
    start: int
    stop: int


def parts_of(blocks: Iterable[RowBlock], whole_queries: bool) -> Iterator[Callable[[], Columns]]:
    """The rows of blocks in parts; with `whole_queries`, parts end where the query changes."""
    pieces: list[_Piece] = []
    last_query: str | None = None
    for block in blocks:
        size = len(block.numbers)
        # Rows at the start of a block may belong to the query before; those of its last query may go on after it.
        head = int(block.ends[0]) if whole_queries and block.queries[0].as_py() == last_query else 0
        tail = int(block.ends[-2]) if len(block.ends) > 1 else 0
        last_query = block.queries[-1].as_py()
        if head:
            pieces.append(_Piece(block, 0, head))
        if head == size:
            _check_size_of_query(pieces, last_query)
            continue
        if pieces and tail - head >= _FEWEST_ROWS:
            # A large block is not copied to be joined with a few rows.
            yield partial(_join, pieces)
            pieces = []
        for start, stop in pairwise(_cuts(block.ends, head, tail) if whole_queries else (0, size)):
            pieces.append(_Piece(block, start, stop))
            if sum(piece.stop - piece.start for piece in pieces) >= _FEWEST_ROWS:
                yield partial(_join, pieces)
                pieces = []
        if whole_queries:
            pieces.append(_Piece(block, tail, size))
    if pieces:
        yield partial(_join, pieces)


def _cuts(ends: Ints, first: int, last: int) -> list[int]:
    """Where to cut the rows from `first` to `last` of a block into parts of about the same size, of whole queries."""
    aims = np.arange(first + _ROWS_PER_PART, last, _ROWS_PER_PART)
    return sorted({first, *ends[np.searchsorted(ends, aims)].tolist(), last})


def _check_size_of_query(pieces: list[_Piece], query: str) -> None:
    if sum(piece.stop - piece.start for piece in pieces) > MOST_ROWS_OF_QUERY:
        raise KaratError(
            f"query {query} has more than {MOST_ROWS_OF_QUERY:,} rows, which are read into memory together",
            place=pieces[-1].block.file.name,
            hint="Is this the column of the queries?",
        )


def _join(pieces: list[_Piece]) -> Columns:
    """The columns of some rows; the column of queries is run-end encoded."""
    queries, ends, size = [], [], 0
    for block, start, stop in pieces:
        first, last = np.searchsorted(block.ends, [start, stop - 1], side="right").tolist()
        queries.append(block.queries.slice(first, last + 1 - first))
        ends.append(np.minimum(block.ends[first : last + 1], stop) - start + size)
        size += stop - start
    texts, all_ends = _merged(concatenate(queries), np.concatenate(ends))
    run_ends = pa.Array.from_buffers(pa.int32(), len(all_ends), [None, pa.py_buffer(all_ends.astype(np.int32))])
    values = [block.numbers[start:stop] for block, start, stop in pieces]
    kind = pa.run_end_encoded(run_ends.type, texts.type)
    return Columns(
        # `from_arrays` imports pandas, which takes longer than reading a million rows.
        pa.RunEndEncodedArray.from_buffers(kind, size, [None], children=[run_ends, texts]),
        concatenate(block.docs.slice(start, stop - start) for block, start, stop in pieces),
        values[0] if len(values) == 1 else np.concatenate(values),
    )
