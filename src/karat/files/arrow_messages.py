"""How much memory the data of an Arrow file takes when it is decompressed, read from the file without decompressing it.

An Arrow file or stream is a sequence of messages. Of a compressed buffer in a message, the first eight bytes are its
size when decompressed. Messages are described by FlatBuffers, of which only a few fields are read here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import pyarrow as pa

_CONTINUES = -1
_DICTIONARY, _RECORDS = 2, 3  # kinds of messages
_BLOCK, _BUFFER = 24, 16  # the sizes of two structs


class _Table(NamedTuple):
    """A table of a FlatBuffer: its data, and where the table is in it."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, _number("<I", data, 0))

    def place(self, field: int) -> int | None:
        """Where a field is; None if the table does not have it."""
        names = self.at - _number("<i", self.data, self.at)
        entry = 4 + 2 * field
        if entry >= _number("<H", self.data, names):
            return None
        offset = _number("<H", self.data, names + entry)
        return self.at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        place = self.place(field)
        return 0 if place is None else _number(form, self.data, place)

    def table(self, field: int) -> _Table | None:
        place = self.place(field)
        return None if place is None else _Table(self.data, place + _number("<I", self.data, place))

    def structs(self, field: int, size: int) -> Iterator[int]:
        """Where each struct of a vector is."""
        place = self.place(field)
        if place is not None:
            start = place + _number("<I", self.data, place)
            yield from range(start + 4, start + 4 + size * _number("<I", self.data, start), size)


def expanded_size(native: pa.NativeFile) -> int:
    """The size of all compressed buffers when decompressed, in bytes; the position in the file is lost.

    Damaged parts count as nothing: reading the file reports them.
    """
    try:
        sizes = (size for start, message in _messages(native) for size in _expanded_sizes(native, start, message))
        # A file cannot have more buffers than this, unless several messages share them, which no program writes.
        return sum(islice(sizes, native.size() // 8))
    except (struct.error, IndexError, OverflowError, ValueError, OSError):
        return 0


def _messages(native: pa.NativeFile) -> Iterator[tuple[int, _Table]]:
    """Each message, and where the data begins that it describes."""
    native.seek(0)
    if native.read(6) != b"ARROW1":
        yield from _messages_of_stream(native)
        return
    end = native.size() - 10
    size = _number("<i", _bytes(native, end, 4), 0)
    footer = _Table.root(_bytes(native, end - size, size))
    for blocks in (2, 3):  # dictionaries, and record batches
        for place in footer.structs(blocks, _BLOCK):
            offset, length = _number("<q", footer.data, place), _number("<i", footer.data, place + 8)
            metadata = _bytes(native, offset, length)
            skipped = 8 if _number("<i", metadata, 0) == _CONTINUES else 4
            yield offset + length, _Table.root(metadata[skipped:])


def _messages_of_stream(native: pa.NativeFile) -> Iterator[tuple[int, _Table]]:
    end, at = native.size(), 0
    while at + 8 <= end:
        start = _bytes(native, at, 8)
        before = 4 if _number("<i", start, 0) == _CONTINUES else 0  # files of early versions have no such mark
        size, at = _number("<i", start, before), at + before + 4
        if size <= 0:
            return
        message = _Table.root(_bytes(native, at, size))
        yield at + size, message
        at += size + max(message.number(3, "<q"), 0)


def _expanded_sizes(native: pa.NativeFile, start: int, message: _Table) -> Iterator[int]:
    """The size of each compressed buffer of a message when decompressed."""
    kind, header = message.number(1, "<B"), message.table(2)
    if kind == _DICTIONARY and header is not None:
        header = header.table(1)
    if kind not in (_DICTIONARY, _RECORDS) or header is None or header.place(3) is None:
        return
    for place in header.structs(2, _BUFFER):
        offset, length = _number("<q", header.data, place), _number("<q", header.data, place + 8)
        if length >= 8:
            yield max(_number("<q", _bytes(native, start + offset, 8), 0), 0)  # -1 if it is not compressed


def _bytes(native: pa.NativeFile, at: int, size: int) -> bytes:
    """Some bytes of a file, if it has them."""
    if at < 0 or not 0 <= size <= native.size() - at:
        raise IndexError(at)
    native.seek(at)
    return bytes(native.read(size))


def _number(form: str, data: bytes, at: int) -> int:
    """A number at a place, which is not before the beginning."""
    if at < 0:
        raise IndexError(at)
    return int(struct.unpack_from(form, data, at)[0])
