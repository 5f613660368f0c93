"""Decompress a file while it is read: gzip, bzip2, xz, zstd and lz4, recognized by the first bytes.

Files that consist of several compressed parts are read to the end, as the command-line tools do. Zeros after the end of
gzip, bzip2 and xz data are padding; anything else there is an error. A small file can expand to any size, so the
expansion has a limit.

`GzipFile` of Python 3.11 reads in steps of 8 kB, which takes a fifth longer. `BZ2File` and `LZMAFile` ignore whatever
comes after a part, unless it is another one. So the decompressors of `zlib`, `bz2` and `lzma` are called here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO

from karat.errors import KaratError
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
_MOST_MEMORY = 256 * MB  # of the decompressor of xz data; xz -9 needs 65 MB
_READ = 256 << 10  # compressed; larger steps take longer if there are many short parts
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
    """The pieces of the content that are not empty; an error if data is damaged, or expands suspiciously."""
    expanded = 0
    try:
        for piece in _pieces(file, compression):
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


def _pieces(file: BinaryIO, compression: str) -> Iterator[bytes]:
    if compression == "gzip":
        return _pieces_of_parts(file, _GzipDecompressor, zlib.error)
    if compression == "bzip2":
        from bz2 import BZ2Decompressor

        return _pieces_of_parts(file, BZ2Decompressor, OSError)
    if compression == "xz":
        from lzma import FORMAT_XZ, LZMADecompressor, LZMAError

        return _pieces_of_parts(file, lambda: LZMADecompressor(FORMAT_XZ, memlimit=_MOST_MEMORY), LZMAError)
    return _pieces_by_arrow(file, compression)


def _pieces_of_parts(
    file: BinaryIO,
    decompressor: Callable[[], _GzipDecompressor | BZ2Decompressor | LZMADecompressor],
    error_type: type[Exception],
) -> Iterator[bytes]:
    data = file.read(_READ)
    while data:
        part = decompressor()
        while not part.eof:
            if part.needs_input and not (data := data or file.read(_READ)):
                raise _DamageError("it ends in the middle")
            try:
                piece = part.decompress(data, _PIECE)
            except error_type as error:
                raise _DamageError(str(error)) from None
            data = b""
            yield piece
        data = part.unused_data
        while not (data := data.lstrip(b"\0")) and (data := file.read(_READ)):
            pass


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


def _pieces_by_arrow(file: BinaryIO, codec: str) -> Iterator[bytes]:
    """The content of zstd or lz4 data, which the standard library cannot decompress."""
    import pyarrow as pa

    unclosed = _Unclosed(file)
    stream = pa.CompressedInputStream(pa.BufferedInputStream(pa.PythonFile(unclosed, "r"), _READ), codec)
    try:
        while piece := stream.read(_PIECE):
            yield piece
    except (OSError, pa.ArrowException) as error:
        raise unclosed.error or _DamageError(str(error)) from None


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
