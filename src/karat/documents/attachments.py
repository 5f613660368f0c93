"""What a document may have besides its text: ByteStream, its binary content, and SparseEmbedding, a vector."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

from karat.errors import KaratError, KaratTypeError, require, shown
from karat.errors.arguments import check_path, check_text, is_list_like


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
        path = Path(check_path(filepath, "filepath"))
        if not mime_type and guess_mime_type:
            from mimetypes import guess_type

            mime_type = guess_type(path.as_posix())[0]
        return cls(path.read_bytes(), {} if meta is None else meta, mime_type)

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


@dataclass
class SparseEmbedding:
    """The indices and the values of the elements that are not zero, like Haystack's SparseEmbedding.

    >>> SparseEmbedding(indices=[3, 17], values=[0.5, 0.25]).to_dict()
    {'indices': [3, 17], 'values': [0.5, 0.25]}
    """

    indices: list[int]
    values: list[float]

    def __post_init__(self) -> None:
        for name in ("indices", "values"):
            numbers = getattr(self, name)
            is_list = isinstance(numbers, Sized) and is_list_like(numbers)
            require(is_list, f"the {name} of a SparseEmbedding must be a list, not {shown(numbers)}")
        indices, values = len(self.indices), len(self.values)
        require(indices == values, f"Length of indices ({indices}) and values ({values}) must be the same")

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of `indices` and `values`."""
        return {"indices": list(self.indices), "values": list(self.values)}

    @classmethod
    def from_dict(cls, sparse_embedding_dict: Mapping[str, Any]) -> Self:
        """The SparseEmbedding from the dictionary that `to_dict` returned, here or in Haystack."""
        try:
            return cls(**sparse_embedding_dict)
        except TypeError:
            what = f"{shown(sparse_embedding_dict)} is not a SparseEmbedding"
            raise KaratError(what, hint="Pass what to_dict returned.") from None
