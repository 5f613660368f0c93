"""Bootstrap confidence intervals; statistics over the same queries share the resampling."""

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
    """A function of the means of columns, over the queries that count; each column has a value per query."""

    @property
    def columns(self) -> tuple[Floats, ...]:
        """The values of all queries, including those that do not count."""

    @property
    def rows(self) -> Bools:
        """A mask of the queries that count: those for which no column is null."""

    def interval(self, means: Sequence[Floats], level: float) -> Interval:
        """The confidence interval, from the means of the columns over resampled queries."""


@dataclass(frozen=True, eq=False)
class CombinedValue:
    """The combined value of a measure, from the values that are averaged; NaN is null."""

    column: Floats
    combine: Combine

    @property
    def columns(self) -> tuple[Floats, ...]:
        return (self.column,)

    @property
    def rows(self) -> Bools:
        return ~np.isnan(self.column)

    def interval(self, means: Sequence[Floats], level: float) -> Interval:
        """The confidence interval of the combined value."""
        values = self.column[self.rows]
        low, high = bca_interval(values, means[0], level)
        return after_mean(low, self.combine, len(values)), after_mean(high, self.combine, len(values))


def intervals(statistics: Sequence[Statistic], level: float, resamples: int, seed: int) -> list[Interval | None]:
    """The confidence interval of each statistic; None if no query counts."""
    same_rows: dict[bytes, list[int]] = {}
    for at, statistic in enumerate(statistics):
        same_rows.setdefault(statistic.rows.tobytes(), []).append(at)
    found: list[Interval | None] = [None] * len(statistics)
    for places in same_rows.values():
        rows = statistics[places[0]].rows
        if not rows.any():
            continue
        columns = {id(column): column for at in places for column in statistics[at].columns}
        means = bootstrap_means(np.column_stack([column[rows] for column in columns.values()]), resamples, seed)
        column_means = dict(zip(columns, means.T, strict=True))
        for at in places:
            resampled = [column_means[id(column)] for column in statistics[at].columns]
            found[at] = statistics[at].interval(resampled, level)
    return found
