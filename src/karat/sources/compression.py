"""Decompress a file while it is read: gzip, recognized by its first bytes.

A small file can expand to any size, so the expansion has a limit.
"""

from __future__ import annotations

import gzip
import os
import zlib
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO

from karat.errors import KaratError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MB, GB = 1 << 20, 1 << 30
# Text that was written for a purpose is compressed to a hundredth of its size at most.
MOST_EXPANSION = 200
_EXPANSION_CHECKED_FROM = 64 * MB
_GZIP = b"\x1f\x8b"


def is_compressed(start: bytes) -> bool:
    """Whether the first bytes of a file are those of gzip data."""
    return start.startswith(_GZIP)


def decompressed(file: BinaryIO, name: str) -> BinaryIO:
    """The content of a file from its start: decompressed if it is compressed, otherwise the file itself."""
    compressed = is_compressed(file.read(len(_GZIP)))
    file.seek(0)
    return BufferedReader(_Decompressed(file, name)) if compressed else file


class _Decompressed(RawIOBase):
    """The content of a gzip file; an error if it is suspiciously larger than the file."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._gzip = gzip.GzipFile(fileobj=file)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._gzip.seek(offset, whence)

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            size = self._gzip.readinto(buffer)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise KaratError(
                f"the gzip data is damaged or cut short ({error})",
                where=self._name,
                hint="Compress or download it again.",
            ) from None
        expanded = self._gzip.tell()
        if expanded > _EXPANSION_CHECKED_FROM and expanded > MOST_EXPANSION * self._file.tell():
            raise KaratError(
                f"the gzip data expands to more than {MOST_EXPANSION} times its size",
                where=self._name,
                hint="The file is damaged, or made to fill the memory. If it is neither, decompress it first.",
            )
        return size
