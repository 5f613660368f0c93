"""Runs that ranx has saved as `.lz4`: CBOR, a binary form of JSON, compressed twice with lz4."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from karat.errors import KaratError, Place

_HINT = "ranx saves a run as an object of queries, each with the scores of its documents."
_MAP, _TEXT = 5, 3  # major types of CBOR: the first three bits of a value


def is_cbor(start: bytes) -> bool:
    """Whether data begins with a mapping of texts to mappings. No text in UTF-8 begins with such a byte."""
    kind, _, at = _head(start, 0)
    if kind != _MAP or start == b"\xa0":
        return kind == _MAP
    kind, length, at = _head(start, at)
    return kind == _TEXT and _head(start, at + length)[0] == _MAP


def decode_cbor(data: bytes, place: Place | str) -> dict[str, dict[str, Any]]:
    """The scores of each document of each query."""
    try:
        import cbor2
    except ImportError:
        what = "the file is CBOR, as ranx saves it, which needs the package cbor2"
        raise KaratError(what, place=place, hint="pip install cbor2") from None
    file = BytesIO(data)
    try:
        decoder = cbor2.CBORDecoder(file, max_depth=3, allow_duplicate_keys=False, strict_hashable_types=True)
        value = decoder.decode()
    except TypeError:
        what = "this version of the package cbor2 does not check for damage"
        raise KaratError(what, place=place, hint="pip install --upgrade cbor2") from None
    except cbor2.CBORError as error:
        what = f"the CBOR data is damaged or cut short ({error})"
        raise KaratError(what, place=place, hint="Save or download the file again.") from None
    if file.read(1):
        raise KaratError("the CBOR data is followed by other data", place=place, hint="Save the file again.")
    if type(value) is not dict or not all(type(each) is dict for each in value.values()):
        raise KaratError("the CBOR data is not an object of queries", place=place, hint=_HINT)
    for query, documents in value.items():
        if {type(query), *map(type, documents)} != {str}:
            raise KaratError("an id in the CBOR data is not text", place=place, hint=_HINT)
    return value


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    """The major type of a value, its number or length, and where it goes on; -1 at the end of the data."""
    if at >= len(data):
        return -1, 0, at
    kind, size = data[at] >> 5, data[at] & 31
    if size < 24:
        return kind, size, at + 1
    width = 1 << (size - 24) if size < 28 else 0
    return kind, int.from_bytes(data[at + 1 : at + 1 + width], "big"), at + 1 + width
