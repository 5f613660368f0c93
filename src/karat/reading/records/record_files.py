"""Records in files of any format: JSON lines, arrays in JSON, and the rows of CSV, TSV, Parquet and Feather."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import StringIO
from itertools import chain
from typing import Any

from karat.errors import KaratError, Place, plural
from karat.reading.bytes.delimited_text import row_error
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_entries
from karat.reading.bytes.names import ArrowFormat, check_format, is_arrow
from karat.reading.bytes.part_files import files_of_table
from karat.reading.bytes.rejected_rows import reject
from karat.reading.columns import check_unique
from karat.reading.contents.formats import detect
from karat.reading.pairs.delimited_layout import separator_of
from karat.reading.records.json_frames import frame_in_json
from karat.reading.records.paths import Record
from karat.reading.records.records import records_from_json_lines, records_from_list

_AS_JSON_LINES = "Otherwise, write texts of this length as JSON lines."
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
        value = decode_entries(file, hint, (list,))
        if frame := frame_in_json(value, file.name):
            return lambda: ((Place(file.name, row=at), record) for at, record in enumerate(frame.records))
        listed = value if isinstance(value, list) else [value]
        return lambda: records_from_list(listed, file.name, rejected=file.rejected)
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
    name = source.name
    header: list[str] = []
    for line, row in rows_of_table(source, delimiter_of(source), strict=True):
        place = Place(name, line)
        if row and not header:
            header = row
            if len(header) < 2:
                raise KaratError("the file is neither JSON nor a table", place=Place(name, 1), hint=hint)
            check_unique(header, header, place)
        elif row and len(row) != len(header):
            what = f"{plural(len(row), 'column')}, but the header line has {len(header)}"
            quote = "Quote values that contain a comma, a tab or a quotation mark."
            reject(KaratError(what, place=place, hint=quote), source.rejected)
        elif row:
            # An empty cell means no answer.
            yield place, {name: cell or None for name, cell in zip(header, row, strict=True)}
    if not header:
        raise KaratError("the file is neither JSON nor a table", place=Place(name, 1), hint=hint)


def rows_of_table(source: InputFile, delimiter: str, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV or TSV file, each with the number of its last line.

    After a row that cannot be parsed, if such rows are left out, reading goes on with the line after its first one: a
    quotation mark that is not closed takes in the lines after it.
    """
    lines, first = lines_of_table(source), 0  # lines before the first row
    taken: list[str] = []  # the lines of a row
    while True:
        reader = csv.reader(
            lines if source.rejected is None else _kept(lines, taken), delimiter=delimiter, strict=strict
        )
        before = first  # lines before the row
        try:
            for row in reader:
                taken.clear()
                before = first + reader.line_num
                yield before, row
            return
        except csv.Error as error:
            wrong = row_error(error, delimiter, Place(source.name, before + 1), _AS_JSON_LINES)
            reject(wrong, source.rejected if before else None)  # the first row names the columns
        lines, first = chain(taken[1:], lines), before + 1
        taken = []


def _kept(lines: Iterable[str], kept: list[str]) -> Iterator[str]:
    """The same lines, which are also put into a list."""
    for line in lines:
        kept.append(line)
        yield line


def lines_of_table(source: InputFile) -> Iterator[str]:
    """The lines of a file with their line ends, read in parts."""
    for first, lines in source.lines_in_blocks():
        data = b"".join(line + b"\n" for line in lines)
        if (error := _text_error(data, source.name, "file")) and source.rejected is None:
            raise error
        if error:
            places = (Place(source.name, at) for at in range(first, first + len(lines)))
            data = b"".join(map(partial(_blank_if_wrong, source), lines, places))
        yield from StringIO(data.decode(), newline="")


def _blank_if_wrong(source: InputFile, line: bytes, place: Place) -> bytes:
    """A line; if it is not text, and such lines are left out, an empty one, so that the others keep their numbers."""
    if error := _text_error(line, place, "line"):
        reject(error, source.rejected)
    return b"\n" if error else line + b"\n"


def _text_error(data: bytes, place: Place | str, noun: str) -> KaratError | None:
    """The error if a file or a line is not text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return KaratError(f"the {noun} is not UTF-8", place=place, hint="Save the file as UTF-8.")
    if "\0" in text:
        hint = "This is binary data, or UTF-16: save the file as UTF-8."
        return KaratError(f"the {noun} contains a NUL byte", place=place, hint=hint)
    return None


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
