"""Read ground truth and runs from Parquet and Feather files."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from karat.errors import KaratError, Place, shown
from karat.reading.bytes.arrow_file import ArrowFile, errors_of
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.names import ArrowFormat
from karat.reading.pairs.arrays import row_indices, rows_with
from karat.reading.pairs.arrow_blocks import RowBlock, blocks_of, parts_of
from karat.reading.pairs.arrow_columns import id_notes, list_columns, read_lists
from karat.reading.pairs.columns import ReadColumns, columns_to_read
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.places import Pair, PlacedPair
from karat.reading.pairs.tables import ByQuery, Columns, Number


def open_arrow(
    name: str,
    files: Sequence[InputFile],
    format: ArrowFormat,  # noqa: A002
    number: Number,
    by_role: Mapping[str, str] | None,
) -> ArrowTable | ByQuery:
    """The table in these files; if it has a row per query, with a list of documents, a mapping of queries to them."""
    opened = [ArrowFile(file, format) for file in files]
    schemas = [file.schema() for file in opened]
    if lists := list_columns(schemas[0], number, by_role, name):
        rows = (row for file in opened for row in _rows(file, lists.present))
        return read_lists(name, rows, number, lists, files[0].rejected)
    columns = [
        columns_to_read(schema.names, number, by_role, file.name) for file, schema in zip(opened, schemas, strict=True)
    ]
    other = next((at for at, of_file in enumerate(columns) if of_file.names != columns[0].names), None)
    if other is not None:
        what = f"the columns ({', '.join(map(shown, schemas[other].names))}) differ from those of {files[0].name}"
        raise KaratError(what, place=files[other].name, hint="The files of one table have the same columns.")
    notes = (*columns[0].note(name), *id_notes(schemas[0], columns[0], name))
    return ArrowTable(name, tuple(opened), columns[0], number, notes)


@dataclass(frozen=True)
class ArrowTable:
    """A table in one or several files, of which only three columns are read."""

    name: str
    files: tuple[ArrowFile, ...]
    columns: ReadColumns
    number: Number
    notes: tuple[Note, ...]

    @property
    def by_rank(self) -> bool:
        return self.columns.by_rank

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """The rows in parts, which are row groups, record batches, or several of them together."""
        return parts_of(self._blocks(progress), whole_queries)

    def small(self, progress: Progress | None = None) -> None:
        """None: these files are read with Arrow, however small they are."""

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The rows with these queries and documents."""
        for block in self._blocks():
            rows = rows_with(block.docs, {doc for _, doc in pairs})
            queries = block.queries.take(row_indices(np.searchsorted(block.ends, rows, side="right"))).to_pylist()
            docs = block.docs.take(row_indices(rows)).to_pylist()
            for place, pair in zip(block.places(rows), zip(queries, docs, strict=True), strict=True):
                if pair in pairs:
                    yield pair, place

    def empty_error(self) -> KaratError:
        """The error for a table without rows."""
        return KaratError("the table has no rows", place=self.name)

    def _blocks(self, progress: Progress | None = None) -> Iterator[RowBlock]:
        sizes = [os.path.getsize(file.file.path) if os.path.isfile(file.file.path) else 1 for file in self.files]
        before = 0
        for file, size in zip(self.files, sizes, strict=True):
            for block in blocks_of(file, self.columns, self.number):
                yield block
                if progress:
                    progress(before + int(size * block.done), sum(sizes))
            before += size


def _rows(file: ArrowFile, columns: Sequence[str]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The rows of a file, each with its place."""
    with errors_of(file):
        rows = file.table().select(columns).to_pylist()
    return ((Place(file.name, row=at), row) for at, row in enumerate(rows, file.first_row()))
