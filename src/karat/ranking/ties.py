"""The ranks of judged documents: the number of documents above them, and the order of equal scores.

trec_eval's order is score descending, then document id descending. Only judged documents need a rank, so queries that
are in order already are not sorted, and ids are compared only if a judged document is in a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from karat.judged import Floats, Ints
from karat.options import Ties
from karat.sources.containers import ScoredMappings, ScoredRows

# If comparing the scores of a query's judged documents with all its scores takes fewer steps than this, the query is
# compared together with others; otherwise its scores are sorted.
_FEW_STEPS = 4096
_STEPS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Order:
    """The order of documents with equal scores; `grades` returns the grades of a query's judged documents."""

    ties: Ties
    grades: Callable[[int], dict[str, float]]

    def of(self, docs: Sequence[str], segment: int) -> Sequence[str]:
        """Sort documents that have the same score."""
        if self.ties == "input":
            return docs
        # Python compares strings by code point, which is the order of strcmp on their UTF-8 bytes.
        docs = sorted(docs, reverse=True)
        if self.ties == "trec":
            return docs
        grade = self.grades(segment)
        return sorted(docs, key=lambda doc: max(grade.get(doc, 0.0), 0.0), reverse=self.ties == "best")


def ranks_by_score(batch: ScoredMappings, segment: Ints, score: Floats, docs: Sequence[str], order: Order) -> Ints:
    """The ranks of judged documents in mappings, from their queries and scores."""
    above, equal = _count(batch.scores, batch.offsets, segment, score)

    def tied(at: int, rows: Ints) -> Sequence[str]:
        retrieved = list(batch.docs[at])
        return [retrieved[row] for row in rows.tolist()]

    return above + 1 + _tied_before(batch, segment, score, equal, docs, tied, order)


def ranks_in_table(table: ScoredRows, rows: Ints, docs: Sequence[str], order: Order) -> Ints:
    """The ranks of judged documents in a table, from their rows."""
    scores, offsets = table.scores, table.offsets
    segment, score = table.segments(rows), scores[rows]
    above, equal = _count_in_sorted(scores, offsets, rows, segment)
    rises = np.flatnonzero(scores[1:] > scores[:-1]) + 1
    # The score may rise from the last row of a query to the first row of the next one.
    unsorted = np.unique(table.segments(rises[~np.isin(rises, offsets)]))
    if len(unsorted):
        hits = np.flatnonzero(np.isin(segment, unsorted))
        above[hits], equal[hits] = _count(scores, offsets, segment[hits], score[hits])

    def tied(at: int, rows: Ints) -> Sequence[str]:
        from karat.sources import arrays

        return list(table.docs.take(arrays.row_indices(rows + int(offsets[at]))).to_pylist())

    return above + 1 + _tied_before(table, segment, score, equal, docs, tied, order)


def _count_in_sorted(scores: Floats, offsets: Ints, rows: Ints, segment: Ints) -> tuple[Ints, Ints]:
    """How many rows are above each row, and how many are tied with it, in queries sorted by descending score."""
    changes = np.ones(len(scores) + 1, bool)
    changes[1:-1] = scores[1:] != scores[:-1]
    changes[offsets] = True
    starts = np.flatnonzero(changes)
    at = np.searchsorted(starts, rows, side="right")
    first, beyond = starts[at - 1], starts[np.minimum(at, len(starts) - 1)]
    return first - offsets[segment], beyond - first


def _count(scores: Floats, offsets: Ints, segment: Ints, score: Floats) -> tuple[Ints, Ints]:
    """How many scores of its query are above each score, and how many equal it, in queries of any order."""
    above, equal = np.zeros(len(segment), np.int64), np.zeros(len(segment), np.int64)
    if not len(segment):
        return above, equal
    size = np.diff(offsets)[segment]
    hits_of_segment = np.bincount(segment)[segment]
    few = np.flatnonzero(size * hits_of_segment < _FEW_STEPS)
    for hits in np.array_split(few, int(size[few].sum()) // _STEPS_AT_ONCE + 1):
        if len(hits):
            above[hits], equal[hits] = _count_at_once(scores, offsets[segment[hits]], size[hits], score[hits])
    many = np.flatnonzero(size * hits_of_segment >= _FEW_STEPS)
    bounds = np.flatnonzero(np.r_[True, segment[many][1:] != segment[many][:-1], True]) if len(many) else many
    for start, stop in pairwise(bounds.tolist()):
        hits = many[start:stop]
        at = segment[hits[0]]
        ascending = np.sort(scores[offsets[at] : offsets[at + 1]])
        not_above = np.searchsorted(ascending, score[hits], side="right")
        above[hits] = len(ascending) - not_above
        equal[hits] = not_above - np.searchsorted(ascending, score[hits], side="left")
    return above, equal


def _count_at_once(scores: Floats, starts: Ints, sizes: Ints, score: Floats) -> tuple[Ints, Ints]:
    """The same for several queries at once, comparing each score with all scores of its query."""
    ends = np.cumsum(sizes)
    rows = np.arange(ends[-1]) + np.repeat(starts - (ends - sizes), sizes)
    theirs, own = scores[rows], np.repeat(score, sizes)
    bounds = ends - sizes
    return np.add.reduceat(theirs > own, bounds, dtype=np.int64), np.add.reduceat(theirs == own, bounds, dtype=np.int64)


def _tied_before(
    batch: ScoredMappings | ScoredRows,
    segment: Ints,
    score: Floats,
    equal: Ints,
    docs: Sequence[str],
    tied: Callable[[int, Ints], Sequence[str]],
    order: Order,
) -> Ints:
    """How many of the documents tied with each document are ranked before it."""
    before = np.zeros(len(segment), np.int64)
    groups: dict[tuple[int, float], list[int]] = {}
    for hit in np.flatnonzero(equal > 1).tolist():
        groups.setdefault((int(segment[hit]), float(score[hit])), []).append(hit)
    for (at, value), hits in groups.items():
        rows = np.flatnonzero(batch.scores[batch.offsets[at] : batch.offsets[at + 1]] == value)
        place = {doc: position for position, doc in enumerate(order.of(tied(at, rows), at))}
        for hit in hits:
            before[hit] = place[docs[hit]]
    return before
