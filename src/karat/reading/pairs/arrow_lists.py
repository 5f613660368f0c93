"""Tables with a row per query, whose documents are a list: in Parquet and Feather files, and in data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from karat.errors import KaratError, Place, shown
from karat.reading.columns import Guess, check_unique
from karat.reading.columns.spellings import find_column
from karat.reading.pairs.columns import ReadColumns, columns_with_lists
from karat.reading.pairs.json_lists import documents_by_query
from karat.reading.pairs.json_pairs import ObjectSource
from karat.reading.pairs.tables import ByQuery, Number


@dataclass(frozen=True)
class ListColumns(ReadColumns):
    """The columns of the query, of the lists of documents, and of the lists of their numbers, if there is one."""

    has_maps: bool = False
    """whether fields of documents, such as their metadata, are maps"""


def list_columns(
    schema: pa.Schema, number: Number, given: Mapping[str, str] | None, place: Place | str
) -> ListColumns | None:
    """The columns to read; None if the documents are not in lists."""
    lists = [field.name for field in schema if _is_list(field.type)]
    found = columns_with_lists(schema.names, lists, number, given, "column") if lists else None
    if found is None:
        return None
    is_given = number in (given or {})
    of_number = (given or {}).get(number) or find_column([name for name in lists if name != found.doc], number)
    if of_number is not None and of_number not in lists:
        what = f"the column {shown(found.doc)} contains lists, but {shown(of_number)} does not"
        raise KaratError(what, place=place, hint="Each document of a list needs a number in a list of the same length.")
    guessed = found.guessed
    if of_number is not None:
        check_unique([of_number], schema.names, place)
        guessed += () if is_given or of_number == number else (Guess(number, of_number),)
    kind = schema.field(found.doc).type
    has_maps = not pa.types.is_map(kind) and _has_maps(kind.value_type)
    return ListColumns(found.query, found.doc, of_number or "", guessed=guessed, has_maps=has_maps)


def read_lists(
    name: str, rows: Iterable[tuple[Place, Mapping[str, Any]]], number: Number, columns: ListColumns
) -> ByQuery:
    """The documents of each query, in rows with their places."""
    read = [(place, {**row, columns.doc: _documents(row, columns, place)}) for place, row in rows]
    places, objects = [place for place, _ in read], [row for _, row in read]
    source = ObjectSource(name, lambda _: [(range(len(objects)), objects)], places.__getitem__)
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
