"""Data frames in a JSON file, in the shapes that pandas' `to_json` writes, as records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, get_args

from karat.columns.spellings import FieldRole, Role, is_spelling

_MOST_COLUMNS = 200  # an object with more keys is a mapping


class JsonFrame(NamedTuple):
    """The rows of a data frame, and the name that pandas has for the shape of the file."""

    records: list[dict[str, Any]]
    orient: str

    def note(self, name: str) -> str:
        """What was recognized, as a sentence."""
        return f"{name}: the file is read as a data frame (in pandas, orient='{self.orient}')"


def frame_in_json(value: object) -> JsonFrame | None:
    """The data frame in a JSON value; None for all other values, among them lists of records.

    A frame in which keys are names of columns could also map queries to documents, so the names must be known ones.

    >>> frame_in_json({"query": {"0": "q1"}, "doc": {"0": "d1"}, "grade": {"0": 2}})
    JsonFrame(records=[{'query': 'q1', 'doc': 'd1', 'grade': 2}], orient='columns')
    """
    if not isinstance(value, dict) or not value:
        return None
    columns: Any = value.get("columns")
    data: Any = value.get("data")
    schema: Any = value.get("schema")
    if _are(str, columns) and _are(list, data) and value.keys() <= {"columns", "index", "data"}:
        is_table = all(len(row) <= len(columns) for row in data)
        return JsonFrame([dict(zip_longest(columns, row)) for row in data], "split") if is_table else None
    if isinstance(schema, dict) and "fields" in schema and _are(dict, data):
        return JsonFrame(data, "table")
    first, *_ = values = list(value.values())
    if not _are_alike(values):
        return None
    if isinstance(first, dict):
        if _are_known(value):
            rows = zip_longest(*(each.values() for each in values))
            return JsonFrame([dict(zip(value, row, strict=True)) for row in rows], "columns")
        return JsonFrame(values, "index") if _are_known(first) else None
    # Queries that are words may have lists of one length, too.
    if _are_known(value) and 2 * sum(map(_is_field, value)) >= len(value):
        return JsonFrame([dict(zip(value, row, strict=True)) for row in zip_longest(*values)], "list")
    return None


def _are(kind: type, values: object) -> bool:
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
