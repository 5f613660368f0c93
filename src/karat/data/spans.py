"""The data that span measures read: the gold and the retrieved characters of documents, for each query."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Floats, Ints

MAX_POSITION = 2**62
"""The largest position allowed: the distance between any two positions fits into 64 bits."""

_HALF_BITS = 31


@dataclass(frozen=True, eq=False)
class Spans:
    """The gold spans and the retrieved spans of each query: one row per span in the `gold_` or `retrieved_` arrays.

    Rows are in any order. A query is given by its position in `queries`, a document by any number that identifies it.
    A span contains the characters from start up to, but not including, end: 0 <= start <= end <= 2**62. Ranks count
    from 1.
    """

    kind: ClassVar[Literal["spans"]] = "spans"

    queries: tuple[str, ...]
    gold_query: Ints
    gold_document: Ints
    gold_start: Ints
    gold_end: Ints
    retrieved_query: Ints
    retrieved_rank: Ints
    retrieved_document: Ints
    retrieved_start: Ints
    retrieved_end: Ints

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def characters(self, k: int | None = None) -> CharacterCounts:
        """How many characters of each query are gold, in the first k retrieved spans, and in both."""
        sweep = self._sweep
        steps = sweep.retrieved if k is None else np.where(sweep.rank <= k, sweep.retrieved, 0)
        retrieved = np.cumsum(steps) > 0
        return CharacterCounts(*(self._total(part) for part in (sweep.gold, retrieved, sweep.gold & retrieved)))

    @cached_property
    def _sweep(self) -> _Sweep:
        """All starts and ends of spans, sorted by query, document and position."""
        gold, retrieved = len(self.gold_query), len(self.retrieved_query)
        query = np.concatenate([self.gold_query] * 2 + [self.retrieved_query] * 2)
        document = np.concatenate([self.gold_document] * 2 + [self.retrieved_document] * 2)
        position = np.concatenate([self.gold_start, self.gold_end, self.retrieved_start, self.retrieved_end])
        rank = np.concatenate([np.zeros(2 * gold, np.int64), self.retrieved_rank, self.retrieved_rank])
        opens_gold, opens_retrieved = np.repeat([[1, -1, 0, 0], [0, 0, 1, -1]], [gold, gold, retrieved, retrieved], 1)
        order = np.lexsort((position, document, query))
        # Every span that opens in a document closes in it, so distances between two documents are never counted.
        return _Sweep(
            query=query[order],
            distance=np.diff(position[order], append=0),
            gold=np.cumsum(opens_gold[order]) > 0,
            retrieved=opens_retrieved[order],
            rank=rank[order],
        )

    def _total(self, covered: Bools) -> Floats:
        """The sum of the covered distances of each query, summed in two halves because the sum may exceed 64 bits."""
        query, distance = self._sweep.query[covered], self._sweep.distance[covered]
        high, low = (
            np.bincount(query, weights=half, minlength=len(self.queries))
            for half in (distance >> _HALF_BITS, distance & (2**_HALF_BITS - 1))
        )
        return np.asarray(high * 2.0**_HALF_BITS + low, np.float64)


class CharacterCounts(NamedTuple):
    """Numbers of characters, one per query. A character in several spans counts once.

    Doubles, because sums may exceed 64 bits: exact up to 2**53, and rounded above.
    """

    gold: Floats
    retrieved: Floats
    both: Floats


class _Sweep(NamedTuple):
    """One row per start or end of a span: the distance to the next row, and which spans are open in between."""

    query: Ints
    distance: Ints
    gold: Bools
    retrieved: Ints
    """1 if a retrieved span opens here, -1 if one closes; the cumulative sum is the number of open spans"""
    rank: Ints
