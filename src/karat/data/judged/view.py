"""View: the rows of Judged that a measure reads, and what measures compute from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from karat.data.judged.arrays import Bools, Floats, Ints, place_in_query, read_only

Known = TypeVar("Known")


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
            self._known[key] = read_only(value) if isinstance(value, np.ndarray) else value
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
        """The product of the factors above each row, in its query."""
        above = np.ones(len(factors))
        above[1:] = np.where(self.place()[1:] == 1, 1.0, self.running(np.multiply, factors)[:-1])
        return above

    def running(self, operation: np.ufunc, values: Floats) -> Floats:
        """The sum or product of the values down to each row, in its query.

        Computed in rank order, so that the value of a query never depends on other queries: for all queries at once,
        place by place, or query by query if there are fewer queries than places.
        """
        place = self.place()
        result = np.array(values, np.float64)
        starts = np.flatnonzero(place == 1)
        if len(starts) < place.max(initial=1):
            for start, stop in pairwise([*starts.tolist(), len(place)]):
                result[start:stop] = operation.accumulate(result[start:stop])
            return result
        for rows in self.once("rows by place", self._rows_by_place):
            result[rows] = operation(result[rows - 1], result[rows])
        return result

    def _rows_by_place(self) -> list[Ints]:
        """The second row of each query, the third one, and so on."""
        place = self.place()
        by_place = np.argsort(place, kind="stable")
        return np.split(by_place, np.searchsorted(place[by_place], np.arange(2, place.max(initial=1) + 1)))[1:]
