"""The labels of a report that failed: which they are, and the calls to models that should have given them."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np

from karat.judged import Ints
from karat.labels.label_columns import LISTS, LabelColumns
from karat.labels.selection import Selected

_LONGEST_ERROR = 500  # characters
_MOST_CALLS = 20
"""failed calls that are shown of a query"""


class Failures:
    """The failed labels of a system, by query, and the calls that they are from."""

    def __init__(self, selected: Selected) -> None:
        self._labels, self._authors = selected.records.labels, selected.authors
        # A reply that was used again says nothing about the call that it is from.
        self._calls = {call.key: call for call in selected.records.calls if call.state != "reused"}
        done = {call.key for call in self._calls.values() if call.state != "failed"}
        self.rows = _failed_rows(selected, done)
        """the rows of the failed labels of each query"""

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


def _failed_rows(selected: Selected, done: Set[str]) -> dict[str, list[int]]:
    """The failed labels of each query, without those that were given in another try; `done` are the good calls."""
    labels = selected.records.labels
    rows = selected.rows[labels.state.take(selected.rows).where(lambda state: state == "failed")]
    lists = np.flatnonzero(labels.are_failed_lists(np.arange(len(labels))))
    systems = {None, *(item.system for item in selected.known_items)}
    lists = lists[labels.by.take(lists).where(selected.authors.__contains__)]
    lists = lists[labels.system.take(lists).where(systems.__contains__)]
    failed = {thing: row for row in (*rows.tolist(), *lists.tolist()) for thing in [_thing(labels, row)]}
    tried = selected.rows[np.isin(_item_codes(labels, selected.rows), _item_codes(labels, rows))]
    given = {_thing(labels, row) for row in tried.tolist() if labels.label[row] is not None}
    found: dict[str, list[int]] = {}
    for thing, row in failed.items():
        if thing not in given and labels.call[row] not in done:
            found.setdefault(labels.query[row], []).append(row)
    return found


def _item_codes(labels: LabelColumns, rows: Ints) -> Ints:
    """A number for the query and the item of each label."""
    return labels.query.codes[rows].astype(np.int64) * len(labels.item.categories) + labels.item.codes[rows]


def _thing(labels: LabelColumns, row: int) -> tuple[object, ...]:
    """What a label is about, and who gave it."""
    columns = labels.query, labels.item, labels.task, labels.against, labels.by, labels.sample
    return tuple(column[row] for column in columns)
