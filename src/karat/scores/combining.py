"""The values of all queries, by the name of their measure: combined into one, subtracted, and added up."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from karat.data.judged import Floats
from karat.errors import KaratError, Place
from karat.measures import Measure, meanings
from karat.registry import Combine, Definition
from karat.registry.combining import after_mean, before_mean, combined_value
from karat.stats import ROUNDING, Moments


def combination(name: str) -> Combine:
    """How the values of a measure are combined; by their mean if the measure is not registered."""
    definition = _definition(name)
    return "mean" if definition is None else definition.combine


def known_range(name: str) -> tuple[float, float] | None:
    """The lowest and the highest value a measure can have; None if they are not known."""
    definition = _definition(name)
    return None if definition is None else definition.bounds


def range_of_terms(name: str) -> tuple[float, float]:
    """The range of the values that are averaged, those of `before_mean`; infinite where it is not known."""
    low, high = before_mean(np.array(known_range(name) or (-math.inf, math.inf)), combination(name)).tolist()
    return low, high


def differences(mine: Floats, theirs: Floats) -> Floats:
    """mine − theirs, and 0 for values that differ only by rounding."""
    difference = np.asarray(mine - theirs)
    size = np.maximum(1, np.maximum(np.abs(mine), np.abs(theirs)))
    difference[np.abs(difference) <= ROUNDING * size] = 0
    return difference


def column_sum(columns: Sequence[Floats]) -> Floats:
    """The sum of several values of each query.

    Columns are added one after the other: NumPy's sum adds the values of a single query in another order than those of
    several, so that they may differ in the last bit.
    """
    return reduce(np.add, columns)


def wins_ties_losses(differences: Floats, higher_is_better: bool) -> tuple[int, int, int]:
    """How many differences are for the better, zero, and for the worse; NaN is not counted."""
    more, same, less = (int(count.sum()) for count in (differences > 0, differences == 0, differences < 0))
    return (more, same, less) if higher_is_better else (less, same, more)


def combined_column(name: str, column: Floats) -> float | None:
    """The combined value of a measure, from its values of all queries; None if no query has one."""
    values = column[~np.isnan(column)]
    if not len(values):
        return None
    combine = combination(name)
    return combined_terms(before_mean(values, combine), combine)


def combined_terms(terms: Floats, combine: Combine) -> float:
    """The combined value, from the values that `before_mean` gave."""
    try:
        total = math.fsum(terms)
    except OverflowError:  # the sum is too large for a float, but the mean is not
        return after_mean(math.fsum(terms / len(terms)), combine, len(terms))
    return combined_value(total, combine, len(terms))


def _definition(name: str) -> Definition | None:
    """The definition of a measure; None if it is not registered."""
    return next((measure.definition for measure in meanings(name)), None)


class CombinedValues(ABC):
    """The value of each measure over all queries: their mean, sum or geometric mean, as the measure defines."""

    @property
    @abstractmethod
    def measures(self) -> tuple[str, ...]:
        """The names of the columns, in the order given to the evaluation."""

    @abstractmethod
    def column_name(self, measure: str | Measure) -> str:
        """The name of a measure's column, from any name of the measure."""

    @abstractmethod
    def combined(self, measure: str | Measure) -> float | None:
        """The value over all queries, as `scores[measure]`, but None if no query has a value."""

    @property
    def means(self) -> dict[str, float | None]:
        """The value of each measure over all queries."""
        return {name: self.combined(name) for name in self.measures}

    def __getitem__(self, measure: str | Measure) -> float:
        """The value over all queries: their mean, sum or geometric mean, as the measure defines."""
        value = self.combined(measure)
        if value is None:
            raise without_value(self.column_name(measure))
        return value

    def __contains__(self, measure: str | Measure) -> bool:
        try:
            return self.column_name(measure) in self.measures
        except KaratError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    def keys(self) -> tuple[str, ...]:
        """The names of the columns, so that `dict(scores)` is the value of each measure over all queries."""
        return self.measures

    def _means_in_a_line(self) -> str:
        return ", ".join(f"{name}={'null' if mean is None else f'{mean:.4f}'}" for name, mean in self.means.items())


def without_value(measure: str) -> KaratError:
    """The error for a measure that is null for every query."""
    return KaratError(f"{measure} has no value for any query")


def without_interval(measure: str, value: float | None) -> KaratError:
    """The error for a measure without a confidence interval, by its combined value."""
    if value is None:
        return without_value(measure)
    what = f"{measure} has no confidence interval"
    return KaratError(f"{what}: it needs two values, which differ if the range of the measure is not known")


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
