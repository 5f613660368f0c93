"""A 64-bit hash for each row of a table, computed from its query and document.

Sorting hashes finds repeated rows much faster than sorting texts. Rows with equal hashes are only candidates: they are
compared as text before they are reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from karat.judged import Ints
from karat.sources import arrays
from karat.sources.arrays import Column, text_column

if TYPE_CHECKING:
    from karat.sources.containers import ScoredRows

Hashes = NDArray[np.uint64]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_OTHER_PRIME = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)


def row_hashes(table: ScoredRows) -> Hashes:
    """The hash of each row."""
    queries = query_hashes(text_column(table.queries))
    return pair_hashes(np.repeat(queries, np.diff(table.offsets)), text_hashes(table.docs))


def repeated_rows(table: ScoredRows, hashes: Hashes) -> Ints:
    """The rows whose query and document also appear in another row, in order."""
    # Sorting the upper half of each hash takes half the time. Rows that agree in it are compared by the whole hash,
    # then as text.
    rows = _repeated_values((hashes >> _HALF).astype(np.uint32))
    rows = rows[_repeated_values(hashes[rows])]
    docs = table.docs.take(arrays.row_indices(rows)).to_pylist()
    seen: dict[tuple[int, str], list[int]] = {}
    for row, segment, doc in zip(rows.tolist(), table.segments(rows).tolist(), docs, strict=True):
        seen.setdefault((segment, doc), []).append(row)
    return np.array(sorted(row for same in seen.values() if len(same) > 1 for row in same), np.int64)


def _repeated_values(values: NDArray[np.unsignedinteger]) -> Ints:
    """The positions of values that appear more than once."""
    in_order = np.sort(values)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    return np.flatnonzero(np.isin(values, twice)) if len(twice) else np.empty(0, np.int64)


def query_hashes(queries: Column) -> Hashes:
    """The hashes of queries, mixed differently from those of documents, because both may have the same ids."""
    mixed = text_hashes(queries) * _OTHER_PRIME
    mixed ^= mixed >> _HALF
    return mixed


def pair_hashes(queries: Hashes, docs: Hashes) -> Hashes:
    """A hash for each pair of a query and a document."""
    mixed = queries ^ docs
    mixed *= _PRIME
    mixed ^= mixed >> _HALF
    mixed *= _OTHER_PRIME
    return mixed


def text_hashes(column: Column) -> Hashes:
    """A hash for each text, computed for all texts at once, eight bytes at a time."""
    _, offset_buffer, data = column.buffers()
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    if not len(column) or data is None:
        return np.zeros(len(column), np.uint64)
    offsets = np.frombuffer(offset_buffer, width)[column.offset : column.offset + len(column) + 1]
    starts, lengths = offsets[:-1], np.diff(offsets)
    text = np.frombuffer(data, np.uint8)
    if len(text) < int(offsets[-1]) + 8:
        text = np.concatenate((text, np.zeros(8, np.uint8)))
    words = np.ndarray((len(text) - 7,), np.uint64, text, 0, (1,))
    # Spread over all bits, the length cannot cancel out with a short text, as in '' and '\x01'.
    hashes = lengths.astype(np.uint64) * _OTHER_PRIME
    unfinished: slice | Ints = slice(None)
    for at in range(0, int(lengths.max()), 8):
        word = words[starts[unfinished] + at]
        word &= _MASKS[np.minimum(lengths[unfinished] - at, 8)]
        mixed = (hashes[unfinished] ^ word) * _PRIME
        mixed ^= mixed >> _HALF
        hashes[unfinished] = mixed
        # Only texts with more bytes are processed again: one long id among many short ones costs only its own length.
        longer = lengths[unfinished] > at + 8
        unfinished = np.flatnonzero(longer) if isinstance(unfinished, slice) else unfinished[longer]
    return hashes
