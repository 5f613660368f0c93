"""Read data frames: any object with the Arrow C stream interface (pandas, polars, PyArrow, DuckDB)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.errors import KaratError, did_you_mean, shown
from karat.judged import Floats
from karat.sources.arrays import Column, concatenate
from karat.sources.containers import Batch, ScoredRows
from karat.sources.grouping import Locate, NumberedRows, as_batches, group_by_query, number_queries

_HINT = "A data frame needs the columns query, doc and grade (ground truth) or score (run)."


@dataclass(frozen=True)
class FrameColumns:
    """The names of the columns to read."""

    query: str
    doc: str
    number: str

    @classmethod
    def of(cls, number: str, names: Mapping[str, str] | None) -> FrameColumns:
        """The default names `query`, `doc` and `grade` or `score`, replaced by those in `names`."""
        given = dict(names or {})
        roles = ("query", "doc", number)
        for role, name in given.items():
            if not isinstance(name, str):
                raise KaratError(
                    f"{shown(name)} is not the name of a column",
                    hint=f"Pass the name of the column for {role} as a string.",
                )
            if role not in roles:
                raise KaratError(
                    f"{shown(role)} is not one of the columns {', '.join(roles[:-1])} and {roles[-1]}",
                    hint="Map them to the names of your columns, for example {'doc': 'docno'}.",
                )
        return cls(*(given.get(role, role) for role in roles))


def read_frame(source: Any, columns: FrameColumns, name: str) -> ScoredRows:
    """Read the grades of a data frame, grouped by query."""
    return group_by_query(*_read_columns(source, columns, name, finite=True))


@dataclass(frozen=True)
class FrameRun:
    """A run in a data frame, in batches that threads share."""

    name: str
    rows: NumberedRows
    locate: Locate

    @classmethod
    def of(cls, source: Any, columns: FrameColumns, name: str) -> FrameRun:
        query, doc, score, locate = _read_columns(source, columns, name, finite=False)
        return cls(name, number_queries(query, doc, score), locate)

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """The run in batches of complete queries."""
        return as_batches(self.rows, self.locate)

    grouped_batches = batches

    def empty_error(self) -> None:
        """None: an empty data frame means that the system retrieved nothing."""

    def without_progress(self) -> FrameRun:
        """This run, which reports no progress."""
        return self


def _read_columns(
    source: Any, columns: FrameColumns, name: str, *, finite: bool
) -> tuple[Column, Column, Floats, Locate]:
    """Three columns of a data frame, and where a row is, for errors; with `finite`, infinite numbers are an error."""
    try:
        table = pa.table(source)
    except Exception as error:  # the library that made the frame may raise anything
        raise KaratError(f"cannot be read as a table: {error}", where=name, hint=_HINT) from None
    query = _ids(_column(table, columns.query, name), f"{name}, column {columns.query}")
    doc = _ids(_column(table, columns.doc, name), f"{name}, column {columns.doc}")
    number = _numbers(_column(table, columns.number, name), f"{name}, column {columns.number}", finite)
    return query, doc, number, lambda one_query, one_doc: _locate(query, doc, one_query, one_doc, name)


def _column(table: pa.Table, wanted: str, name: str) -> pa.ChunkedArray:
    count = table.column_names.count(wanted)
    if count != 1:
        problem = "no column" if count == 0 else "more than one column"
        raise KaratError(
            f"{problem} {shown(wanted)}; the columns are {', '.join(map(shown, table.column_names)) or 'none'}",
            where=name,
            hint=f"{'' if count else did_you_mean(wanted, table.column_names)} If yours have other names, use "
            "truth_columns= or run_columns=, for example {'doc': 'docno'}.".strip(),
        )
    return table[wanted]


def _ids(column: pa.ChunkedArray, where: str) -> Column:
    kind = column.type
    if pa.types.is_dictionary(kind):
        _reject_nulls(column, where)
        chunks = [chunk.dictionary.cast(pa.large_string()).take(chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(chunks, pa.large_string())
        kind = column.type
    if pa.types.is_null(kind) and not len(column):
        column = column.cast(pa.large_string())
        kind = column.type
    if not (_is_text(kind) or pa.types.is_integer(kind)):
        raise KaratError(
            f"ids have type {kind}", where=where, hint="Ids are text or whole numbers; convert the column to text."
        )
    _reject_nulls(column, where)
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
        raise KaratError(f"type {kind} is not numeric", where=where, hint="Convert the column to numbers.")
    _reject_nulls(column, where)
    numbers: Floats = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    bad = ~np.isfinite(numbers) if finite else np.isnan(numbers)
    if bad.any():
        row = int(np.argmax(bad))
        raise KaratError(f"{numbers[row]} is not a number", where=f"{where}, row {row}")
    return numbers


def _reject_nulls(column: pa.ChunkedArray, where: str) -> None:
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise KaratError("a value is missing", where=f"{where}, row {row}", hint="Every row needs all three columns.")


def _locate(query: Column, doc: Column, one_query: str, one_doc: str, name: str) -> str:
    """The first two rows with this query and document."""
    rows = pc.indices_nonzero(pc.and_(pc.equal(query, one_query), pc.equal(doc, one_doc))).to_pylist()
    return f"{name}, rows {rows[0]} and {rows[1]}"
