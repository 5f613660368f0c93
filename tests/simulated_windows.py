"""Windows, as far as another system can simulate it; on Windows itself, the real one."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

LOCKED_BYTE = 2**31 - 1
NOT_THERE = ("fchmod", "fchown", "geteuid", "getuid", "sched_getaffinity", "mkfifo")


def simulate_windows(patch: pytest.MonkeyPatch) -> None:
    """Open files are neither replaced nor removed, folders cannot be opened, and locks are those of msvcrt.

    What only POSIX has is missing. Paths stay those of this system: os.name decides on them when modules are imported.
    """
    if sys.platform == "win32":
        return
    for name in ("replace", "unlink"):
        patch.setattr(os, name, _refused_if_open(getattr(os, name)))
    for name in NOT_THERE:
        patch.delattr(os, name, raising=False)
    for module in (builtins, os):
        patch.setattr(module, "open", _refused_for_folders(module.open))
    patch.setitem(sys.modules, "msvcrt", _msvcrt())
    patch.setattr(sys, "platform", "win32")


def _refused_if_open(function: Callable[..., None]) -> Callable[..., None]:
    def refused(*paths: str | Path, **options: Any) -> None:
        if not options and any(map(_is_open, paths)):
            raise PermissionError(13, "Access is denied")
        function(*paths, **options)

    return refused


def _refused_for_folders(function: Callable[..., Any]) -> Callable[..., Any]:
    def refused(file: int | str | Path, *mode: Any, **options: Any) -> Any:
        is_read_only = mode[:1] == (os.O_RDONLY,) or options  # as this system does before it removes a folder
        if os.path.isdir(file) and not is_read_only:
            raise PermissionError(13, "Permission denied")
        return function(file, *mode, **options)

    return refused


def _is_open(path: str | Path) -> bool:
    """Whether this process has a file open."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    for descriptor in range(3, 256):
        try:
            if os.path.samestat(os.fstat(descriptor), status):
                return True
        except OSError:
            continue
    return False


def _msvcrt() -> Any:
    """The functions of msvcrt, of which a lock is one of this system."""
    import fcntl

    def locking(handle: int, mode: int, size: int) -> None:
        assert (os.lseek(handle, 0, os.SEEK_CUR), mode, size) == (LOCKED_BYTE, 2, 1)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    return SimpleNamespace(LK_NBLCK=2, locking=locking, get_osfhandle=lambda descriptor: 1000 + descriptor)
