"""The columns of labels, checked: each field of all labels at once, because there may be millions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from karat.arguments import as_count
from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.errors import KaratError, did_you_mean, shown
from karat.labels.records import LARGEST
from karat.labels.tasks import Task

_STATES = ("labelled", "nothing_to_judge", "failed")
_AGAINST = ("context", "answer", "gold", "question")

Against = str | tuple[str, ...] | None
"""what a label is against: all passages together, the answer and so on, or some passages"""
Place = Callable[[int], str]
"""the place of a row, for errors"""


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Sequence[Any]] | None:
    """The columns of records that all have the same fields, as those of a program have; None if they have not."""
    if not rows or len(set(map(len, rows))) > 1:
        return None
    names = tuple(rows[0])
    try:
        # Rows with as many fields, and with all of these, have the same fields.
        values = list(map(itemgetter(*names), rows)) if len(names) > 1 else []
    except KeyError:
        return None
    return dict(zip(names, zip(*values, strict=True), strict=True)) if values else None


def ids(values: list[Any], field: str, place: Place, *, optional: bool = False) -> list[Any]:
    """Ids as texts. Equal ids become one text, which needs less memory and is found faster."""
    if values and type(values[0]) is str and values.count(values[0]) == len(values):
        return _ids(values[:1], field, place, optional) * len(values)  # one system, task or author
    return _ids(values, field, place, optional)


def _ids(values: list[Any], field: str, place: Place, optional: bool) -> list[Any]:
    if not all_text(values):
        for at, value in enumerate(values):
            if value is None and not optional:
                raise KaratError(f"the field {field} is missing", where=place(at))
        values = [
            value if value is None else identifier(value, f"{place(at)}, {field}") for at, value in enumerate(values)
        ]
    distinct = set(values)
    if "" in distinct:
        raise KaratError(f"the field {field} is empty", where=place(values.index("")))
    try:
        reject_lone_surrogates(distinct - {None}, "")
    except KaratError:
        for at, value in enumerate(values):
            reject_lone_surrogates([value or ""], place(at))
    shared = {value: value for value in distinct}
    return list(map(shared.__getitem__, values))


def against_what(values: list[Any], place: Place) -> list[Against]:
    """What labels are against: a list of passages as a tuple of distinct ids, in order of their names."""
    known: dict[Any, Against] = {None: None, **{word: word for word in _AGAINST}}
    keys = [tuple(value) if type(value) is list else value for value in values]
    for at in _first_of_each(keys):
        try:
            if keys[at] not in known:
                known[keys[at]] = _passages(keys[at], place(at))
        except TypeError:  # a list within a list
            raise _wrong_against(values[at], place(at)) from None
    return list(map(known.__getitem__, keys))


def _first_of_each(keys: list[Any]) -> Iterable[int]:
    """The positions at which a new key appears; all positions if keys cannot be compared."""
    try:
        first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
    except TypeError:
        return range(len(keys))
    return sorted(first.values())


def _passages(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise _wrong_against(value, where)
    return tuple(sorted({identifier(each, f"{where}, against") for each in value}))


def _wrong_against(value: object, where: str) -> KaratError:
    hint = f'It is one of {", ".join(_AGAINST)}, or a list of passages such as ["p1"].'
    if isinstance(value, str):
        hint = f"{did_you_mean(value, _AGAINST)} {hint}".strip()
    return KaratError(f"the field against is {shown(value)}", where=where, hint=hint)


def labels_and_states(
    tasks: Mapping[str, Task], task: Sequence[str], label: Sequence[Any], state: Sequence[Any], place: Place
) -> tuple[list[str | None], list[str]]:
    """Each label as it is spelled on its scale, and its state; each distinct label is checked once."""
    keys = list(zip(task, label, map(type, label), state, strict=True))  # 1 and True are equal, but True is no label
    known: dict[Any, tuple[str | None, str]] = {}
    for at in _first_of_each(keys):
        try:
            known[keys[at]] = _label(tasks[task[at]], label[at], state[at], place(at))
        except TypeError:  # a list or an object
            raise KaratError(f"the label {shown(label[at])} is not a text", where=place(at)) from None
    found = list(map(known.__getitem__, keys))
    return [label for label, _ in found], [state for _, state in found]


def _label(task: Task, label: object, state: object, where: str) -> tuple[str | None, str]:
    if state is None:
        state = "labelled"
    if not isinstance(state, str) or state not in _STATES:
        hint = f"{did_you_mean(state, _STATES)} It is one of {', '.join(_STATES)}.".strip()
        raise KaratError(f"the state is {shown(state)}", where=where, hint=hint)
    if state == "labelled":
        if label is None:
            hint = 'If it could not be labelled, write "state": "failed".'
            raise KaratError("the label is missing", where=where, hint=hint)
        return task.label(label, where), state
    if label is not None:
        what = f"the state is {state}, but the label is {shown(label)}"
        raise KaratError(what, where=where, hint=f"A label that is {state} has the label null.")
    return None, state


def samples(values: list[Any], place: Place) -> list[int]:
    if set(map(type, values)) <= {type(None)}:
        return [0] * len(values)
    samples = [0 if value is None else as_count(value, 0, LARGEST) for value in values]
    if None in samples:
        at = samples.index(None)
        raise KaratError(f"the sample {shown(values[at])} is not a whole number from 0 to {LARGEST:,}", where=place(at))
    return samples  # type: ignore[return-value]  # none of them is None


def texts(values: list[Any], field: str, place: Place) -> list[str | None]:
    if not set(map(type, values)) <= {str, type(None)}:
        at = next(at for at, value in enumerate(values) if not isinstance(value, str | None))
        raise KaratError(f"the field {field} is {shown(values[at])}, not a text", where=place(at))
    return values
