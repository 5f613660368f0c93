"""What a verdict file has, as far as judges need to know it: calls by their keys, items by their questions.

Only where records begin is in memory, because a file may be about a hundred thousand questions. Whoever needs a record
reads it again.

The records of a call come before the call. Records of a call that is in the file already were copied by somebody to
correct them: they count instead of what the call said. Records of a call that never comes are what a crash has left.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, Self

from karat.errors import KaratError, Place, shown
from karat.errors.arguments import as_count, is_remote
from karat.grounding.judges.requests import Record
from karat.grounding.labels.counting import is_person, label_key
from karat.grounding.verdict_file.records import FILE_LINE, Item, check_version, kind_of, read_item, text_digest
from karat.reading.bytes.input_file import BOM, InputFile
from karat.reading.bytes.json_decoding import decode_json, decode_lines
from karat.reading.bytes.kinds import PEEK, check_is_text

_HINT = "A verdict file has one record per line."
_LINES_AT_ONCE = 1_000
_FREQUENT = ("verdict", "item", "call")


class KnownCall(NamedTuple):
    """A call that was made."""

    reply: str | None
    error: str | None
    state: str | None
    model: str | None
    tokens_in: int | None
    tokens_out: int | None

    @classmethod
    def of(cls, record: Record) -> Self:
        """The call of a record, which may have been written by anybody."""
        texts = (record.get(name) for name in ("reply", "error", "state", "model"))
        reply, error, state, model = (text if isinstance(text, str) else None for text in texts)
        tokens_in, tokens_out = (as_count(record.get(name), 0) for name in ("tokens_in", "tokens_out"))
        return cls(reply, error, state, model, tokens_in, tokens_out)


class KnownRecords:
    """The records of a verdict file, added in their order; `record_at` reads the one that begins at a byte."""

    def __init__(self, record_at: Callable[[int], Record]) -> None:
        self.tasks: dict[str, Record] = {}
        self.models: set[str] = set()
        self.has_replies = False
        """whether any call was answered"""
        self._record_at = record_at
        self._calls: dict[str, int] = {}
        self._failed: set[str] = set()  # the keys of calls that failed
        self._items: dict[str | None, dict[str, array[int]]] = {None: {}}  # by system and query
        self._labelled: dict[str, None] = {}  # systems
        # By the hash of a subject, where the call that said something about it last begins, or a record without a call.
        self._latest: dict[int, int] = {}
        self._repeats: dict[str, int] = {}  # how often a call was written again, by its key
        # Where a record begins that somebody has corrected: by the hash of a label, or of an item and its call.
        self._corrections: dict[int, int] = {}
        self._pending: list[tuple[Record, int]] = []
        self._lacks_calls = False

    @property
    def systems(self) -> list[str]:
        """Those that have items or labels."""
        return [*dict.fromkeys([*(system for system in self._items if system is not None), *self._labelled])]

    def queries(self, system: str) -> Collection[str]:
        """Those of which a system has items."""
        return self._items.get(system, {}).keys()

    def add(self, record: Record, start: int) -> None:
        """Add the next record of a file, in which it begins at this byte.

        Those of a call are added when the call comes, which is the last of them.
        """
        key = record.get("call")
        if record["record"] == "call":
            self._add_call(record, start)
        elif key is not None:
            if self._pending and _batch(self._pending[0][0]) != _batch(record):
                self._end_pending()
            self._pending.append((record, start))
        else:
            self._end_pending()
            self._add_without_call(record, start)

    def end(self) -> list[int]:
        """Where the records of an unfinished call begin, which a crash has left, after all of a file were added."""
        pending, self._pending = self._pending, []
        if pending and self._is_written(pending[0][0]):
            for record, start in pending:
                self._add_correction(record, start)
            return []
        are_calls_removed = self._lacks_calls and not self._calls  # all of them, by somebody
        if not are_calls_removed and not any(_is_corrected(record) for record, _ in pending):
            return [start for _, start in pending]
        for record, start in pending:
            self._add_without_call(record, start)
        return []

    def times_written(self, key: str) -> int:
        """How often the call with this key is in the file."""
        return (key in self._calls) + self._repeats.get(key, 0)

    def _is_written(self, record: Record) -> bool:
        """Whether the call that a record is from is in the file already."""
        key, again = _batch(record)
        return again < self.times_written(key)

    def call(self, key: str) -> KnownCall | None:
        """The call with this key: the last one that got a reply, or else the last one."""
        start = self._calls.get(key)
        return None if start is None else KnownCall.of(self._record_at(start))

    def items(self, query: str, system: str | None, place: Place) -> dict[str, Item]:
        """The items of a system, or those of a question for all systems, as they are now, by id."""
        items: dict[str, Item] = {}
        for start in self._items.get(system, {}).get(query, ()):
            item = read_item({**self._record_at(start), "query": query, "system": system}, place)
            if item.removed:
                items.pop(item.id, None)
            else:
                items[item.id] = item
        return items

    def is_latest(self, record: Record) -> bool:
        """Whether the last record about the same thing is this one, which is not from a call."""
        start = self._latest.get(_hash_of_subject(record))
        return start is not None and self._record_at(start) == record

    def are_latest(self, records: Sequence[Record], key: str) -> bool:
        """Whether the last records about the same things are these, from the call with this key."""
        start = self._calls.get(key)
        latest = (self._latest.get(_hash_of_subject(record)) for record in _distinct(records))
        return start is not None and all(each == start for each in latest)

    def correction(self, record: Record, key: str) -> Record | None:
        """What somebody says instead of this record, which is from the call with this key: another label, or item."""
        start = self._corrections.get(_hash_of_correction(record, key))
        if start is None:
            return None
        correction = self._record_at(start)
        digests = ("digest", "against_digest") if record["record"] == "verdict" else ()
        are_same = all(correction.get(name) in (None, record.get(name)) for name in digests)
        return correction if are_same else None  # otherwise it is about another text

    def _end_pending(self) -> None:
        """Something else than the call of the last records has come."""
        if self._pending:
            self._lacks_calls |= not self._is_written(self._pending[0][0])
            self.end()

    def _add_call(self, record: Record, start: int) -> None:
        """Add a call with its records: a failure does not replace an earlier reply, nor does one that is used again."""
        key, state = str(record.get("key")), record.get("state")
        if state == "reused" or key in self._calls:
            self._repeats[key] = self._repeats.get(key, 0) + 1
        if state == "reused":
            start = self._calls.get(key, start)
        elif key not in self._calls or key in self._failed or state != "failed":
            self._calls[key] = start
            self.models.add(str(KnownCall.of(record).model))
            if state == "failed":
                self._failed.add(key)
            else:
                self._failed.discard(key)
                self.has_replies = True
        if self._pending and _batch(self._pending[0][0]) == (key, _again(record)):
            for pending, at in self._pending:
                self._add_record(pending, at)
                if _is_rejected(pending):
                    self._corrections[_hash_of_correction(pending, key)] = at
            for pending in _distinct([pending for pending, _ in self._pending]):
                self._latest[_hash_of_subject(pending)] = start
            self._pending = []
        self._end_pending()

    def _add_correction(self, record: Record, start: int) -> None:
        """Add a record that somebody has copied from a call."""
        self._add_record(record, start)
        if record["record"] == "item" or (record["record"] == "verdict" and record.get("state") != "failed"):
            self._corrections[_hash_of_correction(record, _batch(record)[0])] = start

    def _add_without_call(self, record: Record, start: int) -> None:
        """Add a record that is not from a call, or whose call is not in the file."""
        if _is_rejected(record):
            for call in self._calls_of_item(record):
                self._corrections[_hash_of_correction(record, call)] = start
        self._add_record(record, start)
        if is_judged_without_call(record):
            self._latest[_hash_of_subject(record)] = start
        else:
            self._latest.pop(_hash_of_subject(record), None)

    def _calls_of_item(self, record: Record) -> list[str]:
        """The call that gave an item as it is now; empty if it is not from a call."""
        query, system, name = _owner_and_id(record)
        for start in reversed(self._items.get(system, {}).get(query, ())):
            known = self._record_at(start)
            if _owner_and_id(known)[2] == name:
                return [str(known["call"])] if known.get("call") is not None else []
        return []

    def _add_record(self, record: Record, start: int) -> None:
        if record["record"] == "item":
            query, system, _ = _owner_and_id(record)
            self._items.setdefault(system, {}).setdefault(query, array("q")).append(start)
        elif record["record"] == "verdict" and record.get("system") is not None:
            self._labelled[str(record["system"])] = None
        elif record["record"] == "task":
            self.tasks[str(record.get("name"))] = record


def _batch(record: Record) -> tuple[str, int]:
    """Which records were written together with a call: the key of the call, and how often it was written before."""
    return str(record.get("call")), _again(record)


def _again(record: Record) -> int:
    return as_count(record.get("again"), 0) or 0


def _owner_and_id(item: Record) -> tuple[str, str | None, str]:
    """The query, the system and the id of an item, which may be numbers."""
    system = item.get("system")
    return str(item.get("query")), None if system is None else str(system), str(item.get("id"))


def _hash_of_correction(record: Record, key: str) -> int:
    """By which corrections are known. An item of another call may have the same id, and is another one."""
    subject = _hash_of_subject(record)
    return subject if record["record"] == "verdict" else hash((subject, key))


def _hash_of_subject(record: Record) -> int:
    """The hash of what a record is about: of several records about the same, the last one counts."""
    about: Hashable
    if record["record"] == "verdict":
        about = label_key(record)
    else:
        about = tuple(str(record.get(field)) for field in ("record", "query", "system", "id"))  # ids may be numbers
    return hash(about) >> 4  # 60 bits are enough, and take a third less memory than 64


def is_judged_without_call(record: Record) -> bool:
    """Whether a record is a verdict of a model that needed no call, such as one about an empty answer."""
    return record["record"] == "verdict" and record.get("call") is None and not _is_by_person(record)


def _is_by_person(verdict: Record) -> bool:
    return is_person(str(verdict.get("by") or "human"))


def _distinct(records: Sequence[Record]) -> list[Record]:
    """The records of a call that no other call gives: its labels, and the first item for all of them.

    Others may be passages, which several calls are about.
    """
    return [record for at, record in enumerate(records) if not at or record["record"] == "verdict"]


def _is_rejected(record: Record) -> bool:
    """Whether a person has removed an item: what karat removes is outdated."""
    return record["record"] == "item" and bool(record.get("removed")) and not record.get("outdated")


def _is_corrected(record: Record) -> bool:
    """Whether a person has changed a record of a call: it is removed, has another text, or is a label of theirs."""
    if record["record"] == "item":
        text = record.get("text")
        return bool(record.get("removed")) or (isinstance(text, str) and record.get("digest") != text_digest(text))
    return record["record"] == "verdict" and _is_by_person(record)


def open_verdict_file(path: str) -> BinaryIO:
    """A verdict file for reading; anything but a local file is an error."""
    if os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path):
        raise KaratError("this is not a regular file", place=Place(path), hint="Write it to a file, and name the file.")
    if is_remote(path):
        raise KaratError("remote verdict files are not read here", place=Place(path), hint="Copy it to a local file.")
    InputFile.of(path).start(1)  # raises a good error if it cannot be read
    return open(path, "rb")


def read_records(file: BinaryIO, name: str) -> Iterator[tuple[dict[str, Any] | None, int, int]]:
    """Each record of a verdict file with the bytes where it begins and ends; None for a last line that is cut short."""
    check_is_text(file.read(PEEK), name, "labels are added to JSON lines in UTF-8, not compressed")
    file.seek(0)
    number, end, is_first = 0, 0, True
    while lines := list(islice(file, _LINES_AT_ONCE)):
        decoded = decode_lines(lines) or [None] * len(lines)
        for line, value in zip(lines, decoded, strict=True):
            start, end, number = end, end + len(line), number + 1
            if type(value) is dict and value.get("record") in _FREQUENT:
                is_first = False
                yield value, start, end
            elif text := line.removeprefix(BOM if number == 1 else b"").strip():
                try:
                    yield read_record(text, Place(name, line=number), is_first=is_first), start, end
                    is_first = False
                except KaratError:
                    is_start = number > 1 or FILE_LINE.startswith(line.rstrip(b"\0"))  # NUL: the power failed
                    if line.endswith(b"\n") or not is_start:
                        raise
                    yield None, start, end


def read_record(text: bytes, place: Place, *, is_first: bool) -> dict[str, Any]:
    """A record with its kind, which the first one must name: other files are not added to by mistake."""
    record = decode_json(text, place, _HINT)
    if not isinstance(record, dict):
        raise KaratError(f"{shown(record)} is not an object", place=place, hint=_HINT)
    kind = kind_of(record, place)
    if is_first and "record" not in record:
        hint = f"If it is one, put {FILE_LINE.decode().strip()} on its first line; otherwise use another file."
        raise KaratError("this may not be a verdict file, as its first record has no kind", place=place, hint=hint)
    if kind == "file":
        check_version(record, place)
    return {**record, "record": kind}
