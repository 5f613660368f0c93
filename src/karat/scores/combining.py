"""How the values of all queries are combined into one: their mean, their sum, or their geometric mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from karat.data.judged import Floats
from karat.measures import meanings
from karat.registry import Combine, Definition
from karat.stats import ROUNDING

# The geometric mean replaces smaller values by this one, as in trec_eval: a single 0 would make it 0.
_SMALLEST = 0.00001


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
    found = np.asarray(mine - theirs)
    size = np.maximum(1, np.maximum(np.abs(mine), np.abs(theirs)))
    found[np.abs(found) <= ROUNDING * size] = 0
    return found


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


def before_mean(values: Floats, combine: Combine) -> Floats:
    """The values to average, from the values of a measure: logarithms for a geometric mean."""
    return np.log(np.maximum(values, _SMALLEST)) if combine == "geometric" else values


def after_mean(value: float, combine: Combine, n: int) -> float:
    """The combined value, from the mean of the n values that `before_mean` gave."""
    if combine == "sum":
        return value * n
    return math.exp(value) if combine == "geometric" else value


def combined_value(total: float, combine: Combine, n: int) -> float:
    """The combined value, from the sum of the n values that `before_mean` gave."""
    return total if combine == "sum" else after_mean(total / n, combine, n)


def combined_column(name: str, column: Floats) -> float | None:
    """The combined value of a measure, from its values of all queries; None if no query has one."""
    values = column[~np.isnan(column)]
    if not len(values):
        return None
    combine = combination(name)
    terms = before_mean(values, combine)
    try:
        total = math.fsum(terms)
    except OverflowError:  # the sum is too large for a float, but the mean is not
        return after_mean(math.fsum(terms / len(terms)), combine, len(terms))
    return combined_value(total, combine, len(values))


def _definition(name: str) -> Definition | None:
    """The definition of a measure; None if it is not registered."""
    return next((measure.definition for measure in meanings(name)), None)
