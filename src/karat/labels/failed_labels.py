"""Labels that failed, and items that could not be extracted, for any part of the queries; those of parts are merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

from karat.errors import plural, printable
from karat.labels.selection import Selected

_EXTRACTED = {"answer": "claims", "gold": "gold_claims", "question": "nuggets"}
"""the items that are extracted from an implied item"""


@dataclass(frozen=True)
class FailureCount:
    """How many labels failed, or for how many queries, and the errors of their calls."""

    number: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The failures of all parts."""
        several = list(parts)
        errors: Counter[str] = Counter()
        for part in several:
            errors.update(part.errors)
        return cls(sum(part.number for part in several), errors)

    @property
    def reason(self) -> str:
        """The most frequent error, as the end of a sentence; of equally frequent ones, the first by its text."""
        often = min(self.errors, key=lambda error: (-self.errors[error], error), default="")
        return f", most often with this error: {printable(often)}".removesuffix(".") if often else ""


@dataclass(frozen=True)
class FailedLabels:
    """The labels that failed, and the sets of items that could not be extracted for some queries."""

    labels: FailureCount = field(default_factory=FailureCount)
    extractions: Mapping[str, FailureCount] = field(default_factory=dict)
    """by the set of items: for how many queries"""
    known_sets: frozenset[str] = frozenset()
    """the sets of items of which there are some"""

    @classmethod
    def of(cls, selected: Selected) -> Self:
        """The failures of the evaluated queries, by the chosen authors, without those that were labelled later."""
        labels, known = selected.records.labels, frozenset(item.set for item in selected.known_items)
        rows = selected.failed.tolist()
        calls = selected.records.calls if rows else ()
        errors = {call.key: call.error for call in calls if call.state == "failed" and call.error}

        def failures(number: int, rows: Sequence[int]) -> FailureCount:
            found = (errors.get(labels.call[row] or "") for row in rows)
            return FailureCount(number, Counter(error for error in found if error))

        extractions = {}
        for name, items in _EXTRACTED.items():
            lists = [row for row in rows if labels.item[row] == name and labels.task[row] == "support"]
            if lists:
                extractions[items] = failures(len({labels.query[row] for row in lists}), lists)
        return cls(failures(len(rows), rows), extractions, known)

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The failures of all parts, each of which has other queries."""
        several = list(parts)
        extractions = {
            items: FailureCount.merged(part.extractions[items] for part in several if items in part.extractions)
            for items in _EXTRACTED.values()
        }
        return cls(
            FailureCount.merged(part.labels for part in several),
            {items: failures for items, failures in extractions.items() if failures.number},
            frozenset(chain.from_iterable(part.known_sets for part in several)),
        )

    @property
    def never_extracted(self) -> dict[str, FailureCount]:
        """The sets of items that could not be extracted for any query, so that no measure reads them."""
        return {items: failures for items, failures in self.extractions.items() if items not in self.known_sets}

    def __str__(self) -> str:
        """How many labels failed, as a sentence; empty if none did."""
        return f"{plural(self.labels.number, 'label')} failed{self.labels.reason}. " if self.labels.number else ""
