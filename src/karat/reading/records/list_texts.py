"""Lists that were written as text, as pandas writes them into CSV: Python's form, or JSON."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

from karat.errors import KaratError, Place, enumeration, shown
from karat.reading.records.paths import Record, is_missing

_LIST_AS_TEXT = re.compile(r"\s*\[.*\]\s*", re.DOTALL)
_ANSWERS_AS_TEXT = re.compile(r"\s*\[\s*(['\"].*['\"]\s*)?\]\s*", re.DOTALL)
_TEXT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_NEIGHBOURS = re.compile(r"t\s*t")  # texts without a comma between them, once each text is a `t`
_CHECKED = 1000  # values of a field that show whether it has lists
_LONGEST = 10_000_000  # characters
_DEEPEST = 20  # brackets
_AS_JSON = 'Write JSON lines or Parquet: frame.to_json("results.jsonl", orient="records", lines=True).'


def list_fields(records: Iterable[tuple[Place, Record]], fields: Mapping[str, Collection[str]]) -> list[str]:
    """The names of fields in which all values are lists that were written as text, judging by the first ones.

    `fields` has the names that each field of results may have.
    """
    return [name for name, kinds in _kinds(records, fields).items() if kinds == {True}]


def mixed_notes(
    records: Iterable[tuple[Place, Record]], fields: Mapping[str, Collection[str]], place: Place | str
) -> tuple[str, ...]:
    """Notes on fields in which some values look like lists that were written as text, and others do not."""
    mixed = [name for name, kinds in _kinds(records, fields).items() if kinds == {True, False}]
    return tuple(
        f"{place}: only some texts of the field {shown(name)} look like lists, so none of them is read as a list"
        for name in mixed
    )


def _kinds(
    records: Iterable[tuple[Place, Record]], fields: Mapping[str, Collection[str]]
) -> dict[str, set[bool | None]]:
    """Whether the first values of each field are lists that were written as text; None if a value is not a text."""
    field_of = {name: field for field, names in fields.items() for name in names}
    kinds: dict[str, set[bool | None]] = {}
    for _, record in islice(records, _CHECKED):
        for name, field in field_of.items():
            if not is_missing(value := record.get(name)):
                kind = is_list_as_text(field, value) if isinstance(value, str) else None
                kinds.setdefault(name, set()).add(kind)
    return kinds


def with_lists(records: Iterable[tuple[Place, Record]], names: Collection[str]) -> Iterator[tuple[Place, Record]]:
    """The same records, in which the texts of these fields are lists."""
    for place, record in records:
        texts = {name: record.get(name) for name in names}
        lists = {
            name: None if is_missing(text) else parsed_list(text, place.inside(name)) for name, text in texts.items()
        }
        yield place, {**record, **lists}


def lists_note(names: Collection[str], place: Place | str) -> str:
    """What was read as lists."""
    of = "field" if len(names) == 1 else "fields"
    return f"{place}: the texts of the {of} {enumeration([*map(shown, names)], 'and')} are read as lists"


def parsed_list(text: Any, place: Place | str) -> list[Any]:
    """A list that was written as text. Nothing in it is evaluated.

    >>> parsed_list("['Gold is soft.', 'Is it?']", ""), parsed_list('[{"id": "d1"}]', "")
    (['Gold is soft.', 'Is it?'], [{'id': 'd1'}])
    """
    if not is_list_as_text("retrieved", text):
        raise KaratError(f"{shown(text)} is not a list, unlike the values before it", place=place, hint=_AS_JSON)
    if len(text) > _LONGEST:
        raise KaratError(f"the list has more than {_LONGEST:,} characters", place=place, hint=_AS_JSON)
    try:
        return list(json.loads(text))
    except (ValueError, RecursionError):
        pass
    marks = _TEXT.sub("t", text)
    if _NEIGHBOURS.search(marks):
        what = f"{shown(text)} has no commas between its texts: it is an array of NumPy that was written as text"
        raise KaratError(what, place=place, hint="Call .tolist() on the arrays before they are written.")
    try:
        value = ast.literal_eval(text.strip()) if _depth(marks) <= _DEEPEST else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise KaratError(f"{shown(text)} is not a list in the form of Python or JSON", place=place, hint=_AS_JSON)
    return value


def _depth(marks: str) -> int:
    depth = deepest = 0
    for mark in marks:
        depth += (mark in "[({") - (mark in "])}")
        deepest = max(deepest, depth)
    return deepest


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

    @property
    def is_field(self) -> bool:
        """Whether all values are such lists."""
        return self.first is not None and not self.has_others

    def check(self) -> None:
        """Raise an error if all values are such lists: each would be one document or answer."""
        if self.is_field:
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
