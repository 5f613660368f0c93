"""SampleVariance: how much a judge that was asked several times disagrees with itself, query by query and overall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from karat.arguments import as_count
from karat.errors import KaratError
from karat.judged import Floats, Ints
from karat.scores.combining import differences


@dataclass(frozen=True, eq=False)
class SampleVariance:
    """For each measure, a row per query: the unbiased variance of the values of its samples; NaN if it has no value."""

    samples: int
    within: Mapping[str, Floats]

    @staticmethod
    def of_queries(samples: Sequence[Floats]) -> Floats:
        """The variance of each query, from the values of two samples or more."""
        values = np.array(samples)
        # Values that differ only by rounding are the same, and have no variance.
        return np.asarray(np.var(differences(values, values[0]), axis=0, ddof=1))

    def shares(self, values: Mapping[str, Floats]) -> dict[str, float]:
        """For each measure the share of the variance of single samples that is the judge's own; `values` are the means.

        That is the variance within queries over the sum of it and that between queries, both by the unbiased
        estimators of a one-way analysis of variance, of which the second is at least 0. A measure with
        fewer than two values has none.

        >>> SampleVariance(2, {"Faithfulness": np.array([0.0, 0.125])}).shares({"Faithfulness": np.array([1, 0.25])})
        {'Faithfulness': 0.2}
        """
        found = {}
        for measure, within in self.within.items():
            known = ~(np.isnan(within) | np.isnan(values[measure]))
            if known.sum() > 1:
                own = float(within[known].mean())
                between = max(0.0, float(np.var(values[measure][known], ddof=1)) - own / self.samples)
                found[measure] = own / (own + between) if own else 0.0
        return found

    def take(self, rows: Ints) -> SampleVariance:
        """Some of the queries, by their positions; -1 is a query without a value."""
        return replace(self, within={name: np.append(each, np.nan)[rows] for name, each in self.within.items()})

    def named(self, names: Mapping[str, str]) -> SampleVariance:
        """Some of the measures, by their new names."""
        return replace(self, within={names[name]: each for name, each in self.within.items() if name in names})

    def to_dict(self, queries: Sequence[str], values: Mapping[str, Floats]) -> dict[str, Any]:
        """What is saved: the shares, and the variances of the queries whose samples differ."""
        differing = {name: np.flatnonzero(each > 0).tolist() for name, each in self.within.items()}
        return {
            "samples": self.samples,
            "shares": self.shares(values),
            "variances": {
                name: {queries[at]: float(self.within[name][at]) for at in rows} for name, rows in differing.items()
            },
        }

    @classmethod
    def from_dict(
        cls, data: Any, queries: Sequence[str], values: Mapping[str, Floats], asked: Mapping[str, str], where: str
    ) -> SampleVariance:
        """What `to_dict` returned; `asked` are names of columns in `values`, and `where` is the file, for errors."""
        within: dict[str, Floats] = {}
        try:
            samples = as_count(data["samples"], 2)
            for name, variances in data["variances"].items():
                column = asked.get(name, name)
                if column in values:  # it may have been removed from the file
                    known = [float(variances.get(query, 0.0)) for query in queries]
                    within[column] = np.where(np.isnan(values[column]), np.nan, known)
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            samples = None
        if samples is None or any((each < 0).any() or np.isinf(each).any() for each in within.values()):
            raise KaratError("the variances of its samples are damaged", where=where, hint="Save the scores again.")
        return cls(samples, within)
