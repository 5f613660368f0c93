"""The JavaScript that draws the charts of a page, kept in the cache folder of the user.

The page runs the script, so a file in that folder is read only if nobody but the user can have written it: otherwise
another user of the computer could put a script into the report.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from karat.errors import KaratError
from karat.output.files import write_chunks

_CHARTS = "window.vegaEmbed = vegaEmbed;"
"""what the page needs of Vega, Vega-Lite and Vega-Embed"""
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@cache
def chart_library() -> str:
    """The JavaScript that draws charts. vl-convert bundles it, which takes seconds, so it is kept in a cache folder."""
    import vl_convert

    folder = _cache_folder()
    name = f"vega-{version('vl-convert-python')}-{hashlib.sha256(_CHARTS.encode()).hexdigest()[:16]}.js"
    cached = None if folder is None else _read(folder / name)
    if cached is not None:
        return cached
    library = str(vl_convert.javascript_bundle(_CHARTS))
    if folder is not None:
        _write(folder / name, library)
    return library


def _cache_folder() -> Path | None:
    """Where files that can be made again are kept; None if this user has no such folder.

    On Windows, that is always in the profile of the user, which only the user and administrators can write to.
    """
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(folder) and sys.platform != "win32":  # the specification says that relative paths are ignored
        return Path(folder) / "karat"
    with suppress(RuntimeError):  # there is no home folder
        of_user = Path.home() / {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
        return of_user / "karat"
    return None


def _read(path: Path) -> str | None:
    """A library that was written before; None if there is none, if it is damaged, or if it may be by someone else."""
    with suppress(OSError, UnicodeDecodeError):
        if not _is_private(os.lstat(path.parent), stat.S_ISDIR):
            return None
        # The open file is checked: its name may mean another file a moment later.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not _is_private(os.fstat(file.fileno()), stat.S_ISREG):
                return None
            digest, _, library = file.read().partition(b"\n")
        if digest == hashlib.sha256(library).hexdigest().encode():
            return library.decode()
    return None


def _write(path: Path, library: str) -> None:
    """Write the digest of a library and the library, if that is possible: a report does not need the cache."""
    content = library.encode()
    digest = hashlib.sha256(content).hexdigest().encode()
    with suppress(OSError, KaratError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(os.lstat(path.parent), stat.S_ISDIR):
            return
        # An old file would keep its owner and its mode; a new one has that of this empty file.
        path.unlink(missing_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        write_chunks(path, [digest, b"\n", content])


def _is_private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write to it; a link to one is not private."""
    if not is_kind(status.st_mode):
        return False
    # Windows has neither owners in numbers nor such modes; there, the folder is in the profile of the user.
    return sys.platform == "win32" or (
        status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & _WRITABLE_BY_OTHERS
    )
