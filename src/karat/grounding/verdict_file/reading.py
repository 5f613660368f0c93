"""Reading verdict files, lists of records and data frames: all records, checked, with the place of each."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, compress
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from karat.data.judged import Bools
from karat.errors import KaratError, Place, first_few, shown
from karat.errors.arguments import is_list_like
from karat.grounding.verdict_file.columns import LabelColumns, LabelColumnsBuilder
from karat.grounding.verdict_file.drawn import DrawnKey, DrawnQuery, add_drawn, read_drawn_query
from karat.grounding.verdict_file.file_lines import HINT, FileLines, FilePart, FileRecords, RangeRecords
from karat.grounding.verdict_file.records import (
    Call,
    Item,
    ItemKey,
    SystemItemKey,
    check_version,
    kind_of,
    read_call,
    read_item,
)
from karat.grounding.verdict_file.tasks import BUILT_IN, Task, UnknownTaskError, read_task
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.json_decoding import InvalidJsonError, decode_json
from karat.reading.bytes.part_files import check_files
from karat.reading.contents.formats import detect
from karat.reading.pairs.objects import records_of, rereadable
from karat.reading.records.record_files import records_of_file
from karat.reading.records.records import objects_from_json_lines, records_from_list, without_collection

_NAME = "the verdicts"
_LINES = (FileLines, FileRecords, RangeRecords)


class Source(NamedTuple):
    """Where records were read from, and how these are counted."""

    name: str
    first: int
    """the position of its first label among all"""
    has_lines: bool
    """whether records are lines of a file; otherwise they are rows"""

    def place(self, number: int) -> Place:
        """Where a record is: in a line or a row."""
        return Place(self.name, number) if self.has_lines else Place(self.name, row=number)


@dataclass(eq=False)
class VerdictRecords:
    """Everything that verdict files say: items, labels, rubrics and calls, with the places of labels."""

    name: str = _NAME
    items: dict[SystemItemKey, Item] = field(default_factory=dict)
    removed: dict[SystemItemKey, Item] = field(default_factory=dict)
    """items that there were"""
    documents: dict[ItemKey, Item] = field(default_factory=dict)
    """documents of the collection: their labels are grades, which measures of answers do not read"""
    labels: LabelColumns = field(default_factory=lambda: LabelColumnsBuilder().columns())
    tasks: dict[str, Task] = field(default_factory=lambda: dict(BUILT_IN))
    calls: list[Call] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    cut_short: list[Place] = field(default_factory=list)
    """last lines that were cut short, and left out"""
    first_places: dict[SystemItemKey, Place | None] = field(default_factory=dict)
    """where items stood first that were replaced later: `items` are in that order"""
    drawn: dict[DrawnKey, DrawnQuery] = field(default_factory=dict)
    """queries that were drawn at random to be labelled by people"""
    reworded: set[str] = field(default_factory=set)
    """rubrics of which two records ask another question, or give labels another meaning"""

    def place(self, row: int) -> Place:
        """Where a label was read: the file and its line."""
        source = self.sources[bisect_right(self.sources, row, key=attrgetter("first")) - 1]
        return source.place(self.labels.line[row])

    @property
    def notes(self) -> list[str]:
        """What was odd about the files."""
        cut_short = [f"{place}: the last line is cut short and was left out" for place in self.cut_short]
        words = "is described in several ways: the last one is shown, and labels by all of them count together"
        return [*cut_short, *(f"the rubric {shown(name)} {words}" for name in sorted(self.reworded))]

    def item(self, row: int) -> Item | None:
        """The item that a label is about, if it has a record."""
        labels = self.labels
        query, system, name = labels.query[row], labels.system[row], labels.item[row]
        if labels.task[row] == "relevance" and system is None and (query, name) in self.documents:
            return self.documents[query, name]
        return self.items.get((query, system, name)) or self.items.get((query, None, name))

    def about_documents(self) -> Bools:
        """For each label, whether it is about a document of the collection."""
        labels = self.labels
        are_about = labels.task.where(lambda task: task == "relevance") & labels.system.where(lambda name: name is None)
        rows = np.flatnonzero(are_about)
        items = zip(labels.query.take(rows), labels.item.take(rows), strict=True)
        are_about[rows] = [item in self.documents for item in items]
        return are_about

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read but the version of the file."""
        known = self.items, self.removed, self.documents, self.calls, self.drawn, self.rubrics
        return not len(self.labels) and not any(known)

    @property
    def rubrics(self) -> frozenset[str]:
        """The names of the tasks that are not built in."""
        return frozenset(self.tasks.keys() - BUILT_IN.keys())

    @property
    def systems(self) -> list[str]:
        """The systems that labels or items name, in order."""
        named = dict.fromkeys([*self.labels.system.categories, *map(itemgetter(1), self.items)])
        return [system for system in named if system is not None]


@without_collection()
def read_verdict_records(source: Any) -> VerdictRecords:
    """Read verdicts from a file or several, a list of records, or a data frame, unless they were read already.

    A last line that was cut short, as by a crash, is left out with a note; every other fault is an error with its
    place.
    """
    return source if isinstance(source, VerdictRecords) else read_sources(sources_of(source))


def read_sources(sources: Sequence[Any]) -> VerdictRecords:
    """Read the records of sources one after the other."""
    try:
        records = _read(sources, {}, name_of(sources))
    except UnknownTaskError:
        # The record of a rubric may stand after its labels, or in a later file.
        records = _read(sources, _rubrics(sources), name_of(sources))
    if records.is_empty:
        raise no_verdicts(records.name)
    return records


def sources_of(source: Any) -> list[Any]:
    """What is read one after the other, each of which can be read more than once: files, or another source."""
    source = rereadable(source, _NAME)
    return [rereadable(file, _NAME) for file in source] if _are_files(source) else [source]


def name_of(sources: Sequence[Any]) -> str:
    """The name of sources in messages."""
    return first_few([InputFile.of(each).name if is_file(each) else _NAME for each in sources])


@without_collection()
def read_part_of_verdicts(source: Any, name: str = _NAME, rubrics: Iterable[Task] = ()) -> VerdictRecords:
    """Read some of many records, of which there may be none: `rubrics` are those of all, and `name` is for errors."""
    sources = source.files if isinstance(source, FilePart) else [source]
    return _read(sources, {task.name: task for task in rubrics}, name)


def records_in(source: Any) -> Iterator[Mapping[str, Any]]:
    """The records of a source as they are."""
    return chain.from_iterable(rows for _, rows in _rows(source))


def no_verdicts(name: str) -> KaratError:
    """The error for a source without records."""
    return KaratError("no verdicts found", place=name, hint=HINT)


def _are_files(source: object) -> bool:
    is_list = is_list_like(source) and isinstance(source, Sized) and not isinstance(source, Mapping)
    return is_list and len(source) > 0 and all(map(is_file, source))  # type: ignore[call-overload,arg-type]  # just checked


def _read(sources: Sequence[Any], rubrics: Mapping[str, Task], name: str) -> VerdictRecords:
    records = VerdictRecords(name)
    records.tasks |= rubrics
    labels = LabelColumnsBuilder()
    for source in sources:
        _read_source(records, labels, source)
    records.labels = labels.columns()
    return records


def _rubrics(sources: Sequence[Any]) -> dict[str, Task]:
    """The rubrics of all sources; what is wrong with a record is found when all of them are read in order."""
    rubrics: dict[str, Task] = {}
    for source in sources:
        with suppress(KaratError):
            for record in records_in(source):
                if kind_of(record, "") == "task":
                    task = read_task(record, "")
                    rubrics.setdefault(task.name, task)
    return rubrics


def _read_source(records: VerdictRecords, labels: LabelColumnsBuilder, source: Any) -> None:
    file = source.file if isinstance(source, RangeRecords) else InputFile.of(source) if is_file(source) else None
    has_lines = isinstance(source, _LINES) or (file is not None and is_json_lines(file))
    name = source.name if isinstance(source, _LINES) else records.name if file is None else file.name
    records.sources.append(Source(name, len(labels), has_lines))
    try:
        for numbers, rows in _rows(source if file is None or isinstance(source, RangeRecords) else file):
            _add(records, labels, records.sources[-1], numbers, rows)
    except KaratError as error:
        if file is None:
            raise
        lines = source.lines_to_end() if isinstance(source, RangeRecords) else file.lines()
        filled = ((number, line) for number, line in lines if line.strip())
        number, line = max(filled, default=(0, b"")) if has_lines else (0, b"")
        if number < 2 or error.place != Place(file.name, line=number) or not _is_cut_short(line):
            check_files(file)
            raise
        records.cut_short.append(error.place)


def _is_cut_short(line: bytes) -> bool:
    """Whether a line may be the beginning of a longer one: it is not JSON, or ends within a character.

    One that begins with a whole record is not: somebody has put two records on it, and both would be left out.
    """
    try:
        text = line.decode()
        decode_json(line, "", "")
    except UnicodeDecodeError:
        return True
    except InvalidJsonError:
        return not _begins_with_record(text)
    except KaratError:  # such as a key that appears twice
        pass
    return False


def _begins_with_record(text: str) -> bool:
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_json_lines(file: InputFile) -> bool:
    """Whether each line of a file is a record."""
    return detect(file) in ("json", "jsonl")


def _rows(source: Any) -> Iterator[tuple[Sequence[int], Sequence[Mapping[str, Any]]]]:
    """The records of a source in parts, with the numbers of their lines, or their positions from 0."""
    if isinstance(source, _LINES):
        yield from source.records()
        return
    if is_file(source) and is_json_lines(file := InputFile.of(source)):
        yield from objects_from_json_lines(file, HINT)
        return
    if is_file(source):
        records = records_of_file(InputFile.of(source), None, HINT)
    else:
        listed = records_of(source, _NAME)
        if listed is None:
            hint = "Pass a path, an open file, a list of records, or a data frame."
            raise KaratError(f"verdicts cannot be read from {shown(source)}", hint=hint)
        records = records_from_list(listed, _NAME)
    rows = [_without_gaps(record) for _, record in records]
    yield range(len(rows)), rows


def _add(
    records: VerdictRecords,
    labels: LabelColumnsBuilder,
    source: Source,
    lines: Sequence[int],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Add records in order; verdicts, of which there are most, are added together."""
    is_verdict = [
        isinstance(row.get("record"), str) and row["record"] == "verdict" and "type" not in row for row in rows
    ]
    others = [at for at, is_plain in enumerate(is_verdict) if not is_plain]
    for at in others:
        row, place = rows[at], source.place(lines[at])
        kind = kind_of(row, place)
        if kind == "verdict":
            is_verdict[at] = True
            if row.get("type") is not None:
                _add_item(records, read_item(row, place, "item"), declared=False)
        elif kind == "item":
            _add_item(records, read_item(row, place))
        elif kind == "task":
            task = read_task(row, place)
            known = records.tasks.get(task.name, task)
            task.check_same_scale(known, place)
            if task != known:
                records.reworded.add(task.name)
            records.tasks[task.name] = task
        elif kind == "sample":
            add_drawn(records.drawn, read_drawn_query(row, place), place)
        elif kind == "call":
            records.calls.append(read_call(row, place))
        else:
            check_version(row, place)
    lines = list(compress(lines, is_verdict))
    labels.add(list(compress(rows, is_verdict)), lines, records.tasks, lambda at: source.place(lines[at]))


def _add_item(records: VerdictRecords, item: Item, *, declared: bool = True) -> None:
    """Add an item, or replace it; one that a label declares replaces nothing."""
    key = item.system_key
    known = records.items.get(key) or (None if item.system else records.documents.get(item.key))
    if known is not None and (known.type == "document") != (item.type == "document"):
        hint = "Name the system of passages, or keep the labels of documents in a file of their own."
        raise _another_type(item, known).but(hint=hint)
    if known is not None and not declared:
        if known.type != item.type or (item.of and known.of != item.of):
            raise _another_type(item, known)
        return
    if item.type == "document":
        records.documents[item.key] = item
    elif item.removed:
        records.items.pop(key, None)
        records.first_places.pop(key, None)
        records.removed[key] = item
    else:
        if key in records.items:
            records.first_places.setdefault(key, records.items[key].place)
        records.items[key] = item
        records.removed.pop(key, None)


def _another_type(item: Item, known: Item) -> KaratError:
    what = f"the item {shown(item.id)} of query {shown(item.query)} is a {known.type} in "
    return KaratError([what, known.place or "", f", but a {item.type} here"], place=item.place)


def _without_gaps(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without its empty cells, which a data frame has for fields of other records."""

    def is_gap(value: object) -> bool:
        return value is None or (isinstance(value, float) and math.isnan(value))

    return {name: value for name, value in record.items() if not is_gap(value)}
