"""Read a text file in blocks of whole lines that end where the first column changes, so that memory stays flat.

Gzip is recognized by its first bytes and decompressed while reading. A pipe is read into memory:
a run whose lines are not grouped by query is read twice, and a pipe can be read only once.
"""

from __future__ import annotations

import gzip
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from karat.errors import KaratError, did_you_mean
from karat.file_kinds import PEEK, check_is_text

BLOCK_SIZE = 8 << 20
LONGEST_LINE = 1 << 20
BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Block:
    """Some whole lines of a file, and the byte at which they begin."""

    data: memoryview
    source: TextFile
    offset: int

    def where(self, line: int) -> str:
        """The file and line number of a line of this block, counted from 0. For errors: it reads the file again."""
        self.source.check()
        return f"{self.source.name}:{self.source.lines_before(self.offset) + line + 1}"


@dataclass
class TextFile:
    """A file, or standard input (`-`), that can be read more than once."""

    path: str
    _content: bytes | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return "standard input" if self.path == "-" else self.path

    def blocks(self, progress: Progress | None = None) -> Iterator[Block]:
        """The lines in blocks that end where the first column changes."""
        size = max(BLOCK_SIZE, len(BOM))
        with self._opened() as (stream, file, total):
            rest, offset, more = b"", 0, True
            while more:
                buffer = bytearray(len(rest) + size)
                buffer[: len(rest)] = rest
                read = stream.readinto(memoryview(buffer)[len(rest) :])  # type: ignore[attr-defined]  # all three have it
                data = buffer[: len(rest) + read] if read < size else buffer
                more = read > 0
                if offset == 0 and not rest and data.startswith(BOM):
                    data, offset = data[len(BOM) :], len(BOM)
                end = _last_change(data) if more else len(data)
                if end:
                    yield Block(memoryview(data)[:end], self, offset)
                elif _lacks_line_end(data):
                    raise self._line_too_long(offset + len(data))
                rest, offset = bytes(memoryview(data)[end:]), offset + end
                # If a query is larger than a block, read in growing steps.
                size = max(size, len(rest)) if not end else size
                if progress:
                    progress(file.tell(), total)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line, of any length, with its number from 1 and without trailing white space."""
        with self._opened() as (stream, _, _):
            for number, line in enumerate(stream, 1):
                yield number, (line.removeprefix(BOM) if number == 1 else line).rstrip()

    def first_byte(self) -> bytes:
        """The first byte that is not white space or a byte order mark; empty if there is none. Reads no further."""
        with self._opened() as (stream, _, _):
            block = stream.read(PEEK).removeprefix(BOM)
            while block.isspace():
                block = stream.read(PEEK)
            return block.lstrip()[:1]

    def start(self, size: int = PEEK) -> bytes:
        """The first bytes, without a byte order mark."""
        with self._opened() as (stream, _, _):
            return stream.read(size).removeprefix(BOM)

    def read_all(self) -> bytes:
        """The whole content, without a byte order mark."""
        with self._opened() as (stream, _, _):
            return stream.read().removeprefix(BOM)

    def check(self) -> None:
        """Raise an error if gzip data is damaged. Called when a line is invalid, which may be only a consequence."""
        with self._opened() as (stream, _, _):
            while isinstance(stream, gzip.GzipFile) and stream.read(BLOCK_SIZE):
                pass

    def lines_before(self, offset: int) -> int:
        """How many lines end before a byte. For errors: it reads the file again."""
        lines, last = 0, b""
        with self._opened() as (stream, _, _):
            while offset > 0 and (block := stream.read(min(BLOCK_SIZE, offset))):
                straddles = last.endswith(b"\r") and block.startswith(b"\n")
                lines += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n") - straddles
                last, offset = block, offset - len(block)
        return lines

    @contextmanager
    def _opened(self) -> Iterator[tuple[BinaryIO, BinaryIO, int]]:
        """The decompressed stream, the underlying file, and its size."""
        try:
            with self._file() as file:
                total = file.seek(0, os.SEEK_END)
                file.seek(0)
                compressed = file.read(len(_GZIP)) == _GZIP
                file.seek(0)
                stream: BinaryIO = gzip.GzipFile(fileobj=file) if compressed else file  # type: ignore[assignment]  # a BinaryIO
                check_is_text(stream.read(PEEK), self.name)
                stream.seek(0)
                yield stream, file, total
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise KaratError(
                f"the gzip data is damaged or cut short ({error})",
                where=self.name,
                hint="Compress or download it again.",
            ) from None
        except OSError as error:
            raise _cannot_read(self.path, error) from None

    def _file(self) -> BinaryIO:
        if self._content is None and self.path == "-":
            if sys.stdin is None:
                raise KaratError("standard input is closed", hint="Name a file instead.")
            self._content = self._read_pipe(sys.stdin.buffer)
        if self._content is None:
            try:
                file = open(self.path, "rb")  # noqa: SIM115  # closed by the caller
            except ValueError as error:
                raise KaratError(f"cannot be read: {error}", where=self.path) from None
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file
            with file:
                self._content = self._read_pipe(file)
        return BytesIO(self._content)

    def _read_pipe(self, pipe: BinaryIO) -> bytes:
        """The content of a pipe; stops with an error at a line that is too long for a TREC file."""
        blocks: list[bytes] = []
        while block := pipe.read(BLOCK_SIZE):
            blocks.append(block)
            if not blocks[0].startswith(_GZIP):
                check_is_text(blocks[0][:PEEK], self.name)
            if _lacks_line_end(block) and not _may_have_long_lines(blocks[0]):
                self._content = b"".join(blocks)
                raise self._line_too_long(len(self._content))
        return b"".join(blocks)

    def _line_too_long(self, offset: int) -> KaratError:
        return KaratError(
            f"the line is longer than {LONGEST_LINE >> 20} MB",
            where=f"{self.name}:{self.lines_before(offset) + 1}",
            hint="This is not a TREC file: its lines have only a few columns.",
        )


def _lacks_line_end(data: bytes | bytearray) -> bool:
    tail = len(data) - LONGEST_LINE
    return tail >= 0 and max(data.rfind(b"\n", tail), data.rfind(b"\r", tail)) < 0


def _may_have_long_lines(start: bytes) -> bool:
    """Whether data with this start may have long lines: gzip, and JSON with whole documents in a line."""
    return start.startswith(_GZIP) or start[:PEEK].removeprefix(BOM).lstrip().startswith((b"{", b"["))


def _last_change(data: bytearray) -> int:
    """The start of the last line whose first column differs from that of the line before it; 0 if there is none.

    Steps back in growing steps to a line with another query, then bisects: logarithmic in the lines of a query.
    """
    high = _line_start(data, data.rfind(b"\n"))
    query = _first_token(data, high)
    step, low = 64, high
    while low > 0:
        low = _line_start(data, high - step)
        if _first_token(data, low) != query:
            break
        step *= 2
    else:
        return 0
    while True:
        middle = _line_start(data, (low + high) // 2)
        if middle <= low:
            middle = data.find(b"\n", low, high) + 1
            if middle >= high:
                return high
        if _first_token(data, middle) == query:
            high = middle
        else:
            low = middle


def _line_start(data: bytearray, at: int) -> int:
    return data.rfind(b"\n", 0, at) + 1 if at > 0 else 0


def _first_token(data: bytearray, line: int) -> bytes:
    tokens = bytes(data[line : line + PEEK]).split(b"\n", 1)[0].split(None, 1)
    return tokens[0] if tokens else b""


def _cannot_read(path: str, error: OSError) -> KaratError:
    if not path:
        return KaratError("the name of a file is empty", hint="Name a file, or - for standard input.")
    if isinstance(error, FileNotFoundError):
        try:
            names = [entry.name for entry in Path(path).parent.iterdir()]
        except OSError:
            names = []
        return KaratError("no such file", where=path, hint=did_you_mean(Path(path).name, names) or None)
    if isinstance(error, IsADirectoryError):
        return KaratError("this is a folder, not a file", where=path, hint="Name a file in it.")
    return KaratError(f"cannot be read: {error.strerror or error}", where=path)
