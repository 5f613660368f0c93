"""Output files: written completely or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from karat.errors import KaratError


def write_text(text: str, path: str | os.PathLike[str] | None) -> str:
    """The same text, also written to a file if one is given.

    A lone surrogate cannot be encoded, so it is written as an escape, which JSON reads back as the same character.
    """
    if path is not None:
        write_whole(path, lambda file: file.write(text.encode(errors="backslashreplace")))
    return text


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write to a temporary file in the same folder, then replace the target with it.

    An interrupted or failed write leaves the old file as it was. A target that cannot be replaced, such as a pipe or a
    terminal, is written to directly.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with open(target, "wb") as file:
                write(file)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, _mode(target))
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
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
