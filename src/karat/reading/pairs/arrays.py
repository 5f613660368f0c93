"""Convert between Arrow arrays, NumPy arrays and lists through their buffers.

PyArrow's own `pa.array` and `to_numpy` import pandas if it is installed, which takes longer than most evaluations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Bools, Floats, Ints

_TEXTS_AT_ONCE = 1 << 12

# An Arrow array of strings, contiguous, with 32-bit or 64-bit offsets. (PyArrow has no type hints.)
Column = Any


class Texts(Sequence[str]):
    """The texts of a column. A text becomes a string only when it is read: millions of strings take far more memory."""

    def __init__(self, column: Column) -> None:
        self.column = column

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        selected = self.column[at]
        return selected.to_pylist() if isinstance(at, slice) else selected.as_py()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _TEXTS_AT_ONCE):
            yield from self[start : start + _TEXTS_AT_ONCE]

    def __len__(self) -> int:
        return len(self.column)


def text_column(values: Sequence[str]) -> Column:
    """A column from strings."""
    if isinstance(values, Texts):
        return values.column
    joined = "".join(values)
    if joined.isascii():  # then each character is one byte
        sizes, data = map(len, values), joined.encode()
    else:
        # A lone surrogate is encoded to bytes that no valid UTF-8 file contains, so it matches nothing.
        encoded = [value.encode("utf-8", "surrogatepass") for value in values]
        sizes, data = map(len, encoded), b"".join(encoded)
    offsets = np.cumsum(np.fromiter(chain((0,), sizes), np.int64, len(values) + 1))
    return pa.Array.from_buffers(pa.large_string(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def row_indices(numbers: Ints) -> pa.Array:
    """Row numbers as an Arrow array, for `Column.take`."""
    numbers = np.ascontiguousarray(numbers, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def to_numpy(column: pa.Array, kind: type[np.generic]) -> Any:
    """A view of a column without nulls as a NumPy array; `kind` must be the column's type."""
    if not len(column):
        return np.empty(0, kind)
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def to_floats(column: pa.ChunkedArray) -> Floats:
    """A column of doubles without nulls as a NumPy array; it is not copied if it has one chunk."""
    chunks: list[Floats] = [to_numpy(chunk, np.float64) for chunk in column.chunks]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0), *chunks])


def to_bools(column: pa.Array) -> Bools:
    """A boolean column without nulls as a NumPy array."""
    if not len(column):
        return np.empty(0, bool)
    bits = np.unpackbits(np.frombuffer(column.buffers()[1], np.uint8), bitorder="little")
    return bits[column.offset : column.offset + len(column)].astype(bool)


def concatenate(chunks: Iterable[Column]) -> Column:
    """One column from the chunks of a column, with 64-bit offsets if 32 bits are too few."""
    filled = [chunk for chunk in chunks if len(chunk)]
    if not filled:
        return text_column([])
    if len(filled) == 1:
        return filled[0]
    wide = any(pa.types.is_large_string(chunk.type) for chunk in filled)
    if wide or sum(chunk.nbytes for chunk in filled) > 2**31 - 2**20:
        filled = [chunk.cast(pa.large_string()) for chunk in filled]
    return pa.concat_arrays(filled)


class ColumnBuilder:
    """Appends columns to one another. Their texts are in memory once, also while the column grows."""

    def __init__(self) -> None:
        self._sizes = bytearray()
        self._text = bytearray()

    def append(self, column: Column) -> None:
        if not len(column):
            return
        _, offset_buffer, data = column.buffers()
        offsets = np.frombuffer(offset_buffer, offset_kind(column))[column.offset : column.offset + len(column) + 1]
        self._sizes += np.diff(offsets).astype(np.int32).data
        if data is not None:
            self._text += memoryview(data)[int(offsets[0]) : int(offsets[-1])]

    def column(self) -> Column:
        """All texts in one column."""
        sizes = np.frombuffer(self._sizes, np.int32)
        is_wide = len(self._text) >= 1 << 31
        offsets = np.zeros(len(sizes) + 1, np.int64 if is_wide else np.int32)
        np.cumsum(sizes, out=offsets[1:])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._text)]
        return pa.Array.from_buffers(pa.large_string() if is_wide else pa.string(), len(sizes), buffers)


def offset_kind(column: Column) -> type[np.int32 | np.int64]:
    """The type of the offsets at which the texts of a column start."""
    return np.int64 if pa.types.is_large_string(column.type) else np.int32


def rows_with(column: Column, texts: Collection[str]) -> Ints:
    """The rows of a column that contain one of these texts, in order."""
    return np.flatnonzero(to_bools(pc.is_in(column, text_column([*texts]).cast(column.type))))


def contains_text(column: Column, text: str) -> Bools:
    """Which values of a column contain this text."""
    return to_bools(pc.match_substring(column, text))


def text_before_last(column: Column, text: str) -> Column:
    """Each value of a column up to the last occurrence of this text; every value must contain it."""
    return pc.list_element(pc.split_pattern(column, text, max_splits=1, reverse=True), 0)


def append_text(column: Column, text: str) -> Column:
    """Each value of a column with this text added at its end."""
    if not text:
        return column
    return pc.binary_join_element_wise(column, pa.scalar(text, column.type), pa.scalar("", column.type))


def truncate(column: Column, length: int) -> Column:
    """Each value of a column, cut to this many characters; the column itself if no value is longer."""
    if not len(column) or pc.max(pc.utf8_length(column)).as_py() <= length:
        return column
    return pc.utf8_slice_codeunits(column, 0, length)
