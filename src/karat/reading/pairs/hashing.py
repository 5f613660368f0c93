"""A 64-bit hash for each row of a table, computed from its query and document.

Sorting hashes finds repeated rows much faster than sorting texts. Rows with equal hashes are only candidates: they are
compared as text before they are reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from karat.data.judged import Bools, Ints
from karat.reading.pairs import arrays
from karat.reading.pairs.arrays import Column, offset_kind

if TYPE_CHECKING:
    from karat.reading.pairs.containers import ScoredRows

Hashes = NDArray[np.uint64]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_OTHER_PRIME = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)
_ROWS_AT_ONCE = 1 << 16
_LONG = 1024  # bytes; longer texts are hashed one by one, because few texts at once are slow
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)


@dataclass(frozen=True, eq=False)
class RowIndex:
    """The rows of a table in the order of their hashes.

    The upper bits of a key are those of the hash of a row, and the lower bits are the number of the row. Sorting such
    keys is several times as fast as sorting the row numbers by hash, and takes half the memory.
    """

    keys: Hashes
    row_bits: np.uint64

    @classmethod
    def of(cls, hashes: Hashes) -> RowIndex:
        bits = np.uint64(len(hashes).bit_length())
        keys = hashes >> bits
        keys <<= bits
        keys |= np.arange(len(keys), dtype=np.uint64)
        keys.sort()
        return cls(keys, bits)

    def first(self, hashes: Hashes) -> Ints:
        """The place of the first key that may belong to each hash."""
        return np.searchsorted(self.keys, hashes >> self.row_bits << self.row_bits)

    def agrees(self, places: Ints, hashes: Hashes) -> Bools:
        """Whether the row at a place has, as far as its key contains it, this hash."""
        agrees: Bools = (self.keys[places] ^ hashes) >> self.row_bits == 0
        return agrees

    def rows(self, places: Ints) -> Ints:
        """The rows at these places."""
        return (self.keys[places] & ((np.uint64(1) << self.row_bits) - np.uint64(1))).astype(np.int64)

    def possible_repeats(self) -> Ints:
        """The rows whose hash may be that of another row, in order."""
        places = np.flatnonzero((self.keys[1:] ^ self.keys[:-1]) >> self.row_bits == 0)
        return np.sort(self.rows(np.union1d(places, places + 1)))


def row_hashes(queries: Column, offsets: Ints, docs: Column) -> Hashes:
    """The hash of each row of a table, whose rows `offsets[i]` to `offsets[i + 1]` belong to query i."""
    return pair_hashes(np.repeat(query_hashes(queries), np.diff(offsets)), text_hashes(docs))


def repeated_rows(table: ScoredRows, hashes: Hashes) -> Ints:
    """The rows whose query and document also appear in another row, in order."""
    # Sorting the upper half of each hash takes half the time. Rows that agree in it are compared by the whole hash,
    # then as text.
    rows = _repeated_values((hashes >> _HALF).astype(np.uint32))
    return repeats_among(table, rows[_repeated_values(hashes[rows])])


def repeats_among(table: ScoredRows, rows: Ints) -> Ints:
    """Those of the rows whose query and document also appear in another one of them."""
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
    """A hash for each pair of a query and a document; overwrites the hashes of the documents, to save memory."""
    mixed = np.bitwise_xor(queries, docs, out=docs)
    mixed *= _PRIME
    mixed ^= mixed >> _HALF
    mixed *= _OTHER_PRIME
    return mixed


def text_hashes(column: Column) -> Hashes:
    """A hash for each text, computed for many texts at once, eight bytes at a time."""
    _, offset_buffer, data = column.buffers()
    hashes = np.zeros(len(column), np.uint64)
    if not len(column) or data is None:
        return hashes
    offsets = np.frombuffer(offset_buffer, offset_kind(column))[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(data, np.uint8)
    # The arrays of so many rows stay in the processor's cache.
    for start in range(0, len(hashes), _ROWS_AT_ONCE):
        bounds = offsets[start : start + _ROWS_AT_ONCE + 1]
        first, stop = int(bounds[0]), int(bounds[-1]) + 8
        part = text[first:stop]
        if len(part) < stop - first:
            part = np.concatenate((part, np.zeros(8, np.uint8)))
        hashes[start : start + _ROWS_AT_ONCE] = _text_hashes(part, (bounds - first).astype(np.int64))
    return hashes


def _text_hashes(text: NDArray[np.uint8], offsets: Ints) -> Hashes:
    """The hashes of texts that are followed by at least eight more bytes."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    words = np.ndarray((len(text) - 7,), np.uint64, text, 0, (1,))
    # Spread over all bits, the length cannot cancel out with a short text, as in '' and '\x01'.
    hashes = lengths.astype(np.uint64) * _OTHER_PRIME
    unfinished: slice | Ints = slice(None)
    longest = int(lengths.max())
    for at in range(0, min(longest, _LONG), 8):
        word = words[starts[unfinished] + at]
        word &= _MASKS[np.minimum(lengths[unfinished] - at, 8)]
        mixed = (hashes[unfinished] ^ word) * _PRIME
        mixed ^= mixed >> _HALF
        hashes[unfinished] = mixed
        # Only texts with more bytes are processed again: one long id among many short ones costs only its own length.
        longer = lengths[unfinished] > at + 8
        unfinished = np.flatnonzero(longer) if isinstance(unfinished, slice) else unfinished[longer]
    if longest > _LONG:
        for row in np.flatnonzero(lengths > _LONG).tolist():
            digest = blake2b(text[offsets[row] : offsets[row + 1]].data, digest_size=8).digest()
            hashes[row] = int.from_bytes(digest, "little")
    return hashes
