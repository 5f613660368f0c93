"""The pairs in Arrow columns of any type, in files and in data frames.

A table has a row per pair, which is read at once if all is well, and otherwise row by row; or it has a row per query,
whose documents are a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Floats
from karat.errors import KaratError, Place, enumeration, shown
from karat.reading.bytes.arrow_file import decoded, plain_type
from karat.reading.bytes.rejected_rows import RejectedRows, reject
from karat.reading.columns import Guess, check_unique
from karat.reading.columns.spellings import find_column
from karat.reading.pairs.arrays import Column, concatenate, text_column, to_floats
from karat.reading.pairs.columns import LARGEST_WHOLE, ReadColumns, columns_with_lists
from karat.reading.pairs.json_objects import ObjectSource, documents_by_query
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
from karat.reading.pairs.tables import ByQuery, Columns, Number, columns_of

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
    if column.null_count or (pa.types.is_boolean(kind) and rules.number != "grade"):
        return None
    try:
        values = _as_floats(_as_texts(column) if _is_text(kind) else column)
    except pa.ArrowInvalid:  # a text that is not a number
        return None
    # Of a text that is infinite, the definition finds out whether it is too large.
    is_usual = are_valid(values, rules) and (not _is_text(kind) or np.isfinite(values).all())
    return ordered(values, rules) if is_usual else None


def checked_columns(
    table: pa.Table,
    columns: ReadColumns,
    rules: PairRules,
    name: str,
    rejected: RejectedRows | None,
    first_row: int = 0,
) -> Columns:
    """The pairs in the rows of a table, read one by one; an error names the first row that is wrong, and the column.

    With `rejected`, such rows are left out.
    """
    names = columns.names
    values = [decoded(table[column], Place(name, column=column)) for column in names]

    def rows() -> Iterator[tuple[object, object, object]]:
        for start in range(0, len(table), _ROWS_AT_ONCE):
            yield from zip(*(column.slice(start, _ROWS_AT_ONCE).to_pylist() for column in values), strict=True)

    def place(row: int, column: int) -> Place:
        return Place(name, row=first_row + row, column=names[column])

    return columns_of(checked_pairs(rows(), rules, place, rejected))


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
    return to_floats(column.cast(pa.float64(), safe=False))


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column if pa.types.is_string(kind) or pa.types.is_large_string(kind) else column.cast(pa.large_string())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


@dataclass(frozen=True)
class ListColumns(ReadColumns):
    """The columns of the query, of the lists of documents, and of the lists of their numbers, if there is one."""

    has_maps: bool = False
    """whether fields of documents, such as their metadata, are maps"""

    @property
    def present(self) -> list[str]:
        """The names of the columns that there are."""
        return [name for name in self.names if name]


def list_columns(
    schema: pa.Schema, number: Number, by_role: Mapping[str, str] | None, place: Place | str
) -> ListColumns | None:
    """The columns to read; None if the documents are not in lists. `by_role` are names that the caller gives."""
    lists = [field.name for field in schema if _is_list(field.type)]
    columns = columns_with_lists(schema.names, lists, number, by_role, "column") if lists else None
    if columns is None:
        return None
    given_name = (by_role or {}).get(number)
    of_number = given_name or find_column([name for name in lists if name != columns.doc], number)
    if of_number is not None and of_number not in lists:
        what = f"the column {shown(columns.doc)} contains lists, but {shown(of_number)} does not"
        raise KaratError(what, place=place, hint="Each document of a list needs a number in a list of the same length.")
    guessed = columns.guessed
    if of_number is not None:
        check_unique([of_number], schema.names, place)
        guessed += () if given_name or of_number == number else (Guess(number, of_number),)
    kind = schema.field(columns.doc).type
    has_maps = not pa.types.is_map(kind) and _has_maps(kind.value_type)
    return ListColumns(columns.query, columns.doc, of_number or "", guessed=guessed, has_maps=has_maps)


def read_lists(
    name: str,
    rows: Iterable[tuple[Place, Mapping[str, Any]]],
    number: Number,
    columns: ListColumns,
    rejected: RejectedRows | None = None,
) -> ByQuery:
    """The documents of each query, in rows with their places."""
    places: list[Place] = []
    objects: list[dict[str, Any]] = []
    for place, row in rows:
        try:
            objects.append({**row, columns.doc: _documents(row, columns, place)})
            places.append(place)
        except KaratError as error:
            reject(error, rejected)
    read = [(range(len(objects)), objects)]
    source = ObjectSource(name, lambda *_: read, places.__getitem__, rejected=rejected)
    return documents_by_query(source, number, columns)


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
        or pa.types.is_map(kind)
    )


def _has_maps(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return True
    inner = list(kind) if pa.types.is_struct(kind) else [kind.value_field] if _is_list(kind) else []
    return any(_has_maps(field.type) for field in inner)


def _with_mappings(value: Any) -> Any:
    """A value in which Arrow's maps, which are lists of tuples, are dictionaries."""
    if isinstance(value, dict):
        return {name: _with_mappings(each) for name, each in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return {name: _with_mappings(each) for name, each in value}
    return value


def _documents(row: Mapping[str, Any], columns: ListColumns, place: Place | str) -> list[Any] | dict[Any, Any]:
    """The documents in a row: a list, or a mapping of documents to numbers, which may be in a list of their own."""
    docs = row[columns.doc] or []
    if columns.number:
        numbers = row[columns.number] or []
        if len(numbers) != len(docs):
            what = f"{len(docs)} documents, but {len(numbers)} values in the column {shown(columns.number)}"
            raise KaratError(what, place=place, hint="Both lists need the same length.")
        docs = list(zip(docs, numbers, strict=True))
    if not docs or not isinstance(docs[0], tuple):
        return [_with_mappings(doc) for doc in docs] if columns.has_maps else list(docs)
    by_document: dict[Any, Any] = {}
    for doc, number in docs:
        if doc in by_document:
            raise KaratError(f"document {shown(doc)} is listed twice", place=place, hint="Keep one of them.")
        by_document[doc] = number
    return by_document
