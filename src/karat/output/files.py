"""Output files: written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from karat.errors import KaratError


def written(text: str, path: str | os.PathLike[str] | None) -> str:
    """The same text, also written to a file if one is named.

    Half a character cannot be written. As its code it can, and in JSON it is what was meant.
    """
    if path is not None:
        write_whole(path, lambda file: file.write(text.encode(errors="backslashreplace")))
    return text


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a new file beside the old one, then put it in its place.

    An interrupted or failed write leaves the old file as it was. What cannot be replaced (a pipe, a terminal)
    is written to as it is.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with open(target, "wb") as file:
                write(file)
            return
        handle, draft = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(draft, _mode(target))
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise KaratError(f"cannot be written: {error.strerror or error}", where=os.fspath(path)) from None


def _mode(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
