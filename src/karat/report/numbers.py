"""Numbers as they are embedded in a report: null for NaN, and texts for infinite ones."""

from __future__ import annotations

import math
from collections.abc import Iterable

from karat.data.judged import Floats

Number = int | float | str | None


def number(value: float | None) -> Number:
    """A number to its last digit, so that the page rounds it as tables do; None for NaN.

    >>> number(0.1), number(2.0), number(float("nan")), number(float("-inf"))
    (0.1, 2, None, '-inf')
    """
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(value)


def numbers(values: Floats | Iterable[float | None]) -> list[Number]:
    """Numbers, each as `number` has it."""
    return [number(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]
