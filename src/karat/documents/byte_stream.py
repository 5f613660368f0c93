"""ByteStream: the binary content of a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self


@dataclass
class ByteStream:
    """Bytes with metadata and a MIME type, like Haystack's ByteStream.

    >>> ByteStream.from_string("gold", mime_type="text/plain")
    ByteStream(data=b'gold', meta={}, mime_type='text/plain')
    """

    data: bytes
    meta: dict[str, Any] = field(default_factory=dict)
    mime_type: str | None = None

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

            mime_type = guess_type(Path(filepath).as_posix())[0]
        return cls(Path(filepath).read_bytes(), meta or {}, mime_type)

    @classmethod
    def from_string(
        cls, text: str, encoding: str = "utf-8", mime_type: str | None = None, meta: dict[str, Any] | None = None
    ) -> Self:
        """The bytes of a text."""
        return cls(text.encode(encoding), meta or {}, mime_type)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The ByteStream from the dictionary that `to_dict` returned, here or in Haystack."""
        return cls(bytes(data["data"]), data.get("meta") or {}, data.get("mime_type"))

    def to_file(self, destination_path: str | PathLike[str]) -> None:
        """Write the bytes to a file, without the metadata."""
        Path(destination_path).write_bytes(self.data)

    def to_string(self, encoding: str = "utf-8") -> str:
        """The bytes as text."""
        return self.data.decode(encoding)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary that can be written as JSON: the bytes are a list of integers."""
        return {"data": list(self.data), "meta": self.meta, "mime_type": self.mime_type}

    def __repr__(self) -> str:
        data = self.data[:100] + b"..." if len(self.data) > 100 else self.data
        return f"{type(self).__name__}(data={data!r}, meta={self.meta!r}, mime_type={self.mime_type!r})"
