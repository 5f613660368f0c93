"""The layout of a CSV or TSV file, judging by how it begins: its separator, its header, and which columns to read.

Without a header, the contents of the columns decide. The layouts that are in use are `query doc score`, MS MARCO's with
ranks, and those of TREC. What could mean two things is an error.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from karat.errors import KaratError, Message, Parameter, Place, enumeration, plural, shown
from karat.reading.bytes.delimited_text import first_rows, likely_separator, parsed_rows, row_ends, row_error
from karat.reading.bytes.input_file import InputFile
from karat.reading.columns.spellings import Role, is_spelling
from karat.reading.pairs.columns import columns_to_read
from karat.reading.pairs.pair_checks import NoPairsError, PairRules, hint_on_column, number_in
from karat.reading.pairs.tables import Number
from karat.reading.pairs.trec import has_width_of_trec

Delimited = Literal["csv", "tsv"]

_PEEK = 1 << 16  # bytes
_LARGEST_PEEK = 1 << 22
_DECIMAL_ID = re.compile(r"\d+\.0")
Rows = Sequence[Sequence[str]]
_THIRD: Message = [Parameter("run_columns", {"rank": "3"}), " or ", Parameter("run_columns", {"score": "3"})]
_NO_ITERATION = {"0", "Q0", "q0"}  # in the second column of TREC files


@dataclass(frozen=True)
class DelimitedLayout:
    """How the rows of a file are read.

    `start` is the byte at which the first row begins, not counting a byte order mark. `query`, `doc` and `number` are
    positions of columns; without a `number`, every document has grade 1. With `by_rank`, the number is a rank.
    """

    separator: str
    width: int
    start: int
    query: int
    doc: int
    number: int | None
    by_rank: bool
    notes: tuple[str, ...]

    def rules(self, number: Number) -> PairRules:
        """What the pairs of a file must be."""
        noun: Literal["grade", "score", "rank"] = "rank" if self.by_rank else number
        return PairRules(noun, hint_on_column(noun), encoded=True)


def looks_delimited(start: bytes) -> Delimited | None:
    r"""The format of a text with these first bytes, if it is CSV or TSV; None for TREC files, JSON and anything else.

    >>> looks_delimited(b"query-id\tcorpus-id\tscore\n"), looks_delimited(b"q1\t0\td1\t1\n")
    ('tsv', None)
    """
    if start.lstrip()[:1] in (b"", b"{", b"["):
        return None
    text = start.decode(errors="replace")
    separator = separator_of(text)
    if separator not in text:
        return None
    rows = first_rows(text, separator, whole=False)
    if not rows or len(rows[0]) < 2:
        return None
    if not _has_known_names(rows[0]) and (
        len({*map(len, rows)}) > 1 or _is_trec(text.splitlines()[: len(rows)], separator)
    ):
        return None
    return "tsv" if separator == "\t" else "csv"


def layout_of(
    file: InputFile,
    format: Delimited,  # noqa: A002
    number: Number,
    by_role: Mapping[str, str] | None,
) -> DelimitedLayout:
    """The layout of a file; `by_role` are the columns to read: their names, or their numbers from 1."""
    start, separator, rows = _beginning(file, format)
    if not rows:
        _check_first_row(start, separator, file.name)
        raise empty_error(file.name, number)
    width = len(rows[0])
    if width == 1:
        raise _one_column(file.name, rows[0][0], number)
    has_header = _has_header(rows, by_role)
    names = tuple(map(str.strip, rows[0])) if has_header else _assumed_names(rows, number, by_role, file.name)
    # A table of relevant documents may have no grades.
    all_names = (*names, "grade") if width == 2 and number == "grade" else names
    columns = columns_to_read(all_names, number, _by_name(by_role, names), file.name)
    query, doc, value = map(all_names.index, columns.names)
    notes = columns.note(file.name)
    if not has_header and set(names) - {*_column_numbers(width)}:
        layout = f"{file.name}: the file has no header; its columns are read as {enumeration(names, 'and')}"
        notes = (layout, *replace(columns, by_rank=False).note(file.name))
    if value == width:
        notes = (*notes, f"{file.name}: the file has no grades, so every document in it has grade 1")
    notes += _decimal_ids_note(rows[has_header:], {columns.query: query, columns.doc: doc}, file.name)
    first_row = next(end for end, is_blank in row_ends(start, separator) if not is_blank) if has_header else 0
    return DelimitedLayout(
        separator, width, first_row, query, doc, None if value == width else value, columns.by_rank, notes
    )


def _decimal_ids_note(rows: Rows, columns: Mapping[str, int], name: str) -> tuple[str, ...]:
    """A note on ids such as `7.0`, which pandas writes for whole numbers if one is missing: they do not match `7`."""
    decimal = [
        shown(column)
        for column, at in columns.items()
        if rows and all(len(row) > at and _DECIMAL_ID.fullmatch(row[at]) for row in rows)
    ]
    if not decimal:
        return ()
    return (f"{name}: ids in {enumeration(decimal, 'and')} end with .0, so that 7.0 does not match an id 7",)


def _check_first_row(start: bytes, separator: str, name: str) -> None:
    """Raise the error of a first row that cannot be parsed."""
    try:
        next(parsed_rows(start.decode("utf-8", "surrogateescape"), separator), None)
    except csv.Error as error:
        hint = "Otherwise, leave out the columns with texts."
        raise row_error(error, separator, Place(name, line=error.args[1] + 1), hint) from None


def empty_error(name: str, number: Number) -> KaratError:
    """The error for a file without rows."""
    kind = "run" if number == "score" else "ground truth"
    hint = f"Each row has a query, a document and a {number}; a header names the columns: query,doc,{number}."
    return NoPairsError(f"the {kind} is empty", place=name, hint=hint)


def separator_of(text: str) -> str:
    """The separator of the columns of a table of queries and documents."""
    return likely_separator(text, _has_known_names)


def _beginning(file: InputFile, format: Delimited) -> tuple[bytes, str, list[list[str]]]:  # noqa: A002
    """The first bytes of a file, its separator, and its first rows: at least two, if it has two."""
    size = _PEEK
    while True:
        start = file.start(size)
        text = start.decode("utf-8", "surrogateescape")
        separator = "\t" if format == "tsv" else separator_of(text)
        rows = first_rows(text, separator, whole=len(start) < size)
        if len(rows) > 1 or len(start) < size or size >= _LARGEST_PEEK:
            return start, separator, rows
        size *= 8


def _has_header(rows: Rows, by_role: Mapping[str, str] | None) -> bool:
    """Whether the first row names the columns: by known names, or by texts above columns of numbers."""
    first, *others = rows
    if _has_known_names(first) or any(name in first and not is_number(name) for name in (by_role or {}).values()):
        return True
    columns = zip(first, zip(*others, strict=False), strict=False)
    above_numbers = [name for name, cells in columns if all(map(is_number, cells))]
    return bool(above_numbers) and not any(map(is_number, above_numbers))


def _has_known_names(row: Sequence[str]) -> bool:
    """Whether a row names the columns of at least two of query, document and number."""
    roles: tuple[tuple[Role, ...], ...] = (("query",), ("doc",), ("grade", "score", "rank"))
    return sum(any(is_spelling(name, role) for name in row for role in group) for group in roles) > 1


def _by_name(by_role: Mapping[str, str] | None, names: Sequence[str]) -> dict[str, str]:
    """The columns to read by name; a number is the position of a column, unless it is the name of one."""
    by_number = dict(zip(_column_numbers(len(names)), names, strict=True))
    return {role: name if name in names else by_number.get(name, name) for role, name in (by_role or {}).items()}


def _one_column(name: str, first: str, number: Number) -> KaratError:
    hint = f"Columns are separated by commas, semicolons or tabs: query,doc,{number}."
    return KaratError(f"the first line has only one column: {shown(first)}", place=Place(name, line=1), hint=hint)


def _assumed_names(rows: Rows, number: Number, by_role: Mapping[str, str] | None, place: str) -> tuple[str, ...]:
    """Names for the columns of a file without a header: their numbers from 1, if the columns to read are given."""
    numbers = _column_numbers(len(rows[0]))
    by_role = by_role or {}
    for name in by_role.values():
        if name not in numbers:
            what = f"the file has no header, and so no column {shown(name)}"
            raise KaratError(what, place=place, hint=_by_number_hint(number))
    number_is_given = number in by_role or "rank" in by_role
    if {"query", "doc"} <= by_role.keys() and number_is_given:
        return tuple(numbers)
    names = (_names_of_truth if number == "grade" else _names_of_run)(rows, number_is_given, place)
    if names is None:
        what = f"the file has no header, and the meaning of its {plural(len(numbers), 'column')} is not known"
        raise KaratError(what, place=place, hint=_by_number_hint(number))
    return tuple(names)


def _column_numbers(width: int) -> list[str]:
    """The numbers of columns, from 1."""
    return [str(at) for at in range(1, width + 1)]


def _is_trec(lines: Sequence[str], separator: str) -> bool:
    """Whether lines in which the separator occurs are those of a TREC file all the same."""
    rows = [line.split() for line in lines if line.strip() and line[0] != "#"]
    if separator == "\t" and {*map(len, rows)} == {4} and not _lacks_iteration(rows) and _are_ranks(rows):
        return False  # query, doc, rank, score
    if separator != "\t" and all(token.endswith(separator) for row in rows for token in row[:-1]):
        return False  # blanks after separators
    return all(
        has_width_of_trec(row) and (_lacks_iteration([row]) or is_number(row[3 if len(row) == 4 else 4]))
        for row in rows
    )


def is_number(cell: str) -> bool:
    """Whether a cell contains a number."""
    return number_in(cell) is not None


def _names_of_truth(rows: Rows, number_is_given: bool, place: str) -> Sequence[str] | None:
    width = len(rows[0])
    if width in (2, 3):
        return ("query", "doc", "3" if number_is_given else "grade")[:width]
    if width == 4 and (_lacks_iteration(rows) or len({row[1] for row in rows if len(row) > 1}) == 1 < len(rows)):
        return "query", "iteration", "doc", "grade"
    if _is_trec_run(rows):
        hint = "Are ground truth and run in the wrong order?"
        raise KaratError("the rows are those of a run, not of ground truth", place=place, hint=hint)
    return None


def _names_of_run(rows: Rows, number_is_given: bool, place: str) -> Sequence[str] | None:
    width = len(rows[0])
    if width == 2:
        what = "a run has a query, a document, and a score or a rank in each row, but the rows have 2 columns"
        raise KaratError(what, place=place, hint="Add a column with the rank of each document: query,doc,rank.")
    if width == 3:
        return "query", "doc", "3" if number_is_given else _rank_or_score(rows, place)
    if _is_trec_run(rows):
        return ("query", "Q0", "doc", "rank", "score", "tag")[:width]
    if width == 4 and _lacks_iteration(rows):
        hint = "Are ground truth and run in the wrong order?"
        raise KaratError("the rows are those of ground truth, not of a run", place=place, hint=hint)
    if width == 4 and _are_ranks(rows) and all(is_number(row[3]) for row in rows if len(row) > 3):
        return "query", "doc", "rank", "score"
    return None


def _rank_or_score(rows: Rows, place: str) -> Role:
    """What the third column is: ranks, or scores unless they are whole numbers that ascend, which could be either."""
    if _are_ranks(rows):
        return "rank"
    if any(numbers != sorted(numbers, reverse=True) for numbers in _whole_numbers(rows)):
        what = "the file has no header, and the numbers in its third column may be ranks or scores"
        raise KaratError(what, place=place, hint=["Use ", *_THIRD, "."])
    return "score"


def _are_ranks(rows: Rows) -> bool:
    """Whether the third column contains ranks: 1, 2, 3, … for each query, and not just 1."""
    by_query = _whole_numbers(rows)
    return any(len(numbers) > 1 for numbers in by_query) and all(map(_counts_up, by_query))


def _whole_numbers(rows: Rows) -> list[list[int]]:
    """The numbers in the third column by query; nothing if any is not a whole number."""
    by_query: dict[str, list[int]] = {}
    for row in rows:
        if len(row) < 3 or not row[2].strip().isdecimal() or len(row[2]) > 9:
            return []
        by_query.setdefault(row[0], []).append(int(row[2]))
    return [*by_query.values()]


def _counts_up(numbers: Sequence[int]) -> bool:
    """Whether these are all numbers from 0 or 1 up to the last, in order."""
    return numbers[0] in (0, 1) and [*numbers] == [*range(numbers[0], numbers[0] + len(numbers))]


def _lacks_iteration(rows: Rows) -> bool:
    """Whether the second column has no meaning, as in most TREC files."""
    return all(len(row) > 1 and row[1] in _NO_ITERATION for row in rows)


def _is_trec_run(rows: Rows) -> bool:
    return all(len(row) in (5, 6) and row[3].strip().isdecimal() and is_number(row[4]) for row in rows)


def _by_number_hint(number: Number) -> Message:
    columns = {role: str(at) for at, role in enumerate(("query", "doc", number), 1)}
    option = Parameter("run_columns" if number == "score" else "truth_columns", columns)
    return ["Give columns by their numbers, for example ", option, "."]
