"""Lines of text files, read in executors: into columns by karat's own readers, or as they are, with their queries."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.documents.ids import identifier
from karat.engines.spark.line_records import LINE, joined, named_file, place_of_line, show_lines
from karat.engines.spark.shipping import arrow_type, error_text
from karat.engines.spark.worker import ROW_ERROR
from karat.errors import KaratError, Message, Place, shown
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.delimited_text import parsed_rows, row_error
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.remote import path_in_uri
from karat.reading.pairs.pair_checks import is_unicode
from karat.reading.pairs.tables import Columns
from karat.reading.records.records import objects_from_json_lines

FILE, STARTS = "file", "starts"
"""columns beside a line: its file, if there are several; whether it is in the first part of its file"""

RECORDS = pa.schema([("query", pa.string()), (LINE, pa.binary())])
"""lines with a record each, and its query"""
NAMES = pa.schema([("name", pa.string())])
"""the names of fields in records"""

ONE_LINE = "Spark reads a CSV file line by line, so that a value cannot contain a line break: write it as Parquet."


@dataclass(frozen=True)
class BlockOfLines(Block):
    """Some lines of a file. Where they are in the file is not known, so that errors show the line itself."""

    def place(self, line: int) -> Place:
        """The file, and the line."""
        return place_of_line(self.source.name, bytes(self.data).splitlines()[line])


@dataclass(frozen=True)
class LineReader:
    """Reads lines in an executor. An error becomes a row, so that Spark does not try again."""

    name: str
    read: Callable[[BlockOfLines], pa.RecordBatch]
    schema: pa.Schema
    header: bytes | None = None
    """the first line of every file"""
    hint: Message = ""
    """added to errors"""
    large_types: bool = False
    """whether Spark wants texts whose bytes are counted in 64 bits"""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of an Arrow table for each batch of lines; after an error, no more."""
        try:
            for lines in self._lines(batches):
                yield self._with_error(self.read(lines), None)
        except KaratError as error:
            error.add_hint(self.hint)
            error.place = error.place or Place(self.name)
            empty = [pa.nulls(1, field.type) for field in self.schema]
            yield self._with_error(pa.RecordBatch.from_arrays(empty, schema=self.schema), error_text(error))

    def _lines(self, batches: Iterator[pa.RecordBatch]) -> Iterator[BlockOfLines]:
        """Lines that are in the same file, without its header."""
        before, is_start = None, False
        for batch in batches:
            for file in batch.column(FILE).unique().to_pylist() if FILE in batch.schema.names else [self.name]:
                part = batch.filter(pc.equal(batch.column(FILE), file)) if FILE in batch.schema.names else batch
                lines = part.column(LINE)
                if self.header is not None:
                    is_start = is_start if file == before else part.column(STARTS)[0].as_py()
                    skipped = _header_rows(lines, self.header, _name(file)) if is_start else 0
                    is_start, before = is_start and not skipped, file
                    lines = lines.slice(skipped)
                if len(lines):
                    yield BlockOfLines(memoryview(joined(lines)), InputFile(_name(file)), 0)

    def _with_error(self, batch: pa.RecordBatch, error: str | None) -> pa.RecordBatch:
        columns = [*batch.columns, pa.array([error] * len(batch), pa.string())]
        columns = [column.cast(arrow_type(column.type, self.large_types)) for column in columns]
        return pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, ROW_ERROR])


def _name(file: str) -> str:
    """The name in messages of a file that Spark names by a URI."""
    return path_in_uri(unquote(file.removeprefix("file:"))) if file.startswith("file:") else file


def _header_rows(lines: pa.Array, header: bytes, file: str) -> int:
    """How many lines the header takes, with blank lines before it; 0 if all lines are blank."""
    for at, line in enumerate(lines.to_pylist()):
        if line.strip():
            if line.strip() != header:
                what = f"the header differs from that of other files, which is {shown(header.decode(errors='replace'))}"
                hint = "The files of one table have the same columns."
                raise KaratError(what, place=place_of_line(file, line), hint=hint)
            return at + 1
    return 0


def read_pairs(block: BlockOfLines, read: Callable[[Block], Columns], number: str, separator: str) -> pa.RecordBatch:
    """The queries, documents and numbers in lines; `separator` is that of CSV or TSV, otherwise empty."""
    if separator and b'"' in bytes(block.data):
        _check_values_end(block, separator)
    query, doc, numbers = read(block)
    values = pa.Array.from_buffers(pa.float64(), len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])
    columns = [query.cast(pa.string()), doc.cast(pa.string()), values]
    return pa.RecordBatch.from_arrays(columns, names=["query", "doc", number])


def _check_values_end(block: BlockOfLines, separator: str) -> None:
    """Reject a value that goes on in the next line, which may be anywhere."""
    for at, line in enumerate(bytes(block.data).splitlines()):
        if line.count(b'"') % 2:
            try:
                list(parsed_rows(line.decode("utf-8", "surrogateescape"), separator))
            except csv.Error as error:
                raise row_error(error, separator, block.place(at), ONE_LINE) from None


def undecided_guard() -> bool:
    """Raise an error: only the whole file tells whether apostrophes protect ids that are formulas."""
    what = "an id begins with an apostrophe, which may be part of the id, or protect a spreadsheet from a formula"
    raise KaratError(what, hint="Only the whole file tells, and Spark reads it in parts: write the table as Parquet.")


Records = Callable[[BlockOfLines], list[tuple[Mapping[str, Any], bytes]]]
"""reads the records in lines, each with its line"""


def objects_in(block: BlockOfLines, hint: str) -> list[tuple[Mapping[str, Any], bytes]]:
    """The objects in lines of JSON."""
    name, lines = block.source.name, bytes(block.data).split(b"\n")
    records: list[tuple[Mapping[str, Any], bytes]] = []
    try:
        for numbers, objects in objects_from_json_lines(named_file(bytes(block.data), name), hint, first=False):
            records += zip(objects, (lines[number - 1] for number in numbers), strict=True)
    except KaratError as error:
        raise show_lines(error, name, lines) from None
    return records


def rows_in(block: BlockOfLines, names: Sequence[str], separator: str) -> list[tuple[Mapping[str, Any], bytes]]:
    """The rows in lines of CSV or TSV, by the names of columns."""
    rows: list[tuple[Mapping[str, Any], bytes]] = []
    for at, line in enumerate(bytes(block.data).split(b"\n")[:-1]):
        try:
            cells = next(csv.reader([line.decode(errors="replace")], delimiter=separator, strict=True), [])
        except csv.Error as error:
            raise row_error(error, separator, block.place(at), ONE_LINE) from None
        if cells:
            rows.append(({name: cell or None for name, cell in zip(names, cells, strict=False)}, line))
    return rows


def with_queries(block: BlockOfLines, records: Records, query: Callable[[Mapping[str, Any]], object]) -> pa.RecordBatch:
    """Lines with a record each, and its query, which a function finds."""
    rows = [{"query": _id(record, query), LINE: line} for record, line in records(block)]
    return pa.RecordBatch.from_pylist(rows, RECORDS)


def names_with_values(block: BlockOfLines, records: Records) -> pa.RecordBatch:
    """The names of fields that have a value in any of the records."""
    names = {name for record, _ in records(block) for name, value in record.items() if value is not None}
    return pa.RecordBatch.from_pylist([{"name": name} for name in sorted(filter(is_unicode, names))], NAMES)


def _id(record: Mapping[str, Any], query: Callable[[Mapping[str, Any]], object]) -> str | None:
    """The query of a record as text; None if the local reader will refuse it."""
    try:
        value = query(record)
        text = None if value is None else identifier(value, "")
    except KaratError:
        return None
    return text if text is not None and is_unicode(text) else None
