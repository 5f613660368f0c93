"""A file as pieces of whole lines, cut where the first column changes, so that memory stays flat.

Gzip is known by its first bytes and unpacked as it streams by. A pipe is held in memory, because it cannot be read
twice, and a run whose queries are scattered has to be.
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

BLOCK_SIZE = 8 << 20
LONGEST_LINE = 1 << 20
BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_TOKEN = 4096

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Block:
    """Some whole lines of a source, and at which byte they begin."""

    data: memoryview
    source: TextFile
    offset: int

    def where(self, line: int) -> str:
        """The place of a line of this block, counted from 0: asked for when the line is wrong."""
        self.source.check()
        return f"{self.source.name}:{self.source.lines_before(self.offset) + line + 1}"


@dataclass
class TextFile:
    """A path, or `-` for standard input, that can be gone through more than once."""

    path: str
    _held: bytes | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path == "-" else self.path

    def blocks(self, progress: Progress | None = None) -> Iterator[Block]:
        """The lines, in pieces that end where the first column changes."""
        size = max(BLOCK_SIZE, len(BOM))
        with self._opened() as (stream, file, total):
            rest, offset, more = b"", 0, True
            while more:
                block = bytearray(len(rest) + size)
                block[: len(rest)] = rest
                read = stream.readinto(memoryview(block)[len(rest) :])  # type: ignore[attr-defined]  # all three have it
                data = block[: len(rest) + read] if read < size else block
                more = read > 0
                if offset == 0 and not rest and data.startswith(BOM):
                    data, offset = data[len(BOM) :], len(BOM)
                end = _last_change(data) if more else len(data)
                if end:
                    yield Block(memoryview(data)[:end], self, offset)
                elif _unending(data):
                    raise self._no_line(offset + len(data))
                rest, offset = bytes(memoryview(data)[end:]), offset + end
                # What one query fills is read in growing steps.
                size = max(size, len(rest)) if not end else size
                if progress:
                    progress(file.tell(), total)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line, however long, without the blanks at its end, and its number, counted from 1."""
        with self._opened() as (stream, _, _):
            for number, line in enumerate(stream, 1):
                yield number, (line.removeprefix(BOM) if number == 1 else line).rstrip()

    def first_byte(self) -> bytes:
        """The first byte that is no blank, after a BOM; nothing where there is none. It reads no further than that."""
        with self._opened() as (stream, _, _):
            block = stream.read(_TOKEN).removeprefix(BOM)
            while block.isspace():
                block = stream.read(_TOKEN)
            return block.lstrip()[:1]

    def whole(self) -> bytes:
        """All of it, without a BOM."""
        with self._opened() as (stream, _, _):
            return stream.read().removeprefix(BOM)

    def check(self) -> None:
        """An error where the file is damaged: called when a line is wrong, which may be no more than its symptom."""
        with self._opened() as (stream, _, _):
            while isinstance(stream, gzip.GzipFile) and stream.read(BLOCK_SIZE):
                pass

    def lines_before(self, offset: int) -> int:
        """How many lines end before a byte: counted only when an error has to name one."""
        lines, last = 0, b""
        with self._opened() as (stream, _, _):
            while offset > 0 and (block := stream.read(min(BLOCK_SIZE, offset))):
                straddles = last.endswith(b"\r") and block.startswith(b"\n")
                lines += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n") - straddles
                last, offset = block, offset - len(block)
        return lines

    @contextmanager
    def _opened(self) -> Iterator[tuple[BinaryIO, BinaryIO, int]]:
        """The text as a stream, the file below it, and the size of that."""
        try:
            with self._file() as file:
                total = file.seek(0, os.SEEK_END)
                file.seek(0)
                packed = file.read(len(_GZIP)) == _GZIP
                file.seek(0)
                yield gzip.GzipFile(fileobj=file) if packed else file, file, total  # type: ignore[misc]  # a BinaryIO
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise KaratError(
                f"the gzip data is damaged or cut short ({error})",
                where=self.name,
                hint="Pack or download it again.",
            ) from None
        except OSError as error:
            raise _cannot_read(self.path, error) from None

    def _file(self) -> BinaryIO:
        if self._held is None and self.path == "-":
            if sys.stdin is None:
                raise KaratError("standard input is closed", hint="Give the name of a file.")
            self._held = self._all_of_pipe(sys.stdin.buffer)
        if self._held is None:
            try:
                file = open(self.path, "rb")  # noqa: SIM115  # closed by the caller
            except ValueError as error:
                raise KaratError(f"cannot be read: {error}", where=self.path) from None
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file
            with file:
                self._held = self._all_of_pipe(file)
        return BytesIO(self._held)

    def _all_of_pipe(self, pipe: BinaryIO) -> bytes:
        """Everything that comes, unless it is text that never ends its line."""
        blocks: list[bytes] = []
        while block := pipe.read(BLOCK_SIZE):
            blocks.append(block)
            if _unending(block) and not _may_be_long(blocks[0]):
                self._held = b"".join(blocks)
                raise self._no_line(len(self._held))
        return b"".join(blocks)

    def _no_line(self, offset: int) -> KaratError:
        return KaratError(
            f"this line is longer than {LONGEST_LINE >> 20} MB",
            where=f"{self.name}:{self.lines_before(offset) + 1}",
            hint="That is no TREC file: its lines end after a few columns.",
        )


def _unending(data: bytes | bytearray) -> bool:
    tail = len(data) - LONGEST_LINE
    return tail >= 0 and max(data.rfind(b"\n", tail), data.rfind(b"\r", tail)) < 0


def _may_be_long(start: bytes) -> bool:
    """Whether lines may be long in what starts so: gzip hides them, and JSON has whole documents in a line."""
    return start.startswith(_GZIP) or start[:_TOKEN].removeprefix(BOM).lstrip().startswith((b"{", b"["))


def _last_change(data: bytearray) -> int:
    """The start of a line, as late as possible, whose first column differs from that of the line before; or 0.

    Looking back in growing steps for a line of another query, then halving the stretch between, takes a few
    looks however many lines a query has.
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
    tokens = bytes(data[line : line + _TOKEN]).split(b"\n", 1)[0].split(None, 1)
    return tokens[0] if tokens else b""


def _cannot_read(path: str, error: OSError) -> KaratError:
    if isinstance(error, FileNotFoundError):
        try:
            there = [entry.name for entry in Path(path).parent.iterdir()]
        except OSError:
            there = []
        return KaratError("there is no such file", where=path, hint=did_you_mean(Path(path).name, there) or None)
    if isinstance(error, IsADirectoryError):
        return KaratError("this is a folder, not a file", where=path, hint="Name the file in it.")
    return KaratError(f"cannot be read: {error.strerror or error}", where=path)
