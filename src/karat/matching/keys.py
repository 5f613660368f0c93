"""Matching by key: which rows of a large table are judged documents, and which rows come twice.

Each row is reduced to one 64-bit hash of its query and document. A bitmap of the truth's hashes passes the few
rows that may be hits, and sorting the hashes brings repeated rows together. Equal hashes are only ever
candidates: what is reported has been compared as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from karat import arrays
from karat.arrays import Column, texts
from karat.judged import Bools, Ints

if TYPE_CHECKING:
    from karat.sources.forms import Table, Truth

Hashes = NDArray[np.uint64]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
# Bits of the bitmap per judged document: about one row in this many passes the filter without being a hit.
_SPARSE = 128
_LARGEST_BITMAP = 1 << 27


def row_hashes(table: Table) -> Hashes:
    """One hash per row, of its query and document together."""
    queries = _hashes(texts(table.queries))
    return _pair(np.repeat(queries, np.diff(table.offsets)), _hashes(table.docs))


def repeats(table: Table, hashes: Hashes) -> Ints:
    """The rows that hold a query and document which another row holds as well, in order."""
    in_order = np.sort(hashes)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    if not len(twice):
        return np.empty(0, np.int64)
    rows = np.flatnonzero(np.isin(hashes, twice))
    segments = np.searchsorted(table.offsets, rows, side="right") - 1
    seen: dict[tuple[int, str], list[int]] = {}
    for row, segment, doc in zip(
        rows.tolist(), segments.tolist(), table.docs.take(arrays.rows(rows)).to_pylist(), strict=True
    ):
        seen.setdefault((segment, doc), []).append(row)
    return np.array(sorted(row for same in seen.values() if len(same) > 1 for row in same), np.int64)


def same_as_query(table: Table) -> Bools:
    """Which rows retrieved a document of the query's own id, as BEIR's duplicate questions do."""
    sizes = np.diff(table.offsets)
    queries = texts(table.queries).take(arrays.rows(np.repeat(np.arange(len(sizes)), sizes)))
    return _equal(queries, table.docs)


@dataclass(frozen=True, eq=False)
class Finder:
    """The judged documents, ready to be found in tables."""

    docs: Column
    queries: Ints
    hashes: Hashes
    golds: Ints
    bitmap: Bools
    shift: np.uint64

    @classmethod
    def of(cls, truth: Truth) -> Finder:
        docs = texts(truth.docs)
        queries = np.repeat(np.arange(len(truth.queries)), np.diff(truth.offsets))
        names = _hashes(texts(truth.queries))
        hashes = _pair(names[queries], _hashes(docs))
        golds = np.argsort(hashes, kind="stable")
        bits = min(max(1 << 10, _SPARSE * len(hashes)), _LARGEST_BITMAP).bit_length() - 1
        shift = np.uint64(64 - bits)
        bitmap = np.zeros(1 << bits, bool)
        bitmap[(hashes >> shift).astype(np.int64)] = True
        return cls(docs, queries, hashes[golds], golds, bitmap, shift)

    def find(self, table: Table, hashes: Hashes, query_of_segment: Ints) -> tuple[Ints, Ints]:
        """The rows that are judged documents, in order, and which ones they are."""
        rows = np.flatnonzero(self.bitmap[(hashes >> self.shift).astype(np.int64)])
        segments = np.searchsorted(table.offsets, rows, side="right") - 1
        queries = query_of_segment[segments]
        found_rows, found_golds = [], []
        at = np.searchsorted(self.hashes, hashes[rows])
        # Judged documents of one hash stand side by side; more than one turn is as rare as a collision.
        while len(rows):
            inside = at < len(self.hashes)
            inside[inside] = self.hashes[at[inside]] == hashes[rows[inside]]
            rows, queries, at = rows[inside], queries[inside], at[inside]
            golds = self.golds[at]
            same_query = np.flatnonzero(self.queries[golds] == queries)
            ours = table.docs.take(arrays.rows(rows[same_query]))
            theirs = self.docs.take(arrays.rows(golds[same_query]))
            same = same_query[_equal(ours, theirs)]
            found_rows.append(rows[same])
            found_golds.append(golds[same])
            left = np.ones(len(rows), bool)
            left[same] = False
            rows, queries, at = rows[left], queries[left], at[left] + 1
        if not found_rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        all_rows, all_golds = np.concatenate(found_rows), np.concatenate(found_golds)
        order = np.argsort(all_rows, kind="stable")
        return all_rows[order], all_golds[order]


def _pair(queries: Hashes, docs: Hashes) -> Hashes:
    mixed = (queries ^ docs) * _PRIME
    mixed ^= mixed >> _HALF
    mixed *= _PRIME
    return mixed


def _hashes(column: Column) -> Hashes:
    """One hash per text, eight bytes at a time over all texts at once."""
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
    hashes = lengths.astype(np.uint64)
    going_on: slice | Ints = slice(None)
    for at in range(0, int(lengths.max()), 8):
        word = words[starts[going_on] + at]
        word &= _MASKS[np.minimum(lengths[going_on] - at, 8)]
        mixed = (hashes[going_on] ^ word) * _PRIME
        mixed ^= mixed >> _HALF
        hashes[going_on] = mixed
        # Only what goes on is looked at again: one long id among many short ones costs its own length.
        longer = lengths[going_on] > at + 8
        going_on = np.flatnonzero(longer) if isinstance(going_on, slice) else going_on[longer]
    return hashes


def _equal(one: Column, other: Column) -> Bools:
    return arrays.truths(pc.equal(one.cast(pa.large_string()), other.cast(pa.large_string())))
