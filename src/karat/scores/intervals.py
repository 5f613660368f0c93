"""Confidence intervals: of means, sums and geometric means, and of differences between systems.

Those of values with a range are computed from their mean and variance. The others are bootstrap intervals; statistics
over the same queries share the resampling. With very many queries, resampling takes minutes and gives the interval that
can be computed directly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Floats
from karat.output.progress import progress_bar
from karat.registry.combining import after_mean, before_mean
from karat.scores.combining import combination, range_of_terms
from karat.stats import (
    MAX_RESAMPLED,
    ROUNDING,
    abc_interval_of_mean,
    bca_interval,
    bootstrap_means,
    bounded_interval,
)

Interval = tuple[float, float]
FEW_VALUES = 10
"""bootstrap intervals of fewer values are too narrow: 95% intervals of 5 values contain the true mean in 84 to 90%"""


class Statistic(Protocol):
    """A function of the means of columns, over the queries that count; each column has a value per query."""

    @property
    def columns(self) -> tuple[Floats, ...]:
        """The values of all queries, including those that do not count."""

    @property
    def rows(self) -> Bools:
        """A mask of the queries that count: those for which no column is null."""

    @property
    def has_interval(self) -> bool:
        """Whether the values tell how much the statistic varies."""

    def interval(self, means: Sequence[Floats], level: float) -> Interval:
        """The confidence interval, from the means of the columns over resampled queries."""

    def limit(self, level: float) -> Interval | None:
        """The confidence interval without resampling; None if the queries have to be resampled."""


@dataclass(frozen=True, eq=False)
class CombinedValue:
    """The combined value of a measure, from the values that are averaged; NaN is null."""

    measure: str
    column: Floats

    @classmethod
    def of(cls, measure: str, values: Floats) -> CombinedValue:
        """The combined value, from the values of the measure."""
        return cls(measure, before_mean(values, combination(measure)))

    @property
    def columns(self) -> tuple[Floats, ...]:
        return (self.column,)

    @cached_property
    def rows(self) -> Bools:
        return np.asarray(~np.isnan(self.column))

    @cached_property
    def _values(self) -> Floats:
        return self.column[self.rows]

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        return range_of_terms(self.measure)

    @property
    def _has_range(self) -> bool:
        return all(map(math.isfinite, self._bounds))

    @cached_property
    def has_interval(self) -> bool:
        """Whether there are two values or more, and different ones unless they have a finite range."""
        if len(self._values) < 2:
            return False
        first, rounding = float(self._values[0]), ROUNDING * float(np.abs(self._values).max())
        low, high = self._bounds
        is_in_range = self._has_range and low - rounding <= first <= high + rounding
        return is_in_range or bool(np.ptp(self._values) > rounding)

    @property
    def is_narrow(self) -> bool:
        """Whether the interval contains the true value less often than its level says."""
        return self.has_interval and not self._has_range and len(self._values) < FEW_VALUES

    def interval(self, means: Sequence[Floats], level: float) -> Interval:
        """The confidence interval of the combined value."""
        return self._combined(bca_interval(self._values, means[0], level))

    def limit(self, level: float) -> Interval | None:
        """The confidence interval of the combined value, without resampling."""
        values = self._values
        with np.errstate(over="ignore", invalid="ignore"):  # values that are too large to square have no range
            mean, variance = float(values.mean()), float(values.var(ddof=1))
        interval = bounded_interval(len(values), mean, variance, self._bounds, level)
        if interval is None and len(values) > MAX_RESAMPLED:
            interval = abc_interval_of_mean(values, level)
        return None if interval is None else self._combined(interval)

    def _combined(self, interval: Interval) -> Interval:
        low, high = (after_mean(end, combination(self.measure), len(self._values)) for end in interval)
        return low, high


def intervals(statistics: Sequence[Statistic], level: float, resamples: int, seed: int) -> list[Interval | None]:
    """The confidence interval of each statistic; None if the values do not tell how much it varies."""
    results: list[Interval | None] = [None] * len(statistics)
    same_rows: dict[bytes, list[int]] = {}  # the statistics to resample, by the queries that count
    resampled: list[int] = []
    done = 0
    with progress_bar("intervals") as progress:

        def show(share: float) -> None:
            """Show how many intervals are done, and the share of those that are resampled together."""
            if progress is not None:
                progress(done + len(resampled) * share, len(statistics))

        for at, statistic in enumerate(statistics):
            if statistic.has_interval:
                results[at] = statistic.limit(level)
                if results[at] is None:
                    same_rows.setdefault(statistic.rows.tobytes(), []).append(at)
                    continue
            done += 1
            show(0)
        for resampled in same_rows.values():
            rows = statistics[resampled[0]].rows
            columns = {id(column): column for at in resampled for column in statistics[at].columns}
            values = np.column_stack([column[rows] for column in columns.values()])
            drawn = bootstrap_means(values, resamples, seed, lambda part, total: show(part / total / 2))
            means = dict(zip(columns, drawn.T, strict=True))
            for count, at in enumerate(resampled):
                results[at] = statistics[at].interval([means[id(column)] for column in statistics[at].columns], level)
                show((1 + count / len(resampled)) / 2)
            done += len(resampled)
    return results
