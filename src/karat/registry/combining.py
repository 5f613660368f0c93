"""How the values of all queries become one, as a measure defines it: their mean, sum or geometric mean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from karat.registry.measure import Combine

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The geometric mean replaces smaller values by this one, as in trec_eval: a single 0 would make it 0.
_SMALLEST = 0.00001


def before_mean(values: NDArray[np.float64], combine: Combine) -> NDArray[np.float64]:
    """The values to average, from the values of a measure: logarithms for a geometric mean."""
    if combine != "geometric":
        return values
    # As the C library computes them: NumPy's may differ in the last bit, depending on the processor.
    return np.array([math.log(value) for value in np.maximum(values, _SMALLEST).tolist()], np.float64)


def after_mean(value: float, combine: Combine, n: int) -> float:
    """The combined value, from the mean of the n values that `before_mean` gave."""
    if combine == "sum":
        return value * n
    return math.exp(value) if combine == "geometric" else value


def combined_value(total: float, combine: Combine, n: int) -> float:
    """The combined value, from the sum of the n values that `before_mean` gave."""
    return total if combine == "sum" else after_mean(total / n, combine, n)
