"""Between Arrow's arrays, NumPy's and Python's lists, by way of their bytes.

`pa.array` and `to_numpy` do the same, but import pandas where it is installed: longer than most evaluations take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.judged import Bools, Ints

# An Arrow array of strings, in one piece, with 32-bit or 64-bit offsets. (Arrow has no types of its own.)
Column = Any


def text_column(values: Sequence[str]) -> Column:
    """Strings as a column."""
    # Half a character, which no file can hold, is like nothing in any of them.
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    sizes = np.fromiter(chain((0,), map(len, encoded)), np.int64, len(encoded) + 1)
    buffers = [None, pa.py_buffer(np.cumsum(sizes)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def row_indices(numbers: Ints) -> pa.Array:
    """Row numbers to take from a column."""
    numbers = np.ascontiguousarray(numbers, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def to_numpy(column: pa.Array, kind: type[np.generic]) -> Any:
    """A column without nulls as a NumPy array of this kind, which is the column's own."""
    if not len(column):
        return np.empty(0, kind)
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def to_bools(column: pa.Array) -> Bools:
    """A column of true and false, without nulls, as NumPy's."""
    if not len(column):
        return np.empty(0, bool)
    bits = np.unpackbits(np.frombuffer(column.buffers()[1], np.uint8), bitorder="little")
    return bits[column.offset : column.offset + len(column)].astype(bool)


def concatenate(chunks: Iterable[Column]) -> Column:
    """Chunks of a column in one piece, with 64-bit offsets where 32 bits would not reach."""
    filled = [chunk for chunk in chunks if len(chunk)]
    if not filled:
        return text_column([])
    if len(filled) == 1:
        return filled[0]
    wide = any(pa.types.is_large_string(chunk.type) for chunk in filled)
    if wide or sum(chunk.nbytes for chunk in filled) > 2**31 - 2**20:
        filled = [chunk.cast(pa.large_string()) for chunk in filled]
    return pa.concat_arrays(filled)


def contains(column: Column, text: str) -> Bools:
    """Which values of a column hold this text."""
    return to_bools(pc.match_substring(column, text))


def text_before_last(column: Column, text: str) -> Column:
    """The values of a column up to the last time that they hold this text, which all of them do."""
    return pc.list_element(pc.split_pattern(column, text, max_splits=1, reverse=True), 0)


def append_text(column: Column, text: str) -> Column:
    """The values of a column, each with this text added."""
    return (
        pc.binary_join_element_wise(column, pa.scalar(text, column.type), pa.scalar("", column.type))
        if text
        else column
    )


def truncate(column: Column, length: int) -> Column:
    """The values of a column, cut to so many characters; untouched where none is longer."""
    if not len(column) or pc.max(pc.utf8_length(column)).as_py() <= length:
        return column
    return pc.utf8_slice_codeunits(column, 0, length)
