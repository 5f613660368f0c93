"""Records in lines of text, which executors get as they are: a local reader reads those of a bucket as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import NamedTuple

import pyarrow as pa

from karat.errors import KaratError, Place, shown
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs.files import DescribedFile

LINE = "line"
"""the column of the lines"""
_WIDTH = 200  # characters of a line in a message


class RecordsInLines(NamedTuple):
    """A table of lines with a record each: what a local reader reads of a bucket."""

    name: str
    header: bytes | None
    """the first line of every file, if they have one"""
    empty: pa.Schema
    """of the table that is read if a bucket has no lines"""
    columns: Mapping[str, str] | None = None
    """the names of fields by role, of JSON lines of ground truth or of a run"""

    def source(self, table: pa.Table) -> InputFile | DescribedFile | pa.Table:
        """The lines of a bucket, as a file."""
        if not len(table):
            return self.empty.empty_table()
        file = named_file(b"\n".join([*self._lines(table), b""]), self.name)
        return file if self.columns is None else DescribedFile(file, self.columns, "jsonl")

    def show_lines(self, error: KaratError, table: pa.Table) -> KaratError:
        """The error with the lines of a bucket instead of their numbers."""
        return show_lines(error, self.name, self._lines(table))

    def _lines(self, table: pa.Table) -> list[bytes]:
        return [*([] if self.header is None else [self.header]), *table[LINE].to_pylist()]


def show_lines(error: KaratError, name: str, lines: Sequence[bytes]) -> KaratError:
    """The error with the lines of a file instead of their numbers: `run.jsonl, line '{...}'`."""

    def with_line(place: Place) -> Place:
        if place.source != name or not isinstance(place.line, int):
            return place
        is_known = place.line <= len(lines)
        shown_line = place_of_line(name, lines[place.line - 1]) if is_known else Place(name)
        return shown_line.inside(place.field) if place.field else shown_line

    return error.with_places(with_line)


def place_of_line(name: str, line: bytes) -> Place:
    """The place of an error: the file, and the line itself."""
    return Place(name, field=f"line {shown(line.decode(errors='replace'), _WIDTH)}")


def joined(lines: pa.Array) -> bytes:
    """Lines as the content of a file."""
    return b"\n".join([*lines.to_pylist(), b""])


def named_file(content: bytes, name: str) -> InputFile:
    """A file with this content, and this name in messages."""
    return InputFile.of(_NamedBytes(content, name))


class _NamedBytes(BytesIO):
    """An open file with a name."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name
