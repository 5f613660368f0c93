"""SampleVariance: how much a judge that was asked several times disagrees with itself, query by query and overall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from karat.data.judged import Floats, Ints
from karat.errors import KaratError, Place
from karat.errors.arguments import as_count
from karat.scores.combining import column_sum, differences


@dataclass(frozen=True, eq=False)
class SampleVariance:
    """A row per query: the unbiased variance of the values of a measure in several samples, and how many there are.

    A query has fewer values than there are samples if the measure is undefined in some of them. With fewer than two,
    the variance is NaN.
    """

    samples: int
    within: Floats
    counts: Ints

    @classmethod
    def of(cls, values: Sequence[Floats]) -> SampleVariance:
        """The variance of each query, from the values of two samples or more; NaN is not a value."""
        first = reduce(lambda known, column: np.where(np.isnan(known), column, known), values)
        # Values that differ only by rounding are the same, and have no variance.
        columns = [differences(column, first) for column in values]
        counts = np.sum([~np.isnan(column) for column in values], axis=0)
        mean = column_sum([np.nan_to_num(column) for column in columns]) / np.maximum(counts, 1)
        squares = column_sum([np.nan_to_num((column - mean) ** 2) for column in columns])
        return cls(len(values), np.where(counts < 2, np.nan, squares / np.maximum(counts - 1, 1)), counts)

    def share(self, values: Floats) -> float | None:
        """The share of the variance of single samples that is the judge's own; `values` are the means of the samples.

        That is the variance within queries over the sum of it and that between queries, both by the unbiased
        estimators of a one-way analysis of variance, of which the second is at least 0. With fewer than two values,
        there is none.

        >>> SampleVariance(2, np.array([0.0, 0.125]), np.array([2, 2])).share(np.array([1, 0.25]))
        0.2
        """
        known = ~(np.isnan(self.within) | np.isnan(values))
        if known.sum() < 2:
            return None
        own = float(self.within[known].mean())
        of_means = float((self.within[known] / self.counts[known]).mean())
        between = max(0.0, float(np.var(values[known], ddof=1)) - of_means)
        return own / (own + between) if own else 0.0

    def take(self, rows: Ints) -> SampleVariance:
        """Some of the queries, by their positions; -1 is a query without a value."""
        return replace(self, within=np.append(self.within, np.nan)[rows], counts=np.append(self.counts, 0)[rows])

    def to_dict(self, queries: Sequence[str], values: Floats) -> dict[str, Any]:
        """What is saved: the share, the variances of the queries whose samples differ, and which have fewer values."""
        differing = np.flatnonzero(self.within > 0).tolist()
        fewer = np.flatnonzero((self.counts < self.samples) & ~np.isnan(values)).tolist()
        return {
            "samples": self.samples,
            "share": self.share(values),
            "queries": {queries[at]: float(self.within[at]) for at in differing},
            **({"fewer": {queries[at]: int(self.counts[at]) for at in fewer}} if fewer else {}),
        }

    @classmethod
    def from_dict(cls, data: Any, queries: Sequence[str], values: Floats, place: Place | str) -> SampleVariance:
        """The variance that `to_dict` returned; `place` is the file it is from, for errors."""
        try:
            samples = as_count(data["samples"], 2)
            known = np.array([float(data["queries"].get(query, 0.0)) for query in queries])
            fewer = data.get("fewer", {})
            counts = np.array([as_count(fewer.get(query, samples), 1) or 0 for query in queries], np.int64)
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            samples, known, counts = None, np.zeros(0), np.zeros(0, np.int64)
        if samples is None or not ((known >= 0) & np.isfinite(known)).all() or (counts < 1).any():
            raise KaratError("the variances of its samples are damaged", place=place, hint="Save the scores again.")
        return cls(samples, np.where(np.isnan(values) | (counts < 2), np.nan, known), counts)


def variances_of_rows(variances: Mapping[str, SampleVariance], rows: Ints) -> dict[str, SampleVariance]:
    """The variances of some of the queries, for each measure."""
    return {measure: each.take(rows) for measure, each in variances.items()}
