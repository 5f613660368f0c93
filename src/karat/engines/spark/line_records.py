"""Records in lines of text, which executors get as they are: a local reader reads those of a bucket as a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

import pyarrow as pa

from karat.errors import KaratError, shown
from karat.files.input_file import InputFile

LINE = "line"
"""the column of the lines"""
_WIDTH = 200  # characters of a line in a message


class RecordsInLines(NamedTuple):
    """A table of lines with a record each. `header` is the first line of every file, if they have one."""

    name: str
    header: bytes | None = None

    def file(self, table: pa.Table) -> InputFile:
        """The lines of a bucket, as a file."""
        return named_file(b"\n".join([*self._header(), *table[LINE].to_pylist(), b""]), self.name)

    def show_line(self, error: KaratError, table: pa.Table) -> None:
        """Put a line of a bucket in the place of its number in an error."""
        show_line(error, self.name, [*self._header(), *table[LINE].to_pylist()])

    def _header(self) -> list[bytes]:
        return [] if self.header is None else [self.header]


def show_line(error: KaratError, name: str, lines: Sequence[bytes]) -> None:
    """Put a line in the place of its number in an error: `run.jsonl, line '{...}'`."""
    found = re.fullmatch(rf"{re.escape(name)}:(\d+)", error.where or "")
    if found and int(found[1]) <= len(lines):
        error.where = place_of_line(name, lines[int(found[1]) - 1])


def place_of_line(name: str, line: bytes) -> str:
    """The place of an error: the file, and the line itself."""
    return f"{name}, line {shown(line.decode(errors='replace'), _WIDTH)}"


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
