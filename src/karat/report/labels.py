"""The labels of a report: the items of each answer, what is known about them, and who said so and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from karat.analysis.label_evidence import LabelEvidence
from karat.data.judged import Floats, Ints
from karat.data.verdicts import AGAINST, SETS, ItemSet, Labels, Verdicts
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import Item
from karat.report.documents import Documents
from karat.report.failures import Failures

_MOST_ITEMS = 200
"""items of one kind that are shown of an answer"""
_DIFFERS = "differs"
"""stands for the labels of a model's samples that are not all the same"""
_SUPPORTED: tuple[ItemSet, ...] = ("claims", "gold_claims", "sentences", "nuggets")

Shown = dict[str, Any]
"""An item, or the items of an answer, as the page reads them."""


class SystemLabels:
    """The labels of one system, from which those of single queries are asked.

    What a label is about is its key in the page: `context`, `gold`, `answer` and `cited` for support by all passages,
    the gold answer, the answer and the cited passages; `passage 0`, `passage 1`, ... for support by single passages, by
    their places; `others 0`, ... for that by the cited passages without one; else the name of the task.
    """

    def __init__(self, evidence: LabelEvidence, documents: Documents) -> None:
        self._selected, self._documents = evidence.selected, documents
        self._records = evidence.selected.records
        samples = evidence.selected.samples
        verdicts = self._verdicts = samples[0]
        self._sets = np.max([sample.item_set for sample in samples], axis=0)  # a sample may leave an item out
        self._place = {query: at for at, query in enumerate(verdicts.queries)}
        self._names = {
            name: {task.value(label): label for label in task.scale} for name, task in self._records.tasks.items()
        }
        self._first_item = np.searchsorted(verdicts.item_query, np.arange(len(verdicts.queries) + 1))
        self._labels = [_rows_by_query(sample) for sample in samples]
        self._derived = {(name, key): values for name in _SUPPORTED for key, values in _derived(samples, name)}
        self._items: dict[str, list[Item]] = {}
        for item in evidence.selected.known_items:
            self._items.setdefault(item.query, []).append(item)
        self._votes = _votes_by_query(evidence)
        self.failures = Failures(evidence.selected)

    @property
    def relations(self) -> list[str]:
        """What there are labels of: a set of items, and what its labels are about."""
        found = set()
        for sample in self._selected.samples:
            sets = sample.item_set[sample.label_item]
            kinds = np.unique(np.column_stack([sample.label_task, sets, sample.label_against]), axis=0)
            for task, of, against in kinds.tolist():
                key = AGAINST[against] if sample.tasks[task] == "support" else sample.tasks[task]
                found |= {f"{SETS[of]} {each}" for each in _implied_keys(SETS[of], key)}
        return sorted(found)

    def of_query(self, query: str) -> Shown | None:
        """The items of a query's answer, by set, with their labels; None if nothing is known about it."""
        at = self._place.get(query)
        if at is None:
            return None
        first, last = self._first_item[at : at + 2].tolist()
        rows = [row for row in range(first, last) if self._set(row) >= 0]
        positions = {_name(self._selected.items[row], SETS[self._set(row)]): row for row in rows}
        passages = sorted((row for row in rows if SETS[self._set(row)] == "passages"), key=self._rank)
        place = {row: at for at, row in enumerate(passages)}
        values = self._values(at, place)
        shown: Shown = {}
        left_out: dict[str, int] = {}
        ordered = sorted(self._items.get(query, ()), key=lambda item: item.rank or 0)
        named = {item.id: item for item in ordered}
        for name in dict.fromkeys([*named, *positions]):
            item, row = named.get(name), positions.get(name)
            of = SETS[self._set(row)] if row is not None else item.set if item is not None else name
            items = shown.setdefault(of, [])
            if len(items) == _MOST_ITEMS:
                left_out[of] = left_out.get(of, 0) + 1
                continue
            items.append(self._item(query, name, item, row, place, positions, values))
        if "sentences" in shown:  # they are the text of the answer
            for each in shown.get("answer", ()):
                each.pop("text", None)
        empty = [of for of in SETS if self._verdicts.listed[SETS.index(of), at] and of not in shown]
        return {**shown, "empty": empty, "left_out": left_out, "failures": self.failures.of_query(query)}

    def _set(self, row: int) -> int:
        return int(self._sets[row])

    def _rank(self, row: int) -> int:
        item = self._selected.items[row]
        return 0 if item is None else item.rank or 0

    def _values(self, at: int, place: Mapping[int, int]) -> dict[int, dict[str, Any]]:
        """The label of each item of a query, by what it is about; None if it is unknown."""
        found: dict[int, dict[str, Any]] = {}
        for sample, (order, starts) in zip(self._selected.samples, self._labels, strict=True):
            for label in order[starts[at] : starts[at + 1]].tolist():
                task, item = sample.tasks[sample.label_task[label]], int(sample.label_item[label])
                key = AGAINST[sample.label_against[label]] if task == "support" else task
                if key in ("passage", "others"):
                    key = f"{key} {place[int(sample.label_passage[label])]}"
                name = self._label(task, float(sample.label_value[label]))
                known = found.setdefault(item, {})
                known[key] = name if known.get(key, name) == name else _DIFFERS
        return found

    def _label(self, task: str, value: float) -> str | None:
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
    ) -> Shown:
        labels = {} if row is None else dict(values.get(row, {}))
        tally = {}
        for key in ("cited", "context"):
            if item is not None and row is not None and (derived := self._derived.get((item.set, key))) is not None:
                of_samples = [self._label("support", value) for value in derived[:, row].tolist()]
                labels[key] = of_samples[0] if len(set(of_samples)) == 1 else _DIFFERS
                if labels[key] == _DIFFERS:
                    tally[key] = of_samples
        votes = self._votes.get(query, {}).get(name, [])
        cites = [] if item is None else [self._cited(positions.get(each), place, each) for each in item.cites]
        known: Shown = {
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
        return {key: value for key, value in known.items() if value or (key in ("id", "doc") and value is not None)}

    def _cited(self, row: int | None, place: Mapping[int, int], written: str) -> int | str:
        """The place of a cited passage, or the citation as it was written if there is no such passage."""
        return written if row is None or row not in place else place[row]

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
                at = self._selected.authors.index(author)
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


def without_long_texts(shown: Shown, length: int) -> Shown:
    """The items of an answer without reasons and replies, and with the beginnings of long texts."""
    return {
        of: [_shortened_item(item, length) for item in listed] if of in (*SETS, "failures") else listed
        for of, listed in shown.items()
    }


def _shortened_item(item: Shown, length: int) -> Shown:
    text = item.get("text")
    kept = {key: value for key, value in item.items() if key not in ("votes", "reply")}
    return {**kept, "text": f"{text[:length]}…"} if text is not None and len(text) > length else kept


def unsupported(evidence: LabelEvidence) -> Ints:
    """How many claims and sentences of each query nothing supports: no passage, or none that a sentence cites.

    Of several samples, one that says so is enough.
    """
    counts = np.zeros(len(evidence.queries), np.int64)
    for name in ("claims", "sentences"):
        derived = dict(_derived(evidence.selected.samples, name))
        values = derived.get("cited", derived.get("context"))
        if values is not None:
            query = evidence.selected.samples[0].item_query
            counts += np.bincount(query[(values == 0).any(axis=0)], minlength=len(counts))
    return counts


def _derived(samples: Sequence[Verdicts], name: ItemSet) -> Iterator[tuple[str, Any]]:
    """What labels of single passages say about all of them, or about those that a sentence cites.

    There is a row per sample and a column per item of any set.
    """
    labelled = [(sample, _labelled_against(sample, name)) for sample in samples]
    cited = [sample for sample, against in labelled if against & {"cited", "others", "passage"}]
    if name == "sentences" and cited:
        yield "cited", np.array([_by_position(sample, name, sample.citations.together) for sample in cited])
    implying = {"context"} if name == "sentences" else {"context", "passage"}
    context = [sample for sample, against in labelled if against & implying]
    if context:
        yield "context", np.array([_by_position(sample, name, sample.support(name, "context")) for sample in context])


def _labelled_against(sample: Verdicts, name: ItemSet) -> set[str]:
    """What the labels of a set of items are against."""
    of_set = sample.item_set[sample.label_item] == SETS.index(name)
    return {AGAINST[each] for each in np.unique(sample.label_against[of_set]).tolist()}


def _by_position(verdicts: Verdicts, name: ItemSet, labels: Labels) -> Floats:
    """Values of a set of items, with a place for each item of any set."""
    found = np.full(len(verdicts.item_query), np.nan)
    found[verdicts.item_set == SETS.index(name)] = labels.value
    return found


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
    found: dict[str, dict[str, list[int]]] = {}
    for row in _rows(selected.records, selected.unreplaced.tolist(), authors, systems):
        found.setdefault(columns.query[row], {}).setdefault(columns.item[row], []).append(row)
    return found


def _rows(records: VerdictRecords, rows: Iterable[int], authors: set[str], systems: set[str | None]) -> Iterator[int]:
    yield from rows
    columns = records.labels
    for row, state in enumerate(columns.state):
        if state == "nothing_to_judge" and columns.by[row] in authors and columns.system[row] in systems:
            yield row


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
    found = [labels.get(f"passage {at}") for at in range(passages)]
    return found if any(label is not None for label in found) else []


def _name(item: Item | None, of: str) -> str:
    return of if item is None else item.id
