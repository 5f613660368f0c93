"""Read open files and other objects with a `read` method, of bytes or of text, as bytes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from io import UnsupportedOperation
from typing import IO, Any, Protocol

from karat.errors import KaratError, shown

FileSource = str | os.PathLike[str] | IO[bytes] | IO[str]
"""the path of a file, or an open file"""


class Readable(Protocol):
    """What bytes are read from; an empty result is the end."""

    def read(self, size: int, /) -> bytes: ...


def is_file_object(source: object) -> bool:
    """Whether a source is an open file, or an object with a `read` method like one."""
    is_data = isinstance(source, Mapping | Sequence) or hasattr(source, "__arrow_c_stream__")
    return not is_data and not isinstance(source, type) and callable(getattr(source, "read", None))


class FileObject:
    """An open file, from its current position; text is encoded as UTF-8. All errors are a KaratError."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name
        self._is_start = True

    def read(self, size: int, /) -> bytes:
        """At most so many bytes, or characters of a text."""
        data = self._read(size)
        if isinstance(data, str):
            try:
                data = data.encode()
            except UnicodeEncodeError as error:
                what = f"the text contains {shown(data[error.start])}, a lone surrogate, which UTF-8 cannot encode"
                raise KaratError(what, place=self._name, hint=_BINARY) from None
        if not isinstance(data, bytes | bytearray | memoryview):
            what = f"read() returned {shown(data)}, which is neither bytes nor text"
            raise KaratError(
                what, place=self._name, hint="Pass an open file, or an object with a read method like one."
            )
        if self._is_start and not data and self._position():
            what = "there is nothing left to read: the open file is at its end"
            raise KaratError(what, place=self._name, hint="Call its seek(0) first, or pass its path.")
        self._is_start = False
        return bytes(data)

    def _read(self, size: int) -> object:
        try:
            if getattr(self._file, "closed", False) is True:
                raise KaratError(
                    "the file is closed", place=self._name, hint="Pass it while it is open, or pass its path."
                )
            return self._file.read(size)
        except KaratError:
            raise
        except UnsupportedOperation:
            what = "the file is not open for reading"
            raise KaratError(what, place=self._name, hint='Open it with open(path, "rb").') from None
        except UnicodeDecodeError as error:
            raise KaratError(f"cannot be read as text: {error}", place=self._name, hint=_BINARY) from None
        except Exception as error:
            # It may be any object, and whatever goes wrong in it is about this input.
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise KaratError(f"cannot be read: {reason}", place=self._name) from error

    def _position(self) -> int:
        try:
            return int(self._file.tell())
        except Exception:  # not all objects have a position
            return 0


_BINARY = 'Open it in binary mode, with open(path, "rb"), or pass its path.'
