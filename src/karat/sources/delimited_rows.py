"""CSV and TSV, row by row: the definition of how they are read, and the errors about a row."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from karat.errors import KaratError, Place, plural, shown
from karat.files.delimited_text import SEPARATORS, Row, parsed_rows, row_error
from karat.files.input_file import Block
from karat.sources.columns import is_rank, rank_error
from karat.sources.delimited import DelimitedLayout
from karat.sources.headerless import as_number
from karat.sources.tables import Number

_WITHOUT_TEXTS = "Otherwise, leave out the columns with texts; karat reads only the query, the document and a number."
_TRUTH_VALUES = {"true": 1.0, "false": 0.0}


class RowValues(NamedTuple):
    """The queries, documents and numbers of rows."""

    queries: list[str]
    docs: list[str]
    numbers: list[float]


def read_pairs(block: Block, layout: DelimitedLayout, number: Number, is_guarded: Callable[[], bool]) -> RowValues:
    """The pairs of a block. The first row that is wrong is an error."""
    pairs = RowValues([], [], [])
    for row in rows_of(block, layout):
        query, doc = row.cells[layout.query], row.cells[layout.doc]
        value = 1.0 if layout.number is None else as_number(row.cells[layout.number])
        if not (query and doc) or value is None or not math.isfinite(value) or layout.by_rank:
            value = _checked(row, layout, number, block)
        pairs.queries.append(query)
        pairs.docs.append(doc)
        pairs.numbers.append(-value if layout.by_rank else value)
    for ids, kind in ((pairs.queries, "query"), (pairs.docs, "doc")):
        _check_encoding(ids, block, layout, kind)
        if any(each[0] == "'" for each in ids) and is_guarded():
            from karat.output.delimited import is_formula

            ids[:] = [each[1:] if is_formula(each) else each for each in ids]
    return pairs


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


def _checked(row: Row, layout: DelimitedLayout, number: Number, block: Block) -> float:
    """The number of a row that may be wrong."""
    for kind, at in (("query", layout.query), ("document", layout.doc)):
        if not row.cells[at]:
            hint = "Every row needs a query and a document."
            raise KaratError(f"the id of the {kind} is empty", place=block.place(row.line), hint=hint)
    if layout.number is None:
        return 1.0
    cell = row.cells[layout.number].strip()
    value = as_number(cell)
    if value is None and number == "grade":
        value = _TRUTH_VALUES.get(cell.lower())
    name = "rank" if layout.by_rank else number
    if value is None or math.isnan(value):
        raise _not_a_number(name, cell, block.place(row.line))
    if math.isinf(value) and (number == "grade" or "inf" not in cell.lower()):
        raise KaratError(f"{name} {shown(cell)} is too large", place=block.place(row.line))
    if layout.by_rank and not is_rank(value):
        raise rank_error(shown(cell), block.place(row.line))
    return value


def _check_encoding(ids: list[str], block: Block, layout: DelimitedLayout, kind: str) -> None:
    try:
        "".join(ids).encode()
    except UnicodeEncodeError:
        at = layout.query if kind == "query" else layout.doc
        for row in rows_of(block, layout):
            cell = row.cells[at].encode("utf-8", "surrogateescape")
            try:
                cell.decode()
            except UnicodeDecodeError:
                what = f"{shown(cell)} is not UTF-8"
                raise KaratError(what, place=block.place(row.line), hint="Save the file as UTF-8.") from None
        raise


def _wrong_width(row: Row, layout: DelimitedLayout, block: Block) -> KaratError:
    what = f"the row has {plural(len(row.cells), 'column')}, but the first row has {layout.width}"
    separator = SEPARATORS[layout.separator]
    hint = f"Put values that contain a {separator}, a line break or a quotation mark in quotation marks."
    if layout.separator == "," and len(row.cells) == layout.width + 1:
        hint += " Write numbers with a decimal point."
    return KaratError(what, place=block.place(row.line), hint=hint)


def _not_a_number(name: str, cell: str, place: Place | str) -> KaratError:
    what = f"the {name} is missing" if not cell else f"{name} {shown(cell)} is not a number"
    digits = cell.replace(",", "").replace(".", "").replace(" ", "").replace("'", "")
    option = "truth_columns" if name == "grade" else "run_columns"
    hint = f"If it is in another column, use --column {name}=NAME (in Python {option}=)."
    if digits.isdecimal() and digits != cell:
        hint = "Write numbers with a decimal point, and without separators of thousands: 1234.5."
    return KaratError(what, place=place, hint=hint)
