"""Corrections: the values of people for a random sample of the queries, which correct the mean of a model's values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Floats, Ints
from karat.errors import KaratError, Place
from karat.registry import Combine
from karat.registry.combining import after_mean, before_mean
from karat.scores.combining import combination, combined_terms, known_range, range_of_terms
from karat.stats import CorrectedMean

_LARGEST = 1e100  # of a value whose square can be computed
ENOUGH = 50
"""with fewer labelled queries, the interval is that of people alone, and the corrected mean is marked"""


@dataclass(frozen=True, eq=False)
class ValuesByPeople:
    """A row per query: the value by the labels of people, NaN if the query is not in the sample or they lack labels.

    `by` says who the people are, `model` whose values are corrected, and `drawn` how many queries the sample has, of
    which people may not have labelled all yet.
    """

    people: Floats
    by: str
    model: str
    drawn: int

    def take(self, rows: Ints) -> ValuesByPeople:
        """Some of the queries, by their positions; -1 is a query without a value."""
        return replace(self, people=np.append(self.people, np.nan)[rows])

    def to_dict(self, queries: Sequence[str]) -> dict[str, Any]:
        """What is saved: the values of people, by query."""
        labelled = np.flatnonzero(~np.isnan(self.people)).tolist()
        values = {queries[at]: float(self.people[at]) for at in labelled}
        return {"by": self.by, "model": self.model, "drawn": self.drawn, "queries": values}

    @classmethod
    def from_dict(cls, measure: str, data: Any, queries: Sequence[str], place: Place | str) -> Self:
        """The correction of a measure that `to_dict` returned; `place` is the file it is from, for errors."""
        try:
            known = {query: float(value) for query, value in data["queries"].items()}
            people = np.array([known.get(query, np.nan) for query in queries], np.float64)
            correction = cls(people, str(data["by"]), str(data["model"]), int(data["drawn"]))
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            raise KaratError("the values of people are damaged", place=place, hint="Save the scores again.") from None
        low, high = known_range(measure) or (-math.inf, math.inf)
        if (people < max(low, -_LARGEST)).any() or (people > min(high, _LARGEST)).any():
            what = f"a value of people is outside of the range of {measure}"
            raise KaratError(what, place=place, hint="Save the scores again.")
        return correction


def corrections_of_rows(corrections: Mapping[str, ValuesByPeople], rows: Ints) -> dict[str, ValuesByPeople]:
    """The corrections of some of the queries, for each measure."""
    return {measure: each.take(rows) for measure, each in corrections.items()}


@dataclass(frozen=True, eq=False)
class CorrectedValue:
    """The value of a measure over all queries: by a model, by people for the sample, and corrected.

    A query counts if the model has a value for it; people count for those of these that they labelled. Values of
    differences between two systems are corrected in the same way.
    """

    measure: str
    model_values: Floats
    people_values: Floats
    bounds: tuple[float, float]
    """the range of the values that are averaged"""
    combine: Combine = "mean"

    @classmethod
    def of(cls, measure: str, values: Floats, correction: ValuesByPeople) -> Self:
        """The value of a measure, from a model's values and their correction."""
        combine = combination(measure)
        known = ~np.isnan(values)
        model, people = (before_mean(each[known], combine) for each in (values, correction.people))
        return cls(measure, model, people, range_of_terms(measure), combine)

    @cached_property
    def estimate(self) -> CorrectedMean:
        """The corrected mean of the values that are averaged."""
        return CorrectedMean.of(self.people_values, self.model_values)

    @cached_property
    def _alone(self) -> CorrectedMean:
        """The mean of the labels of people alone, as if the model knew nothing."""
        return CorrectedMean(self.estimate.people, np.zeros(self.labelled), np.zeros(self.total))

    @property
    def _tested(self) -> CorrectedMean:
        """What the interval and p are about: the labels of people alone, if they labelled fewer than 50 queries."""
        return self._alone if self.is_marked else self.estimate

    @property
    def labelled(self) -> int:
        """How many queries people labelled."""
        return self.estimate.labelled

    @property
    def total(self) -> int:
        """How many queries there are."""
        return self.estimate.total

    @property
    def is_marked(self) -> bool:
        """Whether there are too few labels for the corrected interval."""
        return self.labelled < ENOUGH

    @property
    def mean(self) -> float | None:
        """The corrected value over all queries; within the range of the measure. None without labels of people."""
        if not self.labelled:
            return None
        low, high = self.bounds
        return self._combined(min(max(self.estimate.mean, low), high))

    @property
    def by_model(self) -> float | None:
        """The value by the model alone."""
        return combined_terms(self.model_values, self.combine) if self.total else None

    @property
    def by_people(self) -> float | None:
        """The value by people alone, of the queries that they labelled."""
        return self._combined(float(self.estimate.people.mean())) if self.labelled else None

    def interval(self, level: float) -> tuple[float, float] | None:
        """The interval of the corrected value; that of people alone if they labelled fewer than 50 queries."""
        return self._ends(self._tested.interval(self.bounds, level))

    def interval_by_people(self, level: float) -> tuple[float, float] | None:
        """The interval of the value by people alone."""
        return self._ends(self._alone.interval(self.bounds, level))

    def p(self, at: float = 0.0) -> float | None:
        """How likely a difference so far from `at` is by chance; by people alone as the interval is.

        None without an interval.
        """
        return self._tested.p(self.bounds, at / self._unit) if self.labelled > 1 else None

    def p_above(self, at: float = 0.0) -> float | None:
        """How likely a difference so far above `at` is by chance, one-sided; near 1 if it is below."""
        p = self.p(at)
        if p is None:
            return None
        return p / 2 if self._tested.mean * self._unit > at else 1 - p / 2

    def queries_needed(self, width: float, level: float) -> int | None:
        """About how many queries people have to label for an interval of this width; None if all are not enough.

        With fewer than 50, the interval is that of people alone.
        """
        if self.labelled < 3:
            return None
        of_mean = width / (self._unit if self.combine != "geometric" else self.mean or 1.0)
        alone = self._alone.queries_needed(of_mean, level)
        if alone is not None and alone < ENOUGH:
            return alone
        needed = self.estimate.queries_needed(of_mean, level)
        return None if needed is None or self.total < ENOUGH else max(needed, ENOUGH)

    @property
    def _unit(self) -> float:
        """By how much the value changes if the mean changes by 1, apart from geometric means."""
        return float(self.total) if self.combine == "sum" else 1.0

    def _combined(self, value: float) -> float:
        return after_mean(value, self.combine, self.total)

    def _ends(self, interval: tuple[float, float] | None) -> tuple[float, float] | None:
        return None if interval is None else (self._combined(interval[0]), self._combined(interval[1]))
