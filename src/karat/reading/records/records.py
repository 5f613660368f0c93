"""Records, one per query: dictionaries, objects with attributes, or lines of JSON; and the values of their fields."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, Generic, TypeVar

from karat.errors import KaratError, Message, Parameter, Place, did_you_mean, require, shown
from karat.errors.command_lines import quoted_word
from karat.reading.bytes.file_ranges import RangeBounds
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.json_decoding import (
    InvalidJsonError,
    ToleratesFault,
    decode_json,
    decode_lines,
    decode_with_faults,
)
from karat.reading.bytes.rejected_rows import RejectedRows, reject
from karat.reading.records.paths import Record, attribute, field_names_of

Entry = TypeVar("Entry")
_LINES_AT_ONCE = 1_000

FIELDS = ("query", "truth", "retrieved", "gold_answers", "answer")
INNER_FIELDS = tuple(
    f"{field}.{part}" for field in ("retrieved", "truth") for part in ("id", "content", "score", "meta")
)
"""the fields of a document in a list of documents"""
_DEEPEST_ARRAYS = 5  # objects around an array of NumPy


class Rereadable(Generic[Entry]):
    """Entries that are read anew each time that they are iterated over, so that they need not be kept."""

    def __init__(self, read: Callable[[], Iterator[Entry]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Entry]:
        return self._read()


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


def field_names(fields: Mapping[str, str] | None) -> dict[str, str]:
    """The name of each field in the records: the field's own name, unless `fields` gives another."""
    if fields is not None and not isinstance(fields, Mapping):
        raise KaratError([Parameter("fields", fields), " is not a mapping"], hint='For example {"query": "id"}.')
    for field, name in (fields or {}).items():
        if not isinstance(field, str) or field not in (*FIELDS, *INNER_FIELDS):
            is_inner = isinstance(field, str) and "." in field
            names = INNER_FIELDS if is_inner else FIELDS
            hint: Message = f"{did_you_mean(field, names)} The fields are {', '.join(names)}.".strip()
            if field == "records":
                hint = ["For the path of the records inside an object, use ", Parameter("records", name), "."]
            raise KaratError(f"{shown(field)} is not a field of results", hint=hint)
        if not isinstance(name, str) or not name:
            wanted = f"Pass the name of the field for {field} as a string."
            raise KaratError(f"{shown(name)} is not the name of a field", hint=wanted)
    return {field: field for field in FIELDS} | dict(fields or {})


def rename_hint(names: Mapping[str, str]) -> str:
    """How to give the names of fields, on the command line and in Python, at the end of a sentence."""
    return f"{rename_options(names)}."


def rename_options(names: Mapping[str, str]) -> str:
    """How to give the names of fields, on the command line and in Python."""
    options = " ".join(f"--field {quoted_word(f'{field}={name}')}" for field, name in names.items())
    return f"{options} (in Python fields={json.dumps(names, ensure_ascii=False)})"


def records_from_list(
    records: Iterable[Any], name: str, paths: Iterable[str] = (), rejected: RejectedRows | None = None
) -> Iterator[tuple[Place, Record]]:
    """Each record with its place, for errors. A record is a mapping, or an object with attributes.

    Of an object, stored attributes are read, and those that `paths` lead to, which may be computed. `rejected` collects
    the errors of what is not a record, and is left out.
    """
    wanted = {path.partition(".")[0] for path in paths}
    for at, record in enumerate(records):
        place = Place(name, field=f"[{at}]")
        if isinstance(record, Mapping):
            yield place, without_arrays(record)
            continue
        try:
            fields = _fields_of_object(record, wanted, place)
        except KaratError as error:
            reject(error, rejected)
            continue
        yield place, without_arrays(fields)


def _fields_of_object(record: Any, wanted: set[str], place: Place) -> Record:
    """The attributes of a record that are stored, and those that are wanted."""
    stored = {field: attribute(record, field, place) for field in field_names_of(record)}
    computed = {field: attribute(record, field, place) for field in wanted - stored.keys()}
    fields = stored | {field: value for field, value in computed.items() if value is not None}
    hint = "A record is a dictionary, or an object with attributes."
    require(fields, f"{shown(record)} is not a record", hint, place=place)
    return fields


def without_arrays(value: Any, depth: int = _DEEPEST_ARRAYS) -> Any:
    """A record whose arrays of NumPy are lists: pandas reads the lists of a Parquet file as arrays."""
    if isinstance(value, dict) and depth:
        changed = {
            name: plain for name, inner in value.items() if (plain := without_arrays(inner, depth - 1)) is not inner
        }
        return {**value, **changed} if changed else value
    if type(value).__name__ != "ndarray" or not value.ndim:
        return value
    return [without_arrays(entry, depth - 1) for entry in value.tolist()] if depth else value.tolist()


def records_from_json_lines(source: InputFile, hint: str) -> Iterator[tuple[Place, Record]]:
    """Each object of a JSON lines file with its place."""
    name = source.name
    for numbers, records in objects_from_json_lines(source, hint):
        yield from zip((Place(name, number) for number in numbers), records, strict=True)


def objects_from_json_lines(
    source: InputFile,
    hint: str,
    progress: Progress | None = None,
    *,
    first: bool = True,
    first_line: int = 1,
    tolerates: ToleratesFault | None = None,
) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """The objects of a JSON lines file, in blocks: the number of each line, and its object. Skips blank lines.

    Unless the `first` line of the file is among them, an error does not say that the file is no JSON lines. Of a part
    of a file, `first_line` is the number of its first line in the whole file. Where wrong lines are left out, one whose
    faults are all tolerated is not.
    """
    first = first and source.has_start
    wrong: list[KaratError] = []
    last_strict = _LINES_AT_ONCE if first_line > 1 else _LINES_AT_ONCE - _lines_before(source, _LINES_AT_ONCE)
    for at, lines in _in_pieces(source.lines_in_blocks(progress), last_strict - first_line + 1):
        start = at + first_line - 1
        numbers, filled = list(range(start, start + len(lines))), lines
        objects = decode_lines(lines, strict=start <= last_strict)
        if objects is None:  # usually because a line is blank
            numbers = [number for number, line in enumerate(lines, start) if line and not line.isspace()]
            filled = [lines[number - start] for number in numbers]
            objects = decode_lines(filled, strict=start <= last_strict)
        if objects is None or not set(map(type, objects)) <= {dict}:
            numbers, objects, errors = _read_one_by_one(source, numbers, filled, first, hint, tolerates)
            wrong += errors
        if objects:
            yield numbers, objects  # before an error, so that the first fault of a file is reported
            first = False
        # If no line has an object, this is another format, and not a file with wrong lines.
        if wrong and (source.rejected is None or (first and len(wrong) > _LINES_AT_ONCE)):
            break
        while wrong and not first:
            reject(wrong.pop(), source.rejected)
    if wrong:
        raise wrong[0] from None


def _read_one_by_one(
    source: InputFile,
    numbers: Iterable[int],
    lines: Iterable[bytes],
    first: bool,
    hint: str,
    tolerates: ToleratesFault | None,
) -> tuple[list[int], list[dict[str, Any]], list[KaratError]]:
    """The numbers of lines with an object, the objects, and the errors of others: one, unless they are collected."""
    read: list[int] = []
    objects: list[dict[str, Any]] = []
    errors: list[KaratError] = []
    for number, line in zip(numbers, lines, strict=True):
        try:
            objects.append(_object(line, Place(source.name, line=number), first and not objects, hint))
            read.append(number)
        except KaratError as error:
            if source.rejected is not None and tolerates and (record := _tolerated(line, tolerates)) is not None:
                objects.append(record)
                read.append(number)
                continue
            errors.append(error)
            if source.rejected is None:
                break
    return read, objects, errors


def _tolerated(line: bytes, tolerates: ToleratesFault) -> dict[str, Any] | None:
    """The object on a line with faults, if all of them are tolerated."""
    try:
        value, faults = decode_with_faults(line.rstrip(), "", "")
    except KaratError:
        return None
    return value if isinstance(value, dict) and all(map(tolerates, faults)) else None


def _lines_before(source: InputFile, most: int) -> int:
    """How many lines of the file are before a part of it, if they are fewer than so many; otherwise, this number."""
    if source.bounds is None or source.has_start:
        return 0
    before = InputFile(source.path, RangeBounds(0, source.bounds.start))
    return sum(1 for _ in islice(before.lines(), most))


def _in_pieces(blocks: Iterable[tuple[int, list[bytes]]], cut: int) -> Iterator[tuple[int, list[bytes]]]:
    """The same lines in pieces whose objects fit into the processor's cache: they are then read faster.

    One of them ends with line `cut`, if there is such a line.
    """
    for start, lines in blocks:
        at = 0
        while at < len(lines):
            end = at + _LINES_AT_ONCE
            if at <= cut - start < end:
                end = cut - start + 1
            yield start + at, lines[at:end]
            at = end


def _object(line: bytes, place: Place | str, first: bool, hint: str) -> dict[str, Any]:
    """The object on a line. On the first line, JSON that is not in lines is recognized."""
    try:
        value = decode_json(line.rstrip(), place, hint)
        what, unfinished = f"{shown(value)} is not an object", False
    except InvalidJsonError as error:
        value, what, unfinished = None, error.what, error.at_end
    if isinstance(value, dict):
        return value
    if first and line.lstrip().startswith(b"["):
        what = "this is one list, not one object per line"
        hint = "Put each object on a line of its own: jq -c '.[]' results.json > results.jsonl"
    elif first and unfinished and line.lstrip().startswith(b"{"):
        what = "this object does not end on its line"
        hint = "Put each object on a line of its own: jq -c . results.json > results.jsonl"
    raise KaratError(what, place=place, hint=hint)


def is_single_json_value(data: bytes) -> bool:
    """Whether the data is a single JSON value or invalid JSON, and not several values, as in JSON lines."""
    text = data.decode(errors="replace").lstrip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return not text[end:].strip()
