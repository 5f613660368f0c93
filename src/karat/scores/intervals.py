"""Confidence intervals of means, and of what is made of them: one pass of resampling serves all of the same queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from karat.judged import Bools, Floats
from karat.registry import Combine
from karat.scores.combining import after_mean
from karat.stats import bca_interval, bootstrap_means

Interval = tuple[float, float]


class Statistic(Protocol):
    """What has an interval: columns, with a value per query that is averaged, and the queries that count."""

    @property
    def columns(self) -> tuple[Floats, ...]:
        """The values of all queries, those that do not count as well."""

    @property
    def rows(self) -> Bools:
        """Which queries count: there no column is null."""

    def interval(self, means: Sequence[Floats], level: float) -> Interval:
        """The interval, from the means of the columns over resampled queries."""


@dataclass(frozen=True, eq=False)
class CombinedValue:
    """A column of a measure, as its values are averaged; NaN is null."""

    column: Floats
    combine: Combine

    @property
    def columns(self) -> tuple[Floats, ...]:
        return (self.column,)

    @property
    def rows(self) -> Bools:
        return ~np.isnan(self.column)

    def interval(self, means: Sequence[Floats], level: float) -> Interval:
        """Where the combined value would be for other queries of this kind."""
        values = self.column[self.rows]
        low, high = bca_interval(values, means[0], level)
        return after_mean(low, self.combine, len(values)), after_mean(high, self.combine, len(values))


def intervals(members: Sequence[Statistic], level: float, resamples: int, seed: int) -> list[Interval | None]:
    """The interval of each; None where no query counts."""
    together: dict[bytes, list[int]] = {}
    for at, member in enumerate(members):
        together.setdefault(member.rows.tobytes(), []).append(at)
    found: list[Interval | None] = [None] * len(members)
    for places in together.values():
        rows = members[places[0]].rows
        if not rows.any():
            continue
        columns = {id(column): column for at in places for column in members[at].columns}
        means = bootstrap_means(np.column_stack([column[rows] for column in columns.values()]), resamples, seed)
        of_column = dict(zip(columns, means.T, strict=True))
        for at in places:
            drawn = [of_column[id(column)] for column in members[at].columns]
            found[at] = members[at].interval(drawn, level)
    return found
