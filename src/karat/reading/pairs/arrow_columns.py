"""Read the pairs in Arrow columns of any type: at once if all is well, and otherwise row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Floats
from karat.errors import KaratError, Place, enumeration, shown
from karat.reading.bytes.arrow_values import decoded, plain_type
from karat.reading.pairs.arrays import Column, concatenate, text_column, to_numpy
from karat.reading.pairs.columns import LARGEST_WHOLE, ReadColumns
from karat.reading.pairs.numeric_ids import IdKind, Note, numeric_ids_note
from karat.reading.pairs.pair_checks import (
    LONGEST_ID,
    PairRules,
    are_valid,
    checked_pairs,
    hint_on_column,
    id_text,
    ordered,
)
from karat.reading.pairs.tables import Columns, Number, columns_of

_ROWS_AT_ONCE = 1 << 8  # that become Python objects: texts may be long


def rules_of(columns: ReadColumns, number: Number) -> PairRules:
    """What the pairs of a table must be."""
    noun = "rank" if columns.by_rank else number
    return PairRules(noun, hint_on_column(noun))


def valid_ids(column: pa.ChunkedArray, place: Place | str) -> Column | None:
    """The ids of a column as texts; None if one may be wrong. A type that ids cannot have is an error."""
    column = decoded(column, place)
    kind = column.type
    is_decimal = pa.types.is_floating(kind)
    if not (is_decimal or _is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        hint = "Ids are text or whole numbers; convert the column to text."
        raise KaratError(f"ids have type {kind}", place=place, hint=hint)
    if column.null_count:
        return None
    if is_decimal:
        values = _as_floats(column)
        if not ((np.abs(values) <= LARGEST_WHOLE) & (values == np.floor(values))).all():
            return None
        column = column.cast(pa.float64()).cast(pa.int64())
    ids = concatenate(_as_texts(column).chunks)
    if len(ids):
        shortest, longest = pc.min_max(pc.binary_length(ids)).as_py().values()
        if shortest == 0 or longest > LONGEST_ID:
            return None
    return ids


def valid_numbers(column: pa.ChunkedArray, rules: PairRules, place: Place | str) -> Floats | None:
    """The numbers of a column; None if one may be wrong. A type that numbers cannot have is an error."""
    column = decoded(column, place)
    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (is_number or pa.types.is_boolean(kind) or _is_text(kind) or pa.types.is_null(kind)):
        raise KaratError(f"type {kind} is not numeric", place=place, hint="Convert the column to numbers.")
    if column.null_count:
        return None
    try:
        values = _as_floats(_as_texts(column) if _is_text(kind) else column)
    except pa.ArrowInvalid:  # a text that is not a number
        return None
    # Of a text that is infinite, the definition finds out whether it is too large.
    is_usual = are_valid(values, rules) and (not _is_text(kind) or np.isfinite(values).all())
    return ordered(values, rules) if is_usual else None


def checked_columns(
    table: pa.Table, columns: ReadColumns, rules: PairRules, name: str, place: Callable[[int], Place]
) -> Columns:
    """The pairs in the rows of a table, read one by one; the first row that is wrong is an error."""
    names = (columns.query, columns.doc, columns.number)
    values = [decoded(table[column], Place(name, column=column)) for column in names]

    def rows() -> Iterator[tuple[object, object, object]]:
        for start in range(0, len(table), _ROWS_AT_ONCE):
            yield from zip(*(column.slice(start, _ROWS_AT_ONCE).to_pylist() for column in values), strict=True)

    return columns_of(checked_pairs(rows(), rules, place))


def text_ids(column: pa.ChunkedArray, place: Place | str, first_row: int = 0) -> Column:
    """The ids of a column as text; an error names the row, counted from `first_row`."""
    ids = valid_ids(column, place)
    if ids is not None:
        return ids
    texts = []
    for row, value in enumerate(decoded(column, place), first_row):
        try:
            texts.append(id_text(value.as_py()))
        except KaratError as error:
            of_column = Place(place) if isinstance(place, str) else place
            raise error.but(place=of_column._replace(row=row)) from None
    return text_column(texts)


def id_notes(schema: pa.Schema, columns: ReadColumns, name: str) -> tuple[Note, ...]:
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
    noun = "column" if len(decimal) == 1 else "columns"
    ids = f"{name}: ids in the {noun} {enumeration(decimal, 'and')} are decimal numbers, read as whole numbers"
    return (*([ids] if decimal else []), *numeric_ids_note(name, *whole))


def _as_floats(column: pa.ChunkedArray) -> Floats:
    chunks: list[Floats] = [to_numpy(chunk, np.float64) for chunk in column.cast(pa.float64(), safe=False).chunks]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0), *chunks])


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column if pa.types.is_string(kind) or pa.types.is_large_string(kind) else column.cast(pa.large_string())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
