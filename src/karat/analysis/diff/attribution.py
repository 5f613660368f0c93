"""How much of a difference each judged document accounts for.

The documents are moved from their ranks in the first run to their ranks in the second, one at a time, and the measure
is computed after each step. The contribution of a document is the change of the value in its step. The contributions
add up to the difference, for any measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.data.judged import Floats, Ints, Judged, ranges
from karat.registry import Measure

# Judged documents, over all steps, that are computed at a time.
_AT_ONCE = 1 << 20


class Contribution(NamedTuple):
    """The contribution of a judged document, with its index among those of the query and its ranks in both runs.

    The value is None if the measure is null at one of the steps.
    """

    gold: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    value: float | None


@dataclass(frozen=True, eq=False)
class _Intermediate(Judged):
    """A state between two runs: some judged documents are at their ranks in the first, some at those in the second.

    Two documents may share a rank in it. Both are credited, as if each had the rank to itself.
    """

    _one_gold_a_rank = True
    _one_to_one = False


@dataclass(frozen=True, eq=False)
class _IntermediateOneToOne(_Intermediate):
    """A state between two runs that retrieve each document at most once."""

    _one_to_one = True


class QueryHits(NamedTuple):
    """One query of a run: whether the run has it, how many documents were retrieved, and the hits among them."""

    in_run: bool
    retrieved: int
    rank: Ints
    gold: Ints

    def ranks(self) -> dict[int, tuple[int, ...]]:
        """The ranks of each retrieved judged document."""
        ranks: dict[int, tuple[int, ...]] = {}
        for gold, rank in zip(self.gold.tolist(), self.rank.tolist(), strict=True):
            ranks[gold] = (*ranks.get(gold, ()), rank)
        return ranks

    def one_gold_a_rank(self) -> bool:
        return len(set(self.rank.tolist())) == len(self.rank)

    def one_rank_a_gold(self) -> bool:
        return len(set(self.gold.tolist())) == len(self.gold)


def query_hits(judged: Judged, query: int, order: Ints) -> QueryHits:
    """The hits of a query; `order` maps the run's judged documents to indices that both runs share."""
    start, stop = np.searchsorted(judged.hit_query, [query, query + 1])
    gold = order[judged.hit_gold[start:stop] - judged.gold_offsets[query]]
    return QueryHits(bool(judged.in_run[query]), int(judged.retrieved[query]), judged.hit_rank[start:stop], gold)


class ChangedQuery(NamedTuple):
    """A query in two runs: the grades of its judged documents, and its hits in each run."""

    grades: Floats
    before: QueryHits
    after: QueryHits

    def kind(self) -> type[Judged]:
        """The kind of Judged that the states between both runs are."""
        if not (self.before.one_gold_a_rank() and self.after.one_gold_a_rank()):
            return Judged
        one_to_one = self.before.one_rank_a_gold() and self.after.one_rank_a_gold()
        return _IntermediateOneToOne if one_to_one else _Intermediate


def attribute(measure: Measure, queries: Sequence[ChangedQuery]) -> list[tuple[list[Contribution], float]]:
    """For each query: the contribution of each judged document that moved, topmost first, and that of the lengths.

    If the measure is null in between, contributions are unknown, and the second value is the whole difference.
    """
    ranks = [(query.before.ranks(), query.after.ranks()) for query in queries]
    moved = [_moved(old, new) for old, new in ranks]
    same_kind: dict[type[Judged], list[int]] = {}
    for at, query in enumerate(queries):
        same_kind.setdefault(query.kind(), []).append(at)
    values: dict[int, Floats] = {}
    for kind, places in same_kind.items():
        states = _States([queries[at] for at in places], [moved[at] for at in places])
        values |= zip(places, states.values(measure, kind), strict=True)
    return [_contributions(*ranks[at], golds, values[at]) for at, golds in enumerate(moved)]


def _moved(old: Mapping[int, tuple[int, ...]], new: Mapping[int, tuple[int, ...]]) -> list[int]:
    """The judged documents whose ranks are not the same, topmost first."""
    golds = [gold for gold in {**old, **new} if old.get(gold) != new.get(gold)]
    return sorted(golds, key=lambda gold: (min(old.get(gold, ()) + new.get(gold, ())), gold))


def _contributions(
    old: Mapping[int, tuple[int, ...]], new: Mapping[int, tuple[int, ...]], golds: Sequence[int], values: Floats
) -> tuple[list[Contribution], float]:
    # A registered measure may be null in between.
    known = not np.isnan(values).any()
    steps: list[float | None] = list(np.diff(values)[1:-1].tolist()) if known else [None] * len(golds)
    contributions = [
        Contribution(gold, old.get(gold, ()), new.get(gold, ()), step) for gold, step in zip(golds, steps, strict=True)
    ]
    first, longer, shorter, last = values[[0, 1, -2, -1]].tolist()
    return contributions, longer - first + last - shorter if known else last - first


class _States:
    """The states of some queries between two runs, one after the other.

    Those of a query are: the first run, the same with its list as long as the longer one, one for each document that
    moved, and the second run.
    """

    def __init__(self, queries: Sequence[ChangedQuery], moved: Sequence[Sequence[int]]) -> None:
        moves = _sizes(moved)
        steps = moves + 3
        self.offsets = _offsets(steps)
        first, last = self.offsets[:-1], self.offsets[1:] - 1
        golds = _sizes([query.grades for query in queries])
        gold_offsets = _offsets(golds)
        self.grades = np.concatenate([query.grades for query in queries])
        self.first_gold, self.golds = np.repeat(gold_offsets[:-1], steps), np.repeat(golds, steps)
        before, after = [query.before for query in queries], [query.after for query in queries]
        lengths = np.array([[hits.retrieved for hits in before], [hits.retrieved for hits in after]])
        in_run = np.array([[hits.in_run for hits in before], [hits.in_run for hits in after]])
        self.retrieved, self.in_run = np.repeat(lengths.max(axis=0), steps), np.repeat(in_run.any(axis=0), steps)
        self.retrieved[first], self.retrieved[last] = lengths
        self.in_run[first], self.in_run[last] = in_run
        # The state in which each gold moves; for golds that stay, the one after the last of their query.
        moves_at = np.repeat(last + 1, golds)
        places = np.concatenate([np.asarray(each, np.int64) for each in moved])
        moves_at[places + np.repeat(gold_offsets[:-1], moves)] = ranges(first + 2, moves)
        counts = [_sizes([hits.rank for hits in run]) for run in (before, after)]
        own = [np.concatenate([hits.gold for hits in run]) for run in (before, after)]
        moves_of_hits = [
            moves_at[gold + np.repeat(gold_offsets[:-1], count)] for gold, count in zip(own, counts, strict=True)
        ]
        # The hits of both runs: the gold, counted within its query, the rank, and the states that have it.
        self.hit_gold = np.concatenate(own)
        self.hit_rank = np.concatenate([hits.rank for hits in (*before, *after)])
        self.hit_first = np.concatenate([np.repeat(first, counts[0]), moves_of_hits[1]])
        self.hit_stop = np.concatenate([moves_of_hits[0], np.repeat(last + 1, counts[1])])

    def values(self, measure: Measure, kind: type[Judged]) -> list[Floats]:
        """The values of a measure in the states of each query."""
        size = _offsets(self.golds)
        values = []
        start = 0
        while start < len(self.golds):
            stop = max(start + 1, int(np.searchsorted(size, size[start] + _AT_ONCE, side="right")) - 1)
            values.append(measure.compute(self._judged(kind, start, stop)))
            start = stop
        return np.split(np.concatenate(values), self.offsets[1:-1])

    def _judged(self, kind: type[Judged], start: int, stop: int) -> Judged:
        """A Judged with a query for each of some states."""
        first = np.maximum(self.hit_first, start)
        times = np.maximum(np.minimum(self.hit_stop, stop) - first, 0)
        state = ranges(first, times) - start
        golds = self.golds[start:stop]
        offsets = _offsets(golds)
        return kind.from_hits(
            queries=tuple(map(str, range(stop - start))),
            in_run=self.in_run[start:stop],
            retrieved=self.retrieved[start:stop],
            hit_query=state,
            hit_rank=np.repeat(self.hit_rank, times),
            hit_gold=np.repeat(self.hit_gold, times) + offsets[state],
            gold_grade=self.grades[ranges(self.first_gold[start:stop], golds)],
            gold_offsets=offsets,
        )


def _sizes(parts: Sequence[Sized]) -> Ints:
    return np.fromiter(map(len, parts), np.int64, len(parts))


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes)))
