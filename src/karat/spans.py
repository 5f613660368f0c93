"""What the span measures depend on: which characters of which documents are gold, and which were retrieved."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from karat.judged import Bools, Floats, Ints

MAX_POSITION = 2**62
"""The last position there is. The distance of any two fits into 64 bits."""

_HALF = 31


@dataclass(frozen=True, eq=False)
class Spans:
    """For each query: the gold spans and the retrieved ones, each a row of its four or five arrays, in any order.

    A query is known by its place in `queries`, a document by a number of the maker's choice. A span has the
    characters from its start up to its end, which is not in it: 0 <= start <= end <= 2**62. Ranks count from 1.
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

    def characters(self, k: int | None = None) -> Characters:
        """How many characters of each query are gold, in the first k retrieved spans, and in both."""
        sweep = self._sweep
        steps = sweep.retrieved if k is None else np.where(sweep.rank <= k, sweep.retrieved, 0)
        retrieved = np.cumsum(steps) > 0
        return Characters(*(self._total(part) for part in (sweep.gold, retrieved, sweep.gold & retrieved)))

    @cached_property
    def _sweep(self) -> _Sweep:
        """Every start and every end, in the order of a walk through the documents of one query after the other."""
        gold, retrieved = len(self.gold_query), len(self.retrieved_query)
        query = np.concatenate([self.gold_query] * 2 + [self.retrieved_query] * 2)
        document = np.concatenate([self.gold_document] * 2 + [self.retrieved_document] * 2)
        position = np.concatenate([self.gold_start, self.gold_end, self.retrieved_start, self.retrieved_end])
        rank = np.concatenate([np.zeros(2 * gold, np.int64), self.retrieved_rank, self.retrieved_rank])
        opens_gold, opens_retrieved = np.repeat([[1, -1, 0, 0], [0, 0, 1, -1]], [gold, gold, retrieved, retrieved], 1)
        order = np.lexsort((position, document, query))
        # Whatever opens in a document closes in it: between two documents nothing is open, and no distance counts.
        return _Sweep(
            query=query[order],
            distance=np.diff(position[order], append=0),
            gold=np.cumsum(opens_gold[order]) > 0,
            retrieved=opens_retrieved[order],
            rank=rank[order],
        )

    def _total(self, covered: Bools) -> Floats:
        """The sum of the distances covered, for each query: in halves, as whole ones may not fit into 64 bits."""
        query, distance = self._sweep.query[covered], self._sweep.distance[covered]
        high, low = (
            np.bincount(query, weights=half, minlength=len(self.queries))
            for half in (distance >> _HALF, distance & (2**_HALF - 1))
        )
        return np.asarray(high * 2.0**_HALF + low, np.float64)


class Characters(NamedTuple):
    """Numbers of characters, one per query, each character counted once however many spans it is in.

    Doubles, as sums may pass 64 bits: exact up to 2**53, and the nearest there is above.
    """

    gold: Floats
    retrieved: Floats
    both: Floats


class _Sweep(NamedTuple):
    """One row per start or end: how far it is to the next, and what is open between the two."""

    query: Ints
    distance: Ints
    gold: Bools
    retrieved: Ints
    """1 where a retrieved span opens, -1 where one closes; their sum is how many are open"""
    rank: Ints
