"""The axes of charts: where they begin and end, and which measures share one. `page/axes.js` decides the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SAME = 1e-6
"""values that differ by less than this share of them are one value: the labels of such an axis would be too long"""
_NOTHING = 1e-300
"""the smallest difference that has ticks"""


SHARES = "from 0 to 1"
"""the heading of a panel of measures whose values are all shares of something"""


def axis_domain(values: Iterable[float], *, with_zero: bool, signed: bool) -> list[float]:
    """The lowest and the highest value of an axis, which always differ: one value has no scale, and one tick at most.

    An axis of one value goes from 0 to 1 if the value is a share, and from -1 to 1 if it is a difference (`signed`).

    >>> axis_domain([0.25, 0.5], with_zero=False, signed=False), axis_domain([0.25], with_zero=False, signed=False)
    ([0.25, 0.5], [0.0, 1.0])
    >>> axis_domain([0.0], with_zero=True, signed=True), axis_domain([300.0], with_zero=False, signed=False)
    ([-1.0, 1.0], [150.0, 450.0])
    """
    known = [*values, *([0.0] if with_zero else [])]
    low, high = min(known, default=0.0), max(known, default=0.0)
    largest = max(abs(low), abs(high))
    if high - low > max(_SAME * largest, _NOTHING):
        return [low, high]
    if signed and largest <= 1:
        return [-1.0, 1.0]
    return [0.0, 1.0] if 0 <= low <= high <= 1 else [low - largest / 2, high + largest / 2]


def unit(measure: str, values: Iterable[float]) -> str:
    """What the values of a measure share: to be shares of something or, for other measures, all their cut-offs."""
    return "" if all(0 <= value <= 1 for value in values) else measure.partition("@")[0]


def units(measures: Sequence[str], columns: Iterable[Sequence[float | None]]) -> dict[str, str]:
    """The unit of each measure, by its values in some columns of a chart; `measures` has the measure of each row."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    for column in columns:
        for name, value in zip(measures, column, strict=True):
            values[name] += [] if value is None else [value]
    return {name: unit(name, of_measure) for name, of_measure in values.items()}
