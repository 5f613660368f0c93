"""Means of a model's values, corrected by the values of people for some of the queries, which were drawn at random.

This is prediction-powered inference with power tuning (Angelopoulos, Duchi and Zrnic 2023), for the case in which the
labelled queries are among those that the model labelled: the regression estimator of double sampling (Cochran 1977).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Floats
from karat.stats.bootstrap import ROUNDING
from karat.stats.bounded_means import score_distance, score_interval, variance_ratio
from karat.stats.student import beyond, critical_value

# So many queries are added in which people and model differ, because rare differences are often not in the sample. They
# differ as much as those in the sample, if there are more than a few; otherwise, as much as any two values.
_ADDED, _FEW = 2, 4
# If so many queries decide about the slope, it is moved by 1 / e of its distance from the range 0 to 1. If the model
# gives 0 to nearly all queries, a single one of the others can make it larger than 100.
_DECIDING = 10


@dataclass(frozen=True, eq=False)
class CorrectedMean:
    """The mean of all queries, from the values of people for some of them and those of a model for all.

    With Y the values of people, F those of the model, `mean` is the mean of Y, plus `weight` times how far the mean of
    F over all queries is from that over the labelled ones. The weight is the slope of the regression of Y on F, which
    gives the smallest variance: 0 if the model knows nothing. If the values of the model are so skewed that few queries
    decide about the slope, it is moved towards 0 to 1. However biased the model is, the mean is not, because the same
    model labelled both.

    Its variance is (1/n - 1/N) var(Y - weight F) + var(Y) / N with n labelled queries of N. The variance of what the
    model does not explain, Y - weight F, is that of the sample with two more queries, in which people and model differ
    as much as in others: a sample in which they hardly differ does not prove that they never do. A test simulates how
    often the interval contains the true mean.
    """

    people: Floats
    model: Floats
    """the values of the model for the same queries"""
    model_of_all: Floats
    """its values for all queries"""

    @classmethod
    def of(cls, people: Floats, model: Floats) -> Self:
        """From the values of both for all queries; people have NaN for queries that they did not label."""
        known = ~np.isnan(people)
        return cls(people[known], model[known], model)

    @property
    def labelled(self) -> int:
        """How many queries people labelled."""
        return len(self.people)

    @property
    def total(self) -> int:
        """How many queries there are."""
        return len(self.model_of_all)

    @cached_property
    def _spread(self) -> float:
        """The variance of the values of people; infinite if there is only one."""
        return float(self.people.var(ddof=1)) if self.labelled > 1 else math.inf

    @cached_property
    def _slope(self) -> float:
        """The slope of the regression; if few queries decide about it, moved towards that of values on one scale."""
        if self.labelled < 3:
            return 0.0
        centred = self.model - self.model.mean()
        square = float(centred @ centred)
        tiny = (ROUNDING * max(1.0, float(np.abs(self.model).max()))) ** 2 * self.labelled
        if square <= tiny:
            return 0.0
        slope = float(centred @ (self.people - self.people.mean())) / square
        shares = centred * centred / square
        deciding = 1 / float(shares @ shares)
        return slope + (min(max(slope, 0.0), 1.0) - slope) * math.exp(-deciding / _DECIDING)

    @cached_property
    def _left(self) -> float:
        """The variance of what the model does not explain; if n queries differ by the same, n is total² / fourth."""
        if self.labelled < 3:
            return self._spread
        errors = (self.people - self.people.mean() - self._slope * (self.model - self.model.mean())) ** 2
        total, fourth = float(errors.sum()), float(errors @ errors)
        size = largest = float(np.ptp(self.people)) ** 2
        if fourth > (ROUNDING * largest) ** 2:
            size = fourth / total
            size += (largest - size) * math.exp(-total * total / fourth / _FEW)
        return total / (self.labelled - 2) + _ADDED * size / self.labelled

    @cached_property
    def weight(self) -> float:
        """How much the model counts; 0 if it does not make the interval narrower."""
        return self._slope if self._left < self._spread else 0.0

    @property
    def mean(self) -> float:
        """The corrected mean."""
        return float(self.people.mean() + self.weight * (self.model_of_all.mean() - self.model.mean()))

    @property
    def variance(self) -> float:
        """The variance of the corrected mean."""
        if not self.weight:
            return self._spread / self.labelled
        return self._left * (1 / self.labelled - 1 / self.total) + self._spread / self.total

    @property
    def _freedom(self) -> int:
        return self.labelled - (2 if self.weight else 1)

    def interval(self, bounds: tuple[float, float], level: float) -> tuple[float, float] | None:
        """The confidence interval of the mean, for values with this range; None for fewer than two labelled queries.

        It is that of `bounded_interval` for as many labelled queries without a model as would give the same variance.
        Values without a range have the interval of Student's t.

        >>> people, model = np.array([0, 1, 1, 0, 1, 0.5]), np.array([0, 0.9, 1, 0.2, 0.8, 0.5])
        >>> [round(end, 2) for end in CorrectedMean(people, model, np.tile(model, 5)).interval((0, 1), 0.95)]
        [0.18, 0.9]
        """
        if self.labelled < 2:
            return None
        square = critical_value(self._freedom, 1 - level) ** 2
        low, width = bounds[0], bounds[1] - bounds[0]
        if not math.isfinite(width):
            if not self.variance:
                return None
            error = math.sqrt(square * self.variance)
            return self.mean - error, self.mean + error
        ends = score_interval(self._share(bounds), self._equivalent, square, self._ratio(bounds))
        return low + width * ends[0], low + width * ends[1]

    def p(self, bounds: tuple[float, float], at: float = 0.0) -> float | None:
        """How likely a mean so far from `at` is by chance: below 1 - level exactly if the interval excludes it.

        None if there is no interval, because values without a range are all equal.
        """
        low, width = bounds[0], bounds[1] - bounds[0]
        if self.mean == at:
            return 1.0
        if not math.isfinite(width):
            return beyond(abs(self.mean - at) / math.sqrt(self.variance), self._freedom) if self.variance else None
        share, expected = self._share(bounds), (at - low) / width
        if not 0 < expected < 1:
            return 1.0 if share == expected else 0.0
        distance = score_distance(share, expected, self._equivalent, self._ratio(bounds))
        return beyond(distance, self._freedom)

    def queries_needed(self, width: float, level: float) -> int | None:
        """About how many labelled queries give an interval of this width; None if not even all queries do."""
        allowed = (width / 2 / critical_value(max(self._freedom, 30), 1 - level)) ** 2
        left = self._left if self.weight else self._spread
        beside = allowed - (self._spread - left) / self.total
        needed = math.inf if beside <= 0 else left / beside
        return max(2, math.ceil(needed)) if needed <= self.total else None

    @property
    def _equivalent(self) -> float:
        """How many labelled queries without a model give the same variance."""
        return self._spread / self.variance if self.variance else float(self.labelled)

    def _share(self, bounds: tuple[float, float]) -> float:
        return min(max((self.mean - bounds[0]) / (bounds[1] - bounds[0]), 0.0), 1.0)

    def _ratio(self, bounds: tuple[float, float]) -> float:
        width = bounds[1] - bounds[0]
        return variance_ratio(self._share(bounds), self._spread / width / width, self._equivalent)
