"""Ranges of files: parts that several processes can read at the same time, each like a file of its own.

A range of text is one of bytes, and has the lines that begin in it. A range of a Parquet file is one of row groups. A
file that cannot be divided, such as a compressed one, is one range.
"""

from __future__ import annotations

import os
from io import BufferedReader, RawIOBase
from itertools import pairwise
from typing import NamedTuple

from karat.errors import KaratError, NoSuchFileError, Place
from karat.errors.arguments import is_remote
from karat.reading.bytes.remote import RemotePath, local_path

_BUFFER = 1 << 16  # bytes


class UnreadableFileError(KaratError):
    """The system does not let a file be read: `reason` says why."""

    def __init__(self, path: str, error: OSError) -> None:
        self.reason = error.strerror or str(error)
        super().__init__(f"cannot be read: {self.reason}", place=path)


class RangeBounds(NamedTuple):
    """Where a range begins and ends: bytes of text, or row groups of a Parquet file."""

    start: int
    stop: int


class FileVersion(NamedTuple):
    """What changes if a file is written again: its size in bytes, and when it was written, in nanoseconds."""

    size: int
    modified: int

    @classmethod
    def of(cls, path: str) -> FileVersion:
        """The version of a file, which may be remote."""
        if not is_remote(path):
            try:
                state = os.stat(local_path(path))
            except FileNotFoundError:
                raise NoSuchFileError(path) from None
            except OSError as error:
                raise UnreadableFileError(path, error) from None
            return cls(state.st_size, state.st_mtime_ns)
        remote = RemotePath.of(path)
        try:
            system, name = remote.system()
            info = system.get_file_info(name)
        except OSError as error:
            raise remote.error(error) from None
        if info.size is None:
            raise remote.error(FileNotFoundError(name))
        return cls(info.size, info.mtime_ns or 0)


class FileRange(NamedTuple):
    """A range of a file, as it was when the ranges were planned."""

    path: str
    version: FileVersion
    bounds: RangeBounds | None = None
    """None for the whole file"""

    def check_version(self, name: str) -> None:
        """An error if the file was written since; `name` is its name in messages."""
        if FileVersion.of(self.path) != self.version:
            what = "the file was changed while it was evaluated"
            raise KaratError(what, place=Place(name), hint="Evaluate it again, when nothing writes to it.")


def text_ranges(path: str, version: FileVersion, size: int) -> list[FileRange]:
    """Ranges of a text file that is not compressed, of about so many bytes each."""
    count = max(1, round(version.size / size))
    cuts = [version.size * at // count for at in range(count + 1)]
    return [FileRange(path, version, RangeBounds(*each)) for each in pairwise(cuts)]


class RangeStream(RawIOBase):
    """The lines of a file that begin in a range of bytes, as a file of their own."""

    def __init__(self, file: BufferedReader, bounds: RangeBounds) -> None:
        self._file = file
        self.start, self._stop = (_line_start(file, at) for at in bounds)
        self._at = file.seek(self.start)

    @classmethod
    def opened(cls, file: BufferedReader, bounds: RangeBounds) -> tuple[BufferedReader, int]:
        """The lines, with a buffer, and how many bytes they have."""
        stream = cls(file, bounds)
        return BufferedReader(stream, _BUFFER), max(stream._stop - stream.start, 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # of any buffer
        """Read some bytes; 0 at the end of the range."""
        view = memoryview(buffer)[: max(self._stop - self._at, 0)]
        count = self._file.readinto(view) if len(view) else 0
        self._at += count
        return count

    def tell(self) -> int:
        return self._at - self.start


def _line_start(file: BufferedReader, at: int) -> int:
    """The start of the first line that begins at a byte, or after it."""
    if at == 0:
        return 0
    file.seek(at - 1)
    while (part := file.readline(_BUFFER)) and not part.endswith(b"\n"):  # not the whole line: it may be very long
        pass
    return file.tell()
