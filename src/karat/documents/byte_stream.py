"""ByteStream: the binary content of a document."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

from karat.errors import KaratError, KaratTypeError, shown
from karat.errors.arguments import check_path, check_text


@dataclass
class ByteStream:
    """Bytes with metadata and a MIME type, like Haystack's ByteStream.

    >>> ByteStream.from_string("gold", mime_type="text/plain")
    ByteStream(data=b'gold', meta={}, mime_type='text/plain')
    """

    data: bytes
    meta: dict[str, Any] = field(default_factory=dict)
    mime_type: str | None = None

    def __post_init__(self) -> None:
        for name, value, kinds, expected in (
            ("data", self.data, bytes | bytearray | memoryview, "bytes"),
            ("meta", self.meta, dict, "a dictionary"),
            ("mime_type", self.mime_type, str | None, "text"),
        ):
            if not isinstance(value, kinds):
                raise KaratTypeError(f"the {name} of a ByteStream must be {expected}, not {shown(value)}")

    @classmethod
    def from_file_path(
        cls,
        filepath: str | PathLike[str],
        mime_type: str | None = None,
        meta: dict[str, Any] | None = None,
        guess_mime_type: bool = False,
    ) -> Self:
        """The bytes of a file; with `guess_mime_type`, the type is guessed from the name of the file."""
        if not mime_type and guess_mime_type:
            from mimetypes import guess_type

            mime_type = guess_type(Path(check_path(filepath, "filepath")).as_posix())[0]
        return cls(Path(check_path(filepath, "filepath")).read_bytes(), {} if meta is None else meta, mime_type)

    @classmethod
    def from_string(
        cls, text: str, encoding: str = "utf-8", mime_type: str | None = None, meta: dict[str, Any] | None = None
    ) -> Self:
        """The bytes of a text."""
        check_text("text", text)
        try:
            data = text.encode(_codec(encoding))
        except UnicodeEncodeError as error:
            raise KaratError(f"the text cannot be encoded: {error}", hint="Choose another encoding.") from None
        return cls(data, {} if meta is None else meta, mime_type)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The ByteStream from the dictionary that `to_dict` returned, here or in Haystack."""
        try:
            return cls(bytes(data["data"]), data.get("meta") or {}, data.get("mime_type"))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError):
            raise KaratError(f"{shown(data)} is not a ByteStream", hint="Pass what to_dict returned.") from None

    def to_file(self, destination_path: str | PathLike[str]) -> None:
        """Write the bytes to a file, without the metadata."""
        Path(check_path(destination_path, "destination_path")).write_bytes(self.data)

    def to_string(self, encoding: str = "utf-8") -> str:
        """The bytes as text."""
        return str(self.data, _codec(encoding))

    def to_dict(self) -> dict[str, Any]:
        """A dictionary that can be written as JSON: the bytes are a list of integers."""
        return {"data": list(self.data), "meta": self.meta, "mime_type": self.mime_type}

    def __repr__(self) -> str:
        data = self.data[:100] + b"..." if len(self.data) > 100 else self.data
        return f"{type(self).__name__}(data={data!r}, meta={shown(self.meta, 1000)}, mime_type={self.mime_type!r})"


def _codec(encoding: str) -> str:
    """The name of an encoding; one that is unknown is refused."""
    try:
        return codecs.lookup(check_text("encoding", encoding)).name
    except (LookupError, ValueError):
        raise KaratError(f"{shown(encoding)} is not the name of an encoding") from None
