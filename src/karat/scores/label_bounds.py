"""LabelBounds: what a measure of verdicts could be, for each query and on average, whatever its unknown labels are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from karat.errors import KaratError
from karat.judged import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class LabelBounds:
    """One row per query: the lowest and the highest value, and whether they are exact or a safe estimate.

    Both equal the value of a query whose labels are known, and are NaN if there is nothing to judge. A query that is
    `nullable` has nothing to judge for some values of its unknown labels, but not for all.
    """

    low: Floats
    high: Floats
    exact: Bools
    nullable: Bools

    @property
    def unknown(self) -> Bools:
        """Queries whose value depends on unknown labels."""
        return (self.low < self.high) | self.nullable

    @property
    def mean(self) -> tuple[float, float]:
        """The lowest and the highest mean over all queries that have anything to judge, nullable ones or not."""
        return 0.0 - self._highest_mean(-self.low), self._highest_mean(self.high)

    def _highest_mean(self, values: Floats) -> float:
        judged = ~np.isnan(values)
        certain, uncertain = values[judged & ~self.nullable], np.sort(values[judged & self.nullable])[::-1].tolist()
        sums = [*accumulate(uncertain, initial=math.fsum(certain))]
        means = [total / count for count, total in enumerate(sums, len(certain)) if count]
        return max(means, default=0.0)

    def lacking(self, values: Floats) -> Bools:
        """Queries without a value because labels are missing; others without one have nothing to judge."""
        return np.isnan(values) & ~np.isnan(self.low)

    def take(self, rows: Ints) -> LabelBounds:
        """Some of the queries, by their positions; -1 is a query with nothing to judge."""
        low, high = (np.append(side, np.nan)[rows] for side in (self.low, self.high))
        return LabelBounds(low, high, np.append(self.exact, True)[rows], np.append(self.nullable, False)[rows])

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
    def from_dict(cls, data: Any, queries: Sequence[str], values: Floats, where: str) -> LabelBounds:
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
            raise KaratError("its bounds are damaged", where=where, hint="Save the scores again.") from None
        return cls(low, high, exact, nullable)


def bounds_of_rows(bounds: Mapping[str, LabelBounds], rows: Ints) -> dict[str, LabelBounds]:
    """The bounds of some of the queries, for each measure."""
    return {measure: each.take(rows) for measure, each in bounds.items()}
