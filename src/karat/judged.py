"""Judged: the ranks and grades that every retrieval measure is computed from, and three views of them.

The views differ in how repeats are credited, if a rank matches several gold documents or a gold document is found at
several ranks:

- raw: every pair of a rank and a gold document counts (R, RecallAll, Success);
- by gold: each gold document is credited once, and each rank with at most one gold document (AP, nDCG, RR, ...);
- by rank: each rank with a judged document is credited, repeats included (P, and AP or nDCG with `credit=rank`).

Code that makes a Judged knows nothing about measures, and measures know nothing about files, strings or documents.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Number = TypeVar("Number", np.int64, np.float64)
Known = TypeVar("Known")
Credit = Literal["gold", "rank"]


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
    _relevant: dict[float, Ints] = field(default_factory=dict, init=False, repr=False)

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
            order = np.lexsort((hit_gold, hit_rank, hit_query))
            hit_query, hit_rank, hit_gold = hit_query[order], hit_rank[order], hit_gold[order]
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
        return _read_only(self.gold_offsets[1:] - self.gold_offsets[:-1])

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
            self._relevant[rel] = _read_only(counts)
        return self._relevant[rel]

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
            queries=tuple(query for query, kept in zip(self.queries, keep.tolist(), strict=True) if kept),
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


@dataclass(frozen=True, eq=False)
class View:
    """Ranks with their grades, at most one row per query and rank, ordered by query and rank.

    What measures that differ only by their cut-offs have in common is computed once.
    """

    n: int
    query: Ints
    rank: Ints
    grade: Floats
    _known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def top(self, k: int | None) -> View:
        """The rows of the first k ranks."""
        k = self._cutoff(k)
        return self if k is None else self.where(self.rank <= k)

    def graded(self, rel: float) -> View:
        """The rows with at least this grade."""

        def some() -> View | None:
            view = self.where(self.grade >= rel)
            return None if view is self else view  # a cycle would keep it in memory for longer

        return self.once(("graded", rel), some) or self

    def where(self, rows: Bools) -> View:
        return self if rows.all() else View(self.n, self.query[rows], self.rank[rows], self.grade[rows])

    def count(self, k: int | None = None) -> Ints:
        """How many rows each query has in the first k ranks."""
        k = self._cutoff(k)

        def counts() -> Ints:
            query = self.query if k is None else self.query[self.rank <= k]
            return np.bincount(query, minlength=self.n)

        return self.once(("count", k), counts)

    def sum(self, values: Floats, k: int | None = None) -> Floats:
        """The sum of a value per row, for each query, taken in rank order down to rank k."""
        query, k = self.query, self._cutoff(k)
        if k is not None:
            rows = self.rank <= k
            query, values = query[rows], values[rows]
        total: Floats = np.bincount(query, weights=values, minlength=self.n)  # type: ignore[assignment]  # the stubs ignore weights
        return total

    def place(self) -> Ints:
        """The position of each row among the rows of its query, from 1."""
        return self.once("place", lambda: place_in_query(self.query))

    def precision(self) -> Floats:
        """The share of the ranks down to each row that have a row."""
        return self.once("precision", lambda: self.place() / self.rank)

    def once(self, key: Hashable, compute: Callable[[], Known]) -> Known:
        """What `compute` returns, computed when it is first asked for; an array that nobody can change."""
        if key not in self._known:
            value = compute()
            self._known[key] = _read_only(value) if isinstance(value, np.ndarray) else value
        known: Known = self._known[key]
        return known

    def _cutoff(self, k: int | None) -> int | None:
        """The cut-off, or None if no row is below it."""
        return None if k is None or k >= self.once("last rank", lambda: int(self.rank.max(initial=0))) else k

    def above(self, rows: Bools) -> Ints:
        """How many of these rows are above each row, in its query."""
        running: Ints = np.cumsum(rows) - rows
        first = np.arange(len(rows)) - (self.place() - 1)
        counts: Ints = running - running[first]
        return counts

    def product_above(self, factors: Floats) -> Floats:
        """The product of the factors above each row, in its query.

        Computed in rank order, so that the value of a query never depends on other queries: for all queries at once,
        place by place, or query by query if there are fewer queries than places.
        """
        place = self.place()
        product = np.ones(len(place))
        starts = np.flatnonzero(place == 1)
        if len(starts) < place.max(initial=1):
            for start, stop in pairwise([*starts.tolist(), len(place)]):
                product[start + 1 : stop] = np.multiply.accumulate(factors[start : stop - 1])
            return product
        by_place = np.argsort(place, kind="stable")
        bounds = np.searchsorted(place[by_place], np.arange(2, place.max(initial=1) + 2))
        for start, stop in pairwise(bounds.tolist()):
            rows = by_place[start:stop]
            product[rows] = product[rows - 1] * factors[rows - 1]
        return product


def _read_only(values: NDArray[Number]) -> NDArray[Number]:
    """The same array, which several measures read and none may change."""
    values.setflags(write=False)
    return values


def _are_sorted(query: Ints, rank: Ints, gold: Ints) -> bool:
    """Whether rows are sorted by query, then by rank, then by gold."""
    same_query = query[1:] == query[:-1]
    same_rank = same_query & (rank[1:] == rank[:-1])
    ascending = query[1:] > query[:-1]
    ascending |= same_query & (rank[1:] > rank[:-1])
    ascending |= same_rank & (gold[1:] >= gold[:-1])
    return bool(ascending.all())


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The distinct values in ascending order: np.unique, which would load numpy.ma."""
    ascending: NDArray[Number] = np.sort(values)
    return ascending[stretches(ascending)[:-1]]


def stretches(values: NDArray[Any]) -> Ints:
    """Where each stretch of equal values begins, and at the end the number of values."""
    is_bound = np.ones(len(values) + 1, bool)
    is_bound[1:-1] = values[1:] != values[:-1]
    return is_bound.nonzero()[0]


def place_in_query(query: Ints) -> Ints:
    """1, 2, 3, … within each run of equal values of a sorted array."""
    bounds = stretches(query)
    starts: Ints = bounds[:-1].repeat(bounds[1:] - bounds[:-1])
    return np.arange(1, len(query) + 1) - starts


def ranges(first: Ints, lengths: Ints) -> Ints:
    """The integers of several ranges, one range after the other."""
    before: Ints = lengths.cumsum() - lengths
    offsets: Ints = (first - before).repeat(lengths)
    return offsets + np.arange(len(offsets))


def share(part: NDArray[np.generic], whole: NDArray[np.generic] | float) -> Floats:
    """part / whole, and 0 where whole is 0."""
    shares: Floats = np.zeros(part.shape)
    np.divide(part, whole, out=shares, where=np.not_equal(whole, 0))
    return shares
