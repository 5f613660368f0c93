"""CSV and TSV files of ground truth and runs: large ones are read in blocks, with Arrow, and small ones in Python.

`parse_rows` defines how a row is read, and finds the errors about it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from karat.data.caching import cached_property
from karat.errors import KaratError, Place, plural
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.delimited_text import (
    SEPARATORS,
    Row,
    TooLongError,
    UnclosedError,
    lines_of,
    row_error,
    rows_in_lines,
)
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.pairs.delimited_layout import DelimitedLayout, empty_error
from karat.reading.pairs.pair_checks import PairColumns, read_pairs
from karat.reading.pairs.places import FEW_PAIRS, Pair, PlacedPair, placed_lines
from karat.reading.pairs.tables import Columns, Number, by_query, is_small_file

_WITHOUT_TEXTS = "Otherwise, leave out the columns with texts; karat reads only the query, the document and a number."

# For each, the rest of a block is read again: with more of them, the rows are not what they look like.
_MOST_UNCLOSED = 20

_AT_LINES = (
    "A large file, and any file on Spark, is divided at its lines: write the table without line breaks, or as Parquet."
)


@dataclass(frozen=True)
class DelimitedTable:
    """A CSV or TSV file with a row per query and document."""

    source: InputFile
    number: Number
    layout: DelimitedLayout

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def by_rank(self) -> bool:
        return self.layout.by_rank

    @property
    def notes(self) -> tuple[str, ...]:
        return self.layout.notes

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """One part per block of the file."""
        from karat.reading.pairs.delimited_blocks import read_block

        for block in self._blocks(progress, self._last_row_end(whole_queries)):
            yield partial(read_block, block, self.layout, self.number, lambda: self._is_guarded)

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query in a small file."""
        # Arrow reads longer values than Python does: no row is left out before it has tried.
        most = None if self.source.rejected is None else csv.field_size_limit()
        if not is_small_file(self.source, most):
            return None
        blocks = self._blocks(progress, lambda _: 0)  # all rows are in one block
        try:
            pairs = [*map(self._pairs, blocks)]
        except TooLongError:
            return None
        return by_query(pairs[0]) if pairs else None

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The lines with these queries and documents."""
        wanted = {*pairs}
        # In the file, the id may be in quotation marks, and those that are part of it are doubled.
        parts = [max(doc.split('"'), key=len).encode() for _, doc in wanted]

        def lines_in(block: Block) -> Iterator[tuple[int, Pair]]:
            data = bytes(block.data)
            if len(parts) <= FEW_PAIRS and not any(part in data for part in parts):
                return
            pairs = self._pairs(block)
            left_out = {*pairs.left_out}
            read = (row for at, row in enumerate(rows_of(block, self.layout)) if at not in left_out)
            for row, *pair in zip(read, pairs.queries, pairs.docs, strict=True):
                if (query_and_doc := (pair[0], pair[1])) in wanted:
                    yield row.line, query_and_doc

        return placed_lines(self._blocks(None, self._last_row_end(False)), lines_in)

    def empty_error(self) -> KaratError:
        """The error for a file without rows."""
        return empty_error(self.name, self.number)

    def _blocks(self, progress: Progress | None, last_end: Callable[[bytearray], int]) -> Iterator[Block]:
        """The rows in blocks, without the header; see `InputFile.blocks`."""
        start = self.layout.start if self.source.has_start else 0
        first: int | None = None
        for block in self.source.blocks(progress, last_end=last_end):
            first = block.offset if first is None else first
            header = min(max(first + start - block.offset, 0), len(block.data))
            yield block.without_start(header)

    def _pairs(self, block: Block) -> PairColumns:
        return parse_rows(block, self.layout, self.number, lambda: self._is_guarded)

    def _last_row_end(self, whole_queries: bool) -> Callable[[bytearray], int]:
        from karat.reading.pairs.delimited_blocks import last_row_end

        return partial(last_row_end, layout=self.layout, whole_queries=whole_queries)

    @cached_property
    def _is_guarded(self) -> bool:
        if self.source.bounds is not None:
            # The whole file tells. If it has a row that is wrong, that is an error of the part with this row.
            with suppress(KaratError):
                return replace(self, source=self.source.whole)._is_guarded
            return False
        return _are_guarded(self._blocks(None, self._last_row_end(False)), self.layout)


def parse_rows(block: Block, layout: DelimitedLayout, number: Number, is_guarded: Callable[[], bool]) -> PairColumns:
    """The pairs of a block. The first row that is wrong is an error, unless such rows are collected."""
    lines: list[int] = []  # with which rows begin

    def rows() -> Iterator[tuple[str, str, str | float]]:
        lines.clear()
        for line, cells in rows_of(block, layout):
            lines.append(line)
            yield cells[layout.query], cells[layout.doc], 1.0 if layout.number is None else cells[layout.number]

    def place(row: int, _column: int) -> Place:
        return block.place(lines[row])

    pairs = read_pairs(rows, layout.rules(number), place, block.source.rejected)
    return pairs._replace(queries=_unguarded(pairs.queries, is_guarded), docs=_unguarded(pairs.docs, is_guarded))


def _unguarded(ids: Sequence[str], is_guarded: Callable[[], bool]) -> Sequence[str]:
    """Ids without the apostrophe that `--safe-csv` has put before them."""
    if not any(each[0] == "'" for each in ids) or not is_guarded():
        return ids
    from karat.output.delimited import is_formula

    return [each[1:] if is_formula(each) else each for each in ids]


def rows_of(block: Block, layout: DelimitedLayout) -> Iterator[Row]:
    """The rows of a block, which have as many cells as the first row of the file."""
    data = bytes(block.data)
    text, has_nul, start = data.decode("utf-8", "surrogateescape"), b"\0" in data, 0
    if has_nul:
        _reject_nul_bytes(block, data)
    lines: list[str] | None = None
    unclosed = 0
    while lines is None or start < len(lines):
        rest = lines_of(text) if lines is None else map(lines.__getitem__, range(start, len(lines)))
        try:
            for row in rows_in_lines(rest, layout.separator, start):
                if has_nul and any("\0" in cell for cell in row.cells):
                    continue
                if len(row.cells) != layout.width:
                    block.reject(_wrong_width(row, layout, block))
                    continue
                yield row
            return
        except csv.Error as error:
            line = error.args[1]
            wrong = _row_error(error, line, layout, block)
            unclosed += isinstance(wrong, UnclosedError)
            if unclosed > _MOST_UNCLOSED:
                raise wrong from None
            block.reject(wrong)
            # A quotation mark that is not closed takes in the rows after it.
            lines, start = lines or [*lines_of(text)], line + 1


def _reject_nul_bytes(block: Block, data: bytes) -> None:
    hint = "This is binary data, or UTF-16: save the file as text in UTF-8."
    for number, line in enumerate(data.splitlines()):
        if b"\0" in line:
            block.reject(KaratError("the line contains a NUL byte", place=block.place(number), hint=hint))


def _row_error(error: csv.Error, line: int, layout: DelimitedLayout, block: Block) -> KaratError:
    """The error for a row that cannot be parsed."""
    wrong = row_error(error, layout.separator, block.place(line), _WITHOUT_TEXTS)
    if isinstance(wrong, UnclosedError) and block.source.bounds is not None:  # the value may go on in the next part
        what = "a value in quotation marks has a line break, or is not closed"
        return KaratError(what, place=wrong.place, hint=_AT_LINES)
    return wrong


def _are_guarded(blocks: Iterator[Block], layout: DelimitedLayout) -> bool:
    """Whether ids have an apostrophe before what a spreadsheet would run as a formula, as `--safe-csv` writes them.

    A safe file has no id that is a formula. In any other file, the apostrophe is part of the id.
    """
    from karat.output.delimited import is_formula

    has_formula = False
    rows = (row for block in blocks for row in rows_of(block, layout))
    for cell in (row.cells[column] for row in rows for column in (layout.query, layout.doc)):
        if is_formula(cell):
            if not cell.startswith("'"):
                return False
            has_formula = True
    return has_formula


def _wrong_width(row: Row, layout: DelimitedLayout, block: Block) -> KaratError:
    what = f"the row has {plural(len(row.cells), 'column')}, but the first row has {layout.width}"
    separator = SEPARATORS[layout.separator]
    hint = f"Put values that contain a {separator}, a line break or a quotation mark in quotation marks."
    if layout.separator == "," and len(row.cells) == layout.width + 1:
        hint += " Write numbers with a decimal point."
    return KaratError(what, place=block.place(row.line), hint=hint)
