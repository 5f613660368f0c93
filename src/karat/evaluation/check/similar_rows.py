"""Rows of a large run whose document is a judged one once both ids were folded, found without a loop over the rows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.documents.normalization import normalized
from karat.matching.rows import RowFinder
from karat.reading.pairs.arrays import Column, Texts, offset_kind, row_indices, text_column
from karat.reading.pairs.containers import ScoredRows, Truth

_BEYOND_ASCII = 0x80
_SPACES = r"[\t-\r\x1c- ]+"  # those of Python, which are more than those of the regular expressions of Arrow


@dataclass(frozen=True, eq=False)
class SimilarRows:
    """The judged documents with folded ids."""

    truth: Truth
    finder: RowFinder
    are_changed: bool
    """whether folding changes an id of the ground truth"""

    @classmethod
    def of(cls, truth: Truth) -> Self:
        """The judged documents of this ground truth."""
        docs = text_column(truth.docs)
        column = folded_column(docs)
        return cls(truth, RowFinder.from_truth(replace(truth, docs=Texts(column))), column is not docs)

    def find(self, batch: ScoredRows) -> dict[int, list[str]]:
        """The documents that are similar to another one that is judged, of each query by its position in the batch."""
        docs, positions = folded_column(batch.docs), self.truth.positions
        found: dict[int, list[str]] = defaultdict(list)
        if docs is batch.docs and not self.are_changed:
            return found
        folded = replace(batch, docs=docs)
        position = np.fromiter((positions.get(query, -1) for query in batch.queries), np.int64, len(batch.queries))
        rows, golds = self.finder.find(folded, folded.hashes(), position)
        ids = batch.docs.take(row_indices(rows)).to_pylist()
        for segment, doc, gold in zip(batch.segments(rows).tolist(), ids, golds.tolist(), strict=True):
            if doc != self.truth.docs[gold]:
                found[segment].append(doc)
        return found


def folded_column(column: Column) -> Column:
    """Ids without differences in case, in spaces and in how Unicode writes the same characters; itself if it has none.

    >>> folded_column(text_column(["D1", "d 1 ", "STRASSE", "Straße"])).to_pylist()
    ['d1', 'd 1', 'strasse', 'strasse']
    """
    _, offset_buffer, data = column.buffers()
    if not len(column) or data is None:
        return column
    offsets = np.frombuffer(offset_buffer, offset_kind(column))
    text = np.frombuffer(data, np.uint8)[offsets[column.offset] : offsets[column.offset + len(column)]]
    if bool((text >= _BEYOND_ASCII).any()):
        is_ascii = pc.string_is_ascii(column)
        for mask, folded in ((is_ascii, folded_column), (pc.invert(is_ascii), _folded_in_python)):
            column = pc.replace_with_mask(column, mask, folded(column.filter(mask)).cast(column.type))
        return column
    if bool((text <= ord(" ")).any()):
        return pc.ascii_trim(pc.replace_substring_regex(pc.ascii_lower(column), _SPACES, " "), " ")
    return pc.ascii_lower(column) if bool((text - np.uint8(ord("A")) < ord("Z") - ord("A") + 1).any()) else column


def _folded_in_python(column: Column) -> Column:
    """The same for any ids: all at once as lines of one text, since a line never changes how another one is folded."""
    try:
        ids = column.to_pylist()
    except UnicodeDecodeError:  # a lone surrogate
        ids = [bytes(id_).decode("utf-8", "surrogatepass") for id_ in column.cast(pa.large_binary()).to_pylist()]
    folded = normalized("\n".join(ids), ("unicode", "case")).split("\n")
    if len(folded) > len(ids):  # an id has several lines
        folded = [normalized(id_, ("unicode", "case")) for id_ in ids]
    return text_column([" ".join(id_.split()) for id_ in folded])
