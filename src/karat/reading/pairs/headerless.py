"""The columns of a CSV or TSV file without a header, judging by their contents.

The layouts that are in use are `query doc score`, MS MARCO's with ranks, and those of TREC. What could mean two things
is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.errors import KaratError, Message, Parameter, plural, shown
from karat.reading.columns.spellings import Role
from karat.reading.pairs.pair_checks import number_in
from karat.reading.pairs.tables import Number
from karat.reading.pairs.trec_lines import has_width_of_trec

Rows = Sequence[Sequence[str]]

_THIRD: Message = [Parameter("run_columns", {"rank": "3"}), " or ", Parameter("run_columns", {"score": "3"})]
_NO_ITERATION = {"0", "Q0", "q0"}  # in the second column of TREC files


def assumed_names(rows: Rows, number: Number, given: Mapping[str, str] | None, place: str) -> tuple[str, ...]:
    """Names for the columns of a file without a header: their numbers from 1, if the columns to read are `given`."""
    numbers = column_numbers(len(rows[0]))
    for name in (given or {}).values():
        if name not in numbers:
            what = f"the file has no header, and so no column {shown(name)}"
            raise KaratError(what, place=place, hint=_by_number_hint(number))
    chosen = {role for role, name in (given or {}).items() if name in numbers}
    number_is_given = bool(chosen & {number, "rank"})
    if {"query", "doc"} <= chosen and number_is_given:
        return tuple(numbers)
    names = (_names_of_truth if number == "grade" else _names_of_run)(rows, number_is_given, place)
    if names is None:
        what = f"the file has no header, and the meaning of its {plural(len(numbers), 'column')} is not known"
        raise KaratError(what, place=place, hint=_by_number_hint(number))
    return tuple(names)


def column_numbers(width: int) -> list[str]:
    """The numbers of columns, from 1."""
    return [str(at) for at in range(1, width + 1)]


def is_trec(lines: Sequence[str], separator: str) -> bool:
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
