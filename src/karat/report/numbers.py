"""Numbers as they are embedded in a report: few digits, null for NaN, and texts for infinite ones."""

from __future__ import annotations

import math
from collections.abc import Iterable

from karat.judged import Floats

Number = int | float | str | None


def number(value: float | None) -> Number:
    """A number with six significant digits; None for NaN.

    >>> number(0.123456789), number(2.0), number(float("nan")), number(float("-inf"))
    (0.123457, 2, None, '-inf')
    """
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def numbers(values: Floats | Iterable[float | None]) -> list[Number]:
    """Numbers, each as `number` has it."""
    return [number(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]
