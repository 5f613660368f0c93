"""CSV and TSV: exact for programs, and, if asked for, without cells that a spreadsheet would run as a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Spreadsheets run a cell that begins with one of these, in either width, possibly after blanks.
_FORMULA = re.compile(r"[\s']*[=+\-@＝＋－＠]|'*[\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def delimited(header: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str, *, safe: bool = False) -> str:
    """CSV or TSV for programs: numbers to the last digit, an empty field for None, quotes only if needed.

    If `safe`, an apostrophe stands before each text that a spreadsheet would run as a formula.
    """
    return "".join(delimiter.join(_field(value, delimiter, safe) for value in row) + "\n" for row in [header, *rows])


def _field(value: object, delimiter: str, safe: bool) -> str:
    text = "" if value is None else str(value)
    if isinstance(value, float) and delimiter not in text:  # first, because there may be millions
        return text
    if safe and isinstance(value, str) and is_formula(text):
        text = f"'{text}"
    # Python's csv writer does not quote a carriage return, which its reader then takes for the end of a line. Readers
    # may strip blanks that are not in quotes.
    quoted = text != text.strip() or any(mark in text for mark in (delimiter, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if quoted else text


def unguarded(rows: list[list[str]]) -> list[list[str]]:
    """The cells as they were before `delimited` made them safe, if it did.

    A safe file has no cell that is a formula. In any other file, an apostrophe is part of the text.

    >>> unguarded([["query", "AP"], ["'=a", "-0.5"]]), unguarded([["query", "AP"], ["'=a", "1"], ["=a", "1"]])
    ([['query', 'AP'], ['=a', '-0.5']], [['query', 'AP'], ["'=a", '1'], ['=a', '1']])
    """
    if not any(cell[:1] == "'" for row in rows for cell in row):
        return rows
    if any(is_formula(cell) and not cell.startswith("'") for row in rows for cell in row):
        return rows
    return [[cell[1:] if is_formula(cell) else cell for cell in row] for row in rows]


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a text, or would without the apostrophes before it."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)
