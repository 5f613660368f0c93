"""Places of errors: the rows of a bucket are in any order, so errors name queries rather than numbers of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from karat.errors import KaratError, Place, enumeration
from karat.sources.records import field_value

_COUNTED = r"(?: \(counted from 0\))?"


def name_queries(error: KaratError, names: Sequence[str], tables: Sequence[pa.Table], queries: Sequence[str]) -> None:
    """Replace the numbers of rows in an error by the ids of their queries, which are in the columns `queries`.

    The tables are those that the error is about, with their names in messages.
    """
    # A name may end with another one.
    for name, table, query in sorted(zip(names, tables, queries, strict=True), key=lambda each: -len(each[0])):
        rows = partial(_in_queries, table, query)
        places = re.compile(rf"(?<!\w)({re.escape(name)}(?:, column .*?)?), rows? (\d+)(?: and (\d+))?{_COUNTED}")
        error._what = places.sub(rows, error.what)
        error.place = Place(places.sub(rows, str(error.place))) if error.place else None
    before = f" was already in {error.place}"
    if error.what.endswith(before):  # two rows of the same query, which have no other name
        error._what = f"{error.what.removesuffix(before)} is there twice"


def _in_queries(table: pa.Table, query: str, place: re.Match[str]) -> str:
    """A place in a table, with queries instead of rows."""
    rows = table.take([int(row) for row in place.groups()[1:] if row]).to_pylist()
    ids = sorted({id_text(field_value(row, query)) for row in rows} - {""})
    noun = "query" if len(ids) == 1 else "queries"
    return f"{place[1]}, {noun} {enumeration(ids, 'and')}" if ids else place[1]


def id_text(value: object) -> str:
    """An id as text; empty if there is none."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
