"""Where the records of a verdict file are: calls by their keys, items by their questions; about 100 bytes for each."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from karat.errors import KaratError, Place, shown
from karat.files.input_file import BOM
from karat.files.kinds import PEEK, check_is_text
from karat.json_decoding import decode_json, decode_lines
from karat.judges.requests import Record
from karat.labels.counting import is_person
from karat.labels.records import FILE_LINE, check_version, kind_of, text_digest

HINT = "A verdict file has one record per line."
_LINES_AT_ONCE = 1_000
_FREQUENT = ("verdict", "item", "call")


class ByteRange(NamedTuple):
    """The bytes of a file at which records begin and end."""

    start: int
    end: int


class RecordIndex:
    """The places of the calls and items of a verdict file, and which call was the last one about what.

    Keys are hashes, so that a hundred thousand calls take little memory. What is found has to be compared.
    """

    def __init__(self) -> None:
        self.tasks: dict[str, Record] = {}
        self.models: set[str] = set()
        self.systems: set[str] = set()
        """those that have items"""
        self._calls: dict[int, int] = {}
        self._failed: set[int] = set()
        self._items: dict[int, array[int]] = {}
        self._latest: dict[int, int] = {}
        self._pending: list[tuple[Record, ByteRange]] = []
        self._lacks_calls = False

    def add(self, record: Record, place: ByteRange) -> None:
        """Add the next record of the file. Those of a call are added when the call comes, which is the last of them."""
        key = record.get("call")
        if record["record"] == "call":
            self._add_call(record, place)
        elif key is not None:
            if self._pending and self._pending[0][0]["call"] != key:
                self._end_pending()
            self._pending.append((record, place))
        else:
            self._end_pending()
            self._add_alone(record, place)

    def end(self) -> list[ByteRange]:
        """Where the records of an unfinished call are, which a crash has left, after all of a file were added."""
        return self._without_call()

    @property
    def has_replies(self) -> bool:
        """Whether any call was answered."""
        return len(self._calls) > len(self._failed)

    def call(self, key: str) -> int | None:
        """Where a call with this key may be."""
        return self._calls.get(_hashed(key))

    def items(self, query: str, system: str | None) -> list[ByteRange]:
        """Where items of a system are, or those of a question for all systems."""
        ends = self._items.get(_hashed(query, system), array("Q"))
        return [ByteRange(*ends[at : at + 2]) for at in range(0, len(ends), 2)]

    def is_latest(self, record: Record) -> bool:
        """Whether the last record about the same thing is this one, which is not from a call."""
        return self._latest.get(_subject(record)) == _content(record)

    def are_latest(self, records: Sequence[Record], key: str) -> bool:
        """Whether the last records about the same things are these, from this call."""
        said = _distinct(records)
        return all(self._latest.get(_subject(record)) == _content_of_call(key, record) for record in said)

    def _end_pending(self) -> None:
        """Something else than the call of the last records has come."""
        if self._pending:
            self._lacks_calls = True
            self._without_call()

    def _without_call(self) -> list[ByteRange]:
        """Add the last records without their call; if that was never finished, return their places instead."""
        pending, self._pending = self._pending, []
        are_calls_removed = self._lacks_calls and not self._calls  # all of them, by somebody
        if not are_calls_removed and not any(_is_corrected(record) for record, _ in pending):
            return [place for _, place in pending]
        for record, place in pending:
            self._add_alone(record, place)
        return []

    def _add_call(self, call: Record, place: ByteRange) -> None:
        key, is_failed = _hashed(call.get("key")), call.get("state") == "failed"
        if self._pending and self._pending[0][0]["call"] == call.get("key"):
            for record, of_record in self._pending:
                self._add_record(record, of_record)
            for record in _distinct([record for record, _ in self._pending]):
                self._latest[_subject(record)] = _content_of_call(call.get("key"), record)
            self._pending = []
        self._end_pending()
        has_reply = key in self._calls and key not in self._failed
        if call.get("state") == "reused" or (is_failed and has_reply):
            return
        self._calls[key] = place.start
        (self._failed.add if is_failed else self._failed.discard)(key)
        self.models.add(str(call.get("model")))

    def _add_alone(self, record: Record, place: ByteRange) -> None:
        """Add a record that is not from a call, or not as the call gave it."""
        self._add_record(record, place)
        if is_judged_without_call(record):
            self._latest[_subject(record)] = _content(record)
        else:
            self._latest.pop(_subject(record), None)

    def _add_record(self, record: Record, place: ByteRange) -> None:
        if record["record"] == "item":
            if record.get("system") is not None:
                self.systems.add(str(record["system"]))
            ends = self._items.setdefault(_hashed(record.get("query"), record.get("system")), array("Q"))
            if ends and ends[-1] == place.start:
                ends[-1] = place.end
            else:
                ends.extend(place)
        elif record["record"] == "task":
            self.tasks[str(record.get("name"))] = record


def is_judged_without_call(record: Record) -> bool:
    """Whether a record is a verdict of a model that needed no call, such as one about an empty answer."""
    return record["record"] == "verdict" and record.get("call") is None and not _is_by_person(record)


def _is_by_person(verdict: Record) -> bool:
    return is_person(str(verdict.get("by") or "human"))


def _hashed(*ids: object) -> int:
    return hash(tuple(map(str, ids)))  # ids may be numbers


def _subject(record: Record) -> int:
    """What a record is about, of which the last record counts."""
    fields = ("record", "query", "system", "id", "task", "item", "against", "by", "sample")
    return _hashed(*map(record.get, fields))


def _content(record: Record) -> int:
    return hash(json.dumps(record, sort_keys=True, default=str))


def _distinct(records: Sequence[Record]) -> list[Record]:
    """The records of a call that no other call gives: its labels, and the first item for all of them.

    Others may be passages, which several calls are about.
    """
    return [record for at, record in enumerate(records) if not at or record["record"] == "verdict"]


def _content_of_call(key: object, record: Record) -> int:
    """What a call says in a record, as far as that can change: a later reply may have no failures."""
    return _hashed(key, record.get("state"))


def _is_corrected(record: Record) -> bool:
    """Whether a person has changed a record of a call: it has the digest of another text, or is a label of theirs."""
    text, digest = record.get("text"), record.get("digest")
    if record["record"] == "item":
        return isinstance(text, str) and digest is not None and digest != text_digest(text)
    return record["record"] == "verdict" and _is_by_person(record)


def records_with_places(file: BinaryIO, name: str) -> Iterator[tuple[dict[str, Any] | None, ByteRange]]:
    """Each record of a verdict file with its place; None for a last line that was cut short."""
    check_is_text(file.read(PEEK), name, "labels are added to JSON lines in UTF-8, not compressed")
    file.seek(0)
    number, end, is_first = 0, 0, True
    while lines := list(islice(file, _LINES_AT_ONCE)):
        decoded = decode_lines(lines) or [None] * len(lines)
        for line, value in zip(lines, decoded, strict=True):
            place, number = ByteRange(end, end := end + len(line)), number + 1
            if type(value) is dict and value.get("record") in _FREQUENT:
                is_first = False
                yield value, place
            elif text := line.removeprefix(BOM if number == 1 else b"").strip():
                try:
                    yield _record(text, f"{name}:{number}", is_first=is_first), place
                    is_first = False
                except KaratError:
                    is_start = number > 1 or FILE_LINE.startswith(line.rstrip(b"\0"))  # NUL: the power failed
                    if line.endswith(b"\n") or not is_start:
                        raise
                    yield None, place


def _record(text: bytes, place: Place | str, *, is_first: bool) -> dict[str, Any]:
    """A record with its kind, which the first one must name: other files are not added to by mistake."""
    record = decode_json(text, place, HINT)
    if not isinstance(record, dict):
        raise KaratError(f"{shown(record)} is not an object", place=place, hint=HINT)
    kind = kind_of(record, place)
    if is_first and "record" not in record:
        hint = f"If it is one, put {FILE_LINE.decode().strip()} on its first line; otherwise use another file."
        raise KaratError("this may not be a verdict file, as its first record has no kind", place=place, hint=hint)
    if kind == "file":
        check_version(record, place)
    return {**record, "record": kind}
