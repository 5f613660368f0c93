"""Where replies and labels are kept: in a verdict file, which is only ever appended to, or in memory.

A reply is written before it counts. All records of a call are written at once, and the call itself comes last: a call
that is in the file has all its records there. What a crash leaves of an unfinished call is removed at the next start.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any, BinaryIO, Protocol, Self

from karat.arguments import check_path, is_remote
from karat.errors import KaratError, plural, printable, shown
from karat.files.input_file import InputFile
from karat.json_decoding import decode_json, decode_lines
from karat.judges.record_index import HINT, ByteRange, RecordIndex, is_judged_without_call, records_with_places
from karat.judges.requests import ModelRequest, Record
from karat.labels.records import FILE_LINE, Item, read_item, record_line
from karat.labels.tasks import read_task
from karat.output.appended_file import AppendedFile

_SECONDS_BETWEEN_SYNCS = 5.0
_being_written: list[VerdictFile] = []  # for the message at a signal


class Journal(Protocol):
    """Where calls and their records are written, and found again."""

    notes: list[str]
    replay: bool
    """whether everything must be known already, so that nothing is asked"""

    def known(self, key: str, request: ModelRequest | None = None) -> Record | None:
        """The record of a call that need not be made again; the request is named if it is missing in a replay."""

    def items(self, query: str, system: str | None) -> list[Item]:
        """The items of a system, or those of a question for all systems, as they are now."""

    def write(self, call: Record | None, records: Sequence[Record]) -> None:
        """Write records, and the call that they are from; without a call, only those that are new."""

    def reuse(self, call: Record, records: Sequence[Record]) -> None:
        """Write what a known reply says, unless it is what was written last about the same thing."""


class MemoryJournal:
    """A journal that is gone with the process."""

    replay = False

    def __init__(self, *, retry_failed: bool = False) -> None:
        self.notes: list[str] = []
        self._retry_failed = retry_failed
        self._calls: dict[str, Record] = {}
        self._items: dict[tuple[str, str | None], dict[str, Item]] = {}

    def known(self, key: str, request: ModelRequest | None = None) -> Record | None:  # noqa: ARG002  # for replays
        """The record of a call that need not be made again."""
        call = self._calls.get(key)
        return call if call is not None and _is_final(call, self._retry_failed) else None

    def items(self, query: str, system: str | None) -> list[Item]:
        """The items of a system, or those of a question for all systems, as they are now."""
        return list(self._items.get((query, system), {}).values())

    def write(self, call: Record | None, records: Sequence[Record]) -> None:
        """Keep the items of a call, and its reply."""
        for record in records:
            if record["record"] == "item":
                item = read_item(record, "")
                items = self._items.setdefault((item.query, item.system), {})
                items.pop(item.id, None) if record.get("removed") else items.update({item.id: item})
        if call is not None:
            self._calls[call["key"]] = call

    def reuse(self, call: Record, records: Sequence[Record]) -> None:
        """Keep what a known reply says."""
        self.write(call, records)


class VerdictFile:
    """A verdict file as a journal, in a `with` statement. Nobody else can write to the file as long as it is open.

    With `retry_failed`, calls whose replies could not be understood are made again; calls without a reply always are.
    With `replay`, everything must be in the file: what is not is an error at the end. With `read_only`, what is not in
    the file is not an error. In both cases nothing is written, and the file may be in use.

    Only the places of calls and items are kept in memory: their texts are read again when they are needed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        replay: bool = False,
        read_only: bool = False,
        retry_failed: bool = False,
    ) -> None:
        self.path = check_path(path, "verdicts")
        self.replay = replay
        self.notes: list[str] = []
        self._read_only = read_only or replay
        self._retry_failed = retry_failed
        self._index = RecordIndex()
        self._lock = threading.RLock()
        self._looked_up = self._missing = self._unwritten = 0
        self._first_missing = ""
        self._file: AppendedFile | None = None
        self._reader: BinaryIO
        self._before = b""
        self._last_sync = time.monotonic()

    def __enter__(self) -> Self:
        if not self._read_only:
            self._file = AppendedFile(self.path)
        with ExitStack() as on_error:
            if self._file is not None:
                on_error.callback(self._file.close)
            with _opened(self.path) as file:
                self._read(file)
            self._reader = _opened(self.path)
            on_error.pop_all()
        if self._file is not None:
            _being_written.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._reader.close()
        if self._file is not None:
            _being_written.remove(self)
            try:
                self._file.close()
            except KaratError:
                if kind is None:  # otherwise the first error says what happened
                    raise
        if kind is None and self.replay:
            self._check_replay()

    def _check_replay(self) -> None:
        """Raise an error if the file lacks something."""
        if self._missing:
            are = "is" if self._missing == 1 else "are"
            what = f"{self._missing:,} of {plural(self._looked_up, 'call')} {are} not in the file"
            what += f"; the first is {self._first_missing}" if self._first_missing else ""
            hint = "Judge without replay first, with the same results, model, prompts and settings."
            raise KaratError(what, place=self.path, hint=hint)
        if self._unwritten:
            what = "all replies are in the file, but not all labels and items that follow from them"
            hint = "Judge once without replay: it asks nothing, and adds them."
            raise KaratError(what, place=self.path, hint=hint)

    @property
    def has_replies(self) -> bool:
        """Whether the file has a reply that need not be asked for again."""
        return self._index.has_replies

    @property
    def models(self) -> list[str]:
        """The models whose calls are in the file."""
        return sorted(self._index.models)

    def known(self, key: str, request: ModelRequest | None = None) -> Record | None:
        """The record of a call that need not be made again; the request is named if it is missing in a replay."""
        with self._lock:
            self._looked_up += 1
            start = self._index.call(key)
            call = None if start is None else self._call(start)
            if call is not None and call.get("key") == key:
                if self.replay or _is_final(call, self._retry_failed):
                    return call
            elif self.replay:
                self._first_missing = self._first_missing or _description(request)
                self._missing += 1
            return None

    def items(self, query: str, system: str | None) -> list[Item]:
        """The items of a system, or those of a question for all systems, as they are now."""
        return list(self._items(query, system).values())

    def write(self, call: Record | None, records: Sequence[Record]) -> None:
        """Write records, and the call that they are from; without a call, only those that are new."""
        with self._lock:
            if call is None:
                self._append(self._new(records))
            else:
                self._append([*({**record, "call": call["key"]} for record in records), call])

    def reuse(self, call: Record, records: Sequence[Record]) -> None:
        """Write what a known reply says, unless it is what was written last about the same thing."""
        with self._lock:
            if records and not self._index.are_latest(records, call["key"]):
                again = {"record": "call", "key": call["key"], "model": call.get("model"), "state": "reused"}
                self.write({**again, "verdicts": call.get("verdicts")}, records)

    def _append(self, records: Sequence[Record]) -> None:
        self._unwritten += len(records)
        if self._file is None or not records:
            return
        self._check_owners(records)
        lines = [record_line(record) for record in records]
        start = self._file.append(b"".join([self._before, *lines])) + len(self._before)
        self._before = b""
        for record, line in zip(records, lines, strict=True):
            self._index.add(record, ByteRange(start, start := start + len(line)))
        if time.monotonic() - self._last_sync > _SECONDS_BETWEEN_SYNCS:
            self._file.sync()
            self._last_sync = time.monotonic()

    def _check_owners(self, records: Sequence[Record]) -> None:
        """Refuse items that the file has for all systems, or for one of them: nobody could read the file any more."""
        known: dict[tuple[str, str | None], dict[str, Item]] = {}
        for item in (read_item(record, "") for record in records if record["record"] == "item"):
            others = (None,) if item.system is not None else (None, *self._index.systems)
            for owner in ((item.query, system) for system in others):
                known[owner] = known[owner] if owner in known else self._items(*owner)
                before = known[owner].get(item.id)
                if before is None or _may_replace(item, before):
                    continue
                it = f"the item {shown(item.id)} of query {shown(item.query)} is in the file"
                what = f"{it} for {_owner(before)}, and now for {_owner(item)}"
                hint = "Use another file, or the same name of the system as before (system=, --system)."
                if before.system == item.system:
                    what = f"{it} as a {before.type}, and now as a {item.type}"
                    hint = "Use another file, or name the system of the answers (system=, --system)."
                raise KaratError(what, place=self.path, hint=hint)

    def _new(self, records: Sequence[Record]) -> list[Record]:
        """The records that the file does not have yet, or not any more."""
        known: dict[tuple[str, str | None], dict[str, Item]] = {}
        new = []
        for record in records:
            if record["record"] == "item":
                item = read_item(record, "")
                owner = item.query, item.system
                known[owner] = known.get(owner) or self._items(*owner)
                before = known[owner].get(item.id)
                is_same = before is not None and before.record() == item.record() and not before.is_corrected
                is_known = before is None if record.get("removed") else is_same
            elif record["record"] == "task":
                task = self._index.tasks.get(record["name"])
                is_known = task == record
                if task is not None:  # otherwise nobody could read the file any more
                    read_task(record, "").check_same_scale(read_task(task, self.path), self.path)
            else:
                is_known = is_judged_without_call(record) and self._index.is_latest(record)
            new += [] if is_known else [record]
        return new

    def _items(self, query: str, system: str | None) -> dict[str, Item]:
        """All items of a system, or of a question for all systems; of several with one id, the last one."""
        with self._lock:
            records = self._records(self._index.items(query, system))
        latest: dict[str, Item] = {}
        for record in records:
            item = read_item(record, self.path)
            if (item.query, item.system) == (query, system):
                latest.pop(item.id, None) if record.get("removed") else latest.update({item.id: item})
        return latest

    def _records(self, places: Sequence[ByteRange]) -> list[dict[str, Any]]:
        found = []
        for start, end in places:
            self._reader.seek(start)
            lines = [line for line in self._reader.read(end - start).splitlines() if line.strip()]
            found += decode_lines(lines) or [decode_json(line, self.path, HINT) for line in lines]
        return found

    def _call(self, start: int) -> Record:
        self._reader.seek(start)
        call: Record = decode_json(self._reader.readline(), self.path, HINT)
        return call

    def _read(self, file: BinaryIO) -> None:
        """Find out what is in the file, and remove what a crash has left of a call."""
        size, unfinished = 0, []
        for record, place in records_with_places(file, self.path):
            if record is None:
                unfinished = [place]
            else:
                self._index.add(record, place)
                size = place.end
        unfinished = [*self._index.end(), *unfinished]
        if self._file is None:
            return
        if unfinished:
            self._file.truncate(size := unfinished[0].start)
            lines, were = plural(len(unfinished), "line"), "was" if len(unfinished) == 1 else "were"
            self.notes.append(f"{self.path}: {lines} of an unfinished call {were} removed from the end")
        file.seek(max(size - 1, 0))
        self._before = FILE_LINE if not size else b"" if file.read(1) == b"\n" else b"\n"


def print_what_is_kept() -> None:
    """Say on standard error that nothing is lost, for a signal that ends the program."""
    for file in _being_written:
        what = f"{printable(file.path)} has what was judged so far: run the same command again to go on."
        what = what if file.has_replies else "Nothing was judged yet."
        with suppress(OSError):
            os.write(2, f"karat: interrupted. {what}\n".encode(errors="backslashreplace"))


def _opened(path: str) -> BinaryIO:
    """A verdict file for reading; anything but a local file is an error."""
    if os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path):
        raise KaratError("this is not a regular file", place=path, hint="Write it to a file, and name the file.")
    if is_remote(path):
        raise KaratError("remote verdict files are not read here", place=path, hint="Copy it to a local file.")
    InputFile.of(path).start(1)  # raises a good error if it cannot be read
    return open(path, "rb")


def _may_replace(item: Item, before: Item) -> bool:
    """Whether an item may have the id of an earlier one. Documents are apart from the items of systems."""
    if item.system != before.system:
        return "document" in (item.type, before.type)
    return (item.type == "document") == (before.type == "document")


def _owner(item: Item) -> str:
    return "all systems" if item.system is None else f"the system {shown(item.system)}"


def _is_final(call: Record, retry_failed: bool) -> bool:
    """Whether a call need not be made again: a failure without a reply may have been one of the server."""
    return call.get("state") != "failed" or (call.get("reply") is not None and not retry_failed)


def _description(request: ModelRequest | None) -> str:
    """What a request is about, for messages."""
    if request is None:
        return ""
    about = next(iter((*request.failed, *request.expected)), {})
    names = [f"{field} {printable(str(about[field]))}" for field in ("query", "system") if about.get(field)]
    return f"{request.prompt} about {', '.join(names)}" if names else request.prompt
