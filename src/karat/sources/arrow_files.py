"""Read ground truth and runs from Parquet and Feather files: a row per pair, or a row per query with lists."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.errors import KaratError, shown
from karat.files.arrow_file import ArrowFile, errors_of
from karat.files.input_file import InputFile, Progress
from karat.files.names import ArrowFormat
from karat.sources.arrow_blocks import RowBlock, blocks_of, parts_of
from karat.sources.arrow_columns import id_notes
from karat.sources.columns import ALIASES, IfPresent, ReadColumns, columns_to_read, find_column
from karat.sources.tables import ByQuery, Columns, Number


def open_arrow(
    name: str,
    files: Sequence[InputFile],
    format: ArrowFormat,  # noqa: A002
    number: Number,
    given: Mapping[str, str] | None,
) -> ArrowTable | ByQuery:
    """The table in these files; if it has a row per query, with a list of documents, a mapping of queries to them."""
    opened = [ArrowFile(file, format) for file in files]
    schemas = [file.schema() for file in opened]
    for file, schema in zip(opened, schemas, strict=True):
        _check_names_are_unique(schema.names, file.name)
    if lists := _list_columns(schemas[0], number, given, name):
        return ByQuery(_mapping(opened, *lists))
    columns = [
        columns_to_read(schema.names, number, given, file.name) for file, schema in zip(opened, schemas, strict=True)
    ]
    if len({(each.query, each.doc, each.number) for each in columns}) > 1:
        other = next(at for at, each in enumerate(columns) if each != columns[0])
        what = f"the columns are {', '.join(map(shown, schemas[other].names))}, others than in {files[0].name}"
        raise KaratError(what, where=files[other].name, hint="The files of one table have the same columns.")
    notes = (*columns[0].note(name), *id_notes(schemas[0], columns[0], name))
    return ArrowTable(name, tuple(opened), columns[0], number, notes)


@dataclass(frozen=True)
class ArrowTable:
    """A table in one or several files, of which only three columns are read."""

    name: str
    files: tuple[ArrowFile, ...]
    columns: ReadColumns
    number: Number
    notes: tuple[str, ...]

    @property
    def by_rank(self) -> bool:
        return self.columns.by_rank

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """The rows in parts, which are row groups, record batches, or several of them together."""
        return parts_of(self._blocks(progress), whole_queries)

    def small(self, progress: Progress | None = None) -> None:
        """None: these files are read with Arrow, however small they are."""

    def locate(self, query: str, doc: str) -> str:
        """The first two rows with this query and document: `run.parquet, rows 3 and 7`."""
        found: list[tuple[str, int]] = []
        for block in self._blocks():
            for at in pc.indices_nonzero(pc.equal(block.queries, query)).to_pylist():
                start = int(block.ends[at - 1]) if at else 0
                docs = block.docs.slice(start, int(block.ends[at]) - start)
                rows = pc.indices_nonzero(pc.equal(docs, doc)).to_pylist()
                found += [(block.file.name, block.first_row + start + row) for row in rows]
            if len(found) > 1:
                (file, row), (other, other_row) = found[:2]
                return (
                    f"{file}, rows {row} and {other_row}"
                    if file == other
                    else f"{file}, row {row}; {other}, row {other_row}"
                )
        return self.name

    def empty_error(self) -> KaratError:
        """The error for a table without rows."""
        return KaratError("the table has no rows", where=self.name)

    def _blocks(self, progress: Progress | None = None) -> Iterator[RowBlock]:
        sizes = [os.path.getsize(file.file.path) if os.path.isfile(file.file.path) else 1 for file in self.files]
        before = 0
        for file, size in zip(self.files, sizes, strict=True):
            for block in blocks_of(file, self.columns, self.number == "grade"):
                yield block
                if progress:
                    progress(before + int(size * block.done), sum(sizes))
            before += size


def _check_names_are_unique(names: Sequence[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise KaratError(f"more than one column {shown(name)}", where=where, hint="Keep one of them.")


def _list_columns(
    schema: pa.Schema, number: Number, given: Mapping[str, str] | None, where: str
) -> tuple[str, str, str | None] | None:
    """The columns of the query, of the lists of documents, and of the lists of their numbers, if there are such."""
    lists = [field.name for field in schema if _is_list(field.type)]
    chosen = {
        role: name for role, name in (given or {}).items() if name in schema.names or not isinstance(name, IfPresent)
    }
    doc = chosen.get("doc") or find_column(schema.names, "doc")
    if doc is None:
        own = "truth" if number == "grade" else "retrieved"
        doc = next((name for name in (own, *ALIASES[own], *ALIASES["retrieved"]) if name in lists), None)
    if doc is None or doc not in lists:
        return None
    query = chosen.get("query") or find_column(schema.names, "query", [doc])
    if query is None or query not in schema.names:
        columns_to_read([name for name in schema.names if name != query], number, given, where)  # raises the error
        return None
    of_number = chosen.get(number) or find_column([name for name in lists if name != doc], number)
    return query, doc, of_number


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
        or pa.types.is_map(kind)
    )


def _mapping(files: Sequence[ArrowFile], query: str, doc: str, number: str | None) -> dict[str, Any]:
    """The documents of each query: a list, or a mapping of documents to numbers."""
    found: dict[str, Any] = {}
    for file in files:
        wanted = [query, doc, *([number] if number else [])]
        with errors_of(file):
            records = file.table().select(wanted).to_pylist()
        for at, record in enumerate(records):
            where = f"{file.name}, row {at}"
            name, docs = record[query], record[doc] or []
            if name is None:
                raise KaratError("a value is missing", where=where, hint="Every row needs a query.")
            if str(name) in found:
                raise KaratError(f"query {name} appears twice", where=where, hint="Keep one row per query.")
            if number:
                numbers = record[number] or []
                if len(numbers) != len(docs):
                    what = f"{len(docs)} documents, but {len(numbers)} values in the column {shown(number)}"
                    raise KaratError(what, where=where, hint="Both lists need the same length.")
                docs = list(zip(docs, numbers, strict=True))
            is_pairs = bool(docs) and isinstance(docs[0], tuple)
            found[str(name)] = _numbers_by_document(docs, where) if is_pairs else [_document(each) for each in docs]
    return found


def _numbers_by_document(pairs: Sequence[tuple[Any, Any]], where: str) -> dict[Any, Any]:
    numbers: dict[Any, Any] = {}
    for doc, number in pairs:
        if doc in numbers:
            raise KaratError(f"document {shown(doc)} is listed twice", where=where, hint="Keep one of them.")
        numbers[doc] = number
    return numbers


def _document(value: Any) -> Any:
    """A document of a list; the column of its id may have any of the usual names."""
    if isinstance(value, dict) and "id" not in value and (name := find_column(value, "doc")):
        return {**value, "id": value[name]}
    return value
