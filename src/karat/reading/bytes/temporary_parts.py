"""Data that is divided into parts in a temporary file, because it is too large for the memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

_RESERVE = 1 << 26  # bytes of the disk that are left free


class TemporaryParts(AbstractContextManager["TemporaryParts"]):
    """Pieces of data in a temporary file, each of which belongs to a part; they keep their order within a part.

    The file has no name: the operating system removes it when it is closed, or when this process ends, however it ends.
    What goes wrong with it is an OSError.
    """

    def __init__(self, parts: int) -> None:
        self.size = 0
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(parts)]
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by __exit__

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def append(self, pieces: Sequence[tuple[int, memoryview]]) -> None:
        """Append data to parts, which are named by their numbers."""
        if shutil.disk_usage(tempfile.gettempdir()).free < sum(data.nbytes for _, data in pieces) + _RESERVE:
            raise OSError("there is not enough space")
        for part, data in pieces:
            self._places[part].append((self.size, data.nbytes))
            self._file.write(data)
            self.size += data.nbytes

    def pieces(self, part: int) -> Iterator[bytes]:
        """The data of a part."""
        for place, size in self._places[part]:
            self._file.seek(place)
            yield self._file.read(size)

    def size_of(self, part: int) -> int:
        """The bytes of a part."""
        return sum(size for _, size in self._places[part])
