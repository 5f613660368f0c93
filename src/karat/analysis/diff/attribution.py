"""How much of a difference each judged document accounts for.

The documents are moved from their ranks in the first run to their ranks in the second, one at a time, and the measure
is computed after each step. The contribution of a document is the change of the value in its step. The contributions
add up to the difference, for any measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.judged import Bools, Floats, Ints, Judged
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
        found: dict[int, tuple[int, ...]] = {}
        for gold, rank in zip(self.gold.tolist(), self.rank.tolist(), strict=True):
            found[gold] = (*found.get(gold, ()), rank)
        return found

    def one_gold_a_rank(self) -> bool:
        return len(set(self.rank.tolist())) == len(self.rank)

    def one_rank_a_gold(self) -> bool:
        return len(set(self.gold.tolist())) == len(self.gold)


def query_hits(judged: Judged, query: int, order: Ints) -> QueryHits:
    """The hits of a query; `order` maps the run's judged documents to indices that both runs share."""
    start, stop = np.searchsorted(judged.hit_query, [query, query + 1])
    gold = order[judged.hit_gold[start:stop] - judged.gold_offsets[query]]
    return QueryHits(bool(judged.in_run[query]), int(judged.retrieved[query]), judged.hit_rank[start:stop], gold)


def attribute(
    measure: Measure, grades: Floats, before: QueryHits, after: QueryHits
) -> tuple[list[Contribution], float]:
    """The contribution of each judged document that moved, topmost first, and that of the length of the lists.

    If the measure is null in between, contributions are unknown, and the second value is the whole difference.
    """
    old, new = before.ranks(), after.ranks()
    golds = [gold for gold in {**old, **new} if old.get(gold) != new.get(gold)]
    golds.sort(key=lambda gold: (min(old.get(gold, ()) + new.get(gold, ())), gold))
    values = _steps(measure, grades, before, after, golds)
    # A registered measure may be null in between.
    known = not np.isnan(values).any()
    steps: list[float | None] = list(np.diff(values)[1:-1].tolist()) if known else [None] * len(golds)
    contributions = [
        Contribution(gold, old.get(gold, ()), new.get(gold, ()), step) for gold, step in zip(golds, steps, strict=True)
    ]
    first, longer, shorter, last = values[[0, 1, -2, -1]].tolist()
    return contributions, longer - first + last - shorter if known else last - first


def _steps(measure: Measure, grades: Floats, before: QueryHits, after: QueryHits, golds: Sequence[int]) -> Floats:
    """The value of the first run, then with its list as long as the longer one, after each move, and of the second."""
    steps = len(golds) + 3
    # The step in which each gold moves; past the last step for golds that stay.
    moves_at = np.full(len(grades), steps)
    moves_at[np.asarray(golds, np.int64)] = np.arange(2, len(golds) + 2)
    longer = max(before.retrieved, after.retrieved)
    retrieved = np.array([before.retrieved, *[longer] * (steps - 2), after.retrieved])
    in_run = np.array([before.in_run, *[before.in_run or after.in_run] * (steps - 2), after.in_run])
    kind: type[Judged] = Judged
    if before.one_gold_a_rank() and after.one_gold_a_rank():
        one_to_one = before.one_rank_a_gold() and after.one_rank_a_gold()
        kind = _IntermediateOneToOne if one_to_one else _Intermediate
    values = []
    width = max(1, _AT_ONCE // max(1, len(grades)))
    for start in range(0, steps, width):
        step = np.arange(start, min(start + width, steps))
        query, rank, gold = [], [], []
        for hits, present in (
            (before, step[:, None] < moves_at[before.gold]),
            (after, step[:, None] >= moves_at[after.gold]),
        ):
            at, hit = np.nonzero(present)
            query.append(at)
            rank.append(hits.rank[hit])
            gold.append(at * len(grades) + hits.gold[hit])
        values.append(measure.compute(_judged(kind, in_run[step], retrieved[step], grades, query, rank, gold)))
    return np.concatenate(values)


def _judged(
    kind: type[Judged],
    in_run: Bools,
    retrieved: Ints,
    grades: Floats,
    query: list[Ints],
    rank: list[Ints],
    gold: list[Ints],
) -> Judged:
    """A Judged with a query for each step."""
    return kind.from_hits(
        queries=tuple(map(str, range(len(retrieved)))),
        in_run=in_run,
        retrieved=retrieved,
        hit_query=np.concatenate(query),
        hit_rank=np.concatenate(rank),
        hit_gold=np.concatenate(gold),
        gold_grade=np.tile(grades, len(retrieved)),
        gold_offsets=np.arange(len(retrieved) + 1) * len(grades),
    )
