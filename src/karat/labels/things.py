"""What labels are about, and which labels count: not those that were replaced, or whose text has changed since."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from statistics import median_low, multimode
from typing import Literal, NamedTuple

import numpy as np

from karat.judged import Bools, Ints
from karat.labels.evaluated_items import stale_labels
from karat.labels.label_columns import Against
from karat.labels.reading import VerdictRecords
from karat.labels.records import Item
from karat.labels.selection import is_person

Status = Literal["counts", "replaced", "stale"]


class Thing(NamedTuple):
    """What a label is about."""

    query: str
    system: str | None
    task: str
    item: str
    against: Against


def things_of(records: VerdictRecords, rows: Ints | None = None) -> Iterator[Thing]:
    """What each label, or each of some rows, is about.

    Only labels of support are compared with something that is not always the same.
    """
    labels = records.labels
    columns = (labels.query, labels.system, labels.task, labels.item, labels.against)
    for query, system, task, item, against in zip(
        *(columns if rows is None else (column.take(rows) for column in columns)), strict=True
    ):
        yield Thing(query, system, task, item, against if task == "support" else None)


def item_of(records: VerdictRecords, row: int) -> Item | None:
    """The item that a label is about, if it has a record."""
    labels = records.labels
    query, name = labels.query[row], labels.item[row]
    if records.is_about_document(row):
        return records.documents[query, name]
    return records.items.get((query, labels.system[row], name)) or records.items.get((query, None, name))


def label_status(records: VerdictRecords) -> list[Status]:
    """For each label, whether it counts, was replaced by a later one, or is about another text than the files have now.

    A label about an item that was removed is stale, too.
    """
    stale = zip(replaced_labels(records).tolist(), stale_labels(records).tolist(), strict=True)
    return ["replaced" if is_replaced else "stale" if is_stale else "counts" for is_replaced, is_stale in stale]


def replaced_labels(records: VerdictRecords) -> Bools:
    """For each label, whether a later one replaced it.

    A failure is replaced by a good reply to the same call, which may also be a list, such as the nuggets of a question.
    """
    labels = records.labels
    replaced: Bools = np.zeros(len(labels), bool)
    latest: dict[tuple[object, ...], int] = {}
    for row, thing in enumerate(things_of(records)):
        key = (*thing, labels.by[row], labels.sample[row])
        other = latest.get(key)
        if other is None:
            latest[key] = row
        elif labels.state[row] == "failed" != labels.state[other]:
            replaced[row] = True  # a failure does not replace a label
        else:
            replaced[other], latest[key] = True, row
    answered = {call.key for call in records.calls if call.state == "done"}
    failed = labels.state.where(lambda state: state == "failed")
    replaced |= failed & labels.call.where(answered.__contains__)
    return replaced


class ChosenLabels(NamedTuple):
    """One label for each thing; and the things that have none, because of what."""

    labels: Mapping[Thing, str]
    failed: Set[Thing] = frozenset()
    stale: Set[Thing] = frozenset()
    tied: Set[Thing] = frozenset()
    """things about which people are divided"""

    @property
    def without(self) -> dict[str, int]:
        """How many things have no label, by what happened to their labels."""
        counts = {
            "failed labels": len(self.failed),
            "labels of a text that has changed since": len(self.stale),
            "people are divided": len(self.tied),
        }
        return {why: count for why, count in counts.items() if count}


def chosen_labels(
    records: VerdictRecords, authors: Collection[str], status: Sequence[Status], *, of_documents: bool
) -> ChosenLabels:
    """One label for each thing by these authors, who are people or one model; `status` is that of all labels.

    With `of_documents`, the things are documents of the collection; without it, they are all others.

    Of people, the most frequent label counts, and if two are equally frequent, none. Of several samples of a model, the
    middle one on the scale counts, or the lower one of two.
    """
    labels, people = records.labels, all(map(is_person, authors))
    given: dict[Thing, list[str]] = {}
    failed, stale = set(), set()
    rows = np.flatnonzero(labels.by.where(authors.__contains__) & (records.about_documents() == of_documents))
    for row, thing in zip(rows.tolist(), things_of(records, rows), strict=True):
        if status[row] == "replaced":
            continue
        if status[row] == "stale":
            stale.add(thing)
        elif (label := labels.label[row]) is not None:
            given.setdefault(thing, []).append(label)
        elif labels.state[row] == "failed":
            failed.add(thing)
    chosen: dict[Thing, str] = {}
    for thing, votes in given.items():
        if len(votes) == 1:
            chosen[thing] = votes[0]
        elif not people:
            chosen[thing] = median_low((records.tasks[thing.task].scale[label], label) for label in votes)[1]
        elif len(modes := multimode(votes)) == 1:
            chosen[thing] = modes[0]
    stale -= given.keys()
    return ChosenLabels(chosen, failed - given.keys() - stale, stale, given.keys() - chosen.keys())
