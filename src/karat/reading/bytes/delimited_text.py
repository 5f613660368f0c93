"""The rows of CSV and TSV, and the separator of their columns."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import NamedTuple

from karat.errors import KaratError, Place

SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon"}


class Row(NamedTuple):
    """The cells of a row, and the number of its first line, from 0."""

    line: int
    cells: list[str]


def first_rows(text: str, separator: str, *, whole: bool) -> list[list[str]]:
    """The rows at the start of a text; the last one may be cut, unless the text is the `whole` file."""
    rows: list[list[str]] = []
    try:
        rows.extend(row.cells for row in parsed_rows(text, separator))
    except csv.Error:
        return rows  # a row that is cut, or wrong: an error names it when it is read
    return rows if whole or text.endswith("\n") or len(rows) < 2 else rows[:-1]


def parsed_rows(text: str, separator: str) -> Iterator[Row]:
    """The rows of a text, without those that are blank. A csv.Error contains the line of the row that is wrong."""
    return rows_in_lines(lines_of(text), separator)


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text, with their ends, which may be part of a value in quotation marks."""
    return StringIO(text, newline="")


def rows_in_lines(lines: Iterable[str], separator: str, first: int = 0) -> Iterator[Row]:
    """The rows in lines, as `parsed_rows`; `first` is the number of the first line."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    line = first
    try:
        for cells in reader:
            if not _is_blank(cells):
                yield Row(line, cells)
            line = first + reader.line_num
    except csv.Error as error:
        raise csv.Error(str(error), line) from None


def row_ends(data: bytes | bytearray, separator: str) -> Iterator[tuple[int, bool]]:
    """The byte at which each row ends, and whether the row is blank; the last row may go on after the data."""
    end = 0

    def lines() -> Iterator[str]:
        nonlocal end
        for line in StringIO(data.decode("latin-1"), newline=""):
            end += len(line)
            yield line

    for cells in csv.reader(lines(), delimiter=separator, skipinitialspace=True):
        yield end, _is_blank(cells)


def _is_blank(cells: Sequence[str]) -> bool:
    return len(cells) < 2 and not "".join(cells).strip()


def likely_separator(text: str, is_header: Callable[[Sequence[str]], bool]) -> str:
    """The separator with which the first row is a header, or with which all rows have equally many columns.

    A header decides. Otherwise, a tab comes first, as it is rarely part of a text, and then the separator that gives
    the most columns.
    """
    first_line = text.lstrip().partition("\n")[0]
    present = [separator for separator in SEPARATORS if separator in first_line]
    alike: dict[str, int] = {}  # the number of columns
    for separator in present:
        rows = first_rows(text, separator, whole=False)
        width = len(rows[0]) if rows else 1
        if width > 1 and is_header(rows[0]):
            return separator
        if width > 1 and len({*map(len, rows)}) == 1:
            alike[separator] = width
    if not alike or "\t" in alike:
        return "\t" if alike else (present or [","])[0]
    return max(alike, key=lambda separator: alike[separator])


class TooLongError(KaratError):
    """The error for a value that is longer than what Python's csv module reads."""


class UnclosedError(KaratError):
    """The error for a value in quotation marks whose end is missing."""


def row_error(error: csv.Error, separator: str, place: Place | str, too_long_hint: str) -> KaratError:
    """The error for a row that cannot be parsed."""
    message = str(error.args[0])
    if "limit" in message:
        what = f"a value is longer than {csv.field_size_limit():,} characters"
        return TooLongError(what, place=place, hint=f"Is a quotation mark not closed? {too_long_hint}")
    if "unexpected end" in message:
        hint = 'Close it, or write "" for a quotation mark that is part of a value.'
        return UnclosedError("a quotation mark is not closed", place=place, hint=hint)
    hint = 'Inside a value, a quotation mark is written "", and the whole value is in quotation marks.'
    what = f"a closing quotation mark is not followed by a {SEPARATORS[separator]}"
    return KaratError(what, place=place, hint=hint)
