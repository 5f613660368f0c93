"""The labels of a report: the items of each answer, what is known about them, who said so and why, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from karat.analysis.label_evidence import LabelEvidence
from karat.data.judged import Ints
from karat.data.verdicts import AGAINST, SETS, ItemSet, Verdicts
from karat.grounding.labels.selection import SelectedLabels
from karat.grounding.verdict_file.columns import LISTS
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import CONTRADICTS
from karat.report.rankings import Documents
from karat.report.support import SupportCounts, derived

_MOST_ITEMS = 200
"""items of one kind that are shown of an answer"""
_DIFFERS = "differs"
"""stands for the labels of a model's samples that are not all the same"""
_SUPPORTED: tuple[ItemSet, ...] = ("claims", "gold_claims", "sentences", "nuggets")

_LONGEST_ERROR = 500  # characters
_MOST_CALLS = 20
"""failed calls that are shown of a query"""

PageData = dict[str, Any]
"""An item, the items of an answer or a failed call, as the page reads them."""


class SystemLabels:
    """The labels of one system, from which those of single queries are asked.

    What a label is about is its key in the page: `context`, `gold`, `answer` and `cited` for support by all passages,
    the gold answer, the answer and the cited passages; `passage 0`, `passage 1`, ... for support by single passages, by
    their places; `others 0`, ... for that by the cited passages without one; else the name of the task.
    """

    def __init__(self, evidence: LabelEvidence, documents: Documents) -> None:
        self.selected, self._documents = evidence.selected, documents
        self._records, samples = evidence.selected.records, evidence.selected.samples
        verdicts = self._verdicts = samples[0]
        self._sets = np.max([sample.item_set for sample in samples], axis=0)  # a sample may leave an item out
        self._place = {query: at for at, query in enumerate(verdicts.queries)}
        self._names = {
            name: {task.value(label): label for label in task.scale} for name, task in self._records.tasks.items()
        }
        self._first_item = np.searchsorted(verdicts.item_query, np.arange(len(verdicts.queries) + 1))
        self._labels = [_rows_by_query(sample) for sample in samples]
        self._derived = {(name, key): each for name in _SUPPORTED for key, each in derived(samples, name)}
        self.support = SupportCounts(verdicts, self._sets, self._derived)
        self._items: dict[str, list[Item]] = {}
        for item in evidence.selected.known_items:
            self._items.setdefault(item.query, []).append(item)
        self._votes = _votes_by_query(evidence)
        self.failures = Failures(evidence.selected)

    @property
    def relations(self) -> list[str]:
        """What there are labels of: a set of items, and what its labels are about."""
        relations = set()
        for sample in self.selected.samples:
            sets = sample.item_set[sample.label_item]
            kinds = np.unique(np.column_stack([sample.label_task, sets, sample.label_against]), axis=0)
            for task, of, against in kinds.tolist():
                key = AGAINST[against] if sample.tasks[task] == "support" else sample.tasks[task]
                relations |= {f"{SETS[of]} {implied}" for implied in _implied_keys(SETS[of], key)}
        return sorted(relations)

    def of_query(self, query: str) -> PageData | None:
        """The items of a query's answer, by set, with their labels; None if nothing is known about it."""
        at = self._place.get(query)
        if at is None:
            return None
        first, last = self._first_item[at : at + 2].tolist()
        rows = [row for row in range(first, last) if self._set(row) >= 0]
        positions = {_name(self.selected.items[row], SETS[self._set(row)]): row for row in rows}
        passages = sorted((row for row in rows if SETS[self._set(row)] == "passages"), key=self._rank)
        place = {row: at for at, row in enumerate(passages)}
        values = self._values(at, place)
        data: PageData = {}
        left_out: dict[str, int] = {}
        ordered = sorted(self._items.get(query, ()), key=lambda item: item.rank or 0)
        named = {item.id: item for item in ordered}
        for name in dict.fromkeys([*named, *positions]):
            item, row = named.get(name), positions.get(name)
            of = SETS[self._set(row)] if row is not None else item.set if item is not None else name
            items = data.setdefault(of, [])
            if len(items) == _MOST_ITEMS:
                left_out[of] = left_out.get(of, 0) + 1
                continue
            items.append(self._item(query, name, item, row, place, positions, values))
        if "sentences" in data:  # they are the text of the answer
            for answer in data.get("answer", ()):
                answer.pop("text", None)
        empty = [of for of in SETS if self._verdicts.listed[SETS.index(of), at] and of not in data]
        return {**data, "empty": empty, "left_out": left_out, "failures": self.failures.of_query(query)}

    def _set(self, row: int) -> int:
        return int(self._sets[row])

    def _rank(self, row: int) -> int:
        item = self.selected.items[row]
        return 0 if item is None else item.rank or 0

    def _values(self, at: int, place: Mapping[int, int]) -> dict[int, dict[str, Any]]:
        """The label of each item of a query, by what it is about; None if it is unknown."""
        by_item: dict[int, dict[str, Any]] = {}
        for sample, (order, starts) in zip(self.selected.samples, self._labels, strict=True):
            for label in order[starts[at] : starts[at + 1]].tolist():
                task, item = sample.tasks[sample.label_task[label]], int(sample.label_item[label])
                key = AGAINST[sample.label_against[label]] if task == "support" else task
                if key in ("passage", "others"):
                    key = f"{key} {place[int(sample.label_passage[label])]}"
                name = self._label(task, float(sample.label_value[label]), float(sample.label_contradicts[label]))
                known = by_item.setdefault(item, {})
                known[key] = name if known.get(key, name) == name else _DIFFERS
        return by_item

    def _label(self, task: str, value: float, contradicts: float) -> str | None:
        if contradicts == 1:
            return CONTRADICTS
        return None if np.isnan(value) else self._names[task].get(value, _DIFFERS)

    def _item(
        self,
        query: str,
        name: str,
        item: Item | None,
        row: int | None,
        place: Mapping[int, int],
        positions: Mapping[str, int],
        values: Mapping[int, Mapping[str, Any]],
    ) -> PageData:
        labels = {} if row is None else dict(values.get(row, {}))
        tally = {}
        for key in ("cited", "context"):
            if item is not None and row is not None and (known := self._derived.get((item.set, key))) is not None:
                of_samples = [self._label("support", *pair) for pair in np.stack(known)[:, :, row].T.tolist()]
                labels[key] = of_samples[0] if len(set(of_samples)) == 1 else _DIFFERS
                if labels[key] == _DIFFERS:
                    tally[key] = of_samples
        votes = self._votes.get(query, {}).get(name, [])
        # The place of a cited passage, or the citation as it was written if there is no such passage.
        cites = [] if item is None else [place.get(positions.get(cited, -1), cited) for cited in item.cites]
        data: PageData = {
            "id": name,
            "text": None if item is None or item.type == "passage" else item.text,
            "doc": self._document(item) if item is not None and item.type == "passage" else None,
            "cites": cites,
            "importance": None if item is None else item.importance,
            "dropped": row is None,
            "passages": _aligned(labels, len(place)),
            "labels": {key: label for key, label in labels.items() if not key.startswith("passage ")},
            "tally": tally,
            "votes": self._shown_votes(votes, labels, positions, place, cites),
        }
        return {key: value for key, value in data.items() if value or (key in ("id", "doc") and value is not None)}

    def _document(self, item: Item) -> int:
        return self._documents.add({"id": item.id, "content": item.text}, by_content=False)

    def _shown_votes(
        self,
        rows: Sequence[int],
        labels: Mapping[str, str | None],
        positions: Mapping[str, int],
        place: Mapping[int, int],
        cites: Sequence[int | str],
    ) -> dict[str, list[list[Any]]]:
        """Who gave which label and why: [author, label, reason, sample], and 1 if it is one of the failures.

        What says nothing new is left out.
        """
        columns = self._records.labels
        votes: dict[str, dict[tuple[str, int], list[Any]]] = {}
        for row in rows:
            key = _key(columns.task[row], columns.against[row], positions, place, cites)
            if columns.state[row] == "nothing_to_judge":
                key = "nothing"
            author, sample = columns.by[row], columns.sample[row]
            of_key = votes.setdefault(key, {})
            # Labels against several sets of passages may have one key, of which some are not used.
            if columns.label[row] is not None or (author, sample) not in of_key:
                at = self.selected.author_places[author]
                of_key[author, sample] = [at, columns.label[row], columns.why[row], sample]
                if columns.state[row] == "failed" and self.failures.has_call(row):
                    of_key[author, sample].append(1)
        return {
            key: list(of_key.values())
            for key, of_key in votes.items()
            if labels.get(key) is None
            or any(vote[2] for vote in of_key.values())
            or len({vote[1] for vote in of_key.values()}) > 1
            or len({author for author, _ in of_key}) > 1
        }


class Failures:
    """The failed labels of a system, by query, and the calls that they are from."""

    def __init__(self, selected: SelectedLabels) -> None:
        self._labels, self._authors = selected.records.labels, selected.author_places
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

    def of_query(self, query: str) -> list[PageData]:
        """The calls about a query that failed: how many labels they should have given, the error and the reply."""
        labels = self._labels
        rows_by_call: dict[tuple[str | None, str, int], list[int]] = {}
        for row in self.rows.get(query, ()):
            if self.has_call(row) or labels.item[row] in LISTS:
                rows_by_call.setdefault((labels.call[row], labels.by[row], labels.sample[row]), []).append(row)
        calls = [self._call(*call, rows) for call, rows in rows_by_call.items()]
        return [*calls[:_MOST_CALLS], *([{"more": len(calls) - _MOST_CALLS}] if len(calls) > _MOST_CALLS else [])]

    def _call(self, key: str | None, by: str, sample: int, rows: list[int]) -> PageData:
        call = self._calls.get(key or "")
        data: PageData = {"labels": len(rows), "by": self._authors[by], "sample": sample}
        error = self._labels.why[rows[0]]
        if call is not None:
            error = call.error or error
            data |= {"prompt": call.prompt, "reply": call.reply_start, "length": call.reply_length}
        data["error"] = error if error is None or len(error) <= _LONGEST_ERROR else f"{error[:_LONGEST_ERROR]}…"
        return {name: value for name, value in data.items() if value is not None}


def _implied_keys(of: str, key: str) -> tuple[str, ...]:
    if key not in ("passage", "cited", "others"):
        return (key,)
    return ("cited",) if of == "sentences" else ("passage", "context")


def _rows_by_query(verdicts: Verdicts) -> tuple[Ints, Ints]:
    """The rows of the labels ordered by query, and where those of each query begin."""
    query = verdicts.item_query[verdicts.label_item]
    order = np.argsort(query, kind="stable")
    return order, np.searchsorted(query[order], np.arange(len(verdicts.queries) + 1))


def _votes_by_query(evidence: LabelEvidence) -> dict[str, dict[str, list[int]]]:
    """The rows of the labels that count, and of those that say that there is nothing to judge, by query and item."""
    selected = evidence.selected
    columns, authors = selected.records.labels, set(selected.authors)
    systems = {None, *(item.system for item in selected.known_items)}
    nothing_to_judge = (row for row, state in enumerate(columns.state) if state == "nothing_to_judge")
    counting = [row for row in nothing_to_judge if columns.by[row] in authors and columns.system[row] in systems]
    votes: dict[str, dict[str, list[int]]] = {}
    for row in (*selected.unreplaced.tolist(), *counting):
        votes.setdefault(columns.query[row], {}).setdefault(columns.item[row], []).append(row)
    return votes


def _key(
    task: str,
    against: str | tuple[str, ...] | None,
    positions: Mapping[str, int],
    place: Mapping[int, int],
    cites: Sequence[int | str],
) -> str:
    if task != "support":
        return task
    if not isinstance(against, tuple):
        return against or "nothing"
    places = [place[positions[each]] for each in against if positions.get(each) in place]
    if len(places) == 1:
        return f"passage {places[0]}"
    rest = [each for each in cites if isinstance(each, int) and each not in places]
    return "cited" if not rest else f"others {rest[0]}"


def _aligned(labels: Mapping[str, Any], passages: int) -> list[str | None]:
    """The labels against each passage; empty if there are none."""
    aligned = [labels.get(f"passage {at}") for at in range(passages)]
    return aligned if any(label is not None for label in aligned) else []


def _name(item: Item | None, of: str) -> str:
    return of if item is None else item.id
