"""Reading verdict files, lists of records and data frames: all records, checked, with the place of each."""

from __future__ import annotations

import gc
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from karat.arguments import as_count, is_list_like
from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.errors import KaratError, did_you_mean, shown
from karat.files.input_file import InputFile, is_file
from karat.labels.records import LARGEST, VERSION, Item, kind_of, read_item
from karat.labels.tasks import BUILT_IN, Task, read_task
from karat.sources.formats import detect
from karat.sources.objects import records_of
from karat.sources.record_files import records_of_file
from karat.sources.records import objects_from_json_lines, records_from_list

_HINT = 'Each line is one object: {"record": "verdict", "query": "...", "task": "support", "item": "...", ...}.'
_STATES = ("labelled", "nothing_to_judge", "failed")
_AGAINST = ("context", "answer", "gold", "question")
_NAMED_BY = "human"
"""the author of labels that name none"""

Against = str | tuple[str, ...] | None


class Source(NamedTuple):
    """Where records were read from: `lines` says whether they are counted as lines of a file, or from 0."""

    name: str
    first: int
    """the position of its first label among all"""
    lines: bool


@dataclass(eq=False)
class LabelColumns:
    """All labels, one list per field; a row is one label."""

    query: list[str] = field(default_factory=list)
    system: list[str | None] = field(default_factory=list)
    task: list[str] = field(default_factory=list)
    item: list[str] = field(default_factory=list)
    against: list[Against] = field(default_factory=list)
    label: list[str | None] = field(default_factory=list)
    state: list[str] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    sample: list[int] = field(default_factory=list)
    why: list[str | None] = field(default_factory=list)
    digest: list[str | None] = field(default_factory=list)
    call: list[str | None] = field(default_factory=list)
    line: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.query)


@dataclass(eq=False)
class VerdictRecords:
    """Everything that verdict files say: items, labels, rubrics and calls, with notes on what was odd."""

    name: str = "the verdicts"
    items: dict[tuple[str, str | None, str], Item] = field(default_factory=dict)
    """by query, system and id"""
    labels: LabelColumns = field(default_factory=LabelColumns)
    tasks: dict[str, Task] = field(default_factory=lambda: dict(BUILT_IN))
    calls: list[Mapping[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)

    def place(self, row: int) -> str:
        """Where a label was read: the file and its line."""
        source = self.sources[bisect_right([each.first for each in self.sources], row) - 1]
        return _place(source, self.labels.line[row])

    @property
    def systems(self) -> list[str]:
        """The systems that labels or items name, in order."""
        named = dict.fromkeys([*self.labels.system, *(system for _, system, _ in self.items)])
        return [system for system in named if system is not None]


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause Python's garbage collector, which would search millions of records again and again, and free none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@without_collection()
def read_verdict_records(source: Any) -> VerdictRecords:
    """Read verdicts from a file or several, a list of records, or a data frame.

    A last line that was cut short, as by a crash, is left out with a note; every other fault is an error with its
    place.
    """
    records = VerdictRecords()
    for each in source if _are_files(source) else [source]:
        if is_file(each):
            _read_file(records, InputFile.of(each))
            continue
        listed = records_of(each, "the verdicts")
        if listed is None:
            hint = "Pass a path, an open file, a list of records, or a data frame."
            raise KaratError(f"verdicts cannot be read from {shown(each)}", hint=hint)
        place = Source("the verdicts", len(records.labels), lines=False)
        records.sources.append(place)
        rows = [_without_gaps(record) for _, record in records_from_list(listed, place.name)]
        _add(records, place, list(range(len(rows))), rows)
    if not records.items and not len(records.labels):
        raise KaratError("no verdicts found", where=records.name, hint=_HINT)
    return records


def _are_files(source: object) -> bool:
    return is_list_like(source) and all(map(is_file, source)) and bool(source)  # type: ignore[call-overload]  # it is iterable


def _read_file(records: VerdictRecords, file: InputFile) -> None:
    records.name = file.name
    place = Source(file.name, len(records.labels), lines=True)
    records.sources.append(place)
    if detect(file) not in ("json", "jsonl"):
        rows = [_without_gaps(record) for _, record in records_of_file(file, None, _HINT)]
        records.sources[-1] = place._replace(lines=False)
        _add(records, records.sources[-1], list(range(len(rows))), rows)
        return
    try:
        for numbers, objects in objects_from_json_lines(file, _HINT):
            _add(records, place, numbers, objects)
    except KaratError as error:
        last = max((number for number, line in file.lines() if line.strip()), default=0)
        if last < 2 or error.where != f"{file.name}:{last}" or not error.what.startswith(("not JSON", "not UTF-8")):
            file.check()
            raise
        records.notes.append(f"{file.name}:{last}: the last line is cut short and was left out")


def _add(records: VerdictRecords, source: Source, lines: Sequence[int], rows: Sequence[Mapping[str, Any]]) -> None:
    """Add records in order; runs of verdicts, of which there are most, are added together."""
    verdicts: list[int] = []
    for at, row in enumerate(rows):
        if row.get("record") == "verdict" and "type" not in row:
            verdicts.append(at)
            continue
        where = _place(source, lines[at])
        kind = kind_of(row, where)
        if kind == "verdict":
            verdicts.append(at)
            if row.get("type") is not None:
                _add_item(records, read_item(row, where, "item"), declared=False)
        elif kind == "item":
            _add_item(records, read_item(row, where))
        elif kind == "task":
            _add_task(records, read_task(row, where), where)
        elif kind == "call":
            records.calls.append(row)
        elif row.get("version") != VERSION or row["version"] is True:
            what = f"this is version {shown(row.get('version'))} of the verdict file"
            hint = f"This version of karat reads version {VERSION}."
            raise KaratError(what, where=where, hint=hint)
    _add_labels(records, source, [lines[at] for at in verdicts], [rows[at] for at in verdicts])


def _add_item(records: VerdictRecords, item: Item, *, declared: bool = True) -> None:
    key = item.query, item.system, item.id
    known = records.items.get(key)
    if known is not None and not declared:
        if known.type != item.type or (item.of and known.of != item.of):
            what = f"the item {shown(item.id)} of query {shown(item.query)} is a {known.type} in {known.where}"
            raise KaratError(f"{what}, but a {item.type} here", where=item.where)
        return
    records.items[key] = item


def _add_task(records: VerdictRecords, task: Task, where: str) -> None:
    known = records.tasks.get(task.name)
    if known is not None and known.scale != task.scale:
        hint = "Give the changed rubric another name: labels on two scales cannot be compared."
        raise KaratError(f"the task {shown(task.name)} already has another scale", where=where, hint=hint)
    records.tasks[task.name] = task


def _add_labels(
    records: VerdictRecords, source: Source, lines: Sequence[int], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Add verdicts column by column, which is several times as fast as row by row."""
    columns, by_name = records.labels, _columns(rows)

    def place(at: int) -> str:
        return _place(source, lines[at])

    def column(name: str) -> list[Any]:
        if by_name is None:
            return [row.get(name) for row in rows]
        return list(by_name[name]) if name in by_name else [None] * len(rows)

    columns.query += _ids(column("query"), "query", place)
    columns.item += _ids(column("item"), "item", place)
    columns.system += _ids(column("system"), "system", place, optional=True)
    columns.by += _ids([_NAMED_BY if by is None else by for by in column("by")], "by", place)
    tasks = _ids(column("task"), "task", place)
    for task in dict.fromkeys(tasks):
        if task not in records.tasks:
            hint = f"{did_you_mean(task, records.tasks)} A rubric needs a record of its own, before its labels:"
            hint += ' {"record": "task", "name": ..., "scale": {label: number, ...}}.'
            raise KaratError(f"unknown task {shown(task)}", where=place(tasks.index(task)), hint=hint.strip())
    columns.task += tasks
    columns.against += _against(column("against"), place)
    labels, states = _labels(records.tasks, tasks, column("label"), column("state"), place)
    columns.label += labels
    columns.state += states
    columns.sample += _samples(column("sample"), place)
    columns.why += _texts(column("why"), "why", place)
    columns.digest += _texts(column("digest"), "digest", place)
    columns.call += _texts(column("call"), "call", place)
    columns.line += lines


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Sequence[Any]] | None:
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


def _ids(values: list[Any], field: str, place: Any, *, optional: bool = False) -> list[Any]:
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
    # Equal ids become one text, which needs less memory and is found faster.
    shared = {value: value for value in distinct}
    return list(map(shared.__getitem__, values))


def _against(values: list[Any], place: Any) -> list[Against]:
    """What labels are against: a list of passages as a tuple of distinct ids, in order of their names."""
    known: dict[Any, Against] = {None: None, **{word: word for word in _AGAINST}}
    found: list[Against] = []
    for at, value in enumerate(values):
        key = tuple(value) if type(value) is list else value
        try:
            if key not in known:
                known[key] = _passages(value, place(at))
            found.append(known[key])
        except TypeError:  # a list within a list
            raise _wrong_against(value, place(at)) from None
    return found


def _passages(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise _wrong_against(value, where)
    return tuple(sorted({identifier(each, f"{where}, against") for each in value}))


def _wrong_against(value: object, where: str) -> KaratError:
    hint = f'It is one of {", ".join(_AGAINST)}, or a list of passages such as ["p1"].'
    if isinstance(value, str):
        hint = f"{did_you_mean(value, _AGAINST)} {hint}".strip()
    return KaratError(f"the field against is {shown(value)}", where=where, hint=hint)


def _labels(
    tasks: Mapping[str, Task], task: Sequence[str], label: Sequence[Any], state: Sequence[Any], place: Any
) -> tuple[list[str | None], list[str]]:
    """Each label as it is spelled on its scale, and its state; each distinct label is checked once."""
    known: dict[Any, tuple[str | None, str]] = {}
    found: list[tuple[str | None, str]] = []
    for at, key in enumerate(zip(task, label, state, strict=True)):
        try:
            if key not in known or key[1] is True or key[1] is False:  # which equal 1 and 0, but are no labels
                known[key] = _label(tasks[key[0]], key[1], key[2], place(at))
            found.append(known[key])
        except TypeError:  # a list or an object
            raise KaratError(f"the label {shown(key[1])} is not a text", where=place(at)) from None
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


def _samples(values: list[Any], place: Any) -> list[int]:
    if set(map(type, values)) <= {type(None)}:
        return [0] * len(values)
    samples = [0 if value is None else as_count(value, 0, LARGEST) for value in values]
    if None in samples:
        at = samples.index(None)
        raise KaratError(f"the sample {shown(values[at])} is not a whole number from 0 to {LARGEST:,}", where=place(at))
    return samples  # type: ignore[return-value]  # none of them is None


def _texts(values: list[Any], field: str, place: Any) -> list[str | None]:
    if not set(map(type, values)) <= {str, type(None)}:
        at = next(at for at, value in enumerate(values) if not isinstance(value, str | None))
        raise KaratError(f"the field {field} is {shown(values[at])}, not a text", where=place(at))
    return values


def _place(source: Source, number: int) -> str:
    return f"{source.name}:{number}" if source.lines else f"{source.name}, row {number} (counted from 0)"


def _without_gaps(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without its empty cells, which a data frame has for fields of other records."""
    return {name: value for name, value in record.items() if not (value is None or _is_nan(value))}


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
