"""How far a model agrees with people: on labels, and on the values of measures that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from karat.errors import enumeration, plural
from karat.grounding.labels.counting import SubjectKey
from karat.grounding.labels.votes import ChosenLabels
from karat.grounding.verdict_file.tasks import Task
from karat.output.printable import Printable
from karat.output.tables import DIGITS, Cell, Table, note_line
from karat.scores.value_texts import cell_text, interval_text, nonzero_text
from karat.stats import Kappa, kappas, kendall_tau

_LEAST_SYSTEMS = 3
"""with fewer systems, their order says little"""


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
    kappa: Kappa
    weighted_kappa: Kappa | None
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
        kinds: dict[str, float | None] = {}
        for name, kappa in (("kappa", self.kappa), ("weighted_kappa", self.weighted_kappa or Kappa(None, None))):
            low, high = kappa.interval or (None, None)
            kinds |= {name: kappa.value, f"{name}_low": low, f"{name}_high": high}
        return {
            "by": self.by,
            "task": self.task,
            "of_documents": self.of_documents,
            "pairs": self.pairs,
            "queries": self.queries,
            "equal": self.equal,
            **kinds,
            "failed": self.failed,
            "tied": self.tied,
        }


@dataclass(frozen=True)
class ValueAgreement:
    """The mean of a measure for a system by the labels of people and by those of a model, over the same queries."""

    by: str
    measure: str
    system: str
    queries: int
    people: float
    model: float

    @property
    def difference(self) -> float:
        """How much higher the mean is by the model."""
        return self.model - self.people

    def to_dict(self) -> dict[str, Any]:
        means = {"people": self.people, "model": self.model, "difference": self.difference}
        return {"by": self.by, "measure": self.measure, "system": self.system, "queries": self.queries, **means}


@dataclass(frozen=True)
class LabelAgreement(Printable):
    """How far models agree with people; print it, or read `tasks` and `values`."""

    tasks: tuple[TaskAgreement, ...]
    values: tuple[ValueAgreement, ...] = ()
    notes: tuple[str, ...] = ()

    def taus(self, by: str) -> dict[str, float | None]:
        """Kendall's tau of the order of systems by people and by a model, for each measure of three systems or more.

        It is None if all systems have the same value.
        """
        of_measures: dict[str, list[ValueAgreement]] = {}
        for value in self.values:
            if value.by == by:
                of_measures.setdefault(value.measure, []).append(value)
        return {
            measure: kendall_tau([value.people for value in values], [value.model for value in values])
            for measure, values in of_measures.items()
            if len(values) >= _LEAST_SYSTEMS
        }

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
            "taus": {by: taus for by in models if (taus := self.taus(by))},
            "notes": list(self.notes),
        }

    def tables(self, digits: int = DIGITS) -> list[Table]:
        """For each model: a row per task, the confusion tables, and the values of measures."""
        tables = []
        for by in dict.fromkeys(each.by for each in self.tasks):
            of_model = [each for each in self.tasks if each.by == by]
            tables += [_task_table(of_model, digits), *map(_confusion_table, of_model)]
            if values := [each for each in self.values if each.by == by]:
                tables.append(_value_table(values, self.taus(by), digits))
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


def _task_table(tasks: Sequence[TaskAgreement], digits: int) -> Table:
    rows = tuple(
        (
            Cell(task.by),
            Cell(task.name),
            Cell(f"{task.pairs:,}"),
            Cell(f"{task.queries:,}"),
            Cell(cell_text(task.equal, "", digits)),
            Cell(_kappa_text(task.kappa, digits)),
            Cell("" if task.weighted_kappa is None else _kappa_text(task.weighted_kappa, digits)),
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


def _kappa_text(kappa: Kappa, digits: int) -> str:
    return "undefined" if kappa.value is None else interval_text(kappa.value, kappa.interval, "", digits)


def _confusion_table(agreement: TaskAgreement) -> Table:
    rows = tuple(
        (Cell(label), *(Cell(f"{count:,}") for count in counts))
        for label, counts in zip(agreement.scale, agreement.confusion, strict=True)
    )
    note = f"{agreement.name}: a row per label by people, a column per label by {agreement.by}"
    return Table(("people", *agreement.scale), rows, (note,))


def _value_table(values: Sequence[ValueAgreement], taus: Mapping[str, float | None], digits: int) -> Table:
    rows, last = [], None
    for value in values:
        means = (Cell(cell_text(mean, value.measure, digits)) for mean in (value.people, value.model))
        difference = nonzero_text(value.difference, value.measure, "+", digits)
        name = "" if value.measure == last else value.measure
        rows.append((Cell(name), Cell(value.system), Cell(f"{value.queries:,}"), *means, Cell(difference)))
        last = value.measure
    notes = [f"means over the queries that both people and {values[0].by} labelled"]
    if taus:
        texts = (f"{measure} {'undefined' if tau is None else f'{tau:.2f}'}" for measure, tau in taus.items())
        systems = plural(len({each.system for each in values}), "system")
        notes.append(f"Kendall's tau of the order of {systems}: {', '.join(texts)}")
    header = ("measure", "run", "queries", "by people", "by the model", "difference")
    return Table(header, tuple(rows), tuple(notes), labels=2)
