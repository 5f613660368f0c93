"""What is in verdict files: how many labels, by whom, at what cost, and where authors disagree."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from karat.errors import plural
from karat.grounding.labels.counting import SubjectKey, label_status, subjects_of
from karat.grounding.labels.votes import most_frequent
from karat.grounding.verdict_file.call_counts import ModelCalls, count_calls
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.output.printable import Printable
from karat.output.tables import DIGITS, Cell, Table, long_cell, note_line

ALL_SYSTEMS = "(all)"
"""what a label without a system is about, in tables"""
_TEXT_WIDTH = 48


@dataclass(frozen=True)
class LabelCount:
    """How often an author gave a label; `label` is None for a state other than `labelled`."""

    task: str
    system: str | None
    by: str
    label: str | None
    state: str
    number: int


@dataclass(frozen=True)
class Agreement:
    """How many subjects several authors labelled for a task, and on how many of these all of them agree."""

    task: str
    system: str | None
    several: int
    agreed: int

    @property
    def share(self) -> float:
        """The share of subjects on which all authors agree."""
        return self.agreed / self.several


@dataclass(frozen=True)
class Disagreement:
    """Something that authors labelled differently."""

    task: str
    system: str | None
    query: str
    item: str
    against: Against
    text: str | None
    labels: Mapping[str, str]


@dataclass(frozen=True)
class VerdictSummary(Printable):
    """What is in verdict files; `shown` is the number of disagreements in the tables, None for all."""

    labels: Sequence[LabelCount]
    calls: Sequence[ModelCalls]
    agreement: Sequence[Agreement]
    disagreements: Sequence[Disagreement]
    notes: Sequence[str]
    shown: int | None = 10

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(LabelCount))

    def tables(self, digits: int = DIGITS) -> list[Table]:  # noqa: ARG002  # there are only counts and shares
        """Tables for people, with the first disagreements."""
        tables = [self._label_table()]
        if self.calls:
            without = sum(each.without_tokens for each in self.calls)
            unknown = (note_line(f"the tokens of {plural(without, 'call')} are unknown."),) if without else ()
            rows = map(_calls_row, self.calls)
            tables.append(_table(("model", "prompt"), ("calls", "failed", "tokens in", "tokens out"), rows, unknown))
        if self.agreement:
            rows = map(_agreement_row, self.agreement)
            tables.append(_table(("task", "system"), ("labelled by several", "agreed", "share"), rows))
        if self.disagreements:
            first = self.disagreements[: self.shown]
            rest = len(self.disagreements) - len(first)
            more = (f"{plural(rest, 'more disagreement')}; -n 0 shows all.",) if rest else ()
            names = ("task", "system", "query", "item", "against", "labels", "text")
            tables.append(_table(names, (), map(_disagreement_row, first), more))
        return tables

    def _label_table(self) -> Table:
        groups: dict[tuple[str, str | None, str], list[LabelCount]] = {}
        for count in self.labels:
            groups.setdefault((count.task, count.system, count.by), []).append(count)
        rows = (
            (task, system or ALL_SYSTEMS, by, _label_list(counts), f"{sum(count.number for count in counts):,}")
            for (task, system, by), counts in groups.items()
        )
        notes = tuple(note_line(f"{note}.") for note in self.notes)
        return _table(("task", "system", "by", "labels"), ("total",), rows, notes)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "labels": self.records(),
            "calls": [asdict(each) for each in self.calls],
            "agreement": [asdict(each) | {"share": each.share} for each in self.agreement],
            "disagreements": [asdict(each) for each in self.disagreements],
            "notes": list(self.notes),
        }

    def records(self) -> list[dict[str, Any]]:
        """How many labels there are of each kind: a record per task, system, author, label and state."""
        return [asdict(each) for each in self.labels]


def summarize(records: VerdictRecords) -> VerdictSummary:
    """Count the labels of verdict files, and find where authors disagree; replaced labels do not count."""
    labels, status = records.labels, label_status(records)
    rows = [row for row, each in enumerate(status) if each != "replaced"]
    kinds = zip(labels.task, labels.system, labels.by, labels.label, labels.state, strict=True)
    kept = (kind for kind, state in zip(kinds, status, strict=True) if state != "replaced")
    counts = [LabelCount(*kind, number) for kind, number in Counter(kept).items()]
    tasks = list(records.tasks)

    def order(count: LabelCount) -> tuple[int, str, str, int, str]:
        scale = list(records.tasks[count.task].scale)
        on_scale = len(scale) if count.label is None else scale.index(count.label)
        return tasks.index(count.task), count.system or "", count.by, on_scale, count.state

    counts.sort(key=order)
    agreement, disagreements = _compare_authors(records, [row for row in rows if status[row] == "counts"])
    notes = list(records.notes)
    if replaced := len(status) - len(rows):
        notes.append(f"{plural(replaced, 'label')} replaced by a later one of the same author")
    if stale := status.count("stale"):
        notes.append(f"{plural(stale, 'label')} not used: the text has changed since")
    return VerdictSummary(counts, count_calls(records.calls), agreement, disagreements, notes)


HEADER = (
    "query", "system", "task", "item", "against", "label", "state", "by", "sample", "why", "digest", "call", "status",
    "type", "text", "place",
)  # fmt: skip


def label_rows(records: VerdictRecords) -> Iterator[tuple[object, ...]]:
    """A row per label with the fields of `HEADER`, for a CSV file; passages that it is against are a JSON list."""
    labels, status = records.labels, label_status(records)
    for row in range(len(labels)):
        against, item = labels.against[row], records.item(row)
        yield (
            labels.query[row], labels.system[row], labels.task[row], labels.item[row],
            json.dumps(against, ensure_ascii=False) if isinstance(against, tuple) else against,
            labels.label[row], labels.state[row], labels.by[row], labels.sample[row], labels.why[row],
            labels.digest[row], labels.call[row], status[row], item and item.type, item and item.text,
            str(records.place(row)),
        )  # fmt: skip


def _compare_authors(records: VerdictRecords, rows: Sequence[int]) -> tuple[list[Agreement], list[Disagreement]]:
    """Agreement by task and system, and everything that authors disagree about, in the order of the labels."""
    labels = records.labels
    if len(set(labels.by)) < 2:
        return [], []
    votes: dict[SubjectKey, dict[str, list[str]]] = {}
    first: dict[SubjectKey, int] = {}
    for row, subject in zip(rows, subjects_of(labels, np.array(rows, np.int64)), strict=True):
        if (label := labels.label[row]) is not None:
            first.setdefault(subject, row)
            votes.setdefault(subject, {}).setdefault(labels.by[row], []).append(label)
    counts: dict[tuple[str, str | None], list[int]] = {}
    disagreements = []
    for subject, by_author in votes.items():
        scale = records.tasks[subject.task].scale
        chosen = {by: label for by, names in by_author.items() if (label := most_frequent(names, scale)) is not None}
        if len(chosen) < 2:
            continue
        agreed = len(set(chosen.values())) == 1
        count = counts.setdefault((subject.task, subject.system), [0, 0])
        count[0] += 1
        count[1] += agreed
        if not agreed:
            query, system, task, name, against = subject
            item = records.item(first[subject])
            disagreements.append(Disagreement(task, system, query, name, against, item and item.text, chosen))
    return [Agreement(task, system, *count) for (task, system), count in counts.items()], disagreements


def _label_list(counts: Sequence[LabelCount]) -> str:
    return ", ".join(f"{each.label or each.state}: {each.number:,}" for each in counts)


def _table(
    names: tuple[str, ...],
    numbers: tuple[str, ...],
    rows: Iterator[tuple[str | Cell, ...]],
    notes: tuple[str, ...] = (),
) -> Table:
    cells = tuple(tuple(each if isinstance(each, Cell) else Cell(each) for each in row) for row in rows)
    return Table((*names, *numbers), cells, notes, labels=len(names))


def _calls_row(calls: ModelCalls) -> tuple[str, ...]:
    tokens = ("unknown" if each is None else f"{each:,}" for each in (calls.tokens_in, calls.tokens_out))
    return calls.model, calls.prompt, f"{calls.calls:,}", f"{calls.failed:,}", *tokens


def _agreement_row(agreement: Agreement) -> tuple[str, ...]:
    system = agreement.system or ALL_SYSTEMS
    return agreement.task, system, f"{agreement.several:,}", f"{agreement.agreed:,}", f"{agreement.share:.4f}"


def _disagreement_row(about: Disagreement) -> tuple[str | Cell, ...]:
    against = ", ".join(about.against) if isinstance(about.against, tuple) else about.against or ""
    labels = ", ".join(f"{by}: {label}" for by, label in about.labels.items())
    text = long_cell(about.text or "", _TEXT_WIDTH)
    return about.task, about.system or ALL_SYSTEMS, about.query, about.item, against, labels, text
