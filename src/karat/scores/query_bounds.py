"""QueryBounds: the lowest and the highest value that a measure could have, for each query and on average."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from karat.errors import KaratError, Place
from karat.judged import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class QueryBounds:
    """One row per query: the lowest and the highest value, and whether they are exact or a safe estimate.

    Both equal the value of a query whose labels are known, and are NaN if there is nothing to judge. A query that is
    `nullable` has nothing to judge for some values of its unknown labels, but not for all.
    """

    low: Floats
    high: Floats
    exact: Bools
    nullable: Bools

    @classmethod
    def exactly(cls, low: Floats, high: Floats) -> QueryBounds:
        """Bounds that are exact, of queries that certainly have something to judge, unless they are NaN."""
        return cls(low, high, np.ones(len(low), bool), np.zeros(len(low), bool))

    @property
    def unknown(self) -> Bools:
        """Queries whose value depends on unknown labels."""
        return (self.low < self.high) | self.nullable

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The values of all queries for which their mean is lowest, and those for which it is highest.

        A nullable query has nothing to judge (NaN) where its value would move the mean in the other direction.
        """
        return -self._highest(-self.low), self._highest(self.high)

    def _highest(self, values: Floats) -> Floats:
        """These values, without those of the nullable queries that would lower the mean."""
        uncertain = np.flatnonzero(self.nullable & ~np.isnan(values))
        if not len(uncertain):
            return values
        uncertain = uncertain[np.argsort(-values[uncertain], kind="stable")]
        certain = values[~self.nullable & ~np.isnan(values)]
        sums = [*accumulate(values[uncertain].tolist(), initial=math.fsum(certain))]
        means = [total / count if count else -math.inf for count, total in enumerate(sums, len(certain))]
        highest = values.copy()
        highest[uncertain[means.index(max(means)) :]] = np.nan
        return highest

    @property
    def mean(self) -> tuple[float | None, float | None]:
        """The lowest and the highest mean over all queries that have anything to judge; None if no query has."""
        low, high = (side[~np.isnan(side)] for side in self.extremes)
        return (math.fsum(low) / len(low), math.fsum(high) / len(high)) if len(low) else (None, None)

    def lacking(self, values: Floats) -> Bools:
        """Queries without a value because labels are missing; others without one have nothing to judge."""
        return np.isnan(values) & ~np.isnan(self.low)

    def take(self, rows: Ints) -> QueryBounds:
        """Some of the queries, by their positions; -1 is a query with nothing to judge."""
        low, high = (np.append(side, np.nan)[rows] for side in (self.low, self.high))
        return QueryBounds(low, high, np.append(self.exact, True)[rows], np.append(self.nullable, False)[rows])

    def to_dict(self, queries: Sequence[str], values: Floats) -> dict[str, Any]:
        """What is saved: the mean, and the bounds of the queries that lack labels; those of others are their values."""
        lacking = np.flatnonzero(self.lacking(values)).tolist()
        low, high = self.mean
        return {
            "low": low,
            "high": high,
            "exact": bool(self.exact.all()),
            "unknown": len(lacking),
            "queries": {queries[at]: [float(self.low[at]), float(self.high[at])] for at in lacking},
            "estimated": [queries[at] for at in lacking if not self.exact[at]],
            "nullable": [queries[at] for at in lacking if self.nullable[at]],
        }

    @classmethod
    def from_dict(cls, data: Any, queries: Sequence[str], values: Floats, place: Place | str) -> QueryBounds:
        """The bounds that `to_dict` returned; `where` is the file they are from, for errors."""
        low, high = values.copy(), values.copy()
        exact, nullable = np.ones(len(values), bool), np.zeros(len(values), bool)
        position = {query: at for at, query in enumerate(queries)}
        try:
            estimated, may_be_null = {*data["estimated"]}, {*data["nullable"]}
            for query, (lowest, highest) in data["queries"].items():
                at = position.get(query)  # a query may have been removed from the file
                if at is not None:
                    low[at], high[at], exact[at] = float(lowest), float(highest), query not in estimated
                    nullable[at] = query in may_be_null
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            raise KaratError("its bounds are damaged", place=place, hint="Save the scores again.") from None
        return cls(low, high, exact, nullable)


def bounds_of_rows(bounds: Mapping[str, QueryBounds], rows: Ints) -> dict[str, QueryBounds]:
    """The bounds of some of the queries, for each measure."""
    return {measure: each.take(rows) for measure, each in bounds.items()}
