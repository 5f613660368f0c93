"""Files that one process at a time appends to: each chunk completely or not at all."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from karat.errors import KaratError
from karat.output.files import errors_about, lock, target_of

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)


class AppendedFile:
    """A local file that is locked as long as it is open.

    It is created if it does not exist, and removed again if nothing was written to it.
    """

    def __init__(self, path: str, *, create: bool = True) -> None:
        self.path = path
        with errors_about(path):
            self._target = target_of(path)
            self._is_new = not self._target.exists()
            self._handle = _open_and_lock(self._target, path, create)
            self.size = os.fstat(self._handle).st_size
        self._failure: KaratError | None = None

    def append(self, data: bytes) -> int:
        """Write data to the end, and return where it begins. After a failure, nothing more is written."""
        if self._failure is not None:
            raise self._failure
        start, written = self.size, 0
        try:
            while written < len(data):
                written += os.write(self._handle, data[written:])
        except BaseException as error:  # also an interruption: no part of the data may stay
            with suppress(OSError):
                os.ftruncate(self._handle, start)
            if isinstance(error, OSError):
                self._fail(error)
            raise
        self.size = start + len(data)
        return start

    def truncate(self, size: int) -> None:
        """Remove everything from this byte on."""
        with errors_about(self.path):
            os.ftruncate(self._handle, size)
        self.size = size

    def sync(self) -> None:
        """Wait until everything is on disk, where the file system can tell."""
        try:
            os.fsync(self._handle)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Close the file, which also unlocks it."""
        try:
            if self.size == 0 and self._is_new:
                with suppress(OSError):
                    self._target.unlink()
            elif self._failure is None:
                self.sync()
        finally:
            os.close(self._handle)

    def _fail(self, error: OSError) -> NoReturn:
        what = f"cannot be written: {error.strerror or error}"
        hint = "What was written before is complete. Free some space, then run the same command again."
        self._failure = KaratError(what, place=self.path, hint=hint)
        raise self._failure from None


def keep_beside(path: str, suffix: str, data: bytes) -> str:
    """Add data to the file that has the same name and a suffix, as whole lines, and return its name."""
    name = f"{path}.{suffix}"
    with errors_about(name), open(name, "ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            file.write(b"" if file.read(1) == b"\n" else b"\n")
        file.write(data if data.endswith(b"\n") else data + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return name


def _open_and_lock(target: Path, path: str, create: bool) -> int:
    """The handle of a regular file that this process has locked."""
    while True:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise KaratError("this is not a regular file, which can be read and added to", place=path)
        handle = os.open(target, _FLAGS | (os.O_CREAT if create else 0), 0o666)
        try:
            if lock(handle) is False:
                raise _in_use(handle, path)
            # Whoever held the lock before may have replaced the file.
            if target.exists() and os.path.samestat(os.fstat(handle), target.stat()):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _in_use(handle: int, path: str) -> KaratError:
    process = _holder(os.fstat(handle))
    by = "this process" if process == os.getpid() else f"process {process}" if process else "another process"
    return KaratError(f"{by} is writing to this file", place=path, hint="Wait until it ends, or use another file.")


def _holder(status: os.stat_result) -> int | None:
    """The process that holds the lock of a file, where the operating system tells it."""
    if sys.platform != "linux":
        return None
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5] == file:
                return max(int(fields[4]), 0) or None
    return None
