"""Decompress a file while it is read: gzip, bzip2, xz, zstd and lz4, recognized by the first bytes.

Files that consist of several compressed parts are read to the end, as the command-line tools do. Zeros after the end of
gzip, bzip2 and xz data are padding; anything else there is an error. A small file can expand to any size, so the
expansion has a limit.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO, Protocol

from karat.errors import KaratError, Place
from karat.files.kinds import compression_of
from karat.threads import ahead

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MB, GB = 1 << 20, 1 << 30
# Text that was written for a purpose is compressed to a hundredth of its size at most.
MOST_EXPANSION = 200
_EXPANSION_CHECKED_FROM = 64 * MB
_MOST_MEMORY = 256 * MB  # of a decompressor; xz -9 needs 65 MB
_SMALLEST_READ, _LARGEST_READ = 64 << 10, MB
_PIECE = 4 * MB  # decompressed
_PIECES_AHEAD = 4
_START = 16  # bytes, from which a compression is recognized
# A "skippable" frame: both zstd and lz4 data may begin with it.
_WITHOUT_DATA = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")


def decompressed(file: BufferedReader, name: str) -> BufferedReader:
    """The content of a file from its start: decompressed if it is compressed, otherwise the file itself."""
    compression = _compression_of_file(file)
    file.seek(0)
    if compression is None:
        return file
    stream: BufferedReader = BufferedReader(_Decompressed(file, compression, name), _SMALLEST_READ)
    try:
        inner = compression_of(stream.peek(_START))
        if inner == compression == "lz4":  # as ranx saves runs
            stream = BufferedReader(_Decompressed(stream, inner, name), _SMALLEST_READ)
            inner = compression_of(stream.peek(_START))
        if inner:
            both = f" with {inner}" if inner == compression else f", with {inner} and then with {compression}"
            raise KaratError(f"this file is compressed twice{both}", place=name, hint="Decompress it once.")
    except BaseException:
        stream.close()
        raise
    return stream


def _compression_of_file(file: BufferedReader) -> str | None:
    start = file.read(_START)
    compression = compression_of(start)
    while _WITHOUT_DATA.match(start):
        file.seek(int.from_bytes(start[4:8], "little") + 8 - len(start), os.SEEK_CUR)
        start = file.read(_START)
        compression = compression_of(start) or compression
    return compression


class _Decompressed(RawIOBase):
    """The content of a compressed file. The first megabyte is decompressed when it is read, the rest ahead of that."""

    def __init__(self, file: BinaryIO, compression: str, name: str) -> None:
        self._pieces = _checked(file, compression, name)
        self._piece = memoryview(b"")
        self._expanded = self._position = 0
        self._is_ahead = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer)
        size = 0
        while size < len(target) and (self._piece or self._next()):
            part = self._piece[: len(target) - size]
            target[size : size + len(part)] = part
            self._piece = self._piece[len(part) :]
            size += len(part)
        self._position += size
        return size

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        self._pieces.close()
        super().close()

    def _next(self) -> bool:
        if self._expanded > MB and not self._is_ahead:
            self._pieces, self._is_ahead = ahead(self._pieces, _PIECES_AHEAD), True
        self._piece = memoryview(next(self._pieces, b""))
        self._expanded += len(self._piece)
        return len(self._piece) > 0


def _checked(file: BinaryIO, compression: str, name: str) -> Generator[bytes]:
    """The pieces of the content that are not empty; an error if data is damaged, or expands suspiciously."""
    expanded = 0
    try:
        for piece in _PIECES[compression](file):
            expanded += len(piece)
            if expanded > _EXPANSION_CHECKED_FROM:
                check_expansion(expanded, file.tell(), compression, name, "If it is neither, decompress it first.")
            if piece:
                yield piece
    except _DamageError as error:
        if "memory" in str(error).lower():
            raise KaratError(
                f"the {compression} data needs too much memory to be decompressed ({error})",
                place=name,
                hint="Compress it again with the default settings.",
            ) from None
        raise KaratError(
            f"the {compression} data is damaged or cut short ({error})",
            place=name,
            hint="Compress or download it again.",
        ) from None


def check_expansion(expanded: int, size: int, kind: str, place: Place | str, otherwise: str) -> None:
    """Reject data that takes much more space when it is decompressed."""
    if expanded > _EXPANSION_CHECKED_FROM and expanded > MOST_EXPANSION * size:
        what = f"the {kind} data expands to more than {MOST_EXPANSION} times its size"
        hint = f"The file is damaged, or made to fill the memory. {otherwise}"
        raise KaratError(what, place=place, hint=hint)


class _DamageError(Exception):
    """Compressed data that cannot be decompressed."""


class _Member(Protocol):
    """The decompressor of one of the parts that compressed data consists of, as in the modules bz2 and lzma."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


def _gzip_pieces(file: BinaryIO) -> Iterator[bytes]:
    return _pieces_of_members(file, _GzipMember)


def _bzip2_pieces(file: BinaryIO) -> Iterator[bytes]:
    import bz2

    return _pieces_of_members(file, bz2.BZ2Decompressor, OSError)


def _xz_pieces(file: BinaryIO) -> Iterator[bytes]:
    import lzma

    return _pieces_of_members(
        file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY), lzma.LZMAError
    )


def _pieces_of_members(
    file: BinaryIO, new_member: Callable[[], _Member], error_type: type[Exception] = zlib.error
) -> Iterator[bytes]:
    # The data after a member is copied, so that short members are read in small steps.
    size = _SMALLEST_READ
    data = file.read(size)
    while data:
        member = new_member()
        while not member.eof:
            if not data and member.needs_input:
                size = min(2 * size, _LARGEST_READ)
                data = file.read(size)
                if not data:
                    raise _DamageError("it ends in the middle")
            try:
                piece = member.decompress(data, _PIECE)
            except error_type as error:
                raise _DamageError(str(error)) from None
            data = b""
            yield piece
        size = _SMALLEST_READ
        data = member.unused_data
        while not (data := data.lstrip(b"\0")) and (data := file.read(size)):
            pass


class _GzipMember:
    """A member of gzip data, decompressed by zlib, which also checks its length and checksum."""

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

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        return self._zlib.decompress(data or self._zlib.unconsumed_tail, max_length)


def _zstd_pieces(file: BinaryIO) -> Iterator[bytes]:
    return _pieces_by_arrow(file, "zstd")


def _lz4_pieces(file: BinaryIO) -> Iterator[bytes]:
    return _pieces_by_arrow(file, "lz4")


def _pieces_by_arrow(file: BinaryIO, codec: str) -> Iterator[bytes]:
    """The content of zstd or lz4 data, which the standard library cannot decompress."""
    import pyarrow as pa

    unclosed = _Unclosed(file)
    source = pa.BufferedInputStream(pa.PythonFile(unclosed, "r"), _LARGEST_READ)
    stream = pa.CompressedInputStream(source, codec)
    size = _SMALLEST_READ
    while True:
        size = min(2 * size, _PIECE)
        try:
            piece = stream.read(size)
        except (OSError, pa.ArrowException) as error:
            if unclosed.error:
                raise unclosed.error from None
            raise _DamageError(str(error)) from None
        if not piece:
            return
        yield piece


class _Unclosed:
    """A file that Arrow reads from but does not close, and the error if it could not be read."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: Exception | None = None

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except Exception as error:
            self.error = error
            raise

    def close(self) -> None:
        pass


_PIECES = {"gzip": _gzip_pieces, "bzip2": _bzip2_pieces, "xz": _xz_pieces, "zstd": _zstd_pieces, "lz4": _lz4_pieces}
