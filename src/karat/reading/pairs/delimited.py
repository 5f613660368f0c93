"""CSV and TSV files of ground truth and runs: large ones are read in blocks, with Arrow, and small ones in Python.

`parse_rows` defines how a row is read, and finds the errors about it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from karat.data.caching import cached_property
from karat.errors import KaratError, Place, plural
from karat.reading.bytes.delimited_text import SEPARATORS, Row, TooLongError, UnclosedError, parsed_rows, row_error
from karat.reading.bytes.input_file import Block, InputFile, Progress
from karat.reading.pairs.delimited_layout import DelimitedLayout, empty_error
from karat.reading.pairs.pair_checks import PairColumns, read_pairs
from karat.reading.pairs.tables import Columns, Number, by_query, first_two_lines, is_small_file

_WITHOUT_TEXTS = "Otherwise, leave out the columns with texts; karat reads only the query, the document and a number."

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
        if not is_small_file(self.source):
            return None
        blocks = self._blocks(progress, lambda _: 0)  # all rows are in one block
        try:
            pairs = [*map(self._pairs, blocks)]
        except TooLongError:
            return None
        return by_query(pairs[0]) if pairs else None

    def locate(self, query: str, doc: str) -> Place:
        """The first two lines with this query and document: `run.csv:3 and 7`."""
        # In the file, the id may be in quotation marks, and those that are part of it are doubled.
        part = max(doc.split('"'), key=len).encode()

        def lines_in(block: Block) -> list[int]:
            if part not in bytes(block.data):
                return []
            pairs = self._pairs(block)
            rows = zip(rows_of(block, self.layout), pairs.queries, pairs.docs, strict=True)
            return [row.line for row, *pair in rows if pair == [query, doc]]

        return first_two_lines(self.source, self._blocks(None, self._last_row_end(False)), lines_in)

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
            yield Block(block.data[header:], self.source, block.offset + header)

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
    """The pairs of a block. The first row that is wrong is an error."""

    def rows() -> Iterator[tuple[str, str, str | float]]:
        for _, cells in rows_of(block, layout):
            yield cells[layout.query], cells[layout.doc], 1.0 if layout.number is None else cells[layout.number]

    def place(row: int, _column: int) -> Place:
        return block.place(next(islice(rows_of(block, layout), row, None)).line)

    pairs = read_pairs(rows, layout.rules(number), place)
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
    if b"\0" in data:
        line = data[: data.index(b"\0")].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
        hint = "This is binary data, or UTF-16: save the file as text in UTF-8."
        raise KaratError("the line contains a NUL byte", place=block.place(line), hint=hint)
    try:
        for row in parsed_rows(data.decode("utf-8", "surrogateescape"), layout.separator):
            if len(row.cells) != layout.width:
                raise _wrong_width(row, layout, block)
            yield row
    except csv.Error as error:
        wrong = row_error(error, layout.separator, block.place(error.args[1]), _WITHOUT_TEXTS)
        if isinstance(wrong, UnclosedError) and block.source.bounds is not None:  # the value may go on in the next part
            what = "a value in quotation marks has a line break, or is not closed"
            wrong = KaratError(what, place=wrong.place, hint=_AT_LINES)
        raise wrong from None


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
