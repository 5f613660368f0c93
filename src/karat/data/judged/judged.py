"""Judged: the ranks and grades that every retrieval measure is computed from, and three views of them.

The views differ in how repeats are credited, if a rank matches several gold documents or a gold document is found at
several ranks:

- raw: every pair of a rank and a gold document counts (R, RecallAll, Success);
- by gold: each gold document is credited once, and each rank with at most one gold document (AP, nDCG, RR, ...);
- by rank: each rank with a judged document is credited, repeats included (P, and AP or nDCG with `credit=rank`).

Code that makes a Judged knows nothing about measures, and measures know nothing about files, strings or documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged.arrays import Bools, Floats, Ints, distinct, place_in_query, read_only
from karat.data.judged.view import View

Credit = Literal["gold", "rank"]

_BITS = 63
"""of a whole number that is not negative"""


@dataclass(frozen=True, eq=False)
class Judged:
    """For each query: the ranks of its judged documents, the number of retrieved documents, and all grades.

    `in_run` says which queries are in the run. A hit is a retrieved judged document: a row of the four `hit_` arrays,
    which are sorted by query and rank. With ids, each rank has at most one judged document. With chunks, or lists that
    repeat a document, there may be several hits at one rank, and several ranks of one gold document.
    """

    kind: ClassVar[Literal["judged", "pool"]] = "judged"

    queries: tuple[str, ...]
    in_run: Bools
    retrieved: Ints
    hit_query: Ints
    hit_rank: Ints
    hit_grade: Floats
    hit_gold: Ints
    gold_grade: Floats
    gold_offsets: Ints

    @classmethod
    def from_hits(
        cls,
        *,
        queries: tuple[str, ...],
        in_run: Bools,
        retrieved: Ints,
        hit_query: Ints,
        hit_rank: Ints,
        hit_gold: Ints,
        gold_grade: Floats,
        gold_offsets: Ints,
    ) -> Self:
        """Make a Judged from hits in any order: sort them, and look up the grade of each."""
        if not _are_sorted(hit_query, hit_rank, hit_gold):
            hit_query, hit_rank, hit_gold = _sorted(hit_query, hit_rank, hit_gold)
        return cls(
            queries=queries,
            in_run=in_run,
            retrieved=retrieved,
            hit_query=hit_query,
            hit_rank=hit_rank,
            hit_grade=gold_grade[hit_gold],
            hit_gold=hit_gold,
            gold_grade=gold_grade,
            gold_offsets=gold_offsets,
        )

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @cached_property
    def golds(self) -> Ints:
        """How many judged documents each query has."""
        return read_only(self.gold_offsets[1:] - self.gold_offsets[:-1])

    @cached_property
    def gold_query(self) -> Ints:
        """The query of each judged document."""
        return np.arange(len(self.queries)).repeat(self.golds)

    def relevant(self, rel: float) -> Ints:
        """How many judged documents of each query have at least this grade."""
        if rel not in self._relevant:
            wanted = self.gold_grade >= rel
            # Often all of them are relevant: then they are counted already.
            counts = self.golds if wanted.all() else self._per_query(self.gold_query[wanted])
            self._relevant[rel] = read_only(counts)
        return self._relevant[rel]

    @cached_property
    def _relevant(self) -> dict[float, Ints]:
        """What `relevant` found, for each grade."""
        return {}

    def nonrelevant(self, rel: float) -> Ints:
        """How many documents of each query were judged not relevant; a negative grade means not judged."""
        return self._per_query(self.gold_query[(self.gold_grade >= 0) & (self.gold_grade < rel)])

    def found(self, k: int | None, rel: float) -> Ints:
        """How many distinct relevant documents are in the top k (the raw view: every pair counts)."""
        if self._one_to_one:
            return self.by_gold.graded(rel).count(k)
        wanted = self.hit_grade >= rel
        if k is not None:
            wanted &= self.hit_rank <= k
        return self._per_query(self.gold_query[distinct(self.hit_gold[wanted])])

    def depth(self, k: int | None) -> Ints:
        """How many documents were retrieved in the top k."""
        return self.retrieved if k is None else np.minimum(self.retrieved, k)

    def view(self, credit: Credit) -> View:
        """The credited ranks: by gold (each gold document is credited once) or by rank (repeats are credited too)."""
        return self.by_gold if credit == "gold" else self.by_rank

    @cached_property
    def by_gold(self) -> View:
        """From the top, each rank is credited with its gold document of the largest grade that is not yet credited."""
        if self._one_to_one:
            return self._all_hits
        if self._one_gold_a_rank:
            # Rows are in rank order, and `unique` keeps the first row of each gold document.
            return self._rows(np.sort(np.unique(self.hit_gold, return_index=True)[1]))
        return self._rows(self._credited_rows())

    @cached_property
    def by_rank(self) -> View:
        """Each rank with a judged document is credited once, with its largest grade."""
        if self._one_gold_a_rank:
            return self._all_hits
        order = np.lexsort((-self.hit_grade, self.hit_rank, self.hit_query))
        query, rank = self.hit_query[order], self.hit_rank[order]
        first = np.r_[True, (query[1:] != query[:-1]) | (rank[1:] != rank[:-1])]
        return self._rows(order[first])

    @cached_property
    def ideal(self) -> View:
        """The best possible ranking: all judged documents of each query, by descending grade."""
        query, grade = self.gold_query, self.gold_grade
        if ((grade[1:] > grade[:-1]) & (query[1:] == query[:-1])).any():
            # Only the grades of a query are sorted, so one sort of numbers that combine both is enough.
            grades = distinct(grade)[::-1]
            keys = query * len(grades)
            keys += np.searchsorted(-grades, -grade)
            keys.sort()
            grade = grades[keys % len(grades)]
        return View(len(self.queries), query, place_in_query(query), grade)

    @cached_property
    def judged_only(self) -> Judged:
        """The same run without its unjudged documents: those below move up. A negative grade is not a judgment."""
        known = self.hit_grade >= 0
        query, rank = self.hit_query[known], self.hit_rank[known]
        first = np.r_[True, (query[1:] != query[:-1]) | (rank[1:] != rank[:-1])][: len(query)]
        return replace(
            self,
            retrieved=self._per_query(query[first]),
            hit_query=query,
            hit_rank=place_in_query(query[first])[np.cumsum(first) - 1],
            hit_grade=self.hit_grade[known],
            hit_gold=self.hit_gold[known],
        )

    def top(self, k: int) -> Judged:
        """The same run with its first k ranks only."""
        kept = self.hit_rank <= k
        return replace(
            self,
            retrieved=self.depth(k),
            hit_query=self.hit_query[kept],
            hit_rank=self.hit_rank[kept],
            hit_grade=self.hit_grade[kept],
            hit_gold=self.hit_gold[kept],
        )

    def regraded(self, grades: Floats) -> Judged:
        """The same judged documents with other grades."""
        return replace(self, gold_grade=grades, hit_grade=grades[self.hit_gold])

    def select(self, keep: Bools) -> Self:
        """Some of the queries."""
        new_index = np.cumsum(keep) - 1
        gold = keep[self.gold_query]
        new_gold = np.cumsum(gold) - 1
        hit = keep[self.hit_query]
        return type(self)(
            queries=tuple(map(self.queries.__getitem__, np.flatnonzero(keep).tolist())),
            in_run=self.in_run[keep],
            retrieved=self.retrieved[keep],
            hit_query=new_index[self.hit_query[hit]],
            hit_rank=self.hit_rank[hit],
            hit_grade=self.hit_grade[hit],
            hit_gold=new_gold[self.hit_gold[hit]],
            gold_grade=self.gold_grade[gold],
            gold_offsets=np.r_[0, np.cumsum(self.golds[keep])],
        )

    @cached_property
    def _all_hits(self) -> View:
        return View(len(self.queries), self.hit_query, self.hit_rank, self.hit_grade)

    @cached_property
    def _one_gold_a_rank(self) -> bool:
        query, rank = self.hit_query, self.hit_rank
        return not bool(((query[1:] == query[:-1]) & (rank[1:] == rank[:-1])).any())

    @cached_property
    def _one_to_one(self) -> bool:
        times = np.bincount(self.hit_gold, minlength=1)
        return self._one_gold_a_rank and int(times.max()) <= 1

    def _credited_rows(self) -> Ints:
        """The rows of `by_gold` if a rank may have several gold documents, rank by rank."""
        order = np.lexsort((-self.hit_grade, self.hit_rank, self.hit_query)).tolist()
        golds, queries, ranks = self.hit_gold.tolist(), self.hit_query.tolist(), self.hit_rank.tolist()
        credited: set[int] = set()
        rows: list[int] = []
        last_rank: tuple[int, int] | None = None
        for row in order:
            if golds[row] not in credited and (queries[row], ranks[row]) != last_rank:
                credited.add(golds[row])
                rows.append(row)
                last_rank = (queries[row], ranks[row])
        return np.asarray(rows, np.int64)

    def _rows(self, rows: Ints) -> View:
        return View(len(self.queries), self.hit_query[rows], self.hit_rank[rows], self.hit_grade[rows])

    def _per_query(self, query: Ints) -> Ints:
        return np.bincount(query, minlength=len(self.queries))


@dataclass(frozen=True, eq=False)
class Pool(Judged):
    """The same with the documents that any query judges, as far as they were retrieved, all with grade 0."""

    kind = "pool"


def _are_sorted(query: Ints, rank: Ints, gold: Ints) -> bool:
    """Whether rows are sorted by query, then by rank, then by gold."""
    same_query = query[1:] == query[:-1]
    same_rank = same_query & (rank[1:] == rank[:-1])
    ascending = query[1:] > query[:-1]
    ascending |= same_query & (rank[1:] > rank[:-1])
    ascending |= same_rank & (gold[1:] >= gold[:-1])
    return bool(ascending.all())


def _sorted(*columns: Ints) -> tuple[Ints, ...]:
    """Rows sorted by the first column, then by the second, and so on; all numbers are at least 0.

    If the columns of a row fit into one number, these are sorted, which is several times as fast as finding the order.
    """
    bits = [int(column.max()).bit_length() for column in columns]
    if sum(bits) > _BITS:
        order = np.lexsort(columns[::-1])
        return tuple(column[order] for column in columns)
    keys = columns[0].astype(np.int64)
    for column, width in zip(columns[1:], bits[1:], strict=True):
        keys <<= width
        keys |= column
    keys.sort()
    separate: list[Ints] = []
    for width in reversed(bits):
        separate.append(keys & ((1 << width) - 1))
        keys >>= width
    return tuple(reversed(separate))
