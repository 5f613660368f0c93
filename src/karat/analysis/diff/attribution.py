"""How much of a difference each judged document accounts for.

The documents are switched from where the one run has them to where the other has them, one at a time, and the measure
is computed after each step: what a step diff is that document's part. Whatever the measure, the parts add up to the
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.judged import Bools, Floats, Ints, Judged
from karat.registry import Measure

# So many judged documents of all steps together are computed at a time.
_AT_ONCE = 1 << 20


class Part(NamedTuple):
    """A judged document, by its place among those of its query, its ranks in both runs, and what it accounts for.

    None where the measure has no value at one of the steps.
    """

    gold: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    part: float | None


@dataclass(frozen=True, eq=False)
class _Repeating(Judged):
    """Neither of two runs: some judged documents are where the one has them, some where the other has them.

    Two may be at one rank then, and both are paid as if they had it for themselves.
    """

    _one_gold_a_rank = True
    _one_to_one = False


@dataclass(frozen=True, eq=False)
class _Between(_Repeating):
    """The same, of runs that have each document once."""

    _one_to_one = True


class Side(NamedTuple):
    """One query of a run: whether it is in there, how many documents it retrieved, and the hits among them."""

    answered: bool
    retrieved: int
    rank: Ints
    gold: Ints

    def ranks(self) -> dict[int, tuple[int, ...]]:
        """The ranks of each judged document that was retrieved."""
        found: dict[int, tuple[int, ...]] = {}
        for gold, rank in zip(self.gold.tolist(), self.rank.tolist(), strict=True):
            found[gold] = (*found.get(gold, ()), rank)
        return found

    def one_gold_a_rank(self) -> bool:
        return len(set(self.rank.tolist())) == len(self.rank)

    def one_rank_a_gold(self) -> bool:
        return len(set(self.gold.tolist())) == len(self.gold)


def side(judged: Judged, query: int, order: Ints) -> Side:
    """A query of a run; `order` says which of the judged documents of both runs each of this run's is."""
    start, stop = np.searchsorted(judged.hit_query, [query, query + 1])
    gold = order[judged.hit_gold[start:stop] - judged.gold_offsets[query]]
    return Side(bool(judged.answered[query]), int(judged.retrieved[query]), judged.hit_rank[start:stop], gold)


def attributed(measure: Measure, grades: Floats, before: Side, after: Side) -> tuple[list[Part], float]:
    """What each judged document that moved accounts for, topmost first, and what the length of the lists does."""
    was, became = before.ranks(), after.ranks()
    golds = [gold for gold in {**was, **became} if was.get(gold) != became.get(gold)]
    golds.sort(key=lambda gold: (min(was.get(gold, ()) + became.get(gold, ())), gold))
    values = _steps(measure, grades, before, after, golds)
    # A measure of one's own may have no value in between: then nothing tells the parts apart.
    told = not np.isnan(values).any()
    each: list[float | None] = list(np.diff(values)[1:-1].tolist()) if told else [None] * len(golds)
    moved = [Part(gold, was.get(gold, ()), became.get(gold, ()), part) for gold, part in zip(golds, each, strict=True)]
    first, longer, shorter, last = values[[0, 1, -2, -1]].tolist()
    return moved, longer - first + last - shorter if told else last - first


def _steps(measure: Measure, grades: Floats, before: Side, after: Side, golds: Sequence[int]) -> Floats:
    """The values of the one run, of it with lists of the longer length, after each switch, and of the other run."""
    steps = len(golds) + 3
    # When each gold is switched: those that stay never are.
    switched = np.full(len(grades), steps)
    switched[np.asarray(golds, np.int64)] = np.arange(2, len(golds) + 2)
    longer = max(before.retrieved, after.retrieved)
    retrieved = np.array([before.retrieved, *[longer] * (steps - 2), after.retrieved])
    answered = np.array([before.answered, *[before.answered or after.answered] * (steps - 2), after.answered])
    form: type[Judged] = Judged
    if before.one_gold_a_rank() and after.one_gold_a_rank():
        form = _Between if before.one_rank_a_gold() and after.one_rank_a_gold() else _Repeating
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
        values.append(measure.compute(_judged(form, answered[step], retrieved[step], grades, query, rank, gold)))
    return np.concatenate(values)


def _judged(
    form: type[Judged],
    answered: Bools,
    retrieved: Ints,
    grades: Floats,
    query: list[Ints],
    rank: list[Ints],
    gold: list[Ints],
) -> Judged:
    """A query for each step."""
    queries, ranks, golds = np.concatenate(query), np.concatenate(rank), np.concatenate(gold)
    order = np.lexsort((golds, ranks, queries))
    every = np.tile(grades, len(retrieved))
    return form(
        queries=tuple(map(str, range(len(retrieved)))),
        answered=answered,
        retrieved=retrieved,
        hit_query=queries[order],
        hit_rank=ranks[order],
        hit_grade=every[golds[order]],
        hit_gold=golds[order],
        gold_grade=every,
        gold_offsets=np.arange(len(retrieved) + 1) * len(grades),
    )
