"""Read a sheet that people have filled in: all errors at once, and then the records for the verdict file."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from typing import Any

from karat.errors import KaratError, Message, Parameter, Place, did_you_mean, enumeration, first_few, plural, shown
from karat.grounding.sheets.sheets import COLUMNS, LONGEST_CELL, record_digest, shown_digest
from karat.grounding.verdict_file.drawn import DrawnKey, DrawnQuery, add_drawn, read_drawn_query
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.grounding.verdict_file.records import IMPLIED, Item, SystemItemKey, read_item
from karat.grounding.verdict_file.tasks import BUILT_IN, NOTHING_TO_JUDGE, Task, read_task
from karat.reading.bytes.delimited_text import SEPARATORS, row_error
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_json

_MOST_ERRORS = 20
_PEEK = 1 << 16  # characters
_ROW = re.compile(r"(\d+) of ")
_DECIMALS = re.compile(r"[.,]0+$")
_NEEDED = ("item", "compare_with", "label", "why", "record")
_AS_WRITTEN = "Fill in only the columns label and why, and leave the others as they are."
_SAVE_AS_UTF8 = 'In Excel, save it as "CSV UTF-8 (Comma delimited)".'


class SheetError(KaratError):
    """The errors of a sheet: their `number`, and the first twenty of them."""

    def __init__(self, errors: Sequence[KaratError], place: str) -> None:
        self.errors, self.number = tuple(errors[:_MOST_ERRORS]), len(errors)
        more = f" {plural(self.number - 1, 'other error')} in this sheet." if self.number > 1 else ""
        super().__init__(errors[0].what, place=errors[0].place or place, hint=f"{errors[0].hint or ''}{more}".strip())


class _ChangedTextError(KaratError):
    """A text that is not the one of the sheet as it was written."""


@dataclass
class FilledSheet:
    """What a sheet contains: items, rubrics and verdicts, as records; and how many rows have no label yet."""

    name: str
    items: dict[SystemItemKey, Item] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    drawn: dict[DrawnKey, DrawnQuery] = field(default_factory=dict)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    unlabelled: int = 0
    notes: list[str] = field(default_factory=list)

    def records(self) -> list[dict[str, Any]]:
        """Everything as records of a verdict file."""
        tasks = [task.record() for task in self.tasks.values()]
        drawn = (query.record() for query in self.drawn.values())
        return [*tasks, *drawn, *(item.record() for item in self.items.values()), *self.verdicts]


def read_filled_sheet(source: Any, author: str = "human") -> FilledSheet:
    """Read a sheet: a CSV file as written by karat, or saved by a spreadsheet; `author` is who has filled it in.

    Wrong cells are errors, all in one `SheetError`: nothing is read from a sheet that has any.
    """
    file = InputFile.of(source)
    text, is_utf8 = _decode(file)
    reader = _SheetReader(FilledSheet(file.name), _author(author), is_utf8)
    reader.read(text)
    if reader.errors:
        raise SheetError(reader.errors, file.name)
    if records := reader.sheet.records():
        try:
            read_verdict_records(records)  # what cannot be read must not be written
        except KaratError as error:
            raise error.but(place=file.name) from None
    if not is_utf8:
        reader.sheet.notes.append(f"{file.name} is not UTF-8, so it was read as Windows-1252")
    return reader.sheet


def _author(author: str) -> str:
    """Who has filled in a sheet, as verdicts name people.

    >>> _author("ann"), _author("human"), _author("human:ann")
    ('human:ann', 'human', 'human:ann')
    """
    name = author.strip()
    if not name or name == "human:":
        hint: Message = ["Pass the name of who has filled in the sheet, such as ", Parameter("author", "ann"), "."]
        raise KaratError([Parameter("author", author), " is not a name"], hint=hint)
    return name if name == "human" or name.startswith("human:") else f"human:{name}"


def _decode(file: InputFile) -> tuple[str, bool]:
    """The text of a file, and whether it is UTF-8; spreadsheets may save Windows-1252."""
    data = file.read_all()
    try:
        return data.decode(), True
    except UnicodeDecodeError:
        try:
            return data.decode("cp1252"), False
        except UnicodeDecodeError:
            what = "the file is neither UTF-8 nor Windows-1252"
            raise KaratError(what, place=file.name, hint=_SAVE_AS_UTF8) from None


class _SheetReader:
    """Reads a sheet row by row, and goes on after an error."""

    def __init__(self, sheet: FilledSheet, author: str, is_utf8: bool) -> None:
        self.sheet, self.author, self.is_utf8 = sheet, author, is_utf8
        self.errors: list[KaratError] = []
        self.numbers: dict[int, int] = {}
        """the number that a spreadsheet gives each row of the sheet, by its own number"""
        self.sheet_id: tuple[str, int] | None = None
        """the name of the sheet, and how many rows it has"""

    def read(self, text: str) -> None:
        lost_characters = False
        for number, cells in self._rows(text):
            try:
                self._read_row(number, cells)
            except KaratError as error:
                if isinstance(error, _ChangedTextError) and not self.is_utf8:
                    lost_characters = True
                else:
                    self.errors.append(error.but(place=self._place(number)))
        if lost_characters:
            what = "characters were lost when the sheet was saved as Windows-1252"
            self.errors.insert(0, KaratError(what, place=self.sheet.name, hint=_SAVE_AS_UTF8))
        if not self.numbers and not self.errors:
            raise KaratError("the sheet has no rows", place=self.sheet.name, hint=_AS_WRITTEN)
        if self.sheet_id is not None and (number := self.sheet_id[1] - len(self.numbers)) > 0:
            rows = (str(row) for row in range(1, self.sheet_id[1] + 1) if row not in self.numbers)
            what = f"{plural(number, 'row')} of {self.sheet_id[1]:,} not found: {first_few(list(islice(rows, 4)))}"
            hint = "Keep all rows; one without a label is not labelled yet."
            self.errors.append(KaratError(what, place=self.sheet.name, hint=hint))

    def _rows(self, text: str) -> Iterator[tuple[int, dict[str, str]]]:
        """The cells of each row by column, with the number that a spreadsheet gives the row."""
        separator = max(SEPARATORS, key=lambda mark: len({*_first_row(text, mark)} & {*COLUMNS}))
        reader = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
        header: list[str] | None = None
        number = 0
        try:
            for number, cells in enumerate(reader, 1):
                if not any(map(str.strip, cells)):
                    continue
                if header is None:
                    header = self._header(cells)
                elif any(map(str.strip, cells[len(header) :])):
                    what = f"{plural(len(cells), 'column')}, but the header has {len(header)}"
                    hint = "Put a cell that contains a separator in quotation marks."
                    self.errors.append(KaratError(what, place=self._place(number), hint=hint))
                else:
                    yield number, dict(zip(header, [*cells, *[""] * len(header)], strict=False))
        except csv.Error as error:
            raise row_error(error, separator, self._place(number + 1), _AS_WRITTEN) from None

    def _header(self, cells: Sequence[str]) -> list[str]:
        names = [cell.strip().lower() for cell in cells]
        others = [name for name in names if name and name not in COLUMNS]
        if missing := [name for name in _NEEDED if names.count(name) != 1]:
            twice = [name for name in missing if name in names]
            none = "there is no column" if len(missing) == 1 else "there are no columns"
            what = f"{none} {enumeration([shown(name) for name in missing], 'and')}"
            what = f"the column {shown(twice[0])} is there twice" if twice else what
            hint = f"{_hint_on_renamed(missing, others)} Columns of a sheet are {', '.join(COLUMNS)}.".strip()
            raise KaratError(what, place=self.sheet.name, hint=hint)
        if others:
            listed = first_few([shown(name) for name in others])
            self.sheet.notes.append(f"{self.sheet.name}: {plural(len(others), 'other column')} ignored ({listed})")
        return names

    def _place(self, number: int) -> Place:
        return Place(self.sheet.name).inside(f"row {number}")  # which a spreadsheet counts from 1

    def _read_row(self, at: int, cells: Mapping[str, str]) -> None:
        number = _ROW.match(cells.get("row", ""))
        try:
            record = _record(cells["record"])
            row, sheet_id = record["row"], (record["sheet"], record["rows"])
            self.sheet_id = self.sheet_id or sheet_id
            if sheet_id != self.sheet_id:
                what = "this row is from another sheet than the first one"
                raise KaratError(what, hint="Import each sheet from its own file.")
            if row in self.numbers:
                what = f"this row is the same as row {self.numbers[row]}: both are row {row} of the sheet"
                raise KaratError(what, hint="Keep one of them.")
            self.numbers[row] = at
            self._read_label(record, cells)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if number and len(number[1]) < 9:
                self.numbers.setdefault(int(number[1]), at)
            if isinstance(error, KaratError):
                raise
            raise KaratError("the cell in the column record was changed", hint=_AS_WRITTEN) from None

    def _read_label(self, record: Mapping[str, Any], cells: Mapping[str, str]) -> None:
        query, system, task_name = record["query"], record["system"], record["task"]
        if "sample" in record:
            add_drawn(self.sheet.drawn, read_drawn_query(record["sample"], Place("")), Place(""))
        is_asked, of_item = record.get("asked", False), record["item"]
        for column, digest in zip(("item", "compare_with"), record["shown"], strict=True):
            if shown_digest(cells[column]) != digest:
                cut = len(cells[column]) >= LONGEST_CELL
                hint = f"A spreadsheet has cut it off after {LONGEST_CELL:,} characters." if cut else _AS_WRITTEN
                raise _ChangedTextError(f"the text in the column {column} was changed", hint=hint)
        task = BUILT_IN.get(task_name) or read_task({"name": task_name, **record["rubric"]}, "")
        label, why = cells["label"].strip(), cells["why"].strip()
        state = None
        if label.casefold().replace(" ", "_") == NOTHING_TO_JUDGE:
            label, state = "", NOTHING_TO_JUDGE
        elif label and not is_asked:
            what = f"the label {shown(label)} is in a row that asks for none"
            raise KaratError(what, hint=f"Leave the label empty, or write {NOTHING_TO_JUDGE}.")
        elif label:
            label = _label(task, label)
        elif why:
            raise KaratError("there is a reason, but no label", hint=f"The labels are {', '.join(task.scale)}.")
        self._add_items(record)
        if task.name not in BUILT_IN:
            self.sheet.tasks[task.name] = task
        if not label and state is None:
            self.sheet.unlabelled += bool(is_asked)
            return
        fields = {
            "record": "verdict", "query": query, "system": system, "task": task.name, "item": of_item["id"],
            "against": record.get("against") if state is None else None, "label": label or None, "state": state,
            "by": self.author, "why": why or None, "digest": of_item.get("digest"),
            "against_digest": record.get("against_digest") if state is None else None,
        }  # fmt: skip
        self.sheet.verdicts.append({name: value for name, value in fields.items() if value is not None})

    def _add_items(self, record: Mapping[str, Any]) -> None:
        query, system = record["query"], record["system"]
        records = [
            {"query": query, "system": system, "id": name, "type": "passage", "rank": rank, "digest": digest}
            for name, rank, digest in record.get("passages", ())
        ]
        if "answer" in record:  # its digest says if claims and sentences are those of the answer as it is now
            answer = {"id": "answer", "type": "answer", "digest": record["answer"]}
            records.append({"query": query, "system": system, **answer})
        if record["item"]["id"] not in IMPLIED:
            records.append({"query": query, **record["item"]})
        for item in (read_item(fields, "") for fields in records):
            self.sheet.items[item.system_key] = item


def _hint_on_renamed(missing: Sequence[str], others: Sequence[str]) -> str:
    """What the missing columns may be called now."""
    similar = ((name, did_you_mean(name, others)) for name in missing)
    return next((f"Is {name} called something else now? {near}" for name, near in similar if near), "")


def _first_row(text: str, separator: str) -> list[str]:
    """The first row of a text that is not blank, in lower case."""
    reader = csv.reader(StringIO(text[:_PEEK], newline=""), delimiter=separator)
    try:
        return next(([cell.strip().lower() for cell in cells] for cells in reader if any(map(str.strip, cells))), [])
    except csv.Error:
        return []


def _record(cell: str) -> dict[str, Any]:
    """What a row is about; a cell that was changed is an error."""
    try:
        record: dict[str, Any] = decode_json(cell.strip().encode(), "", "")
    except KaratError:
        raise ValueError from None
    row, rows = record["row"], record["rows"]
    if record["digest"] != record_digest(record) or not type(row) is type(rows) is int or not 0 < row <= rows:
        raise ValueError
    return record


def _label(task: Task, text: str) -> str:
    """A label of a task, in any case if it is not on the scale as it is; a spreadsheet may write 2 as 2.0 or 2,0."""
    if text in task.scale:
        return text
    by_folded = {label.casefold(): label for label in task.scale}
    folded = text.casefold()
    return by_folded.get(folded) or by_folded.get(_DECIMALS.sub("", folded)) or task.label(text, None)
