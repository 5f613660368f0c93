"""CSV and TSV, row by row: the definition of how they are read, and the errors about a row."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from karat.errors import KaratError, Place, plural
from karat.reading.bytes.delimited_text import SEPARATORS, Row, parsed_rows, row_error
from karat.reading.bytes.input_file import Block
from karat.reading.pairs.delimited import DelimitedLayout
from karat.reading.pairs.pair_checks import PairColumns, read_pairs
from karat.reading.pairs.tables import Number

_WITHOUT_TEXTS = "Otherwise, leave out the columns with texts; karat reads only the query, the document and a number."


def parse_rows(block: Block, layout: DelimitedLayout, number: Number, is_guarded: Callable[[], bool]) -> PairColumns:
    """The pairs of a block. The first row that is wrong is an error."""

    def rows() -> Iterator[tuple[str, str, str | float]]:
        for _, cells in rows_of(block, layout):
            yield cells[layout.query], cells[layout.doc], 1.0 if layout.number is None else cells[layout.number]

    def place(row: int) -> Place:
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
        raise row_error(error, layout.separator, block.place(error.args[1]), _WITHOUT_TEXTS) from None


def guarded_ids(blocks: Iterator[Block], layout: DelimitedLayout) -> bool:
    """Whether ids have an apostrophe before what a spreadsheet would run as a formula, as `--safe-csv` writes them.

    A safe file has no id that is a formula. In any other file, the apostrophe is part of the id.
    """
    from karat.output.delimited import is_formula

    found = False
    for block in blocks:
        for row in rows_of(block, layout):
            for cell in (row.cells[layout.query], row.cells[layout.doc]):
                if is_formula(cell):
                    if not cell.startswith("'"):
                        return False
                    found = True
    return found


def _wrong_width(row: Row, layout: DelimitedLayout, block: Block) -> KaratError:
    what = f"the row has {plural(len(row.cells), 'column')}, but the first row has {layout.width}"
    separator = SEPARATORS[layout.separator]
    hint = f"Put values that contain a {separator}, a line break or a quotation mark in quotation marks."
    if layout.separator == "," and len(row.cells) == layout.width + 1:
        hint += " Write numbers with a decimal point."
    return KaratError(what, place=block.place(row.line), hint=hint)
