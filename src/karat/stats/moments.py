"""Moments: the number, the sum and the sum of squares of values, without rounding errors.

So moments can be added in any order and grouping, with the same result to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from karat.data.judged import Floats
from karat.stats.bounded_means import bounded_interval
from karat.stats.student import critical_value

if TYPE_CHECKING:
    from fractions import Fraction

_SPLITTER = 2.0**27 + 1


@dataclass(frozen=True)
class ExactSum:
    """A sum of floats without a rounding error.

    It is itself a sum of floats, of which the first is the rounded sum, the second the rounded rest, and so on.

    >>> float(ExactSum.of([1e16, 1.0]) + ExactSum.of([-1e16]))
    1.0
    """

    parts: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[float]) -> ExactSum:
        rest, parts = list(values), []
        while part := math.fsum(rest):  # the exact sum, rounded once
            parts.append(part)
            rest.append(-part)
        return cls(tuple(parts))

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum.of((*self.parts, *other.parts))

    def __float__(self) -> float:
        """The sum, rounded once: what `math.fsum` returns for all its values."""
        return self.parts[0] if self.parts else 0.0

    @property
    def fraction(self) -> Fraction:
        """The sum as a fraction."""
        from fractions import Fraction  # which takes long to import

        return sum(map(Fraction, self.parts), Fraction())


@dataclass(frozen=True)
class Moments:
    """The number, the sum and the sum of squares of values."""

    count: int = 0
    total: ExactSum = ExactSum()
    squares: ExactSum = ExactSum()

    largest: ClassVar = 1e140
    """the largest value that has moments: the sum of the squares of a trillion such values is still a float"""

    @classmethod
    def of(cls, values: Floats) -> Moments:
        """The moments of values, none of which is NaN or larger than `largest`."""
        rounded = values * values
        return cls(
            len(values),
            ExactSum.of(values.tolist()),
            ExactSum.of([*rounded.tolist(), *_rounding_errors(values, rounded).tolist()]),
        )

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.count + other.count, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float:
        """The mean of at least one value."""
        return float(self.total) / self.count

    @property
    def variance(self) -> float:
        """The variance of at least two values, by n - 1."""
        total = self.total.fraction
        variance = (self.squares.fraction - total * total / self.count) / (self.count - 1)
        # Squares of the smallest floats are rounded, so that the difference may be below 0.
        return max(0.0, float(variance))

    def interval(self, level: float, bounds: tuple[float, float]) -> tuple[float, float] | None:
        """The confidence interval of the mean of values with these bounds, which may be infinite.

        If they are finite, it is that of `bounded_interval`, otherwise mean ± t · standard error; None of fewer than
        two values, and of equal ones without finite bounds.

        >>> import numpy as np
        >>> low, high = Moments.of(np.array([0.0, 0.0, 1.0, 1.0])).interval(0.95, (0.0, math.inf))
        >>> round(low, 4), round(high, 4)
        (0.0, 1.4187)
        """
        if self.count < 2:
            return None
        mean, variance = self.mean, self.variance
        interval = bounded_interval(self.count, mean, variance, bounds, level)
        if interval is None and variance:
            error = critical_value(self.count - 1, 1 - level) * math.sqrt(variance / self.count)
            # A mean that is beyond the bounds shows that they are not those of the values.
            low, high = bounds if bounds[0] <= mean <= bounds[1] else (-math.inf, math.inf)
            return max(low, mean - error), min(high, mean + error)
        return interval


def _rounding_errors(values: Floats, squares: Floats) -> Floats:
    """What rounding took from each square (Dekker 1971): exact, unless the square is tiny (below 1e-280)."""
    shifted = values * _SPLITTER
    high = shifted - (shifted - values)
    low = values - high
    errors: Floats = ((high * high - squares) + 2 * high * low) + low * low
    return errors
