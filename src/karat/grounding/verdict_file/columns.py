"""The labels of many records, read and checked column by column, because there may be millions."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from karat.data.judged import Bools, Ints
from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.errors import KaratError, Place, did_you_mean, shown
from karat.errors.arguments import as_count
from karat.grounding.verdict_file.categorical import Categorical, CategoricalBuilder, PlaceOf
from karat.grounding.verdict_file.records import LARGEST, ItemKey
from karat.grounding.verdict_file.tasks import CONTRADICTS, Task, UnknownTaskError

_IDS = ("query", "item", "system", "by")
_TEXTS = ("digest", "against_digest", "call")
_STATES = ("labelled", "nothing_to_judge", "failed")
_AGAINST = ("context", "answer", "gold", "question")
UNNAMED_AUTHOR = "human"
"""of labels that do not name their author"""

LISTS = ("question", "context")
"""implied items that stand for a list: the nuggets of the question, and the passages"""

Against = str | tuple[str, ...] | None
"""what a label is against: all passages together, the answer and so on, or some passages"""


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """All labels, a column per field; a row is one label."""

    query: Categorical[str]
    system: Categorical[str | None]
    task: Categorical[str]
    item: Categorical[str]
    against: Categorical[Against]
    label: Categorical[str | None]
    state: Categorical[str]
    by: Categorical[str]
    sample: array[int]
    why: list[str | None]
    digest: Categorical[str | None]
    against_digest: Categorical[str | None]
    call: Categorical[str | None]
    line: array[int]

    def __len__(self) -> int:
        return len(self.line)

    def are_about(self, rows: Ints, items: Set[ItemKey], against: Set[ItemKey]) -> Bools:
        """For each of these rows, whether the label is about one of some items, or against one of some others."""
        are_about = self.query.take(rows).where({query for query, _ in items | against}.__contains__)
        for at in np.flatnonzero(are_about).tolist():
            query, compared = self.query[rows[at]], self.against[rows[at]]
            names = compared if isinstance(compared, tuple) else (compared,)
            is_about = (query, self.item[rows[at]]) in items
            are_about[at] = is_about or any((query, name) in against for name in names)
        return are_about

    def are_contradictions(self) -> Bools:
        """For each label, whether it says that a text contradicts an item."""
        is_support = self.task.where(lambda task: task == "support")
        return is_support & self.label.where(lambda label: label == CONTRADICTS)

    def have_failed(self, rows: Ints) -> Bools:
        """For each of these rows, whether it could not be labelled."""
        return self.state.take(rows).where(lambda state: state == "failed")


class _TaskLabel(NamedTuple):
    """A label on the scale of its task, and its state."""

    task: str
    label: str | None
    state: str


class LabelColumnsBuilder:
    """The columns of labels, while they are read."""

    def __init__(self) -> None:
        names = (*_IDS, "against", "task_label", *_TEXTS)
        self._builders = {name: CategoricalBuilder[Any]() for name in names}
        self._why: list[str | None] = []
        self._sample, self._line = array("q"), array("q")

    def __len__(self) -> int:
        return len(self._line)

    def add(
        self, rows: Sequence[Mapping[str, Any]], lines: list[int], tasks: Mapping[str, Task], place: PlaceOf
    ) -> None:
        """Add the labels of records."""
        column, builders = _columns(rows), self._builders
        for name in _IDS:
            builders[name].add(column(name), place, partial(_ids, name))
        task = _known_tasks(tasks, column("task"), place)
        against = [tuple(value) if type(value) is list else value for value in column("against")]
        builders["against"].add(against, place, _against)
        task_labels = list(zip(task, column("label"), column("state"), strict=True))
        builders["task_label"].add(task_labels, place, partial(_task_labels, tasks))
        self._sample.extend(_samples(column("sample"), place))
        self._why += _texts("why", column("why"), place)
        for name in _TEXTS:
            builders[name].add(column(name), place, partial(_texts, name))
        self._line.fromlist(lines)

    def columns(self) -> LabelColumns:
        """The columns of all labels."""
        columns = {name: builder.column() for name, builder in self._builders.items()}
        task_label: Categorical[_TaskLabel] = columns.pop("task_label")
        by_task_label = {name: task_label.map(attrgetter(name)) for name in _TaskLabel._fields}
        return LabelColumns(**columns, **by_task_label, sample=self._sample, why=self._why, line=self._line)


def _columns(rows: Sequence[Mapping[str, Any]]) -> Callable[[str], list[Any]]:
    """A function that returns the column with a name."""
    if rows and len(set(map(len, rows))) == 1:
        try:
            # Rows with as many fields, and with all of these, have the same fields, as those of a program have.
            by_name = {name: [row[name] for row in rows] for name in rows[0] if name != "record"}
        except KeyError:
            pass
        else:
            return lambda name: by_name[name] if name in by_name else [None] * len(rows)
    return lambda name: [row.get(name) for row in rows]


def _ids(field: str, values: list[Any], place: PlaceOf) -> list[Any]:
    """Ids as texts; only a system and an author may be missing."""
    if field == "by":
        values = [UNNAMED_AUTHOR if value is None else value for value in values]
    if not all_text(values):
        for at, value in enumerate(values):
            if value is None and field != "system":
                raise KaratError(f"the field {field} is missing", place=place(at))
        values = [
            value if value is None else identifier(value, place(at).inside(field)) for at, value in enumerate(values)
        ]
    distinct = set(values)
    if "" in distinct:
        raise KaratError(f"the field {field} is empty", place=place(values.index("")))
    try:
        reject_lone_surrogates(distinct - {None}, "")
    except KaratError:
        for at, value in enumerate(values):
            reject_lone_surrogates([value or ""], place(at))
    return values


def _known_tasks(tasks: Mapping[str, Task], values: list[Any], place: PlaceOf) -> list[str]:
    """The tasks of labels; an unknown one is an error."""
    try:
        if set(values) <= tasks.keys():
            return values
    except TypeError:  # a list or an object
        pass
    values = _ids("task", values, place)
    for task in dict.fromkeys(values):
        if task not in tasks:
            raise UnknownTaskError(task, tasks, place(values.index(task)))
    return values


def _against(values: list[Any], place: PlaceOf) -> list[Against]:
    """What labels are against: several passages are a tuple of distinct ids, in order of their names."""
    known: dict[Any, Against] = {None: None, **{word: word for word in _AGAINST}}
    # 1 and True are equal, but True is not an id.
    keys = [(value, *map(type, value)) if type(value) is tuple else value for value in values]
    for at in _first_of_each(keys):
        try:
            if keys[at] not in known:
                known[keys[at]] = _passages(values[at], place(at))
        except TypeError:  # a list within a list
            value = list(values[at]) if type(values[at]) is tuple else values[at]
            raise _wrong_against(value, place(at)) from None
    return list(map(known.__getitem__, keys))


def _first_of_each(keys: list[Any]) -> Iterable[int]:
    """The positions at which a new key appears; all positions if keys cannot be compared."""
    try:
        first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
    except TypeError:
        return range(len(keys))
    return sorted(first.values())


def _passages(value: object, place: Place) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise _wrong_against(value, place)
    return tuple(sorted({identifier(each, place.inside("against")) for each in value}))


def _wrong_against(value: object, place: Place) -> KaratError:
    hint = f'It is one of {", ".join(_AGAINST)}, or a list of passages such as ["p1"].'
    if isinstance(value, str):
        hint = f"{did_you_mean(value, _AGAINST)} {hint}".strip()
    return KaratError(f"the field against is {shown(value)}", place=place, hint=hint)


def _task_labels(tasks: Mapping[str, Task], values: list[Any], place: PlaceOf) -> list[_TaskLabel]:
    """Each label as it is spelled on the scale of its task; each distinct label is checked once."""
    keys = [(value, type(value[1])) for value in values]  # 1 and True are equal, but True is not a label
    known: dict[Any, _TaskLabel] = {}
    for at in _first_of_each(keys):
        task, label, state = values[at]
        try:
            known[keys[at]] = _TaskLabel(task, *_label(tasks[task], label, state, place(at)))
        except TypeError:  # a list or an object
            raise KaratError(f"the label {shown(label)} is not a text", place=place(at)) from None
    return list(map(known.__getitem__, keys))


def _label(task: Task, label: object, state: object, place: Place) -> tuple[str | None, str]:
    if state is None:
        state = "labelled"
    if not isinstance(state, str) or state not in _STATES:
        hint = f"{did_you_mean(state, _STATES)} It is one of {', '.join(_STATES)}.".strip()
        raise KaratError(f"the state is {shown(state)}", place=place, hint=hint)
    if state == "labelled":
        if label is None:
            hint = 'If it could not be labelled, write "state": "failed".'
            raise KaratError("the label is missing", place=place, hint=hint)
        return task.label(label, place), state
    if label is not None:
        what = f"the state is {state}, but the label is {shown(label)}"
        raise KaratError(what, place=place, hint=f"A label that is {state} has the label null.")
    return None, state


def _samples(values: list[Any], place: PlaceOf) -> array[int]:
    if {*map(type, values)} <= {type(None)}:
        return array("q", [0]) * len(values)
    samples = [0 if value is None else as_count(value, 0, LARGEST) for value in values]
    if None in samples:
        at = samples.index(None)
        raise KaratError(f"the sample {shown(values[at])} is not a whole number from 0 to {LARGEST:,}", place=place(at))
    return array("q", samples)  # type: ignore[arg-type]  # none of them is None


def _texts(field: str, values: list[Any], place: PlaceOf) -> list[str | None]:
    if not {*map(type, values)} <= {str, type(None)}:
        at = next(at for at, value in enumerate(values) if not isinstance(value, str | None))
        raise KaratError(f"the field {field} is {shown(values[at])}, not a text", place=place(at))
    return values
