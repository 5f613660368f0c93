"""How much of a difference each judged document accounts for.

The documents are switched from where the one run has them to where the other has them, one at a time, and the measure
is computed after each step: what a step changes is that document's part. Whatever the measure, the parts add up to the
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.judged import Floats, Ints, Judged
from karat.measure import Measure

# So many judged documents of all steps together are computed at a time.
_AT_ONCE = 1 << 20


class Part(NamedTuple):
    """A judged document, by its place among those of its query, its ranks in both runs, and what it accounts for."""

    gold: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    part: float


@dataclass(frozen=True, eq=False)
class _Between(Judged):
    """Neither of two runs: some judged documents are where the one has them, some where the other has them.

    Two may be at one rank then, and both are paid as if they had it for themselves.
    """

    _one_gold_a_rank = True
    _one_to_one = True


class Side(NamedTuple):
    """One query of a run: how many documents it retrieved, and the hits among them."""

    retrieved: int
    rank: Ints
    gold: Ints

    def ranks(self) -> dict[int, tuple[int, ...]]:
        """The ranks of each judged document that was retrieved."""
        found: dict[int, tuple[int, ...]] = {}
        for gold, rank in zip(self.gold.tolist(), self.rank.tolist(), strict=True):
            found[gold] = (*found.get(gold, ()), rank)
        return found

    def one_to_one(self) -> bool:
        return len(set(self.rank.tolist())) == len(set(self.gold.tolist())) == len(self.rank)


def side(judged: Judged, query: int, order: Ints) -> Side:
    """A query of a run; `order` says which of the judged documents of both runs each of this run's is."""
    start, stop = np.searchsorted(judged.hit_query, [query, query + 1])
    gold = order[judged.hit_gold[start:stop] - judged.gold_offsets[query]]
    return Side(int(judged.retrieved[query]), judged.hit_rank[start:stop], gold)


def parts(measure: Measure, grades: Floats, before: Side, after: Side) -> tuple[list[Part], float]:
    """What each judged document that moved accounts for, topmost first, and what the length of the lists does."""
    was, became = before.ranks(), after.ranks()
    golds = [gold for gold in {**was, **became} if was.get(gold) != became.get(gold)]
    golds.sort(key=lambda gold: (min(was.get(gold, ()) + became.get(gold, ())), gold))
    values = _steps(measure, grades, before, after, golds)
    each = np.diff(values).tolist()
    moved = [
        Part(gold, was.get(gold, ()), became.get(gold, ()), part) for gold, part in zip(golds, each[1:-1], strict=True)
    ]
    return moved, each[0] + each[-1]


def _steps(measure: Measure, grades: Floats, before: Side, after: Side, golds: Sequence[int]) -> Floats:
    """The values of the one run, of it with lists of the longer length, after each switch, and of the other run."""
    steps = len(golds) + 3
    # When each gold is switched: those that stay never are.
    switched = np.full(len(grades), steps)
    switched[np.asarray(golds, np.int64)] = np.arange(2, len(golds) + 2)
    longer = max(before.retrieved, after.retrieved)
    retrieved = np.array([before.retrieved, *[longer] * (steps - 2), after.retrieved])
    form = _Between if before.one_to_one() and after.one_to_one() else Judged
    values = []
    width = max(1, _AT_ONCE // max(1, len(grades)))
    for start in range(0, steps, width):
        step = np.arange(start, min(start + width, steps))
        query, rank, gold = [], [], []
        for hits, there in (
            (before, step[:, None] < switched[before.gold]),
            (after, step[:, None] >= switched[after.gold]),
        ):
            at, hit = np.nonzero(there)
            query.append(at)
            rank.append(hits.rank[hit])
            gold.append(at * len(grades) + hits.gold[hit])
        values.append(measure.compute(_judged(form, retrieved[step], grades, query, rank, gold)))
    return np.concatenate(values)


def _judged(
    form: type[Judged], retrieved: Ints, grades: Floats, query: list[Ints], rank: list[Ints], gold: list[Ints]
) -> Judged:
    """A query for each step."""
    queries, ranks, golds = np.concatenate(query), np.concatenate(rank), np.concatenate(gold)
    order = np.lexsort((golds, ranks, queries))
    every = np.tile(grades, len(retrieved))
    return form(
        queries=tuple(map(str, range(len(retrieved)))),
        answered=np.ones(len(retrieved), bool),
        retrieved=retrieved,
        hit_query=queries[order],
        hit_rank=ranks[order],
        hit_grade=every[golds[order]],
        hit_gold=golds[order],
        gold_grade=every,
        gold_offsets=np.arange(len(retrieved) + 1) * len(grades),
    )
