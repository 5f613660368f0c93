"""What a verdict file has, as far as judges need to know it: calls by their keys, items by their questions.

Only where records begin is in memory, because a file may be about a hundred thousand questions. Whoever needs a record
reads it again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Self

from karat.errors import Place
from karat.errors.arguments import as_count
from karat.grounding.judges.requests import Record
from karat.grounding.labels.counting import is_person, label_key
from karat.grounding.verdict_file.records import Item, read_item, text_digest


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
        # By the hash of a subject, where the call that said something about it last begins, or a record without a call.
        self._latest: dict[int, int] = {}
        self._pending: list[tuple[Record, int]] = []
        self._lacks_calls = False

    @property
    def systems(self) -> list[str]:
        """Those that have items."""
        return [system for system in self._items if system is not None]

    def add(self, record: Record, start: int) -> None:
        """Add the next record of a file, in which it begins at this byte.

        Those of a call are added when the call comes, which is the last of them.
        """
        key = record.get("call")
        if record["record"] == "call":
            self._add_call(record, start)
        elif key is not None:
            if self._pending and self._pending[0][0]["call"] != key:
                self._end_pending()
            self._pending.append((record, start))
        else:
            self._end_pending()
            self._add_without_call(record, start)

    def end(self) -> list[int]:
        """Where the records of an unfinished call begin, which a crash has left, after all of a file were added."""
        pending, self._pending = self._pending, []
        are_calls_removed = self._lacks_calls and not self._calls  # all of them, by somebody
        if not are_calls_removed and not any(_is_corrected(record) for record, _ in pending):
            return [start for _, start in pending]
        for record, start in pending:
            self._add_without_call(record, start)
        return []

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

    def _end_pending(self) -> None:
        """Something else than the call of the last records has come."""
        if self._pending:
            self._lacks_calls = True
            self.end()

    def _add_call(self, record: Record, start: int) -> None:
        """Add a call with its records: a failure does not replace an earlier reply, nor does one that is used again."""
        key, state = str(record.get("key")), record.get("state")
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
        if self._pending and self._pending[0][0]["call"] == record.get("key"):
            for pending, at in self._pending:
                self._add_record(pending, at)
            for pending in _distinct([pending for pending, _ in self._pending]):
                self._latest[_hash_of_subject(pending)] = start
            self._pending = []
        self._end_pending()

    def _add_without_call(self, record: Record, start: int) -> None:
        """Add a record that is not from a call, or not as the call gave it."""
        self._add_record(record, start)
        if is_judged_without_call(record):
            self._latest[_hash_of_subject(record)] = start
        else:
            self._latest.pop(_hash_of_subject(record), None)

    def _add_record(self, record: Record, start: int) -> None:
        if record["record"] == "item":
            query, system = str(record.get("query")), record.get("system")
            of_system = self._items.setdefault(None if system is None else str(system), {})
            of_system.setdefault(query, array("q")).append(start)
        elif record["record"] == "task":
            self.tasks[str(record.get("name"))] = record


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


def _is_corrected(record: Record) -> bool:
    """Whether a person has changed a record of a call: it has the digest of another text, or is a label of theirs."""
    text, digest = record.get("text"), record.get("digest")
    if record["record"] == "item":
        return isinstance(text, str) and digest is not None and digest != text_digest(text)
    return record["record"] == "verdict" and _is_by_person(record)
