"""Which label counts, of several about the same subject, and whose labels count. Everything that asks asks here.

Labels have the same key if the same author gave them about the same subject, in the same sample of a model. Of these,
the last one counts that is about the text that is evaluated. If there is none, the last one about another text stands
for them, which is stale; and if there is none either, the last failure. So a failure replaces no label, and a stale
label replaces none of the current text. `evaluated_items` decides which labels are stale, and `votes` what the labels
of several authors or samples say together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from karat.data.judged import Bools, Ints, distinct
from karat.errors import KaratError, Message, Parameter, did_you_mean, plural, shown
from karat.errors.arguments import as_count
from karat.grounding.labels.evaluated_items import stale_labels
from karat.grounding.verdict_file.categorical import joint_codes
from karat.grounding.verdict_file.columns import UNNAMED_AUTHOR, Against, LabelColumns
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import Item, SystemItemKey, answered_calls, kind_of, read_item

Status = Literal["counts", "replaced", "stale"]


class SubjectKey(NamedTuple):
    """What a label is about. Only labels of support are compared with something that is not always the same."""

    query: str
    system: str | None
    task: str
    item: str
    against: Against


class LabelKey(NamedTuple):
    """What a label is about and who gave it: of labels with the same key, one counts."""

    subject: SubjectKey
    by: str
    sample: int
    """of a model; people have no samples"""


def is_person(author: str) -> bool:
    """Whether an author is a person: `human`, or `human:` and a name."""
    return author == "human" or author.startswith("human:")


def choose_authors(counts: Mapping[str, int], author: str | None, place: str) -> tuple[str, ...]:
    """The authors whose labels count: the chosen ones, all people, or the only model; otherwise an error lists them.

    `counts` is the number of labels by each author, and `place` that of the labels.
    """
    names = sorted(counts)
    people = tuple(filter(is_person, names))
    listed = ", ".join(f"{name} ({plural(counts[name], 'label')})" for name in names)
    if author is not None:
        chosen = people if author == "human" else tuple(name for name in names if name == author)
        if not chosen and names:
            hint = f"{did_you_mean(author, names)} Authors: {listed}.".strip()
            raise KaratError(f"no label is by {shown(author)}", place=place, hint=hint)
        return chosen
    if len(people) == len(names) or len(names) == 1:
        return tuple(names)
    choose: Message = ["Choose one with ", Parameter("author"), f"; human stands for all people. Authors: {listed}."]
    raise KaratError("the labels are by several authors", place=place, hint=choose)


def subjects_of(labels: LabelColumns, rows: Ints) -> Iterator[SubjectKey]:
    """What each of these labels is about."""
    columns = (labels.query, labels.system, labels.task, labels.item, labels.against)
    for query, system, task, item, against in zip(*(column.take(rows) for column in columns), strict=True):
        yield SubjectKey(query, system, task, item, against if task == "support" else None)


def label_keys(labels: LabelColumns, rows: Ints) -> Iterator[LabelKey]:
    """The keys of these labels."""
    columns = subjects_of(labels, rows), labels.by.take(rows), samples_of(labels, rows).tolist()
    return map(LabelKey, *columns)


def label_key(record: Mapping[str, Any]) -> LabelKey:
    """The key of a verdict record, as it is written in a file.

    >>> row = {"query": "q1", "task": "support", "item": "s1", "label": "full"}
    >>> label_key({**row, "against": ["p2", "p1"]}) == label_key({**row, "against": ["p1", "p2"], "by": "human"})
    True
    """
    query, system, task, item, against = map(record.get, ("query", "system", "task", "item", "against"))
    if isinstance(against, list | tuple):
        against = tuple(sorted({*map(str, against)}))
    elif against is not None:
        against = str(against)
    by = str(record.get("by") or UNNAMED_AUTHOR)
    name = None if system is None else str(system)
    subject = SubjectKey(str(query), name, str(task), str(item), against if task == "support" else None)
    return LabelKey(subject, by, 0 if is_person(by) else as_count(record.get("sample")) or 0)


def replaces(record: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Whether a verdict record replaces an earlier one with the same key: a failure replaces no label."""
    return record.get("state") != "failed" or earlier.get("state") == "failed"


def samples_of(labels: LabelColumns, rows: Ints) -> Ints:
    """The sample of each of these labels; people have none, which is 0."""
    by_person = labels.by.take(rows).where(is_person)
    samples: Ints = np.where(by_person, 0, np.array(labels.sample, np.int64)[rows])
    return samples


def key_codes(labels: LabelColumns, rows: Ints) -> Ints:
    """A number for the key of each of these labels, which are about one system or all systems."""
    is_support = labels.task.take(rows).where(lambda task: task == "support")
    against = np.where(is_support, labels.against.codes[rows] + 1, 0)
    columns = (column.codes[rows] for column in (labels.query, labels.task, labels.item, labels.by))
    return joint_codes(*columns, against, samples_of(labels, rows))


def counting_rows(keys: Ints, failed: Bools, stale: Bools) -> Ints:
    """For each label, the position of the one that counts, of all labels with its key.

    >>> keys, no = np.array([7, 7, 7, 8]), np.zeros(4, bool)
    >>> counting_rows(keys, no, no).tolist(), counting_rows(keys, np.array([False, False, True, True]), no).tolist()
    ([2, 2, 2, 3], [1, 1, 1, 3])
    """
    # Usually each key has one label, which is seen without sorting several columns.
    if len(distinct(keys)) == len(keys):
        return np.arange(len(keys))
    order = np.lexsort((np.where(failed, 0, np.where(stale, 1, 2)), keys))  # of equal ones, the later row comes later
    is_last = np.r_[keys[order][1:] != keys[order][:-1], True]
    counting = np.empty(len(keys), np.int64)
    counting[order] = order[is_last][np.cumsum(is_last) - is_last]
    return counting


def unreplaced_rows(labels: LabelColumns, rows: Ints, stale: Bools) -> Ints:
    """Those of these rows that no other one replaces; they are about one system or all, and some of them `stale`."""
    counting = counting_rows(key_codes(labels, rows), labels.have_failed(rows), stale)
    kept: Ints = rows[counting == np.arange(len(rows))]
    return kept


def label_status(records: VerdictRecords) -> list[Status]:
    """For each label, whether it counts, was replaced by another one, or is about another text than the files have now.

    A failure was also replaced if the same call was answered later, which may have given a list, such as the nuggets
    of a question. A label about an item that was removed is stale.
    """
    labels, stale, rows = records.labels, stale_labels(records), np.arange(len(records.labels))
    keys = joint_codes(key_codes(labels, rows), labels.system.codes)
    counting = counting_rows(keys, labels.have_failed(rows), stale)
    is_answered = labels.call.where(answered_calls(records.calls).__contains__)
    replaced = (counting > rows) | (labels.have_failed(rows) & (is_answered | (counting != rows)))
    names: tuple[Status, ...] = ("counts", "stale", "replaced")
    return [names[at] for at in np.where(replaced, 2, np.where(stale, 1, 0)).tolist()]


def check_order_does_not_matter(records: Iterable[Mapping[str, Any]], place: str) -> None:
    """Raise an error if a later record would replace an earlier one that says something else, as rows have no order."""
    labels: dict[LabelKey, Mapping[str, Any]] = {}
    items: dict[SystemItemKey, Item] = {}
    declared: dict[SystemItemKey, Item] = {}
    """items that a label declares"""
    for record in records:
        kind = kind_of(record, place)
        is_declared = kind == "verdict" and record.get("type") is not None
        if kind == "item" or is_declared:
            item = read_item(record, place, "item" if is_declared else "id")._replace(place=None)
            if (declared if is_declared else items).setdefault(item.system_key, item) != item:
                raise _order_matters(f"the item {shown(item.id)}", item.query, place)
        if kind == "verdict":
            known = labels.setdefault(label_key(record), record)
            if not replaces(known, record):
                labels[label_key(record)] = record
            elif replaces(record, known) and _content(record) != _content(known):
                raise _order_matters(f"a label of the item {shown(record.get('item'))}", record.get("query"), place)
    for key, item in declared.items():
        if key in items and item.labelled_digest not in (None, items[key].labelled_digest):
            raise _order_matters(f"the item {shown(item.id)}", item.query, place)


def _content(verdict: Mapping[str, Any]) -> tuple[object, ...]:
    texts = () if verdict.get("state") == "failed" else ("digest", "against_digest")
    return tuple(map(verdict.get, ("label", "state", *texts)))


def _order_matters(what: str, query: object, place: str) -> KaratError:
    what = f"{what} of query {shown(query)} was given more than once, and the last one counts, but rows have no order"
    hint = "Name a column that gives the order: order=. Or keep one of them."
    return KaratError(what, place=place, hint=hint)
