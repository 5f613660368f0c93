"""Data frames: anything with the Arrow C stream interface (pandas, polars, pyarrow, DuckDB)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.errors import KaratError, did_you_mean, shown
from karat.judged import Floats
from karat.sources.arrays import Column, concatenate
from karat.sources.containers import ScoredRows
from karat.sources.grouping import group_by_query

_HINT = "A data frame has the columns query, doc and grade (truth) or score (run)."


@dataclass(frozen=True)
class FrameColumns:
    """Which columns of a frame are read."""

    query: str
    doc: str
    number: str

    @classmethod
    def of(cls, number: str, names: Mapping[str, str] | None) -> FrameColumns:
        """`query`, `doc` and `grade` or `score`, unless other names are given for them."""
        given = dict(names or {})
        roles = ("query", "doc", number)
        for role, name in given.items():
            if not isinstance(name, str):
                raise KaratError(f"{shown(name)} is not the name of a column", hint=f"Give the name of {role} as text.")
            if role not in roles:
                raise KaratError(
                    f"{shown(role)} is not a column that is read",
                    hint=f"Give names for {', '.join(roles[:-1])} or {roles[-1]}, as {{'doc': 'docno'}}.",
                )
        return cls(*(given.get(role, role) for role in roles))


def read_frame(source: Any, columns: FrameColumns, name: str, *, finite: bool = False) -> ScoredRows:
    """The three columns of a frame, the rows of each query together; numbers must be finite if that is said."""
    try:
        table = pa.table(source)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise KaratError(f"this cannot be read as a table: {error}", where=name, hint=_HINT) from None
    query = _ids(_column(table, columns.query, name), f"{name}, column {columns.query}")
    doc = _ids(_column(table, columns.doc, name), f"{name}, column {columns.doc}")
    number = _numbers(_column(table, columns.number, name), f"{name}, column {columns.number}", finite)
    return group_by_query(query, doc, number, lambda of_query, of_doc: _places(query, doc, of_query, of_doc, name))


def _column(table: pa.Table, wanted: str, name: str) -> pa.ChunkedArray:
    there = table.column_names.count(wanted)
    if there != 1:
        problem = "there is no column" if there == 0 else "there are two columns"
        raise KaratError(
            f"{problem} {shown(wanted)} among {', '.join(map(shown, table.column_names)) or 'none'}",
            where=name,
            hint=f"{'' if there else did_you_mean(wanted, table.column_names)} Other names are given with "
            "truth_columns= and run_columns=, as {'doc': 'docno'}.".strip(),
        )
    return table[wanted]


def _ids(column: pa.ChunkedArray, where: str) -> Column:
    kind = column.type
    if pa.types.is_dictionary(kind):
        _refuse_nulls(column, where)
        chunks = [chunk.dictionary.cast(pa.large_string()).take(chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(chunks, pa.large_string())
        kind = column.type
    if pa.types.is_null(kind) and not len(column):
        column = column.cast(pa.large_string())
        kind = column.type
    if not (_is_text(kind) or pa.types.is_integer(kind)):
        raise KaratError(
            f"ids of type {kind}", where=where, hint="Ids are text or whole numbers; convert the column to text."
        )
    _refuse_nulls(column, where)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        column = column.cast(pa.large_string())
    ids = concatenate(column.chunks)
    if len(ids) and pc.min(pc.binary_length(ids)).as_py() == 0:
        row = pc.index(pc.binary_length(ids), 0).as_py()
        raise KaratError("an id is empty", where=f"{where}, row {row}")
    return ids


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _numbers(column: pa.ChunkedArray, where: str, finite: bool) -> Floats:
    kind = column.type
    if pa.types.is_null(kind) and not len(column):
        return np.empty(0)
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    ):
        raise KaratError(f"numbers of type {kind}", where=where, hint="Convert the column to numbers.")
    _refuse_nulls(column, where)
    numbers: Floats = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    bad = ~np.isfinite(numbers) if finite else np.isnan(numbers)
    if bad.any():
        row = int(np.argmax(bad))
        raise KaratError(f"{numbers[row]} is not a number", where=f"{where}, row {row}")
    return numbers


def _refuse_nulls(column: pa.ChunkedArray, where: str) -> None:
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise KaratError("a value is missing", where=f"{where}, row {row}", hint="Every row needs all three columns.")


def _places(query: Column, doc: Column, of_query: str, of_doc: str, name: str) -> str:
    """The first two rows that hold this query and document."""
    rows = pc.indices_nonzero(pc.and_(pc.equal(query, of_query), pc.equal(doc, of_doc))).to_pylist()
    return f"{name}, rows {rows[0]} and {rows[1]}"
