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
from functools import partial
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import BinaryIO, cast

from karat.errors import KaratError
from karat.names import did_you_mean

PIECE = 8 << 20
LONGEST_LINE = 1 << 20
_TOKEN = 4096
_COUNTED_AT_ONCE = 1 << 24
BOM = b"\xef\xbb\xbf"
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
                self._held = _all_of_pipe(sys.stdin.buffer, self.name)
            if self._held is not None:
                yield from self._pieces(BytesIO(self._held), self._held, progress, size)
                return
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    self._held = _all_of_pipe(file, self.name)
                    yield from self._pieces(BytesIO(self._held), self._held, progress, size)
                elif status.st_size:
                    # Not closed here: a piece may be in use by another thread, and the last one to go unmaps it.
                    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                    yield from self._pieces(file, data, progress, size)
        except (OSError, ValueError) as error:
            if isinstance(error, KaratError):
                raise
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
    start = len(BOM) if data[: len(BOM)] == BOM else 0
    while start < total:
        lines_before = partial(_lines_before, data, start)
        end = _cut(data, start, total, size, name, lines_before)
        yield Piece(view[start:end], name, lines_before)
        start = end
        if progress:
            progress(start, total)


def _unpacked(
    file: BufferedReader | BytesIO, name: str, total: int, progress: Progress | None, size: int
) -> Iterator[Piece]:
    stream = gzip.GzipFile(fileobj=cast("BufferedReader", file))
    data, lines, at_start, more = b"", 0, True, True
    while more:
        block = _next_block(stream, max(size, len(BOM)), name)
        more = len(block) > 0
        data += block.removeprefix(BOM) if at_start else block
        at_start = False
        # While more may come, the end of the data is not the end of all: a cut there waits.
        end = _cut(data, 0, len(data) + more, len(data), name, partial(int, lines)) if data else 0
        if 0 < end <= len(data):
            yield Piece(data[:end], name, partial(int, lines))
            lines += _newlines(data[:end])
            data = data[end:]
        if progress:
            progress(file.tell(), total)


def _next_block(stream: gzip.GzipFile, size: int, name: str) -> bytes:
    try:
        return stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise KaratError(
            f"the gzip data is damaged or cut short ({error})", where=name, mend="Compress or download it again."
        ) from None


def _cut(data: Text, start: int, total: int, size: int, name: str, lines_before: Callable[[], int]) -> int:
    """Where the piece that starts here ends: at a change, or at the end of all."""
    while start + size < total:
        end = start + size
        change = _last_change(data, start, end)
        if change is not None:
            return change
        if _unending(data, start, end):
            raise _no_line(name, lines_before() + _newlines(data[start:end]))
        size *= 2
    if _unending(data, start, total):
        raise _no_line(name, lines_before() + _newlines(data[start:total]))
    return total


def _unending(data: Text, start: int, end: int) -> bool:
    tail = end - LONGEST_LINE
    return tail >= start and max(data.rfind(b"\n", tail, end), data.rfind(b"\r", tail, end)) < 0


def _no_line(name: str, lines_before: int) -> KaratError:
    return KaratError(
        f"this line is longer than {LONGEST_LINE >> 20} MB",
        where=f"{name}:{lines_before + 1}",
        mend="That is no TREC file: its lines end after a few columns.",
    )


def _all_of_pipe(pipe: BinaryIO, name: str) -> bytes:
    """Everything that comes, unless it is text that never ends its line."""
    blocks = []
    while block := pipe.read(PIECE):
        blocks.append(block)
        if not blocks[0].startswith(_GZIP) and _unending(block, 0, len(block)):
            raise _no_line(name, sum(map(_newlines, blocks)))
    return b"".join(blocks)


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


def _lines_before(data: Text, end: int) -> int:
    lines = 0
    for at in range(0, end, _COUNTED_AT_ONCE):
        part = data[at : min(at + _COUNTED_AT_ONCE, end)]
        # A line end of two bytes may straddle two parts: it is counted with the second.
        straddles = part.endswith(b"\r") and data[at + len(part) : at + len(part) + 1] == b"\n"
        lines += _newlines(part) - straddles
    return lines


def _newlines(data: bytes) -> int:
    return data.count(b"\n") + (data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0)


def _cannot_read(path: str, error: OSError | ValueError) -> KaratError:
    if isinstance(error, FileNotFoundError):
        try:
            folder = Path(path).parent
            there = [str(folder / entry.name) for entry in folder.iterdir()]
        except OSError:
            there = []
        return KaratError("there is no such file", where=path, mend=did_you_mean(path, there) or None)
    if isinstance(error, IsADirectoryError):
        return KaratError("this is a folder, not a file", where=path, mend="Name the file in it.")
    return KaratError(f"cannot be read: {getattr(error, 'strerror', None) or error}", where=path)
