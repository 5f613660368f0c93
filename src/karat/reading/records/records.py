"""Records, one per query: dictionaries, objects with attributes, or lines of JSON; and the values of their fields."""

from __future__ import annotations

import gc
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

from karat.errors import KaratError, Parameter, Place, did_you_mean, require, shown
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.json_decoding import InvalidJsonError, decode_json, decode_lines

Record = Mapping[str, Any]
Entry = TypeVar("Entry")
_LINES_AT_ONCE = 1_000
_LIST_AS_TEXT = re.compile(r"\[.*\]", re.DOTALL)
_ANSWERS_AS_TEXT = re.compile(r"\[\s*(['\"].*['\"]\s*)?\]", re.DOTALL)
_WITHOUT_FIELDS = (str, bytes, int, float, complex, list, set, frozenset, type, type(None))

FIELDS = ("query", "truth", "retrieved", "gold_answers", "answer", "contexts")


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
        if not isinstance(field, str) or field not in FIELDS:
            near = did_you_mean(field, FIELDS)
            hint = f"{near} The fields are {', '.join(FIELDS)}.".strip()
            raise KaratError(f"{shown(field)} is not a field of results", hint=hint)
        if not isinstance(name, str) or not name:
            hint = f"Pass the name of the field for {field} as a string."
            raise KaratError(f"{shown(name)} is not the name of a field", hint=hint)
    return {field: field for field in FIELDS} | dict(fields or {})


def rename_hint(names: Mapping[str, str]) -> str:
    """How to give the names of fields, on the command line and in Python."""
    options = " ".join(f"--field {shlex.quote(f'{field}={name}')}" for field, name in names.items())
    return f"{options} (in Python fields={json.dumps(names, ensure_ascii=False)})."


def field_value(record: Record, name: str, place: Place | str = "") -> Any:
    """A field of a record, or None; `a.b` is what is called b in a, unless the record has a key `a.b`.

    >>> field_value({"choices": [{"text": "soft"}]}, "choices.0.text")
    'soft'
    """
    if name in record:
        return record[name]
    outer, dot, inner = name.partition(".")
    return _inner_value(record.get(outer), inner, place) if dot else None


def _inner_value(value: Any, name: str, place: Place | str) -> Any:
    """What a path with dots leads to: through keys of mappings, positions in lists and attributes of objects."""
    if isinstance(value, Mapping):
        return field_value(value, name, place)
    outer, dot, inner = name.partition(".")
    if isinstance(value, list):
        at = int(outer) if outer.isdecimal() and len(outer) < 10 else len(value)
        entry = value[at] if at < len(value) else None
    else:
        entry = attribute(value, outer, place)
    return _inner_value(entry, inner, place) if dot else entry


def field_names_of(record: Any) -> list[str]:
    """The names of the fields of a record: of an object, only attributes that are stored, so reading them runs no code.

    >>> from types import SimpleNamespace
    >>> field_names_of({"query": "q1"}), field_names_of(SimpleNamespace(query="q1")), field_names_of("text")
    (['query'], ['query'], [])
    """
    if isinstance(record, Mapping):
        return [name for name in record if isinstance(name, str)]
    if isinstance(record, tuple):
        return list(getattr(record, "_fields", ()))
    if isinstance(record, _WITHOUT_FIELDS):
        return []
    try:
        stored = list(vars(record))
    except Exception:  # an object without attributes, or one that does not let them be listed
        stored = []
    slots = [cls.__dict__.get("__slots__", ()) for cls in reversed(type(record).__mro__)]
    declared = [name for names in slots for name in ([names] if isinstance(names, str) else names)]
    return [name for name in dict.fromkeys([*declared, *stored]) if isinstance(name, str) and not name.startswith("_")]


def attribute(record: Any, name: str, place: Place | str) -> Any:
    """An attribute of an object, or None if it has none of this name; methods are never called."""
    if isinstance(record, _WITHOUT_FIELDS):
        return None
    try:
        return getattr(record, name, None)
    except Exception as error:  # a property may raise anything
        hint = "Pass the name of another field, or records that are dictionaries."
        raise KaratError(
            f"the attribute {shown(name)} cannot be read: {error}", place=place or None, hint=hint
        ) from error


@dataclass(frozen=True)
class ListsAsText:
    """Whether the values of a field are lists that were written as text, as pandas does in CSV."""

    first: str | None = None
    """the first value, if it is one"""
    place: Place | str = ""
    """the place of the first value"""
    has_others: bool = False
    """whether any value is something else"""

    @classmethod
    def of(cls, field: str, values: Iterable[tuple[Place, Any]]) -> Self:
        """What is true of the values of a field, each of which is given with its place."""
        lists = cls()
        for place, value in values:
            if value is not None:
                if not is_list_as_text(field, value):
                    return replace(lists, has_others=True)
                lists = cls(value, place) if lists.first is None else lists
        return lists

    @classmethod
    def merged(cls, parts: Iterable[Self], place: Place | str) -> Self:
        """What is true of the values of all parts, which are at `place`."""
        all_parts = list(parts)
        first = min((part.first for part in all_parts if part.first is not None), default=None)
        return cls(first, place, any(part.has_others for part in all_parts))

    def check(self) -> None:
        """Raise an error if all values are such lists: each would be one document or answer."""
        if self.first is not None and not self.has_others:
            raise list_as_text_error(self.first, self.place)


def is_list_as_text(field: str, value: Any) -> bool:
    """Whether the value of a field looks like a list that was written as text."""
    pattern = _ANSWERS_AS_TEXT if field == "gold_answers" else _LIST_AS_TEXT
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def list_as_text_error(value: Any, place: Place | str) -> KaratError:
    """The error for a field in which all values are lists that were written as text."""
    hint = (
        "CSV and TSV files cannot contain lists: write Parquet or JSON lines,"
        ' with pandas frame.to_json("results.jsonl", orient="records", lines=True).'
    )
    return KaratError(f"the text {shown(value)} is a list that was written as text", place=place, hint=hint)


def records_from_list(records: Iterable[Any], name: str, paths: Iterable[str] = ()) -> Iterator[tuple[Place, Record]]:
    """Each record with its place, for errors. A record is a mapping, or an object with attributes.

    Of an object, stored attributes are read, and those that `paths` lead to, which may be computed.
    """
    wanted = {path.partition(".")[0] for path in paths}
    for at, record in enumerate(records):
        place = Place(name, field=f"[{at}]")
        if isinstance(record, Mapping):
            yield place, record
            continue
        stored = {field: attribute(record, field, place) for field in field_names_of(record)}
        computed = {field: attribute(record, field, place) for field in wanted - stored.keys()}
        fields = stored | {field: value for field, value in computed.items() if value is not None}
        hint = "A record is a dictionary, or an object with attributes."
        require(fields, f"{shown(record)} is not a record", hint, place=place)
        yield place, fields


def records_from_json_lines(source: InputFile, hint: str) -> Iterator[tuple[Place, Record]]:
    """Each object of a JSON lines file with its place."""
    name = source.name
    for numbers, records in objects_from_json_lines(source, hint):
        yield from zip((Place(name, number) for number in numbers), records, strict=True)


def objects_from_json_lines(
    source: InputFile, hint: str, progress: Progress | None = None, *, first: bool = True
) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """The objects of a JSON lines file, in blocks: the number of each line, and its object. Skips blank lines.

    Unless the `first` line of the file is among them, an error does not say that the file is no JSON lines.
    """
    for start, lines in _in_pieces(source.lines_in_blocks(progress)):
        numbers, filled = list(range(start, start + len(lines))), lines
        objects = decode_lines(lines, strict=start <= _LINES_AT_ONCE)
        if objects is None:  # usually because a line is blank
            numbers = [number for number, line in enumerate(lines, start) if line and not line.isspace()]
            filled = [lines[number - start] for number in numbers]
            objects = decode_lines(filled, strict=start <= _LINES_AT_ONCE)
        if objects is None or not set(map(type, objects)) <= {dict}:
            objects = []
            for number, line in zip(numbers, filled, strict=True):
                try:
                    objects.append(_object(line, Place(source.name, line=number), first and not objects, hint))
                except KaratError:
                    if objects:
                        yield numbers[: len(objects)], objects  # so that the first fault of a file is reported
                    raise
        if objects:
            yield numbers, objects
            first = False


def _in_pieces(blocks: Iterable[tuple[int, list[bytes]]]) -> Iterator[tuple[int, list[bytes]]]:
    """The same lines in pieces whose objects fit into the processor's cache: they are then read faster."""
    for start, lines in blocks:
        for at in range(0, len(lines), _LINES_AT_ONCE):
            yield start + at, lines[at : at + _LINES_AT_ONCE]


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
