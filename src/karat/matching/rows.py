"""Find the rows of a large table that are judged documents, by key.

A bitmap of the hashes of judged documents rejects most rows; the rest are looked up by hash, then compared as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Bools, Ints
from karat.reading.pairs import arrays
from karat.reading.pairs.arrays import Column, text_column

if TYPE_CHECKING:
    from karat.reading.pairs.containers import ScoredRows, Truth
    from karat.reading.pairs.hashing import Hashes, RowIndex

# Bits in the bitmap per judged document. With n bits, about one in n of the other rows passes the filter.
_BITS_PER_DOCUMENT = 128
_LARGEST_BITMAP = 1 << 27


def has_id_of_query(table: ScoredRows) -> Bools:
    """Which rows have a document with the id of their query, as runs of BEIR's duplicate questions do."""
    sizes = np.diff(table.offsets)
    queries = text_column(table.queries).take(arrays.row_indices(np.repeat(np.arange(len(sizes)), sizes)))
    return _equal(queries, table.docs)


@dataclass(frozen=True, eq=False)
class RowFinder:
    """An index of the judged documents, by hashes of query and document."""

    docs: Column
    offsets: Ints
    index: RowIndex
    bitmap: Bools
    shift: np.uint64

    @classmethod
    def from_truth(cls, truth: Truth) -> RowFinder:
        index = truth.row_index
        bits = min(max(1 << 10, _BITS_PER_DOCUMENT * len(index.keys)), _LARGEST_BITMAP).bit_length() - 1
        shift = np.uint64(64 - bits)
        bitmap = np.zeros(1 << bits, bool)
        bitmap[(index.keys >> shift).astype(np.int64)] = True
        return cls(text_column(truth.docs), truth.offsets, index, bitmap, shift)

    def find(self, table: ScoredRows, hashes: Hashes, query_of_segment: Ints) -> tuple[Ints, Ints]:
        """The rows that are judged documents, in order, and the judged documents."""
        rows = np.flatnonzero(self.bitmap[(hashes >> self.shift).astype(np.int64)])
        queries = query_of_segment[table.segments(rows)]
        found_rows, found_golds = [], []
        at = self.index.first(hashes[rows])
        # Judged documents with the same hash are adjacent. A second iteration happens only after a collision.
        while len(rows):
            inside = at < len(self.index.keys)
            inside[inside] = self.index.agrees(at[inside], hashes[rows[inside]])
            rows, queries, at = rows[inside], queries[inside], at[inside]
            golds = self.index.rows(at)
            same_query = np.flatnonzero(np.searchsorted(self.offsets, golds, side="right") - 1 == queries)
            ours = table.docs.take(arrays.row_indices(rows[same_query]))
            theirs = self.docs.take(arrays.row_indices(golds[same_query]))
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


def _equal(one: Column, other: Column) -> Bools:
    return arrays.to_bools(pc.equal(one.cast(pa.large_string()), other.cast(pa.large_string())))
