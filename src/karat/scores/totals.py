"""Totals: what means and intervals need to know of queries, without their values. Those of several parts are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from karat.data.judged import Floats
from karat.errors import KaratError, Place
from karat.scores.combining import before_mean, combination
from karat.stats import Moments


@dataclass(frozen=True)
class Totals:
    """The number of queries, and for each measure the moments of the values that are averaged; null has none."""

    queries: int = 0
    moments: Mapping[str, Moments] = field(default_factory=dict)

    @classmethod
    def of(cls, queries: Sequence[str], values: Mapping[str, Floats]) -> Totals:
        """The totals of queries and the values of their measures, where NaN is null."""
        return cls(len(queries), {name: _moments(name, queries, column) for name, column in values.items()})

    def __add__(self, other: Totals) -> Totals:
        """The totals of other queries, too."""
        names = dict.fromkeys([*self.moments, *other.moments])
        moments = {name: self.moments.get(name, Moments()) + other.moments.get(name, Moments()) for name in names}
        return Totals(self.queries + other.queries, moments)


def _moments(measure: str, queries: Sequence[str], column: Floats) -> Moments:
    for at in np.flatnonzero(np.abs(column) > Moments.largest).tolist():
        hint = "Use finite values, and null for queries that could not be judged."
        place = Place(f"query {queries[at]}")
        raise KaratError(f"{measure} is {column[at]:g}, which is too large to be a score", place=place, hint=hint)
    return Moments.of(before_mean(column[~np.isnan(column)], combination(measure)))
