"""Files that one process at a time appends to: each chunk completely or not at all.

Editors and version control replace files without asking for a lock, and what is appended to a file that was replaced is
lost. So before each chunk it is checked that the path still leads to the file, and that nobody else has changed it.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

from karat.errors import KaratError, printable
from karat.errors.command_lines import quoted_word
from karat.output.files import errors_about, lock, target_of, write_chunks

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
_IN_MEMORY = 1 << 20  # bytes of what was appended; more is in a temporary file
_BLOCK = 1 << 20


class AppendedFile:
    """A local file that is locked as long as it is open.

    It is created if it does not exist, and removed again if nothing was written to it.
    """

    def __init__(self, path: str, *, create: bool = True) -> None:
        self.path = path
        self._absolute = os.path.abspath(path)
        with errors_about(path):
            self._target = target_of(path)
            self._is_new = not self._target.exists()
            self._handle = _open_and_lock(self._target, path, create)
            self.size = os.fstat(self._handle).st_size
        self._is_open = True
        self._failure: KaratError | None = None
        self._is_displaced = False
        self._appended = _Appended()

    def append(self, data: bytes) -> int:
        """Write data to the end, and return where it begins. After a failure, nothing more is written."""
        self.check(lambda: data)
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
        self._appended.add(data, start)
        return start

    def check(self, pending: Callable[[], bytes]) -> None:
        """Raise an error if nothing can be written any more: after a failure, or if the path has another file now.

        In the latter case, the data that is about to be written, and whatever was appended and is not in the file any
        more, is kept in a file beside it.
        """
        what = None if self._failure else self._displacement()
        if what is not None:
            self._is_displaced = True
            kept_in = self._keep(self._appended.not_in(self._absolute) + pending())
            name = printable(self.path)
            # The shells of Windows may add a text in another encoding.
            how = "" if sys.platform == "win32" else f" (cat {quoted_word(kept_in)} >> {quoted_word(name)})"
            hint = (
                f"What was received and is not in the file is kept in {printable(kept_in)}. Once {name} is as it should"
                f" be, add that to its end{how}, and run the same again."
            )
            self._failure = KaratError(what, place=self.path, hint=hint)
        elif self._is_displaced:
            self._keep(pending())
        if self._failure is not None:
            raise self._failure

    def _displacement(self) -> str | None:
        """What others have done to the file; None if it is as it was after the last chunk."""
        try:
            now = os.stat(self._absolute)
        except OSError:
            return "the file was deleted or moved while it was being written to"
        if not os.path.samestat(now, os.fstat(self._handle)):
            return "the file was replaced by another one while it was being written to"
        if now.st_size != self.size:
            how = "shortened" if now.st_size < self.size else "added to"
            return f"the file was {how} by another program while it was being written to"
        return None

    def _keep(self, data: bytes) -> str:
        """Keep data in a file beside this one, or if that cannot be, in the temporary folder."""
        try:
            return keep_beside(self.path, "kept", data)
        except KaratError:
            return keep_beside(os.path.join(tempfile.gettempdir(), os.path.basename(self.path)), "kept", data)

    def truncate(self, size: int) -> None:
        """Remove everything from this byte on."""
        with errors_about(self.path):
            os.ftruncate(self._handle, size)
        self.size = size

    def replace(self, chunks: Iterable[bytes]) -> None:
        """Replace the file by one with these chunks, completely or not at all. Nothing can be appended after that."""
        if sys.platform == "win32":  # an open file cannot be replaced there, and who opens it now prevents that, too
            self._close_handle()
        write_chunks(self.path, chunks)

    def sync(self) -> None:
        """Wait until everything is on disk, where the file system can tell."""
        try:
            os.fsync(self._handle)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Close the file, which also unlocks it."""
        try:
            if self._is_open:
                self._finish()
        finally:
            self._appended.close()
            self._close_handle()

    def _finish(self) -> None:
        """Remove the file if it is new and empty; otherwise wait until it is on disk, if it is still this one."""
        if self.size == 0 and self._is_new and self._displacement() is None:
            if sys.platform == "win32":
                self._close_handle()  # an open file cannot be removed there
            with suppress(OSError):
                self._target.unlink()
        elif self._failure is None:
            if self._displacement() is not None and self._appended.not_in(self._absolute):
                self.check(bytes)
            self.sync()

    def _close_handle(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._handle)

    def _fail(self, error: OSError) -> NoReturn:
        what = f"cannot be written: {error.strerror or error}"
        hint = "What was written before is complete. Free some space, then run the same command again."
        self._failure = KaratError(what, place=self.path, hint=hint)
        raise self._failure from None


class _Appended:
    """A copy of what was appended to a file: others may shorten the file."""

    def __init__(self) -> None:
        self._copy: IO[bytes] | None = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # until `close`
        self._start = 0
        self._ends = array("q")

    def add(self, chunk: bytes, start: int) -> None:
        """Add a chunk, which begins at this byte of the file."""
        if self._copy is None:
            return
        try:
            self._copy.write(chunk)
        except OSError:  # the temporary folder is full, and the file is not
            self.close()
            return
        if not self._ends:
            self._start = start
        self._ends.append(start + len(chunk))

    def not_in(self, path: str) -> bytes:
        """The chunks from the first one on that is not at its place in a file, with a line end if the file needs it."""
        if self._copy is None or not self._ends:
            return b""
        self._copy.seek(0)
        same, is_whole_line = self._start, True
        with suppress(OSError), open(path, "rb") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                is_whole_line = file.read(1) == b"\n"
            file.seek(self._start)
            while (block := self._copy.read(_BLOCK)) and (other := file.read(len(block))):
                pairs = enumerate(zip(block, other, strict=False))
                length = len(other) if block.startswith(other) else next(at for at, (a, b) in pairs if a != b)
                same += length
                if length < len(block):
                    break
        end = max((end for end in self._ends if end <= same), default=self._start)
        self._copy.seek(end - self._start)
        missing = self._copy.read()
        self._copy.seek(0, os.SEEK_END)
        return missing if is_whole_line or not missing else b"\n" + missing

    def close(self) -> None:
        """Forget the copy."""
        if self._copy is not None:
            self._copy.close()
        self._copy = None


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
        if target.is_dir():  # on Windows, opening it would be an error about permissions
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
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
