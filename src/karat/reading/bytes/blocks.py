"""Blocks of whole lines of a file, which threads parse; and the line of an error in one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from karat.errors import KaratError, Place
from karat.reading.bytes.line_ends import count_line_ends
from karat.reading.bytes.rejected_rows import reject

if TYPE_CHECKING:
    from karat.reading.bytes.input_file import InputFile


@dataclass(frozen=True)
class Block:
    """Some whole lines of a file, and the byte at which they begin."""

    data: memoryview
    source: InputFile
    offset: int
    lines_before: int | None = None
    """None if they were not counted: they are needed only for errors"""

    def place(self, line: int) -> Place:
        """The file and line number of a line of this block, counted from 0.

        Unless lines were counted, it reads the file again: an error ends the reading.
        """
        before = self.lines_before
        if before is None:
            self.source.check()
            before = self.source.lines_before(self.offset)
        return Place(self.source.name, line=before + line + 1)

    def reject(self, error: KaratError) -> None:
        """Raise the error of a row, or collect it if the file is read without the rows that are wrong."""
        reject(error, self.source.rejected)

    def start(self, size: int) -> Block:
        """The first lines of this block, which have so many bytes."""
        return replace(self, data=self.data[:size])

    def without_start(self, size: int) -> Block:
        """This block without its first lines, which have so many bytes."""
        if not size:
            return self
        lines = None if self.lines_before is None else self.lines_before + count_line_ends(bytes(self.data[:size]))
        return replace(self, data=self.data[size:], offset=self.offset + size, lines_before=lines)
