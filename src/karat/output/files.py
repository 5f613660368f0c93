"""Output files: written completely or not at all."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from karat.errors import KaratError, require
from karat.errors.arguments import check_path, is_remote

if sys.platform != "win32":
    import fcntl

_DRAFT = re.compile(r"\.karat-[0-9a-f]{16}\.part")
# Files that are open already: opening them again would write over what is in them.
_DESCRIPTOR = re.compile(r"/dev/(?:stdout|stderr|fd/(\d+))|/proc/self/fd/(\d+)")
_open_drafts: dict[Path, int] = {}  # with their handles; -1 before they are open
_ABANDONED = 3600  # seconds after which a draft on Windows is not about to be renamed any more
_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # seconds between attempts to replace a file on Windows
_LOCKED_BYTE = 2**31 - 1  # the last one that Windows' own library can lock


def json_text(document: object) -> str:
    """A document as JSON for files and pipes: readable, with a line end, and without NaN, which is not JSON."""
    try:
        return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    except ValueError:
        what = "JSON cannot contain infinite numbers, numbers with thousands of digits, or a list that contains itself"
        raise KaratError(what) from None


def write_text(text: str, path: str | os.PathLike[str] | None) -> str:
    """The same text, also written to a file if one is given.

    A lone surrogate cannot be encoded, so it is written as an escape, which JSON reads back as the same character.
    """
    if path is not None:
        write_whole(path, lambda file: file.write(text.encode(errors="backslashreplace")))
    return text


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write to a draft in the same folder, then replace the target with it.

    An interrupted or failed write leaves the old file as it was. A target that cannot be replaced, such as a pipe or a
    terminal, is written to directly.
    """
    path = check_path(path)
    with errors_about(path):
        if (descriptor := _descriptor(path)) is not None:
            sys.stdout.flush()
            with os.fdopen(os.dup(descriptor), "wb") as file:
                write(file)
            return
        target = target_of(path)
        old = _status(target)
        if old is not None and not stat.S_ISREG(old.st_mode):
            with open(target, "wb") as file:
                write(file)
            return
        _require_access(target, old)
        _remove_abandoned_drafts(target.parent)
        _replace(target, old, write)


def write_chunks(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> None:
    """Write chunks of bytes to a file, completely or not at all."""
    write_whole(path, lambda file: file.writelines(chunks))


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the error that writing would raise, as far as it can be known before there is anything to write."""
    path = check_path(path)
    with errors_about(path):
        if _descriptor(path) is None:
            target = target_of(path)
            _require_access(target, _status(target))


def remove_drafts() -> None:
    """Remove the drafts that this process is writing, because it ends now."""
    for draft, handle in tuple(_open_drafts.items()):
        with suppress(OSError):
            if sys.platform == "win32":
                os.close(handle)  # an open file cannot be removed there
        with suppress(OSError):
            draft.unlink()


def is_open_already(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a file that is open already, such as /dev/stdout."""
    return _descriptor(path) is not None


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """The number of the open file that a path such as /dev/stdout names; None for other paths."""
    match = _DESCRIPTOR.fullmatch(os.fspath(path))
    return None if match is None else int(match[1] or match[2] or ("stdout", "stderr").index(match[0][5:]) + 1)


@contextmanager
def errors_about(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an error of the operating system into one that says which file cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise KaratError(f"cannot be written: {error.strerror or error}", place=os.fspath(path)) from None


def target_of(path: str | os.PathLike[str]) -> Path:
    """The file that a path leads to. With a slash at its end, it leads to a folder."""
    require(os.fspath(path), "the name of the output file is empty", "Name a file.")
    if is_remote(os.fspath(path)):
        what, hint = "remote files are read but not written", "Write to a local file, then copy it."
        raise KaratError(what, place=os.fspath(path), hint=hint)
    if os.fspath(path).endswith(("/", os.sep)):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    real = os.path.realpath(path)
    return Path(path if real.startswith("\\\\.\\") else real)  # NUL is a device on Windows, not a file


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _require_access(target: Path, old: os.stat_result | None) -> None:
    """Raise the error of the operating system if a file cannot be created or replaced here.

    Replacing a file only needs access to its folder, but a file that is protected against writing is left alone.
    """
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if sys.platform == "win32" and old is not None and not stat.S_ISREG(old.st_mode):
        return  # a device such as NUL, which is in no folder
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    needed = [] if old is None else [target]
    if old is None or stat.S_ISREG(old.st_mode):
        needed.append(target.parent)
    if not all(os.access(path, os.W_OK) for path in needed):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _replace(target: Path, old: os.stat_result | None, write: Callable[[BinaryIO], object]) -> None:
    """Write a draft and rename it to the target, which keeps its mode and, where that is allowed, its owner."""
    draft, handle = _create_draft(target.parent, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            if old is not None and sys.platform != "win32":
                _set_owner(handle, old)
                os.fchmod(handle, stat.S_IMODE(old.st_mode))
            write(file)
            file.flush()
            os.fsync(handle)
            if sys.platform != "win32":
                os.replace(draft, target)  # while the draft is still locked
        if sys.platform == "win32":
            _open_drafts[draft] = -1
            _replace_on_windows(draft, target)  # an open file cannot be renamed
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        _open_drafts.pop(draft, None)


def _replace_on_windows(draft: Path, target: Path) -> None:
    """Rename a draft as soon as no other program has the target open.

    A virus scanner has it open for a moment, and a spreadsheet until it is closed.
    """
    for pause in (*_PAUSES, None):
        try:
            os.replace(draft, target)
        except PermissionError as error:
            if pause is None:
                raise PermissionError(error.errno, "another program may have this file open") from None
            time.sleep(pause)
        else:
            return


def _create_draft(folder: Path, mode: int) -> tuple[Path, int]:
    """A new file that is locked as long as it is open. The operating system applies the umask to its mode."""
    while True:
        draft = folder / f".karat-{os.urandom(8).hex()}.part"
        _open_drafts[draft] = -1
        try:
            handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        except OSError:
            _open_drafts.pop(draft, None)
            raise
        _open_drafts[draft] = handle
        if lock(handle) is not False and draft.exists():
            return draft, handle
        # Another writer saw the draft before it was locked, took it for an abandoned one and removed it.
        os.close(handle)
        _open_drafts.pop(draft, None)


def _remove_abandoned_drafts(folder: Path) -> None:
    """Remove the drafts of writers that were killed: nobody holds their lock any more."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if _DRAFT.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(draft: str) -> None:
    if sys.platform == "win32":
        # An open file cannot be removed there. One that was just closed is about to be renamed.
        if time.time() - os.stat(draft).st_mtime > _ABANDONED:
            os.unlink(draft)
        return
    with open(draft, "r+b") as file:
        if lock(file.fileno()):
            os.unlink(draft)


def lock(handle: int) -> bool | None:
    """Whether an open file was locked: False if another process holds the lock, None where files cannot be locked."""
    try:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _lock_byte(handle)
    except BlockingIOError:
        return False
    except OSError as error:
        return False if sys.platform == "win32" and isinstance(error, PermissionError) else None
    return True


def _lock_byte(handle: int) -> None:
    """Lock a file on Windows, where nobody else can read the bytes that are locked: it is one that few files have."""
    if sys.platform == "win32":
        import msvcrt

        if os.fstat(handle).st_size > _LOCKED_BYTE:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        position = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, position, os.SEEK_SET)


def _set_owner(handle: int, old: os.stat_result) -> None:
    """Keep the owner and the group of a file, or only its group, if that is allowed."""
    if sys.platform != "win32":
        for owner in (old.st_uid, -1):
            with suppress(PermissionError):
                os.fchown(handle, owner, old.st_gid)
                return
