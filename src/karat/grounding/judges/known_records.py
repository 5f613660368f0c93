"""What a verdict file has, as far as judges need to know it: calls by their keys, items by their questions.

It is in memory in a compact form, because a file may be about a hundred thousand questions.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Self

from karat.errors import Place
from karat.errors.arguments import as_count
from karat.grounding.judges.requests import Record
from karat.grounding.labels.counting import is_person, label_key
from karat.grounding.responses.responses import EXTRACTED
from karat.grounding.verdict_file.records import Item, read_item, record_line, text_digest

_OF_OWNER = ("record", "query", "system", "call")  # what all items of a question and a system share, or nobody reads


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
    """The records of a verdict file, added in their order."""

    def __init__(self) -> None:
        self.tasks: dict[str, Record] = {}
        self.models: set[str] = set()
        self.systems: set[str] = set()
        """those that have items"""
        self.has_replies = False
        """whether any call was answered"""
        # Calls and items are JSON: as objects, they take twice as much memory.
        self._calls: dict[str, bytes] = {}
        self._items: dict[tuple[str, str | None], bytearray] = {}
        # By the hash of a subject, the call that said something about it last, or the hash of a record without a call.
        self._latest: dict[int, bytes | int] = {}
        self._pending: list[tuple[Record, int]] = []
        self._lacks_calls = False

    def add(self, record: Record, start: int = 0) -> None:
        """Add the next record of a file, in which it begins at this byte.

        Those of a call are added when the call comes, which is the last of them.
        """
        key = record.get("call")
        if record["record"] == "call":
            self._add_call(record)
        elif key is not None:
            if self._pending and self._pending[0][0]["call"] != key:
                self._end_pending()
            self._pending.append((record, start))
        else:
            self._end_pending()
            self._add_alone(record)

    def end(self) -> list[int]:
        """Where the records of an unfinished call begin, which a crash has left, after all of a file were added."""
        return self._without_call()

    def call(self, key: str) -> KnownCall | None:
        """The call with this key: the last one that got a reply, or else the last one."""
        call = self._calls.get(key)
        return None if call is None else KnownCall(*json.loads(call))

    def items(self, query: str, system: str | None, place: Place) -> dict[str, Item]:
        """The items of a system, or those of a question for all systems, as they are now, by id.

        Those that are not extracted by a model have no texts, only digests, unless somebody has corrected them.
        """
        found: dict[str, Item] = {}
        for line in self._items.get((query, system), b"").splitlines():
            item = read_item({**json.loads(line), "query": query, "system": system}, place)
            found.pop(item.id, None) if item.removed else found.update({item.id: item})
        return found

    def is_latest(self, record: Record) -> bool:
        """Whether the last record about the same thing is this one, which is not from a call."""
        return self._latest.get(_hash_of_subject(record)) == _content(record)

    def are_latest(self, records: Sequence[Record], key: str) -> bool:
        """Whether the last records about the same things are these, from the call with this key."""
        call = self._calls.get(key)
        latest = (self._latest.get(_hash_of_subject(record)) for record in _distinct(records))
        return call is not None and all(each is call for each in latest)

    def _end_pending(self) -> None:
        """Something else than the call of the last records has come."""
        if self._pending:
            self._lacks_calls = True
            self._without_call()

    def _without_call(self) -> list[int]:
        """Add the last records without their call; if that was never finished, return where they begin instead."""
        pending, self._pending = self._pending, []
        are_calls_removed = self._lacks_calls and not self._calls  # all of them, by somebody
        if not are_calls_removed and not any(_is_corrected(record) for record, _ in pending):
            return [start for _, start in pending]
        for record, _ in pending:
            self._add_alone(record)
        return []

    def _add_call(self, record: Record) -> None:
        """Add a call with its records: a failure does not replace an earlier reply, nor does one that is used again."""
        key = str(record.get("key"))
        call, before = KnownCall.of(record), self.call(key)
        encoded = json.dumps(call, ensure_ascii=False).encode(errors="surrogatepass")
        if call.state == "reused":
            encoded = self._calls.get(key, encoded)
        elif before is None or before.state == "failed" or call.state != "failed":
            self._calls[key] = encoded
            self.models.add(str(call.model))
            self.has_replies |= call.state != "failed"
        if self._pending and self._pending[0][0]["call"] == record.get("key"):
            records = [each for each, _ in self._pending]
            for each in records:
                self._add_record(each)
            for each in _distinct(records):
                self._latest[_hash_of_subject(each)] = encoded
            self._pending = []
        self._end_pending()

    def _add_alone(self, record: Record) -> None:
        """Add a record that is not from a call, or not as the call gave it."""
        self._add_record(record)
        if is_judged_without_call(record):
            self._latest[_hash_of_subject(record)] = _content(record)
        else:
            self._latest.pop(_hash_of_subject(record), None)

    def _add_record(self, record: Record) -> None:
        if record["record"] == "item":
            query, system = str(record.get("query")), record.get("system")
            if system is not None:
                self.systems.add(system := str(system))
            self._items.setdefault((query, system), bytearray()).extend(_compact_line(record))
        elif record["record"] == "task":
            self.tasks[str(record.get("name"))] = record


def subject_of(record: Record) -> Hashable:
    """What a record is about: of several records about the same, the last one counts."""
    if record["record"] == "verdict":
        return label_key(record)
    return tuple(str(record.get(field)) for field in ("record", "query", "system", "id"))  # ids may be numbers


def _hash_of_subject(record: Record) -> int:
    return hash(subject_of(record))


def is_judged_without_call(record: Record) -> bool:
    """Whether a record is a verdict of a model that needed no call, such as one about an empty answer."""
    return record["record"] == "verdict" and record.get("call") is None and not _is_by_person(record)


def _is_by_person(verdict: Record) -> bool:
    return is_person(str(verdict.get("by") or "human"))


def _content(record: Record) -> int:
    return hash(json.dumps(record, sort_keys=True, default=str))


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


def _compact_line(item: Record) -> bytes:
    """An item as a line without what its owner says, and without a text that is only compared: by its digest."""
    fields = {name: value for name, value in item.items() if name not in _OF_OWNER}
    if isinstance(text := item.get("text"), str) and not _is_corrected(item):
        # The text, or its digest: one follows from the other.
        fields |= {"digest": None} if item.get("type") in EXTRACTED else {"text": None, "digest": text_digest(text)}
    return record_line({name: value for name, value in fields.items() if value is not None})
