"""Read a file in blocks of whole lines that end where the first column changes, so that memory stays flat.

Compressed data is recognized by its first bytes and decompressed while reading. A pipe is read into memory: a run whose
lines are not grouped by query is read twice, and a pipe can be read only once.

Limits keep memory bounded, whatever a file contains.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from karat.errors import KaratError, NoSuchFileError, Place, did_you_mean, shown
from karat.errors.arguments import is_remote
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.compression import GB, MB, decompressed
from karat.reading.bytes.file_objects import FileObject, Readable, is_file_object
from karat.reading.bytes.file_ranges import RangeBounds, RangeStream, UnreadableFileError
from karat.reading.bytes.kinds import PEEK, arrow_format, check_is_text, check_name, compression_of
from karat.reading.bytes.line_ends import LONGEST_LINE, count_line_ends, lacks_line_end, last_change, last_line_end
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.bytes.remote import RemotePath, local_path

BLOCK_SIZE = 8 << 20
_LEAST_BUFFER = 1 << 16  # at the end of a file, which may be growing
_LINES_SIZE = 1 << 20  # of a block of lines: as objects, they take several times as much memory
LONGEST_RECORD = 256 * MB  # a line of JSON lines
LARGEST_QUERY = GB  # the lines of one query, which are in memory together
LARGEST_DOCUMENT = GB  # a JSON or CSV file, which is in memory as a whole
LARGEST_PIPE = 4 * GB
BOM = b"\xef\xbb\xbf"
_LONGEST_PATH = 4096  # of Linux

Progress = Callable[[int, int], None]


def is_file(source: object) -> bool:
    """Whether a source is the path of a file, or an open file."""
    return isinstance(source, str | os.PathLike | InputFile) or is_file_object(source)


@dataclass
class InputFile:
    """A file, standard input (`-`), or an open file, that can be read more than once."""

    path: str
    """empty for an open file"""
    bounds: RangeBounds | None = None
    """of the part that is read, whose lines are numbered from 1; None for the whole file"""
    rejected: RejectedRows | None = None
    """collects the errors of rows that are wrong, and are left out; None if the first of them is an error"""
    _content: bytes | None = field(default=None, repr=False)
    _object: Any = field(default=None, repr=False)
    _failure: KaratError | None = field(default=None, repr=False)

    @classmethod
    def of(cls, source: Any) -> InputFile:
        """The file with this path, or the rest of an open file, from its current position."""
        if isinstance(source, InputFile):
            return source
        if isinstance(source, str | os.PathLike):
            return cls(os.fsdecode(source))
        return cls("", _object=source)

    @property
    def whole(self) -> InputFile:
        """The whole file, of which this may be a part."""
        return self if self.bounds is None else replace(self, bounds=None)

    def rejecting_into(self, rejected: RejectedRows | None) -> InputFile:
        """This file, whose wrong rows are left out, and their errors collected; with None, the file as it is."""
        if rejected is None:
            return self
        if self._object is not None or self.path == "-" or Path(self.path).is_fifo():
            self.is_compressed()  # what can be read only once is then in memory, for both
        return replace(self, rejected=rejected)

    @property
    def has_start(self) -> bool:
        """Whether the first line of the file is read."""
        return self.bounds is None or self.bounds.start == 0

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        if self._object is not None:
            name = getattr(self._object, "name", None)
            return name if isinstance(name, str) and name else "the file object"
        if is_remote(self.path):
            return RemotePath.of(self.path).name
        return "standard input" if self.path == "-" else self.path

    def blocks(
        self,
        progress: Progress | None = None,
        *,
        whole_queries: bool = True,
        last_end: Callable[[bytearray], int] | None = None,
    ) -> Iterator[Block]:
        """The lines in blocks; with `whole_queries`, blocks end where the first column changes.

        `last_end` finds the last byte of some data at which a block may end, if not every line is a row; 0 if none.
        """
        last_end = last_end or (last_change if whole_queries else last_line_end)
        size = max(BLOCK_SIZE, len(BOM))
        with self._opened() as (stream, file, total):
            rest: bytes | bytearray = b""
            offset, lines, more = 0, 0, True
            while more:
                # All bytes of a new buffer are set to 0: for a small file, a large one takes longer than reading it.
                room = min(size, max(total - file.tell(), _LEAST_BUFFER)) if stream is file else size
                buffer = bytearray(len(rest) + room)
                buffer[: len(rest)] = rest
                read = stream.readinto(memoryview(buffer)[len(rest) :])
                data = buffer[: len(rest) + read] if read < room else buffer
                more = read > 0
                if offset == 0 and not rest and self.has_start and data.startswith(BOM):
                    data, offset = data[len(BOM) :], len(BOM)
                end = last_end(data) if more else len(data)
                if end:
                    yield Block(memoryview(data)[:end], self, offset, None if self.rejected is None else lines)
                    lines += 0 if self.rejected is None else count_line_ends(data, end)
                elif lacks_line_end(data):
                    raise self._line_too_long(offset + len(data))
                elif len(data) > LARGEST_QUERY:
                    raise self._query_too_large(offset)
                rest, offset = bytes(memoryview(data)[end:]) if end else data, offset + end
                # If a query is larger than a block, read in growing steps.
                size = max(size, len(rest)) if not end else size
                if progress:
                    progress(file.tell(), total)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its number from 1 and without trailing white space."""
        for number, lines in self.lines_in_blocks():
            yield from enumerate(map(bytes.rstrip, lines), number)

    def lines_in_blocks(self, progress: Progress | None = None) -> Iterator[tuple[int, list[bytes]]]:
        """Lists of consecutive lines without their line ends, each with the number of its first line, from 1."""
        size = max(min(BLOCK_SIZE, _LINES_SIZE), len(BOM) + 1)
        with self._opened() as (stream, file, total):
            number, length = 1, 0
            unfinished: list[bytes] = []  # the parts of a line that goes on in the next block
            block = stream.read(size).removeprefix(BOM if self.has_start else b"")
            while block:
                head, newline, tail = block.rpartition(b"\n")
                if newline:
                    lines = b"".join([*unfinished, head]).split(b"\n")
                    yield number, lines
                    number, length, unfinished = number + len(lines), 0, []
                unfinished.append(tail)
                length += len(tail)
                if length > LONGEST_RECORD:
                    what = f"the line is longer than {_size(LONGEST_RECORD)}"
                    hint = "JSON lines have one object per line."
                    raise KaratError(what, place=Place(self.name, line=number), hint=hint)
                if progress:
                    progress(file.tell(), total)
                block = stream.read(size)
            if length:
                yield number, [b"".join(unfinished)]

    def first_byte(self) -> bytes:
        """The first byte that is not white space or a byte order mark; empty if there is none. Reads no further."""
        with self._opened() as (stream, _, _):
            block = stream.read(PEEK).removeprefix(BOM)
            while block.isspace():
                block = stream.read(PEEK)
            return block.lstrip()[:1]

    def first_offset(self) -> int:
        """The byte of the whole file at which the first line of this part begins."""
        with self._opened() as (stream, _, _):
            return stream.raw.start if isinstance(stream.raw, RangeStream) else 0

    def check_is_text(self) -> None:
        """Raise an error that says what the file is, if it is not text."""
        self.first_offset()

    def start(self, size: int = PEEK) -> bytes:
        """The first decompressed bytes, of text or of binary data, without a byte order mark."""
        with self._opened(text=False) as (stream, _, _):
            return stream.read(size + len(BOM)).removeprefix(BOM)[:size]

    def is_compressed(self) -> bool:
        """Whether the file is decompressed while it is read."""
        with self._opened(text=False) as (stream, file, _):
            return stream is not file

    def read_all(self) -> bytes:
        """The whole content of a text, without a byte order mark."""
        with self._opened() as (stream, _, _):
            return self._read_to_end(stream).removeprefix(BOM)

    @contextmanager
    def seekable(self) -> Iterator[BinaryIO]:
        """The decompressed content as a file in which any place can be read, for formats that are not text."""
        with self._opened(text=False) as (stream, file, _):
            yield file if stream is file else BytesIO(self._read_to_end(stream))

    def _read_to_end(self, stream: BinaryIO) -> bytes:
        blocks: list[bytes] = []
        # In blocks: reading at most so many bytes would allocate as many, however short the file is.
        while sum(map(len, blocks)) <= LARGEST_DOCUMENT and (block := stream.read(BLOCK_SIZE)):
            blocks.append(block)
        content = b"".join(blocks)
        if len(content) > LARGEST_DOCUMENT:
            raise too_large(self.name)
        return content

    def check(self) -> None:
        """Raise an error if compressed data is damaged. Called when a line is invalid: it may be only a consequence."""
        with self._opened(text=False) as (stream, file, _):
            while stream is not file and stream.read(BLOCK_SIZE):
                pass

    def lines_before(self, offset: int) -> int:
        """How many lines end before a byte. For errors: it reads the file again."""
        lines, last = 0, b""
        with self._opened() as (stream, _, _):
            while offset > 0 and (block := stream.read(min(BLOCK_SIZE, offset))):
                straddles = last.endswith(b"\r") and block.startswith(b"\n")
                lines += count_line_ends(block) - straddles
                last, offset = block, offset - len(block)
        return lines

    @contextmanager
    def _opened(self, *, text: bool = True) -> Iterator[tuple[BufferedReader, BufferedReader, int]]:
        """The decompressed stream, the underlying file, and its size; an error if it is not text, as it should be."""
        try:
            with self._file() as file:
                total = file.seek(0, os.SEEK_END)
                file.seek(0)
                if self.bounds is not None:  # its data is not compressed
                    file, total = RangeStream.opened(file, self.bounds)
                with decompressed(file, self.name) if self.bounds is None else file as stream:
                    if text and self.has_start:
                        start = stream.peek(PEEK)[:PEEK]
                        check_is_text(start, self.name)
                        check_name(start, self.name, is_compressed=stream is not file)
                    yield stream, file, total
        except OSError as error:
            if is_remote(self.path):
                raise RemotePath.of(self.path).error(error) from None
            raise _cannot_read(self.path, error) from None

    def _file(self) -> BufferedReader:
        if self._content is None and self._object is not None:
            self._content = self._read_once(FileObject(self._object, self.name), "an open file")
        if self._content is None and self.path == "-":
            if sys.stdin is None:
                raise KaratError("standard input is closed", hint="Name a file instead.")
            self._content = self._read_once(sys.stdin.buffer, "a pipe")
        if self._content is None and is_remote(self.path):
            return RemotePath.of(self.path).open()
        if self._content is None:
            path = local_path(self.path)
            try:
                file = open(path, "rb")  # noqa: SIM115  # closed by the caller
            except ValueError as error:
                raise KaratError(f"cannot be read: {error}", place=self.path) from None
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file
            with file:
                self._content = self._read_once(file, "a pipe")
        return BufferedReader(BytesIO(self._content))

    def _read_once(self, stream: Readable, kind: str) -> bytes:
        """What can be read only once, and an error again if it cannot."""
        try:
            if self._failure is None:
                return self._read_stream(stream, kind)
        except KaratError as error:
            self._failure = error
        raise self._failure

    def _read_stream(self, stream: Readable, kind: str) -> bytes:
        """The content of a stream; stops with an error at a line that is too long for a TREC file."""
        blocks: list[bytes] = []
        size = 0
        while block := stream.read(BLOCK_SIZE):
            blocks.append(block)
            size += len(block)
            if size > LARGEST_PIPE:
                raise KaratError(
                    f"more than {_size(LARGEST_PIPE)} from {kind}, which is read into memory",
                    place=self.name,
                    hint="Write it to a file, and name the file.",
                )
            if not compression_of(blocks[0]) and not arrow_format(blocks[0]):
                check_is_text(blocks[0][:PEEK], self.name)
            if lacks_line_end(block) and not _may_have_long_lines(blocks[0]):
                self._content = b"".join(blocks)
                raise self._line_too_long(len(self._content))
        return b"".join(blocks)

    def _line_too_long(self, offset: int) -> KaratError:
        return KaratError(
            f"the line is longer than {_size(LONGEST_LINE)}",
            place=Place(self.name, line=self.lines_before(offset) + 1),
            hint="Ground truth and runs have short lines: a query, a document and a number.",
        )

    def _query_too_large(self, offset: int) -> KaratError:
        return KaratError(
            f"the lines of one query take more than {_size(LARGEST_QUERY)}",
            place=Place(self.name, line=self.lines_before(offset) + 1),
            hint="Is the first column the query? The lines of a query are read into memory together.",
        )


def too_large(name: str) -> KaratError:
    """The error for a file that is not read in parts."""
    what = f"the file is larger than {_size(LARGEST_DOCUMENT)}, too large to be read as a whole"
    return KaratError(what, place=name, hint="Split it into several files.")


def _size(limit: int) -> str:
    return f"{limit // GB} GB" if limit >= GB else f"{limit // MB} MB"


def _may_have_long_lines(start: bytes) -> bool:
    """Whether data with this start may have long lines: JSON with whole documents in a line, and what is not text."""
    is_json = start[:PEEK].removeprefix(BOM).lstrip().startswith((b"{", b"["))
    return is_json or arrow_format(start) is not None or compression_of(start) is not None


def _cannot_read(path: str, error: OSError) -> KaratError:
    if not path:
        return KaratError("the name of a file is empty", hint="Name a file, or - for standard input.")
    if "\n" in path or len(path) > _LONGEST_PATH or path.startswith(('{"', "[{", "[[")):
        hint = "Pass the path of a file. To read a text, pass io.StringIO(text)."
        return KaratError(f"{shown(path)} is a text, not the path of a file", hint=hint)
    if isinstance(error, FileNotFoundError):
        try:
            names = [entry.name for entry in Path(path).parent.iterdir()]
        except OSError:
            names = []
        return NoSuchFileError(path, did_you_mean(Path(path).name, names) or None)
    if isinstance(error, IsADirectoryError) or os.path.isdir(local_path(path)):  # Windows calls it a lack of permission
        return KaratError("this is a folder, not a file", place=path, hint="Name a file in it.")
    return UnreadableFileError(path, error)
