"""What several labels of the same subject say together: those of several people, or several samples of a model.

Labels of documents become their grades here, for documents that ground truth does not judge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import median_low, multimode
from typing import NamedTuple

import numpy as np

from karat.data.judged import Bools, Floats, Ints
from karat.errors import KaratError
from karat.grounding.labels.counting import (
    Status,
    SubjectKey,
    choose_authors,
    is_person,
    label_status,
    samples_of,
    subjects_of,
    unreplaced_rows,
)
from karat.grounding.verdict_file.categorical import joint_codes
from karat.grounding.verdict_file.columns import LabelColumns
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import IMPLIED, ItemKey
from karat.grounding.verdict_file.tasks import NOTHING_TO_JUDGE

Judge = tuple[str, int]
"""an author, and the sample if it is a model"""


# Labels may have the same number, as `none` and `contradicts` do: who says one of them and who says the other agree on
# what measures of support count. So the most frequent number counts, and then the most frequent label that has it. In
# weighted kappa, labels with the same number are equal, and in kappa they are not.


def most_frequent(labels: Iterable[str], scale: Mapping[str, float]) -> str | None:
    """The label that was given most often, of those with the most frequent number; None if two are equally frequent.

    >>> scale = {"contradicts": 0, "none": 0, "full": 1}
    >>> most_frequent(["full", "none", "full"], scale), most_frequent(["full", "none"], scale)
    ('full', None)
    >>> most_frequent(["full", "full", "none", "none", "contradicts"], scale)
    'none'
    """
    labels = list(labels)
    numbers = multimode(scale[label] for label in labels)
    modes = multimode(label for label in labels if scale[label] == numbers[0]) if len(numbers) == 1 else []
    return modes[0] if len(modes) == 1 else None


def majority(subject: Ints, values: Floats, contradicts: Floats) -> tuple[Ints, Floats, Floats]:
    """One label for each subject: the most frequent number, and whether the most frequent label is a contradiction.

    A number is NaN if two are equally frequent, and so is a contradiction if it and another label of the same number
    are; but if nobody sees a contradiction, there is none. NaN does not count. The first array has the position of a
    label of each subject.
    """
    kept, chosen = _most_frequent_values(subject, values)
    if len(kept) == len(subject):
        return kept, chosen, contradicts[kept]  # one label for each subject
    place = np.searchsorted(subject[kept], subject)
    contradicted = np.full(len(kept), np.nan)
    contradicted[place[contradicts == 0]] = 0.0
    if (contradicts == 1).any():
        contradicted[place[contradicts == 1]] = np.nan
        rows = np.flatnonzero(values == chosen[place])
        first, most = _most_frequent_values(subject[rows], contradicts[rows])
        contradicted[place[rows[first]]] = most
    return kept, chosen, contradicted


def _most_frequent_values(subject: Ints, values: Floats) -> tuple[Ints, Floats]:
    """The position of a label of each subject, in ascending order of these, and the value that most labels have."""
    order = np.argsort(subject, kind="stable")
    if (np.diff(subject[order]) > 0).all():
        return order, values[order]  # one label for each subject
    order = np.lexsort((values, subject))
    subject, values = subject[order], values[order]
    is_first = np.r_[True, subject[1:] != subject[:-1]]
    number = np.cumsum(is_first) - 1
    # Equal labels of a subject stand together, NaN last; each of them is one.
    begins = is_first | np.r_[True, values[1:] != values[:-1]]
    starts = np.flatnonzero(begins)
    votes = np.add.reduceat((~np.isnan(values)).astype(np.int64), starts)
    most = np.zeros(number[-1] + 1, np.int64)
    np.maximum.at(most, number[starts], votes)
    wins = starts[votes == most[number[starts]]]
    chosen = np.full(len(most), np.nan)
    chosen[number[wins]] = values[wins]
    chosen[np.bincount(number[wins], minlength=len(most)) > 1] = np.nan
    return order[is_first], chosen


def are_most(some: int, of_all: int) -> bool:
    """Whether so many are more than half of all."""
    return 2 * some > of_all


def votes_on_nothing(labels: LabelColumns, rows: Ints, stale: Bools) -> dict[ItemKey, dict[Judge, bool]]:
    """For items in which somebody sees nothing to judge: whether each of those who judged it does.

    Whoever labels it later has changed their mind. A label of an implied item, such as the correctness of the answer,
    says nothing about its support: whether it has claims. `stale` is given for each of the rows.
    """
    votes: dict[ItemKey, dict[Judge, bool]] = {}
    if NOTHING_TO_JUDGE not in labels.state.categories:
        return votes
    item = joint_codes(labels.query.codes[rows], labels.item.codes[rows])
    item_task = joint_codes(item, labels.task.codes[rows])
    nothing = labels.state.take(rows).where(lambda state: state == NOTHING_TO_JUDGE)
    is_implied = labels.item.take(rows).where(IMPLIED.__contains__)
    is_about = np.where(is_implied, np.isin(item_task, item_task[nothing]), np.isin(item, item[nothing]))
    voting = rows[is_about & ~labels.have_failed(rows) & ~stale]
    voting = unreplaced_rows(labels, voting, np.zeros(len(voting), bool))
    for row, sample in zip(voting.tolist(), samples_of(labels, voting).tolist(), strict=True):
        of_item = votes.setdefault((labels.query[row], labels.item[row]), {})
        judge = labels.by[row], sample
        of_item[judge] = of_item.get(judge, False) or labels.state[row] == NOTHING_TO_JUDGE
    return votes


class ChosenLabels(NamedTuple):
    """One label for each subject; and the subjects that have none, because of what."""

    labels: Mapping[SubjectKey, str]
    failed: Set[SubjectKey] = frozenset()
    stale: Set[SubjectKey] = frozenset()
    tied: Set[SubjectKey] = frozenset()
    """subjects about which people are divided"""

    @property
    def without(self) -> dict[str, int]:
        """How many subjects have no label, by what happened to their labels."""
        counts = {
            "failed labels": len(self.failed),
            "labels of a text that has changed since": len(self.stale),
            "people are divided": len(self.tied),
        }
        return {why: count for why, count in counts.items() if count}

    def without_queries(self, queries: Set[str]) -> ChosenLabels:
        """The same, without what is about these queries."""
        labels = {subject: label for subject, label in self.labels.items() if subject.query not in queries}
        others = ({each for each in subjects if each.query not in queries} for subjects in self[1:])
        return ChosenLabels(labels, *others)


def chosen_labels(
    records: VerdictRecords, authors: Collection[str], status: Sequence[Status], *, of_documents: bool
) -> ChosenLabels:
    """One label for each subject by these authors, who are people or one model; `status` is that of all labels.

    With `of_documents`, the subjects are documents of the collection; without it, they are all others.

    Of people, the most frequent label counts, and if two are equally frequent, none. Of several samples of a model, the
    middle one on the scale counts, or the lower one of two.
    """
    labels, people = records.labels, all(map(is_person, authors))
    votes: dict[SubjectKey, list[str]] = {}
    failed, stale = set(), set()
    rows = np.flatnonzero(
        labels.by.where(frozenset(authors).__contains__) & (records.about_documents() == of_documents)
    )
    for row, subject in zip(rows.tolist(), subjects_of(labels, rows), strict=True):
        if status[row] == "replaced":
            continue
        if status[row] == "stale":
            stale.add(subject)
        elif (label := labels.label[row]) is not None:
            votes.setdefault(subject, []).append(label)
        elif labels.state[row] == "failed":
            failed.add(subject)
    chosen: dict[SubjectKey, str] = {}
    in_order = {name: task.labels for name, task in records.tasks.items()}
    for subject, names in votes.items():
        if people:
            label = most_frequent(names, records.tasks[subject.task].scale)
        else:
            label = in_order[subject.task][median_low(map(in_order[subject.task].index, names))]
        if label is not None:
            chosen[subject] = label
    stale -= votes.keys()
    return ChosenLabels(chosen, failed - votes.keys() - stale, stale, votes.keys() - chosen.keys())


@dataclass(frozen=True)
class DocumentGrades:
    """The grade of each document by query, who gave it, and what became of the other labels."""

    grades: Mapping[str, Mapping[str, float]]
    by: str
    chosen: ChosenLabels


def document_grades(records: VerdictRecords, author: str | None = None) -> DocumentGrades:
    """The grades of documents by the chosen authors; by default by people, or by the only model.

    >>> from karat.grounding.verdict_file.reading import read_verdict_records
    >>> row = {"query": "q1", "type": "document", "task": "relevance", "by": "a-model"}
    >>> labels = [{**row, "item": "d7", "label": 2}, {**row, "item": "d8", "label": None, "state": "failed"}]
    >>> document_grades(read_verdict_records(labels)).grades
    {'q1': {'d7': 2.0}}
    """
    rows = np.flatnonzero(records.about_documents())
    if not len(rows):
        hint = "`karat judge TRUTH RUN... --task relevance` grades documents; labels of answers are for results."
        raise KaratError("no label is about a document", place=records.name, hint=hint)
    authors = choose_authors(records.labels.by.take(rows).counts(), author, records.name)
    chosen = chosen_labels(records, authors, label_status(records), of_documents=True)
    task = records.tasks["relevance"]
    grades: dict[str, dict[str, float]] = {}
    for subject, label in chosen.labels.items():
        grades.setdefault(subject.query, {})[subject.item] = float(task.value(label))
    return DocumentGrades(grades, ", ".join(authors), chosen)
