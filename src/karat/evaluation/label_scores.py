"""LabelScores: the values of queries by their labels, with what they could be, for all queries or a part of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import numpy as np

from karat.analysis.label_bounds import Cost, affordable, combination_costs, label_bounds, limit_of
from karat.data.judged import Bools, Floats, Ints
from karat.grounding.labels.selection import SelectedLabels
from karat.registry import Measure
from karat.scores.bounds import Bounds, bounds_of_rows
from karat.scores.combining import column_sum, differences
from karat.scores.sample_variance import SampleVariance, variances_of_rows

Limits = Mapping[tuple[str, int], Cost]
"""for a measure and a sample: the queries with this cost or more are not tried in all combinations"""


@dataclass(frozen=True, eq=False)
class LabelScores:
    """The values of queries: of several samples, the mean of each measure over those in which it is defined.

    `bounds` are there for measures that lack a value, and `variances` for those of several samples.
    """

    queries: tuple[str, ...]
    values: Mapping[str, Floats]
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    variances: Mapping[str, SampleVariance] = field(default_factory=dict)
    costs: Mapping[tuple[str, int], Sequence[Cost]] = field(default_factory=dict)
    """for a measure and a sample: what it costs to try all combinations of unknown labels"""

    @classmethod
    def of(
        cls, selected: SelectedLabels, samples: Mapping[Measure, Sequence[int]], limits: Limits | None = None
    ) -> Self:
        """The values of measures, each in the samples that have labels for it.

        The `limits` are those of all queries; without them, they follow from the queries that are there.
        """
        verdicts = dict(zip(selected.facts.relations, selected.samples, strict=True))
        values, bounds, variances, costs = {}, {}, {}, {}
        for measure, numbers in samples.items():
            column = str(measure)
            of_samples = [measure.compute(verdicts[number]) for number in numbers]
            values[column] = column_sum(of_samples) / len(of_samples)
            if np.isnan(values[column]).any():
                sample_bounds = []
                for number, of_sample in zip(numbers, of_samples, strict=True):
                    own = costs[column, number] = combination_costs(measure, verdicts[number], of_sample)
                    limit = limit_of(own) if limits is None else limits.get((column, number))
                    sample_bounds.append(label_bounds(measure, verdicts[number], of_sample, limit))
                bounds[column] = _mean_bounds(sample_bounds)
                # Whatever the unknown labels are, the value may be the same.
                values[column] = bounds[column].value
                of_samples = [np.where(np.isnan(values[column]), np.nan, sample.low) for sample in sample_bounds]
            if len(of_samples) > 1:
                variances[column] = SampleVariance.of(of_samples)
        return cls(selected.samples[0].queries, values, bounds, variances, costs)

    @classmethod
    def merged(cls, parts: Iterable[Self], order: Sequence[Any] | None = None) -> Self:
        """The values of the queries of all parts, in the order of their ids, or of what `order` has for each."""
        all_parts = list(parts)
        columns = all_parts[0].values.keys()
        queries = tuple(chain.from_iterable(part.queries for part in all_parts))
        values = {name: np.concatenate([part.values[name] for part in all_parts]) for name in columns}
        with_bounds = [name for name in columns if any(name in part.bounds for part in all_parts)]
        bounds = {name: _joined([part._bounds(name) for part in all_parts]) for name in with_bounds}
        variances = {
            name: SampleVariance(
                one.samples,
                np.concatenate([part.variances[name].within for part in all_parts]),
                np.concatenate([part.variances[name].counts for part in all_parts]),
            )
            for name, one in all_parts[0].variances.items()
        }
        keys = dict.fromkeys(chain.from_iterable(part.costs for part in all_parts))
        costs = {key: affordable(chain.from_iterable(part.costs.get(key, ()) for part in all_parts)) for key in keys}
        rows = np.array(sorted(range(len(queries)), key=(order or queries).__getitem__), np.int64)
        return cls(queries, values, bounds, variances, costs)._take(rows)

    @property
    def limits(self) -> Limits:
        """The first costs that are too much, where there are any."""
        return {key: limit for key, costs in self.costs.items() if (limit := limit_of(costs)) is not None}

    def _bounds(self, name: str) -> Bounds:
        """The bounds of a measure, also if all its values are known."""
        return self.bounds.get(name) or Bounds.of_values(name, self.queries, self.values[name])

    def _take(self, rows: Ints) -> Self:
        queries = tuple(self.queries[row] for row in rows.tolist())
        return type(self)(
            queries,
            {name: values[rows] for name, values in self.values.items()},
            bounds_of_rows(self.bounds, rows, queries),
            variances_of_rows(self.variances, rows),
            self.costs,
        )


def _mean_bounds(samples: Sequence[Bounds]) -> Bounds:
    """The bounds of the mean over the samples that have anything to judge; there is none if more than half have not."""
    nullable = np.array([bounds.nullable for bounds in samples])
    low = 0.0 - _highest_mean(-np.array([bounds.low for bounds in samples]), nullable)  # 0 is not to become -0
    high = _highest_mean(np.array([bounds.high for bounds in samples]), nullable)
    high = np.where(differences(high, low) == 0, low, high)
    certain = np.sum([~(np.isnan(bounds.low) | bounds.nullable) for bounds in samples], axis=0)
    exact = np.logical_and.reduce([bounds.exact for bounds in samples]) | np.isnan(low)
    nullable_mean = (2 * certain < len(samples)) & ~np.isnan(low)
    return Bounds.of_labels(samples[0].measure, samples[0].queries, low, high, exact, nullable_mean)


def _highest_mean(values: Floats, nullable: Bools) -> Floats:
    """The highest mean of each column, of which values that are nullable may be left out; NaN is left out anyway.

    At least half of the values must remain; otherwise, there is no mean.
    """
    place = np.argsort(np.argsort(np.where(nullable, -values, np.inf), axis=0, kind="stable"), axis=0)
    highest = np.full(values.shape[1], np.nan)
    for number in range(nullable.sum(axis=0).max(initial=0) + 1):
        kept = ~np.isnan(values) & (~nullable | (place < number))
        count = kept.sum(axis=0)
        mean = column_sum([*np.where(kept, values, 0.0)]) / np.maximum(count, 1)
        highest = np.where(2 * count >= len(values), np.fmax(highest, mean), highest)
    return highest


def _joined(parts: Sequence[Bounds]) -> Bounds:
    """The bounds of the queries of all parts."""
    queries = tuple(chain.from_iterable(part.queries for part in parts))
    low, high, exact, nullable = (
        np.concatenate([getattr(part, side) for part in parts]) for side in ("low", "high", "exact", "nullable")
    )
    return Bounds.of_labels(parts[0].measure, queries, low, high, exact, nullable)
