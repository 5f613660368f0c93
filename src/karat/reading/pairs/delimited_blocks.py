"""Read large CSV and TSV files in blocks, with Arrow.

A quoted value may contain line ends, so the end of a row is a line end that is not in quotation marks. If Arrow might
read a block differently from `parse_rows`, or cannot read it, each row is parsed in Python.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from io import StringIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from karat.data.judged import Ints
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.delimited_text import row_ends
from karat.reading.bytes.input_file import BOM
from karat.reading.bytes.line_ends import LONGEST_LINE, last_line_end
from karat.reading.pairs.arrays import Column, concatenate, offset_kind, to_floats
from karat.reading.pairs.delimited import parse_rows
from karat.reading.pairs.delimited_layout import DelimitedLayout
from karat.reading.pairs.pair_checks import LONGEST_ID, PairColumns, PairRules, are_valid, ordered
from karat.reading.pairs.tables import Columns, Number, columns_of

_QUOTE, _NEWLINE, _RETURN, _BLANK, _APOSTROPHE = b"\"\n\r '"
# A value that goes on for longer is one that is not closed: the row is cut, and becomes an error.
_LONGEST_ROW = 16 * LONGEST_LINE
_TAIL = 1 << 16  # bytes
_SMALL_PART = 1 << 16


def read_block(block: Block, layout: DelimitedLayout, number: Number, is_guarded: Callable[[], bool]) -> Columns:
    """The columns of a block: with Arrow if possible, otherwise row by row."""
    return read_quickly(
        block,
        lambda part: _parse_with_arrow(part.data, layout, layout.rules(number)),
        lambda part: parse_rows(part, layout, number, is_guarded),
        partial(_row_end_after, separator=layout.separator),
    )


def read_quickly(
    block: Block,
    quick: Callable[[Block], Columns | None],
    slow: Callable[[Block], PairColumns],
    row_end_after: Callable[[memoryview, int], int],
) -> Columns:
    """The columns of a block as the quick reader reads them or, if it cannot, the slow one.

    If rows that are wrong are left out, the slow one reads only small parts with such rows: a block is halved until
    they are found. `row_end_after` is where a row ends after a byte; 0 if that is not known.
    """
    columns = quick(block)
    if columns is not None:
        return columns
    size = len(block.data)
    cut = row_end_after(block.data, size // 2) if block.source.rejected is not None and size > _SMALL_PART else 0
    if not 0 < cut < size:
        return columns_of(slow(block))
    halves = (block.start(cut), block.without_start(cut))
    read = [read_quickly(half, quick, slow, row_end_after) for half in halves]
    queries, docs, numbers = zip(*read, strict=True)
    return Columns(concatenate(queries), concatenate(docs), np.concatenate(numbers))


def line_end_after(data: memoryview, at: int) -> int:
    """Where the line with a byte ends; 0 if that is not found."""
    line_end = bytes(data[at : at + LONGEST_LINE]).find(b"\n")
    return at + line_end + 1 if line_end >= 0 else 0


def _row_end_after(data: memoryview, at: int, separator: str) -> int:
    """Where a row ends after a byte; 0 if quotation marks leave that open."""
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    if not len(quotes):
        return line_end_after(data, at)
    if len(quotes) % 2 or not _are_around_values(quotes, text, separator):
        return 0
    ends = _row_ends(bytearray(data), separator)
    return next(iter(ends[np.searchsorted(ends, at) :].tolist()), 0)


def last_row_end(data: bytearray, layout: DelimitedLayout, *, whole_queries: bool) -> int:
    """The last byte at which a block may end: the end of a row, where the query changes if `whole_queries`; or 0."""
    if b'"' in data:
        ends = _row_ends(data, layout.separator)
        if len(data) - (ends[-1] if len(ends) else 0) > _LONGEST_ROW:
            return last_line_end(data)
        return _last_change(data, ends, layout, 0) if whole_queries else int(ends[-1]) if len(ends) else 0
    if not whole_queries:
        return last_line_end(data)
    size = _TAIL
    while True:
        start = data.rfind(b"\n", 0, max(len(data) - size, 0)) + 1
        ends = np.flatnonzero(np.frombuffer(data, np.uint8, offset=start) == _NEWLINE) + start + 1
        if (end := _last_change(data, ends, layout, start)) or not start:
            return end
        size *= 8


def _last_change(data: bytearray, ends: Ints, layout: DelimitedLayout, start: int) -> int:
    """The start of the last row whose query differs from that of the row before it; 0 if there is none.

    `start` is where the first row starts. Steps back in growing steps, then bisects, as the rows of a query are usually
    next to each other.
    """

    def query_of(row: int) -> str:
        text = data[ends[row - 1] if row else start : ends[row]].decode("latin-1")
        try:
            cells = next(csv.reader(StringIO(text, newline=""), delimiter=layout.separator, skipinitialspace=True), [])
        except csv.Error:
            return text
        return cells[layout.query] if layout.query < len(cells) else ""

    high = low = len(ends) - 1
    query, step = query_of(high) if len(ends) else "", 1
    while low > 0:
        low = max(high - step, 0)
        if query_of(low) != query:
            break
        step *= 2
    else:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        if query_of(middle) == query:
            high = middle
        else:
            low = middle
    return int(ends[low])


def _row_ends(data: bytearray, separator: str) -> Ints:
    """Where rows end, in data with quotation marks."""
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    if not _are_around_values(quotes, text, separator):
        return np.fromiter(_parsed_row_ends(data, separator), np.int64)
    line_ends = np.flatnonzero(text == _NEWLINE)
    ends: Ints = line_ends[np.searchsorted(quotes, line_ends) % 2 == 0] + 1
    return ends


def _parsed_row_ends(data: bytearray, separator: str) -> Iterator[int]:
    """Where rows end, in data in which values contain quotation marks without being quoted."""
    with suppress(csv.Error):  # an error names the row when it is read
        yield from (end for end, _ in row_ends(data, separator) if end < len(data))


def _are_around_values(quotes: Ints, text: NDArray[np.uint8], separator: str) -> bool:
    """Whether each quotation mark is at the start or end of a value, or one of two in a row inside a quoted value."""
    is_edge = np.zeros(256, bool)
    is_edge[[ord(separator), _NEWLINE, _RETURN, _QUOTE]] = True
    opening, closing = quotes[::2], quotes[1::2]
    before = text[opening[opening > 0] - 1]
    after = text[closing[closing < len(text) - 1] + 1]
    return bool(is_edge[before].all() and is_edge[after].all())


def _parse_with_arrow(data: memoryview, layout: DelimitedLayout, rules: PairRules) -> Columns | None:
    """The columns as Arrow reads them; None if Arrow might read them differently from `parse_rows`."""
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    if not text.all() or len(quotes) % 2 or not _are_around_values(quotes, text, layout.separator):
        return None
    positions = (layout.query, layout.doc, layout.number)
    columns = columns_by_arrow(data, layout.width, positions, layout.separator, has_quotes=bool(len(quotes)))
    if columns is None or not are_valid(columns.number, rules):
        return None
    if _may_need_parsing(columns.query) or _may_need_parsing(columns.doc):
        return None
    return columns._replace(number=ordered(columns.number, rules))


def columns_by_arrow(
    data: memoryview | bytes,
    width: int,
    positions: tuple[int, int, int | None],
    separator: str,
    *,
    has_quotes: bool = False,
) -> Columns | None:
    """The query, the document and the number of each row, at these positions, as Arrow's CSV reader reads them.

    None if Arrow cannot read a row, or if a number is not finite. Without the position of a number, all numbers are 1.
    """
    if not len(data) or bytes(data[:3]) == BOM:  # Arrow drops a byte order mark, which is part of an id here
        return None
    names = [str(at) for at in range(width)]
    query, doc, number = (str(at) for at in positions)
    types = {query: pa.string(), doc: pa.string()} | ({} if positions[2] is None else {number: pa.float64()})
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(data)),
            arrow_csv.ReadOptions(column_names=names, use_threads=False, block_size=min(len(data) + 1, 1 << 30)),
            arrow_csv.ParseOptions(
                delimiter=separator, quote_char='"' if has_quotes else False, newlines_in_values=has_quotes
            ),
            arrow_csv.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                null_values=[],
                strings_can_be_null=False,
                # ASCII is valid UTF-8, and one pass over all bytes is cheaper than Arrow's check of each id.
                check_utf8=bool(np.frombuffer(data, np.uint8).max() >= 128),
            ),
        )
    except pa.ArrowInvalid:
        return None
    values = np.ones(len(table)) if positions[2] is None else to_floats(table[number])
    if not np.isfinite(values).all():
        return None
    return Columns(concatenate(table[query].chunks), concatenate(table[doc].chunks), values)


def _may_need_parsing(ids: Column) -> bool:
    """Whether an id is empty or long, or begins with a blank, which may not be part of it, or with an apostrophe."""
    if not len(ids):
        return False
    _, offset_buffer, data = ids.buffers()
    offsets = np.frombuffer(offset_buffer, offset_kind(ids))[ids.offset : ids.offset + len(ids) + 1]
    lengths = np.diff(offsets)
    if data is None or not lengths.all() or lengths.max() > LONGEST_ID:
        return True
    first = np.frombuffer(data, np.uint8)[offsets[:-1]]
    return bool(((first == _BLANK) | (first == _APOSTROPHE)).any())
