"""Bootstrap confidence intervals; statistics over the same queries share the resampling.

With very many queries, resampling takes minutes and gives the interval that can be computed directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from karat.judged import Bools, Floats
from karat.output.progress import progress_bar
from karat.registry import Combine
from karat.scores.combining import after_mean
from karat.stats import MAX_RESAMPLED, abc_interval_of_mean, bca_interval, bootstrap_means

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

    def limit(self, level: float) -> Interval | None:
        """The confidence interval for very many queries, without resampling; None if they are too skewed for it."""


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
        return self._combined(bca_interval(self.column[self.rows], means[0], level))

    def limit(self, level: float) -> Interval | None:
        """The confidence interval of the combined value, without resampling."""
        found = abc_interval_of_mean(self.column[self.rows], level)
        return None if found is None else self._combined(found)

    def _combined(self, interval: Interval) -> Interval:
        n = int(self.rows.sum())
        low, high = (after_mean(end, self.combine, n) for end in interval)
        return low, high


def intervals(statistics: Sequence[Statistic], level: float, resamples: int, seed: int) -> list[Interval | None]:
    """The confidence interval of each statistic; None if no query counts."""
    same_rows: dict[bytes, list[int]] = {}
    for at, statistic in enumerate(statistics):
        same_rows.setdefault(statistic.rows.tobytes(), []).append(at)
    found: list[Interval | None] = [None] * len(statistics)
    done = 0
    with progress_bar("intervals") as progress:

        def show(part: float, total: int) -> None:
            """Show how much of the resampling of the statistics over the same queries is done."""
            if progress is not None:
                progress(done + len(resampled) * part / total, len(statistics))

        for places in same_rows.values():
            rows = statistics[places[0]].rows
            resampled = places
            if rows.sum() > MAX_RESAMPLED:
                resampled = []
                for at in places:
                    found[at] = statistics[at].limit(level)
                    if found[at] is None:
                        resampled.append(at)
                    else:
                        done += 1
                        show(0, 1)
            if resampled and rows.any():
                columns = {id(column): column for at in resampled for column in statistics[at].columns}
                values = np.column_stack([column[rows] for column in columns.values()])
                drawn = bootstrap_means(values, resamples, seed, lambda part, total: show(part, 2 * total))
                means = dict(zip(columns, drawn.T, strict=True))
                for count, at in enumerate(resampled):
                    found[at] = statistics[at].interval([means[id(column)] for column in statistics[at].columns], level)
                    show(len(resampled) + count, 2 * len(resampled))
            done += len(resampled)
    return found
