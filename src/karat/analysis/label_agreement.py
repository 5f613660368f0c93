"""How far a model agrees with people: on labels, and on the values of measures that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from karat.analysis.value_agreement import (
    Favour,
    OrderOfSystems,
    ValueAgreement,
    coefficient_text,
    favours,
    orders,
    value_table,
)
from karat.errors import enumeration, plural
from karat.grounding.labels.counting import SubjectKey
from karat.grounding.labels.votes import ChosenLabels
from karat.grounding.verdict_file.tasks import Task
from karat.output.printable import Printable
from karat.output.tables import DIGITS, Cell, Table, note_line
from karat.scores.value_texts import cell_text
from karat.stats import Coefficient, alphas, kappas

_UNDEFINED = Coefficient(None, None)


@dataclass(frozen=True)
class TaskAgreement:
    """How far a model agrees with people on a task.

    `confusion` counts the subjects that both labelled: a row per label by people, a column per label by the model, both
    in the order of `scale`. `failed` counts those that the model could not label, `tied` those about which people are
    divided. `weighted_kappa` is None if the scale has two labels, for which it is kappa.
    """

    by: str
    task: str
    of_documents: bool
    scale: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    queries: int
    kappa: Coefficient
    weighted_kappa: Coefficient | None
    failed: int = 0
    tied: int = 0

    @property
    def pairs(self) -> int:
        """How many subjects both labelled."""
        return sum(map(sum, self.confusion))

    @property
    def equal(self) -> float:
        """The share of subjects to which both gave the same label."""
        return sum(row[at] for at, row in enumerate(self.confusion)) / self.pairs

    @property
    def name(self) -> str:
        """The task, in words."""
        return f"{self.task} of documents" if self.of_documents else self.task

    def to_dict(self) -> dict[str, Any]:
        """The numbers; those of kappa are None if it is undefined, or has no interval."""
        return {
            "by": self.by,
            "task": self.task,
            "of_documents": self.of_documents,
            "pairs": self.pairs,
            "queries": self.queries,
            "equal": self.equal,
            **self.kappa.record("kappa"),
            **(self.weighted_kappa or _UNDEFINED).record("weighted_kappa"),
            "failed": self.failed,
            "tied": self.tied,
        }


@dataclass(frozen=True)
class PeopleAgreement:
    """How far several people agree on a task: Krippendorff's alpha of equal labels, and weighted by their distance.

    `items` were labelled by two people or more. `weighted_alpha` is None if the scale has two labels.
    """

    task: str
    of_documents: bool
    people: int
    items: int
    alpha: Coefficient
    weighted_alpha: Coefficient | None

    @property
    def name(self) -> str:
        """The task, in words."""
        return f"{self.task} of documents" if self.of_documents else self.task

    def to_dict(self) -> dict[str, Any]:
        """The numbers; those of alpha are None if it is undefined, or has no interval."""
        return {
            "task": self.task,
            "of_documents": self.of_documents,
            "people": self.people,
            "items": self.items,
            **self.alpha.record("alpha"),
            **(self.weighted_alpha or _UNDEFINED).record("weighted_alpha"),
        }


@dataclass(frozen=True)
class LabelAgreement(Printable):
    """How far models agree with people; print it, or read `tasks` and `values`.

    >>> import karat
    >>> row = {"query": "q1", "type": "document", "task": "relevance", "by": "a-model"}
    >>> labels = [{**row, "item": "d1", "label": 2}, {**row, "item": "d2", "label": 1}]
    >>> [task] = karat.label_agreement(labels, {"q1": {"d1": 2, "d2": 0}}).tasks
    >>> task.by, task.pairs, task.equal
    ('a-model', 2, 0.5)
    """

    tasks: tuple[TaskAgreement, ...]
    values: tuple[ValueAgreement, ...] = ()
    notes: tuple[str, ...] = ()
    people: tuple[PeopleAgreement, ...] = ()

    def orders(self, by: str) -> list[OrderOfSystems]:
        """How far the order of systems by a model agrees with that by people, for measures of three systems or more."""
        return orders(self._values(by))

    def favours(self, by: str) -> list[Favour]:
        """How much more a model overrates each system than the others."""
        return favours(self._values(by))

    def _values(self, by: str) -> list[ValueAgreement]:
        return [each for each in self.values if each.by == by]

    def records(self) -> list[dict[str, Any]]:
        """A record per model and task, without the confusion tables."""
        return [each.to_dict() for each in self.tasks]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        models = dict.fromkeys(each.by for each in self.tasks)
        return {
            "tasks": [
                task.to_dict() | {"scale": list(task.scale), "confusion": [list(row) for row in task.confusion]}
                for task in self.tasks
            ],
            "values": [each.to_dict() for each in self.values],
            "orders": {by: [each.to_dict() for each in found] for by in models if (found := self.orders(by))},
            "favours": {by: [asdict(each) for each in self.favours(by)] for by in models if self.favours(by)},
            "people": [each.to_dict() for each in self.people],
            "notes": list(self.notes),
        }

    def tables(self, digits: int = DIGITS) -> list[Table]:
        """For each model: a row per task, the confusion tables, and the values of measures."""
        tables = []
        for by in dict.fromkeys(each.by for each in self.tasks):
            of_model = [each for each in self.tasks if each.by == by]
            tables += [_task_table(of_model, digits), *map(_confusion_table, of_model)]
            if values := self._values(by):
                tables.append(value_table(values, digits))
        if self.people:
            tables.append(_people_table(self.people, digits))
        notes = tuple(note_line(f"{note}.") for note in self.notes)
        last = tables[-1]
        return [*tables[:-1], Table(last.header, last.rows, (*last.notes, *notes), last.labels)]


def agreement_by_task(
    by: str, people: ChosenLabels, model: ChosenLabels, tasks: Mapping[str, Task], *, of_documents: bool
) -> list[TaskAgreement]:
    """The agreement of a model with people on each task about which both gave labels of the same subjects."""
    common: dict[str, list[SubjectKey]] = {}
    for subject in model.labels:
        if subject in people.labels:
            common.setdefault(subject.task, []).append(subject)
    agreements = []
    for name in (name for name in tasks if name in common):
        task, subjects = tasks[name], common[name]
        scale = task.labels
        position = {label: at for at, label in enumerate(scale)}
        first, second = (np.array([position[side.labels[subject]] for subject in subjects]) for side in (people, model))
        queries = {query: at for at, query in enumerate(sorted({subject.query for subject in subjects}))}
        numbers = np.array([task.scale[label] for label in scale], np.float64)
        kappa, weighted = kappas(np.array([queries[subject.query] for subject in subjects]), first, second, numbers)
        counts = np.bincount(first * len(scale) + second, minlength=len(scale) ** 2).reshape(len(scale), -1)
        agreements.append(
            TaskAgreement(
                by, name, of_documents, tuple(scale), tuple(map(tuple, counts.tolist())), len(queries), kappa,
                weighted if len(scale) > 2 else None,
                sum(subject.task == name and subject in people.labels for subject in model.failed),
                sum(subject.task == name and subject in model.labels for subject in people.tied),
            )
        )  # fmt: skip
    return agreements


def agreement_of_people(
    by_person: Sequence[Mapping[SubjectKey, str]], tasks: Mapping[str, Task], *, of_documents: bool
) -> Iterator[PeopleAgreement]:
    """The agreement of several people with each other on each task, from the labels of each of them."""
    for task in tasks.values():
        given = [
            [(each, task.labels.index(label)) for each, label in labels.items() if each.task == task.name]
            for labels in by_person
        ]
        counts = Counter(subject for labels in given for subject, _ in labels)
        if several := sum(number > 1 for number in counts.values()):
            items = {subject: at for at, subject in enumerate(counts)}
            queries = {query: at for at, query in enumerate(sorted({each.query for each in items}))}
            rows = [(queries[each.query], items[each], at) for labels in given for each, at in labels]
            query, item, label = np.array(rows, np.int64).T
            alpha, weighted = alphas(
                query, item, label, np.array([task.scale[name] for name in task.labels], np.float64)
            )
            people = sum(map(bool, given))
            of_distance = weighted if len(task.scale) > 2 else None
            yield PeopleAgreement(task.name, of_documents, people, several, alpha, of_distance)


def _task_table(tasks: Sequence[TaskAgreement], digits: int) -> Table:
    rows = tuple(
        (
            Cell(task.by),
            Cell(task.name),
            Cell(f"{task.pairs:,}"),
            Cell(f"{task.queries:,}"),
            Cell(cell_text(task.equal, "", digits)),
            Cell(coefficient_text(task.kappa, digits)),
            Cell("" if task.weighted_kappa is None else coefficient_text(task.weighted_kappa, digits)),
        )
        for task in tasks
    )
    notes = ["equal: the share of the same label; kappa: 0 is agreement by chance, and 1 all labels the same"]
    if any(each.weighted_kappa for each in tasks):
        notes.append("weighted kappa: labels that are far apart on the scale count more, by the square of the distance")
    if any(kappa and kappa.interval for each in tasks for kappa in (each.kappa, each.weighted_kappa)):
        notes.append("with 95% confidence intervals (bootstrap of the queries)")
    if undefined := [each.name for each in tasks if each.kappa.value is None]:
        tasks_text = enumeration(undefined, "and")
        notes.append(f"undefined: people and the model gave all of them the same label ({tasks_text})")
    for task in tasks:
        lacking = [plural(task.failed, "failed label")] if task.failed else []
        lacking += [plural(task.tied, "tie") + " between people"] if task.tied else []
        if lacking:
            notes.append(note_line(f"{task.name}: {enumeration(lacking, 'and')} left out."))
    header = ("model", "task", "pairs", "queries", "equal", "kappa", "weighted kappa")
    return Table(header, rows, tuple(notes), labels=2)


def _confusion_table(agreement: TaskAgreement) -> Table:
    rows = tuple(
        (Cell(label), *(Cell(f"{count:,}") for count in counts))
        for label, counts in zip(agreement.scale, agreement.confusion, strict=True)
    )
    note = f"{agreement.name}: a row per label by people, a column per label by {agreement.by}"
    return Table(("people", *agreement.scale), rows, (note,))


def _people_table(people: Sequence[PeopleAgreement], digits: int) -> Table:
    rows = tuple(
        (
            Cell(each.name),
            Cell(f"{each.people:,}"),
            Cell(f"{each.items:,}"),
            Cell(coefficient_text(each.alpha, digits)),
            Cell("" if each.weighted_alpha is None else coefficient_text(each.weighted_alpha, digits)),
        )
        for each in people
    )
    notes = ("how far people agree with each other on what several of them labelled: Krippendorff's alpha",)
    return Table(("task", "people", "labelled by several", "alpha", "weighted alpha"), rows, notes)
