"""Places of errors: the rows of a bucket are in any order, so errors name queries rather than numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from karat.errors import KaratError, MessagePart, Place
from karat.reading.records.paths import field_value


def name_queries(
    error: KaratError, names: Sequence[str], tables: Sequence[pa.Table], queries: Sequence[str]
) -> KaratError:
    """The error with the ids of queries, which are in the columns `queries`, instead of the numbers of their rows.

    The tables are those that the error is about, with their names in messages.
    """
    columns = dict(zip(names, zip(tables, queries, strict=True), strict=True))

    def in_query(place: Place) -> Place:
        if place.row is None or place.source not in columns:
            return place
        table, query = columns[place.source]
        rows = table.take(list(place.row) if isinstance(place.row, tuple) else [place.row]).to_pylist()
        ids = sorted({id_text(field_value(row, query)) for row in rows} - {""})
        return place._replace(row=None, query=tuple(ids) or None)

    def other_row(before: MessagePart, part: MessagePart) -> MessagePart:
        """Two rows of the same query have no other name."""
        return "another row" if part == named.place and part != before else part

    named = error.with_places(in_query)
    return named.but(what=list(map(other_row, error.parts, named.parts)))


def id_text(value: object) -> str:
    """An id as text; empty if there is none."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
