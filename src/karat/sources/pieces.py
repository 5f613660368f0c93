"""A file as pieces of whole lines, cut where the first column changes, so that memory stays flat.

A file is mapped, not read; gzip (known by its first bytes) is unpacked as it streams by; a pipe is held in
memory, because it cannot be read twice and a run whose queries are scattered has to be.
"""

from __future__ import annotations

import gzip
import mmap
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import cast

from karat.errors import KaratError
from karat.names import did_you_mean

PIECE = 8 << 20
LONGEST_LINE = 1 << 20
_TOKEN = 4096
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"

Progress = Callable[[int, int], None]
Text = mmap.mmap | bytes


@dataclass(frozen=True)
class Piece:
    """Some whole lines of a file."""

    data: memoryview | bytes
    name: str
    lines_before: Callable[[], int]

    def where(self, line: int) -> str:
        """The place of a line of this piece, counted from 0."""
        return f"{self.name}:{self.lines_before() + line + 1}"


@dataclass
class TextSource:
    """A path, or `-` for standard input, that can be gone through more than once."""

    path: str
    _held: bytes | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path == "-" else self.path

    def pieces(self, progress: Progress | None = None, size: int = PIECE) -> Iterator[Piece]:
        """The lines, in pieces of about `size` bytes that end where the first column changes."""
        try:
            if self.path == "-" and self._held is None:
                self._held = sys.stdin.buffer.read()
            if self._held is not None:
                yield from self._pieces(BytesIO(self._held), self._held, progress, size)
                return
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    self._held = file.read()
                    yield from self._pieces(BytesIO(self._held), self._held, progress, size)
                elif status.st_size:
                    # Not closed here: a piece may be in use by another thread, and the last one to go unmaps it.
                    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                    yield from self._pieces(file, data, progress, size)
        except OSError as error:
            raise _cannot_read(self.path, error) from None

    def _pieces(
        self, file: BufferedReader | BytesIO, data: Text, progress: Progress | None, size: int
    ) -> Iterator[Piece]:
        if data[:2] == _GZIP:
            yield from _unpacked(file, self.name, len(data), progress, size)
        else:
            yield from _in_place(data, self.name, progress, size)


def _in_place(data: Text, name: str, progress: Progress | None, size: int) -> Iterator[Piece]:
    view, total = memoryview(data), len(data)
    start = len(_BOM) if data[: len(_BOM)] == _BOM else 0
    while start < total:
        end = _cut(data, start, total, size, name)
        yield Piece(view[start:end], name, _lines_before(data, start))
        start = end
        if progress:
            progress(start, total)


def _unpacked(
    file: BufferedReader | BytesIO, name: str, total: int, progress: Progress | None, size: int
) -> Iterator[Piece]:
    stream = gzip.GzipFile(fileobj=cast("BufferedReader", file))
    rest, lines, first = b"", 0, True
    while True:
        try:
            block = stream.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise KaratError(
                f"the gzip data is damaged or cut short ({error})", where=name, mend="Compress or download it again."
            ) from None
        if first:
            block, first = block.removeprefix(_BOM), False
        data = rest + block if rest else block
        end = _cut(data, 0, len(data) + bool(block), len(data), name) if data else 0
        if end <= len(data):
            piece, rest = data[:end], data[end:]
            if piece:
                yield Piece(piece, name, lambda lines=lines: lines)  # type: ignore[misc]  # the default binds it
                lines += _newlines(piece)
        else:
            rest = data
        if progress:
            progress(file.tell(), total)
        if not block:
            return


def _cut(data: Text, start: int, total: int, size: int, name: str) -> int:
    """Where the piece that starts here ends: at a change, or at the end of all."""
    while start + size < total:
        end = start + size
        change = _last_change(data, start, end)
        if change is not None:
            return change
        tail = max(start, end - LONGEST_LINE)
        if end - tail == LONGEST_LINE and max(data.rfind(b"\n", tail, end), data.rfind(b"\r", tail, end)) < 0:
            raise KaratError(
                f"there is a line of more than {LONGEST_LINE >> 20} MB",
                where=name,
                mend="That is no TREC file: its lines end after a few columns.",
            )
        size *= 2
    return total


def _last_change(data: Text, start: int, end: int) -> int | None:
    """The start of a line, as late as possible, whose first column differs from that of the line before.

    Looking back in growing steps for a line of another query, then halving the stretch between, takes a few
    looks however many lines a query has.
    """
    high = _line_start(data, start, data.rfind(b"\n", start, end))
    if high <= start:
        return None
    query = _first_token(data, high)
    step, low = 64, high
    while True:
        if low == start:
            return None
        low = _line_start(data, start, max(start, high - step))
        if _first_token(data, low) != query:
            break
        step *= 2
    while True:
        middle = _line_start(data, start, (low + high) // 2)
        if middle <= low:
            following = data.find(b"\n", low, high) + 1
            if following >= high:
                return high
            middle = following
        if _first_token(data, middle) == query:
            high = middle
        else:
            low = middle


def _line_start(data: Text, start: int, at: int) -> int:
    return max(start, data.rfind(b"\n", start, at) + 1) if at > start else start


def _first_token(data: Text, line: int) -> bytes:
    tokens = data[line : line + _TOKEN].split(b"\n", 1)[0].split(None, 1)
    return tokens[0] if tokens else b""


def _lines_before(data: Text, end: int) -> Callable[[], int]:
    return lambda: sum(_newlines(data[at : min(at + PIECE, end)]) for at in range(0, end, PIECE))


def _newlines(data: bytes) -> int:
    return data.count(b"\n") + (data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0)


def _cannot_read(path: str, error: OSError) -> KaratError:
    if isinstance(error, FileNotFoundError):
        folder = Path(path).parent
        there = [str(folder / entry.name) for entry in folder.iterdir()] if folder.is_dir() else []
        return KaratError("there is no such file", where=path, mend=did_you_mean(path, there) or None)
    if isinstance(error, IsADirectoryError):
        return KaratError("this is a folder, not a file", where=path, mend="Name the file in it.")
    return KaratError(f"cannot be read: {error.strerror or error}", where=path)
