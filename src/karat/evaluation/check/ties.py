"""Whether the order of documents with equal scores decides what a measure says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from karat.data.judged import Floats
from karat.errors import Place, enumeration
from karat.registry import Measure
from karat.scores.combining import combined_column
from karat.scores.finding import Finding

_NOTICEABLE = 0.005
"""of the range of a measure. Systems are compared with three digits; smaller differences are in every run with ties"""


def decided_by_ties(
    measures: Mapping[Measure, object], best: Mapping[str, Floats], worst: Mapping[str, Floats], name: str
) -> Iterator[Finding]:
    """The measures whose means differ noticeably, with relevant documents first and last in each tie."""
    ranges: list[str] = []
    for measure in measures:
        low, high = measure.definition.bounds
        means = [combined_column(str(measure), values[str(measure)]) for values in (worst, best)]
        worst_mean, best_mean = means
        if worst_mean is None or best_mean is None or measure.definition.combine == "sum":
            continue
        if abs(best_mean - worst_mean) >= _NOTICEABLE * (high - low):
            first, last = sorted((worst_mean, best_mean))
            ranges.append(f"{measure} is {first:.4f} to {last:.4f}")
    if ranges:
        message = f"{enumeration(ranges, 'and')}, depending on the order of documents with equal scores"
        hint = "Write scores with more digits, or break ties in the system."
        yield Finding("decided-by-ties", message, len(ranges), hint, place=Place(name))
