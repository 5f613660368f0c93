"""Large verdict files, divided into parts by query through a temporary file, so that memory does not grow with them.

The lines of a query may be anywhere in the files: somebody else's labels come later, and those of a judge are written
while it asks about other questions. Only what can be read without an error is divided. After an error, files are read
as a whole, which says what is wrong, and where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import pairwise

import numpy as np
import pyarrow as pa

from karat.data.judged import Ints
from karat.errors import KaratError
from karat.grounding.verdict_file.file_lines import FileLines, FilePart
from karat.grounding.verdict_file.line_queries import INVALID, SHARED, LineQueries
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.temporary_parts import TemporaryParts
from karat.reading.records.records import objects_from_json_lines

_PART = 8 << 20  # bytes of lines that are evaluated together
_PARTITIONS = 256  # so that a part can be that small up to 2 GB
_SHARED, _NONE = _PARTITIONS, _PARTITIONS + 1
"""the partitions of records without a query, and of blank lines, which are left out"""
_STRICT_LINES = 1_000
"""which are checked more strictly when a file is read"""


class DividedFiles(AbstractContextManager["DividedFiles"]):
    """The lines of JSON lines files, divided by query; what goes wrong is a KaratError or an OSError."""

    def __init__(self, files: Sequence[InputFile]) -> None:
        self._files = files
        self._queries = LineQueries()
        with ExitStack() as on_error:
            self._lines = on_error.enter_context(TemporaryParts(len(files) * _NONE))
            for at, file in enumerate(files):
                self._divide(at, file)
            on_error.pop_all()

    def __exit__(self, *error: object) -> None:
        self._lines.__exit__(*error)

    @property
    def parts(self) -> list[list[int]]:
        """The partitions of each part."""
        parts: list[list[int]] = [[]]
        size = 0
        for partition in range(_PARTITIONS):
            parts[-1].append(partition)
            size += sum(self._lines.size_of(at * _NONE + partition) for at in range(len(self._files)))
            if size >= _PART:
                parts.append([])
                size = 0
        return [part for part in parts if part]

    def part(self, partitions: Sequence[int]) -> FilePart:
        """The lines of some partitions."""
        files = []
        for at, file in enumerate(self._files):
            numbers: list[int] = []
            lines: list[bytes] = []
            for partition in partitions:
                for own in self._pieces(at, partition):
                    numbers += own.numbers
                    lines += own.lines
            files.append(FileLines(file.name, numbers, lines))
        return FilePart(tuple(files))

    def shared(self) -> Iterator[FilePart]:
        """The lines without a query, some at a time."""
        for at in range(len(self._files)):
            yield from (FilePart((lines,)) for lines in self._pieces(at, _SHARED))

    def _pieces(self, at: int, partition: int) -> Iterator[FileLines]:
        pieces = self._lines.pieces(at * _NONE + partition)
        for numbers, lines in zip(pieces, pieces, strict=True):
            yield FileLines(
                self._files[at].name, np.frombuffer(numbers, np.int64).tolist(), lines.removesuffix(b"\n").split(b"\n")
            )

    def _divide(self, at: int, file: InputFile) -> None:
        for numbers, _ in objects_from_json_lines(file, ""):
            if numbers[-1] >= _STRICT_LINES:
                break
        number = 1
        for block in file.blocks(last_end=lambda data: data.rfind(b"\n") + 1):
            lines = _lines(block)
            partitions = self._partitions(lines, file.name)
            order = np.argsort(partitions, kind="stable")
            sorted_lines = lines.take(pa.array(order))
            starts = np.frombuffer(sorted_lines.buffers()[1], np.int32)
            data, numbers_in_order = memoryview(sorted_lines.buffers()[2]), order.astype(np.int64) + number
            bounds = np.searchsorted(partitions[order], np.arange(_NONE + 1)).tolist()
            pieces = []
            for partition, (first, end) in enumerate(pairwise(bounds)):
                if end > first:
                    part = at * _NONE + partition
                    pieces.append((part, memoryview(numbers_in_order[first:end].tobytes())))
                    pieces.append((part, data[starts[first] : starts[end]]))
            self._lines.append(pieces)
            number += len(lines)

    def _partitions(self, lines: pa.Array, name: str) -> Ints:
        """The partition of each line; all lines of a query are in the same one."""
        queries = self._queries.numbers(lines)
        if (queries == INVALID).any():
            raise KaratError("a line is not a record", place=name)
        others = np.where(queries == SHARED, _SHARED, _NONE)
        partitions: Ints = np.where(queries >= 0, queries % _PARTITIONS, others)
        return partitions


def _lines(block: Block) -> pa.Array:
    """The lines of a block with their line ends, as an array."""
    data = np.frombuffer(block.data, np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    if not len(ends) or ends[-1] < len(data):
        ends = np.r_[ends, len(data)]
    offsets = np.r_[0, ends].astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
