"""Records in files of any format: JSON lines, arrays in JSON, and the rows of CSV, TSV, Parquet and Feather."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import chain
from typing import Any

from karat.errors import KaratError, Place, plural
from karat.reading.bytes.delimited_text import row_error
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.bytes.names import ArrowFormat, check_format, is_arrow
from karat.reading.bytes.part_files import files_of_table
from karat.reading.columns import check_unique
from karat.reading.contents.formats import detect
from karat.reading.pairs.delimited_layout import separator_of
from karat.reading.records.json_frames import frame_in_json
from karat.reading.records.paths import Record
from karat.reading.records.records import records_from_json_lines, records_from_list

AS_JSON_LINES = "Otherwise, write texts of this length as JSON lines."
_BATCH_ROWS = 10_000  # rows of a data frame that are converted to Python at a time


def records_of_file(file: InputFile, known_format: str | None, hint: str) -> Iterator[tuple[Place, Record]]:
    """Each record of a file, or of a table in several files, with its place.

    The format is detected unless it is known.
    """
    return records_reader(file, known_format, hint)()


def records_reader(
    file: InputFile, known_format: str | None, hint: str
) -> Callable[[], Iterator[tuple[Place, Record]]]:
    """A function that returns each record of a file with its place, whenever it is called.

    A JSON document is decoded once, and kept; other files are read anew.
    """
    form = detect(file) if known_format is None else check_format(known_format)
    if is_arrow(form):
        files = files_of_table(file)
        return lambda: chain.from_iterable(_records_from_arrow(part, form) for part in files)
    if form in ("csv", "tsv"):
        return lambda: records_from_table(file, hint)
    if form == "json":
        value = decode_json(file.read_all(), file.name, hint)
        if frame := frame_in_json(value, file.name):
            return lambda: ((Place(file.name, row=at), record) for at, record in enumerate(frame.records))
        listed = value if isinstance(value, list) else [value]
        return lambda: records_from_list(listed, file.name)
    return lambda: records_from_json_lines(file, hint)


def _records_from_arrow(file: InputFile, form: ArrowFormat) -> Iterator[tuple[Place, Record]]:
    """The rows of a Parquet or Feather file."""
    from karat.reading.bytes.arrow_file import ArrowFile

    source = ArrowFile(file, form)
    first_row = source.first_row()
    for table in source.tables(_BATCH_ROWS):
        yield from records_from_frame(table, file.name, first_row)
        first_row += len(table)


def records_from_table(source: InputFile, hint: str) -> Iterator[tuple[Place, Record]]:
    """The rows of a CSV or TSV file with a header line."""
    delimiter, name = delimiter_of(source), source.name
    reader = csv.reader(lines_of_table(source), delimiter=delimiter, strict=True)
    before = 0  # lines before the row
    try:
        header = next((line for line in reader if line), [])
        if len(header) < 2:
            raise KaratError("the file is neither JSON nor a table", place=Place(source.name, 1), hint=hint)
        check_unique(header, header, Place(source.name, reader.line_num))
        before = reader.line_num
        for row in reader:
            place, before = Place(name, reader.line_num), reader.line_num
            if row and len(row) != len(header):
                what = f"{plural(len(row), 'column')}, but the header line has {len(header)}"
                raise KaratError(
                    what, place=place, hint="Quote values that contain a comma, a tab or a quotation mark."
                )
            if row:
                # An empty cell means no answer.
                yield place, {name: cell or None for name, cell in zip(header, row, strict=True)}
    except csv.Error as error:
        raise row_error(error, delimiter, Place(source.name, before + 1), AS_JSON_LINES) from None


def lines_of_table(source: InputFile) -> Iterator[str]:
    """The lines of a file with their line ends, read in parts."""
    for _, lines in source.lines_in_blocks():
        try:
            text = b"".join(line + b"\n" for line in lines).decode()
        except UnicodeDecodeError:
            raise KaratError("the file is not UTF-8", place=source.name, hint="Save the file as UTF-8.") from None
        if "\0" in text:
            hint = "This is binary data, or UTF-16: save the file as UTF-8."
            raise KaratError("the file contains a NUL byte", place=source.name, hint=hint)
        yield from StringIO(text, newline="")


def delimiter_of(source: InputFile) -> str:
    """What separates the columns of a table."""
    return separator_of(source.start().decode(errors="replace"))


def records_from_frame(source: Any, name: str, first_row: int = 0) -> Iterator[tuple[Place, Record]]:
    """The rows of a data frame, counted from `first_row`."""
    import pyarrow as pa

    from karat.reading.pairs.frames import arrow_table

    is_column = hasattr(source, "tolist") or hasattr(source, "to_list")
    hint = "Call .tolist() on it." if is_column else "Pass a data frame with the columns query and answer."
    table = arrow_table(source, name, hint)
    check_unique(table.column_names, table.column_names, name)
    try:
        records = chain.from_iterable(batch.to_pylist() for batch in table.to_batches(max_chunksize=_BATCH_ROWS))
        yield from ((Place(name, row=at), record) for at, record in enumerate(records, first_row))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise KaratError(f"cannot be read as a table: {error}", place=name, hint=hint) from None
