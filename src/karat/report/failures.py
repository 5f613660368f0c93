"""The labels of a report that failed: which they are, and the calls to models that should have given them."""

from __future__ import annotations

from typing import Any

from karat.grounding.labels.selection import Selected
from karat.grounding.verdict_file.label_columns import LISTS

_LONGEST_ERROR = 500  # characters
_MOST_CALLS = 20
"""failed calls that are shown of a query"""


class Failures:
    """The failed labels of a system, by query, and the calls that they are from."""

    def __init__(self, selected: Selected) -> None:
        self._labels, self._authors = selected.records.labels, selected.authors
        # A reply that was used again says nothing about the call that it is from.
        self._calls = {call.key: call for call in selected.records.calls if call.state != "reused"}
        self.rows: dict[str, list[int]] = {}
        """the rows of the failed labels of each query"""
        for row in selected.failed.tolist():
            self.rows.setdefault(self._labels.query[row], []).append(row)

    @property
    def prompts(self) -> list[str]:
        """The prompts of the calls to the authors of the labels, by name and version."""
        return sorted({call.prompt for call in self._calls.values() if call.prompt and call.model in self._authors})

    def has_call(self, row: int) -> bool:
        """Whether the call that should have given a label is known."""
        return self._labels.call[row] in self._calls

    def of_query(self, query: str) -> list[dict[str, Any]]:
        """The calls about a query that failed: how many labels they should have given, the error and the reply."""
        labels = self._labels
        found: dict[tuple[str | None, str, int], list[int]] = {}
        for row in self.rows.get(query, ()):
            if self.has_call(row) or labels.item[row] in LISTS:
                found.setdefault((labels.call[row], labels.by[row], labels.sample[row]), []).append(row)
        shown = [self._shown(*about, rows) for about, rows in found.items()]
        return [*shown[:_MOST_CALLS], *([{"more": len(shown) - _MOST_CALLS}] if len(shown) > _MOST_CALLS else [])]

    def _shown(self, key: str | None, by: str, sample: int, rows: list[int]) -> dict[str, Any]:
        call = self._calls.get(key or "")
        shown: dict[str, Any] = {"labels": len(rows), "by": self._authors.index(by), "sample": sample}
        error = self._labels.why[rows[0]]
        if call is not None:
            error = call.error or error
            shown |= {"prompt": call.prompt, "reply": call.reply_start, "length": call.reply_length}
        shown["error"] = error if error is None or len(error) <= _LONGEST_ERROR else f"{error[:_LONGEST_ERROR]}…"
        return {name: value for name, value in shown.items() if value is not None}
