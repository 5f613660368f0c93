"""Tables with a row per query, whose documents are a list: in Parquet and Feather files, and in data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from karat.errors import KaratError, Place, shown
from karat.sources.columns import Guess, IfPresent, ReadColumns, check_unique, checked_columns, columns_to_read
from karat.sources.json_lists import documents_by_query
from karat.sources.json_pairs import ObjectSource
from karat.sources.spellings import ALIASES, find_column
from karat.sources.tables import ByQuery, Number


class ListColumns(NamedTuple):
    """The columns of the query, of the lists of documents, and of the lists of their numbers, if there is one."""

    query: str
    doc: str
    number: str | None
    guessed: tuple[Guess, ...]
    has_maps: bool = False
    """whether fields of documents, such as their metadata, are maps"""

    @property
    def names(self) -> list[str]:
        return [self.query, self.doc, *([self.number] if self.number else [])]


def list_columns(
    schema: pa.Schema, number: Number, given: Mapping[str, str] | None, place: Place | str
) -> ListColumns | None:
    """The columns to read; None if the documents are not in lists."""
    lists = [field.name for field in schema if _is_list(field.type)]
    names = checked_columns(given, number)
    chosen = {role: name for role, name in names.items() if name in schema.names or not isinstance(name, IfPresent)}
    doc = chosen.get("doc") or find_column(schema.names, "doc")
    own = "truth" if number == "grade" else "retrieved"
    if doc is None:
        doc = next((name for name in (own, *ALIASES[own], *ALIASES["retrieved"]) if name in lists), None)
    if doc is None or doc not in lists:
        return None
    query = chosen.get("query") or find_column(schema.names, "query", [doc])
    if query is None or query not in schema.names:
        columns_to_read([name for name in schema.names if name != query], number, given, place)  # raises the error
        return None
    of_number = chosen.get(number) or find_column([name for name in lists if name != doc], number)
    if of_number is not None and of_number not in lists:
        what = f"the column {shown(doc)} contains lists, but {shown(of_number)} does not"
        raise KaratError(what, place=place, hint="Each document of a list needs a number in a list of the same length.")
    roles = (("query", query, "query"), ("doc", doc, "doc", "documents", own), (number, of_number or number, number))
    guessed = [Guess(role, name, ()) for role, name, *usual in roles if name not in usual and role not in chosen]
    kind = schema.field(doc).type
    has_maps = not pa.types.is_map(kind) and _has_maps(kind.value_type)
    found = ListColumns(query, doc, of_number, tuple(guessed), has_maps)
    check_unique(found.names, schema.names, place)
    return found


def read_lists(
    name: str, rows: Iterable[tuple[Place | str, Mapping[str, Any]]], number: Number, columns: ListColumns
) -> ByQuery:
    """The documents of each query, in rows with their places."""
    read = [(place, {**row, columns.doc: _documents(row, columns, place)}) for place, row in rows]
    places, objects = [place for place, _ in read], [row for _, row in read]
    source = ObjectSource(name, lambda _: [(range(len(objects)), objects)], places.__getitem__)
    fields = ReadColumns(columns.query, columns.doc, "", guessed=columns.guessed)
    return documents_by_query(source, number, fields)


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
