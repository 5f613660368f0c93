"""Data frames in a JSON file, in the shape that pandas' `to_json` writes by default or as lists, as records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, get_args

from karat.errors import KaratError
from karat.reading.columns.spellings import FieldRole, Role, is_spelling

_MOST_COLUMNS = 200  # an object with more keys is a mapping


class JsonFrame(NamedTuple):
    """The rows of a data frame."""

    records: list[dict[str, Any]]
    orient: str = "columns"
    """what pandas calls its shape"""

    def note(self, name: str) -> str:
        """What was recognized, as a sentence."""
        return f"{name}: the file is read as a data frame (in pandas, orient='{self.orient}')"


def frame_in_json(value: object, name: str | None = None) -> JsonFrame | None:
    """The data frame in a JSON value; None for all other values, among them lists of records.

    A frame in which keys are names of columns could also map queries to documents, so the names must be known ones.
    Other shapes that pandas can write are not read. They are an error if the `name` of the file is given.

    >>> frame_in_json({"query": {"0": "q1"}, "doc": {"0": "d1"}, "grade": {"0": 2}}, "truth.json")
    JsonFrame(records=[{'query': 'q1', 'doc': 'd1', 'grade': 2}], orient='columns')
    """
    if not isinstance(value, dict) or not value:
        return None
    if name is not None:
        reject_other_orients(value, name)
    columns = list(value.values())
    if not (_are_alike(columns) and _are_known(value)):
        return None
    is_list = isinstance(columns[0], list)
    if is_list and not _are_mostly_fields(value):
        return None
    rows = zip_longest(*(column if is_list else column.values() for column in columns))
    return JsonFrame([dict(zip(value, row, strict=True)) for row in rows], "list" if is_list else "columns")


def reject_other_orients(value: Mapping[str, Any], name: str) -> None:
    """Raise an error if this is a data frame in a shape that is not read; `name` is that of its file."""
    if orient := _other_orient(value):
        what = f"this is a data frame, in a shape that is not read (in pandas, orient='{orient}')"
        raise KaratError(what, place=name, hint='Write it with to_json(orient="records").')


def _other_orient(value: Mapping[str, Any]) -> str | None:
    """What pandas calls the shape of a frame that is not read; None for anything else."""
    columns: Any = value.get("columns")
    data: Any = value.get("data")
    schema: Any = value.get("schema")
    if _are(str, columns) and _are(list, data) and value.keys() <= {"columns", "index", "data"}:
        return "split" if all(len(row) <= len(columns) for row in data) else None
    if isinstance(schema, dict) and "fields" in schema and _are(dict, data):
        return "table"
    rows = list(value.values())
    if not rows or not _are_alike(rows) or not isinstance(rows[0], dict):
        return None
    return "index" if _are_known(rows[0]) and not _are_known(value) else None


def _are_mostly_fields(columns: dict[str, list[Any]]) -> bool:
    """Whether lists are columns: queries that are words may have lists of one length, too."""
    others = [name for name, column in columns.items() if not all(isinstance(each, int | float) for each in column)]
    return 2 * sum(map(_is_field, others)) >= len(others)


def _are(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _are_alike(values: Sequence[Any]) -> bool:
    """Whether values are all objects with the same keys, or lists of one length. The end of the last may be cut off."""
    first, last = values[0], values[-1]
    if {*map(type, values)} == {dict}:
        return all(each.keys() == first.keys() for each in values[:-1]) and last.keys() <= first.keys()
    return {*map(type, values)} == {list} and {*map(len, values[:-1])} <= {len(first)} and len(last) <= len(first)


def _are_known(names: Collection[str]) -> bool:
    """Whether names include that of a query, and that of something about it."""
    if len(names) > _MOST_COLUMNS:
        return False
    query = next((name for name in names if _is_query(name)), None)
    return query is not None and any(_is_field(name) for name in names if name != query)


def _is_query(name: str) -> bool:
    return is_spelling(name, "query") or is_spelling(name, "record_query")


def _is_field(name: str) -> bool:
    return any(is_spelling(name, role) for role in (*get_args(Role), *get_args(FieldRole)))
