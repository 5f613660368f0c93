"""Read ids and numbers from Arrow columns of any type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.errors import KaratError, Place, enumeration, shown
from karat.files.arrow_values import decoded, plain_type
from karat.files.compression import MB
from karat.files.line_ends import LONGEST_LINE
from karat.judged import Floats
from karat.sources.arrays import Column, concatenate, to_numpy
from karat.sources.columns import LARGEST_WHOLE, ReadColumns, rank_error
from karat.sources.numeric_ids import IdKind, numeric_ids_note

_LONG = "Is this the column of the ids?"


def text_ids(column: pa.ChunkedArray, place: Place | str, first_row: int = 0) -> Column:
    """The ids of a column as text; an error names the row, counted from `first_row`."""
    column = decoded(column, place)
    kind = column.type
    if pa.types.is_null(kind) and not len(column):
        column = column.cast(pa.large_string())
        kind = column.type
    if pa.types.is_floating(kind):
        _reject_nulls(column, place, first_row)
        column = _whole_numbers(column, place, first_row)
        kind = column.type
    if not (_is_text(kind) or pa.types.is_integer(kind)):
        raise KaratError(
            f"ids have type {kind}", place=place, hint="Ids are text or whole numbers; convert the column to text."
        )
    _reject_nulls(column, place, first_row)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        column = column.cast(pa.large_string())
    ids = concatenate(column.chunks)
    if len(ids):
        lengths = pc.binary_length(ids)
        shortest, longest = pc.min_max(lengths).as_py().values()
        if shortest == 0:
            raise KaratError("an id is empty", place=f"{place}, row {first_row + pc.index(lengths, 0).as_py()}")
        if longest > LONGEST_LINE:
            row = first_row + pc.index(pc.greater(lengths, LONGEST_LINE), True).as_py()
            raise KaratError(f"an id is longer than {LONGEST_LINE // MB} MB", place=f"{place}, row {row}", hint=_LONG)
    return ids


def id_notes(schema: pa.Schema, columns: ReadColumns, name: str) -> tuple[str, ...]:
    """Notes on ids that are numbers."""
    kinds: dict[str, tuple[IdKind, pa.DataType]] = {
        columns.query: ("query", schema.field(columns.query).type),
        columns.doc: ("document", schema.field(columns.doc).type),
    }
    decimal, whole = [], []
    for column, (kind, of_column) in kinds.items():
        of_values = plain_type(of_column)
        if pa.types.is_floating(of_values):
            decimal.append(shown(column))
        elif pa.types.is_integer(of_values):
            whole.append(kind)
    notes = [f"{name}: ids in {_columns(decimal)} are decimal numbers, read as whole numbers"] if decimal else []
    return (*notes, *numeric_ids_note(name, *whole))


def _columns(names: list[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {enumeration(names, 'and')}"


def _whole_numbers(column: pa.ChunkedArray, place: Place | str, first_row: int) -> pa.ChunkedArray:
    """Ids that pandas has made decimal numbers because a value was missing."""
    values = _as_floats(column)
    bad = ~((np.abs(values) <= LARGEST_WHOLE) & (values == np.floor(values)))
    if bad.any():
        at = int(np.argmax(bad))
        hint = "Ids are text or whole numbers; convert the column to text."
        raise KaratError(f"{values[at]} is not an id", place=f"{place}, row {first_row + at}", hint=hint)
    return column.cast(pa.float64()).cast(pa.int64())


def scores_of_ranks(ranks: Floats, place: Place | str, first_row: int = 0) -> Floats:
    """Scores that give the order of ranks."""
    bad = ~((ranks >= 0) & (ranks <= LARGEST_WHOLE) & (ranks == np.floor(ranks)))
    if bad.any():
        at = int(np.argmax(bad))
        raise rank_error(str(ranks[at]), f"{place}, row {first_row + at}")
    return -ranks


def numbers(column: pa.ChunkedArray, place: Place | str, finite: bool, first_row: int = 0) -> Floats:
    """The numbers of a column; with `finite`, infinite ones are errors."""
    column = decoded(column, place)
    kind = column.type
    if pa.types.is_null(kind) and not len(column):
        return np.empty(0)
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    ):
        raise KaratError(f"type {kind} is not numeric", place=place, hint="Convert the column to numbers.")
    _reject_nulls(column, place, first_row)
    values = _as_floats(column)
    bad = ~np.isfinite(values) if finite else np.isnan(values)
    if bad.any():
        at = int(np.argmax(bad))
        raise KaratError(f"{values[at]} is not a number", place=f"{place}, row {first_row + at}")
    return values


def _as_floats(column: pa.ChunkedArray) -> Floats:
    chunks: list[Floats] = [to_numpy(chunk, np.float64) for chunk in column.cast(pa.float64(), safe=False).chunks]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0), *chunks])


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _reject_nulls(column: pa.ChunkedArray, place: Place | str, first_row: int) -> None:
    if column.null_count:
        row = first_row + pc.index(pc.is_null(column), True).as_py()
        raise KaratError("a value is missing", place=f"{place}, row {row}", hint="Every row needs all three columns.")
