"""Decompress a file while it is read: gzip, bzip2, xz, zstd and lz4, recognized by the first bytes.

Files that consist of several compressed parts are read to the end, as the command-line tools do. Zeros after the end of
gzip, bzip2 and xz data are padding; anything else there is an error. A small file can expand to any size, so the
expansion has a limit. It can also have millions of parts with nothing in them, which take time: that has a limit, too.

`GzipFile` of Python 3.11 reads in steps of 8 kB, which takes a fifth longer. `BZ2File` and `LZMAFile` ignore whatever
comes after a part, unless it is another one. So the decompressors of `zlib`, `bz2` and `lzma` are called here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator
from functools import partial
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO

from karat.errors import KaratError, size_text
from karat.reading.bytes.kinds import compression_of
from karat.reading.bytes.threads import ahead

if TYPE_CHECKING:
    from bz2 import BZ2Decompressor
    from lzma import LZMADecompressor

    from _typeshed import WriteableBuffer

MB, GB = 1 << 20, 1 << 30
# Text that was written for a purpose is compressed to a hundredth of its size at most.
MOST_EXPANSION = 200
_EXPANSION_CHECKED_FROM = 64 * MB
# A line of text in a part of its own is compressed to three times its size at most.
_MOST_OVERHEAD = 4
_OVERHEAD_CHECKED_FROM = MB
_MOST_MEMORY = 256 * MB  # of the decompressor of xz data; xz -9 needs 65 MB
_READ = 256 << 10  # compressed
_FIRST_READ = 1 << 10  # of a part, which may be short: what comes after its end is copied
_PIECE = MB  # decompressed
_BUFFER = 64 << 10
_PIECES_AHEAD = 16  # more than a block of lines
_START = 16  # bytes, from which a compression is recognized


def decompressed(file: BufferedReader, name: str) -> BufferedReader:
    """The content of a file from its start: decompressed if it is compressed, otherwise the file itself."""
    compression = compression_of(file.read(_START))
    file.seek(0)
    if compression is None:
        return file
    stream: BufferedReader = BufferedReader(_Joined(_read_ahead(_checked(file, compression, name))), _BUFFER)
    try:
        if inner := compression_of(stream.peek(_START)):
            raise _compressed_twice(inner, compression, name)
    except BaseException:
        stream.close()
        raise
    return stream


def check_expansion(expanded: int, size: int, kind: str, name: str, otherwise: str) -> None:
    """Reject data that takes much more space when it is decompressed."""
    if expanded > _EXPANSION_CHECKED_FROM and expanded > MOST_EXPANSION * size:
        what = f"the {kind} data expands to more than {MOST_EXPANSION} times its size"
        hint = f"The file is damaged, or made to fill the memory. {otherwise}"
        raise KaratError(what, place=name, hint=hint)


def _check_overhead(expanded: int, size: int, kind: str, name: str) -> None:
    """Reject data that is almost nothing but the frames of empty parts."""
    if size > _OVERHEAD_CHECKED_FROM and size > _MOST_OVERHEAD * expanded:
        what = f"{size_text(size)} of {kind} data contain less than a quarter of that: most of its parts are empty"
        hint = "The file is damaged, or made to waste time. If it is neither, decompress it first."
        raise KaratError(what, place=name, hint=hint)


def _compressed_twice(inner: str, outer: str, name: str) -> KaratError:
    if inner == outer == "lz4":
        hint = 'Decompress it once. A run of ranx is not text even then: save it with run.save("run.json").'
        return KaratError("this file is compressed twice with lz4, as ranx saves runs", place=name, hint=hint)
    both = f" with {inner}" if inner == outer else f", with {inner} and then with {outer}"
    return KaratError(f"this file is compressed twice{both}", place=name, hint="Decompress it once.")


class _Joined(RawIOBase):
    """Pieces of data as one file."""

    def __init__(self, pieces: Generator[bytes]) -> None:
        self._pieces = pieces
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer)
        size = 0
        while size < len(target):
            self._piece = self._piece or memoryview(next(self._pieces, b""))
            if not self._piece:
                break
            part = self._piece[: len(target) - size]
            target[size : size + len(part)] = part
            self._piece = self._piece[len(part) :]
            size += len(part)
        return size

    def close(self) -> None:
        self._pieces.close()
        super().close()


def _read_ahead(pieces: Generator[bytes]) -> Generator[bytes]:
    """The same pieces: those of the first megabyte as they are needed, the rest decompressed ahead in a thread."""
    expanded = 0
    for piece in pieces:
        yield piece
        expanded += len(piece)
        if expanded > MB:
            yield from ahead(pieces, _PIECES_AHEAD)


def _checked(file: BinaryIO, compression: str, name: str) -> Generator[bytes]:
    """The pieces of the content that are not empty; an error if data is damaged, or its size is suspicious."""
    expanded = 0

    def check_read(unknown: int) -> None:
        """Check what has been read, except for the last step; so many bytes of its content may not be known yet."""
        _check_overhead(expanded + unknown, file.tell() - _READ, compression, name)

    try:
        for piece in _pieces(file, compression, check_read):
            expanded += len(piece)
            check_expansion(expanded, file.tell(), compression, name, "If it is neither, decompress it first.")
            if piece:
                yield piece
    except _DamageError as error:
        if "memory" in str(error).lower():
            what = f"the {compression} data needs too much memory to be decompressed ({error})"
            raise KaratError(what, place=name, hint="Compress it again with the default settings.") from None
        what = f"the {compression} data is damaged or cut short ({error})"
        raise KaratError(what, place=name, hint="Compress or download it again.") from None


class _DamageError(Exception):
    """Compressed data that cannot be decompressed."""


def _pieces(file: BinaryIO, compression: str, check_read: Callable[[int], None]) -> Iterator[bytes]:
    if compression == "gzip":
        return _pieces_of_parts(file, _GzipDecompressor, zlib.error, check_read)
    if compression == "bzip2":
        from bz2 import BZ2Decompressor

        return _pieces_of_parts(file, BZ2Decompressor, OSError, check_read)
    if compression == "xz":
        from lzma import FORMAT_XZ, LZMADecompressor, LZMAError

        decompressor = partial(LZMADecompressor, FORMAT_XZ, memlimit=_MOST_MEMORY)
        return _pieces_of_parts(file, decompressor, LZMAError, check_read)
    return _pieces_by_arrow(file, compression, check_read)


def _pieces_of_parts(
    file: BinaryIO,
    decompressor: Callable[[], _GzipDecompressor | BZ2Decompressor | LZMADecompressor],
    error_type: type[Exception],
    check_read: Callable[[int], None],
) -> Iterator[bytes]:
    source = _CompressedParts(file)
    while source.has_more():
        part = decompressor()
        size = _FIRST_READ
        while not part.eof:
            data = b""
            if part.needs_input:
                data, size = source.read(size), min(2 * size, _READ)
                if not data:
                    raise _DamageError("it ends in the middle")
            try:
                piece = part.decompress(data, _PIECE)
            except error_type as error:
                raise _DamageError(str(error)) from None
            yield piece
        source.give_back(len(part.unused_data))
        check_read(0)


class _CompressedParts:
    """A file of several compressed parts, with padding between them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._data = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """At most so many of the next bytes; none at the end."""
        if self._at == len(self._data):
            self._data, self._at = self._file.read(_READ), 0
        data = self._data[self._at : self._at + size]
        self._at += len(data)
        return data

    def give_back(self, size: int) -> None:
        """The last bytes that were read are read again."""
        self._at -= size

    def has_more(self) -> bool:
        """Whether there is another part, after padding."""
        while data := self.read(1):
            if data != b"\0":
                self.give_back(1)
                return True
            self._at = len(self._data) - len(self._data[self._at :].lstrip(b"\0"))
        return False


class _GzipDecompressor:
    """A part of gzip data, with the interface of the decompressors in bz2 and lzma; zlib also checks its checksum."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(data or self._zlib.unconsumed_tail, max_length)


def _pieces_by_arrow(file: BinaryIO, codec: str, check_read: Callable[[int], None]) -> Iterator[bytes]:
    """The content of zstd or lz4 data, which the standard library cannot decompress."""
    import pyarrow as pa

    unclosed = _Unclosed(file, lambda: check_read(_PIECE))
    stream = pa.CompressedInputStream(pa.BufferedInputStream(pa.PythonFile(unclosed, "r"), _READ), codec)
    try:
        while piece := stream.read(_PIECE):
            yield piece
        check_read(0)
    except (OSError, pa.ArrowException) as error:
        raise unclosed.error or _DamageError(str(error)) from None


class _Unclosed:
    """A file that Arrow reads from but does not close, and the error if it could not be read."""

    closed = False

    def __init__(self, file: BinaryIO, check_read: Callable[[], None]) -> None:
        self._file = file
        self._check_read = check_read
        self.error: Exception | None = None

    def read(self, size: int) -> bytes:
        try:
            self._check_read()
            return self._file.read(size)
        except Exception as error:
            self.error = error
            raise

    def close(self) -> None:
        pass
