"""Where replies and labels are kept: in a verdict file, which is only ever appended to, or in memory.

A reply is written before it counts. All records of a call are written at once, and the call itself comes last: a call
that is in the file has all its records there. What a crash leaves of an unfinished call is removed at the next start,
and kept in a file beside it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from io import BytesIO
from typing import BinaryIO, Self

from karat.errors import KaratError, Parameter, Place, plural, printable, shown
from karat.errors.arguments import check_path
from karat.grounding.judges.known_records import (
    KnownCall,
    KnownRecords,
    is_judged_without_call,
    open_verdict_file,
    read_record,
    read_records,
)
from karat.grounding.judges.requests import ModelRequest, Record
from karat.grounding.verdict_file.records import FILE_LINE, Item, read_item, record_line
from karat.grounding.verdict_file.tasks import read_task
from karat.output.appended_file import AppendedFile, keep_beside
from karat.reading.bytes.input_file import BOM
from karat.reading.bytes.json_decoding import decode_lines

_IN_MEMORY = "the labels"  # the name of a journal without a file
_SECONDS_BETWEEN_SYNCS = 5.0
_being_written: list[Journal] = []  # for the message at a signal


class Journal:
    """Calls and their records, in a `with` statement: those of a verdict file, or without a path those of this process.

    Nobody else can write to the file as long as it is open. With `retry_failed`, calls whose replies could not be
    understood are made again; calls without a reply always are. With `replay`, everything must be in the file: what is
    not is an error at the end. With `read_only`, what is not in the file is not an error. In both cases nothing is
    written, and the file may be in use.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        replay: bool = False,
        read_only: bool = False,
        retry_failed: bool = False,
    ) -> None:
        self.is_file = path is not None
        self.path = _IN_MEMORY if path is None else check_path(path, "verdicts")
        self.replay = replay
        self.notes: list[str] = []
        self._is_read_only = read_only or replay
        self._retry_failed = retry_failed
        self._known = KnownRecords(self._record_at)
        self._looked_up: set[int] = set()  # calls, by the hashes of their keys
        self._missing: set[int] = set()
        self._unwritten = 0
        self._first_missing = ""
        self._file: AppendedFile | None = None
        self._lines: BinaryIO = BytesIO()  # what is known, for reading it again
        self._before = b""  # what has to be written before the next record
        self._last_sync = time.monotonic()

    def __enter__(self) -> Self:
        if self.is_file:
            self._file = None if self._is_read_only else AppendedFile(self.path)
            with ExitStack() as on_error:
                if self._file is not None:
                    on_error.callback(self._file.close)
                with open_verdict_file(self.path) as file:
                    self._lines = on_error.enter_context(open(self.path, "rb"))  # until __exit__
                    self._read(file)
                on_error.pop_all()
        if self._file is not None:
            _being_written.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._lines.close()
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
            are = "is" if len(self._missing) == 1 else "are"
            what = f"{len(self._missing):,} of {plural(len(self._looked_up), 'call')} {are} not in the file"
            what += f"; the first is {self._first_missing}" if self._first_missing else ""
            hint = "Judge without replay first, with the same results, model, prompts and settings."
            raise KaratError(what, place=Place(self.path), hint=hint)
        if self._unwritten:
            what = "all replies are in the file, but not all labels and items that follow from them"
            hint = "Judge once without replay: it asks nothing, and adds them."
            raise KaratError(what, place=Place(self.path), hint=hint)

    @property
    def has_replies(self) -> bool:
        """Whether there is a reply that need not be asked for again."""
        return self._known.has_replies

    @property
    def models(self) -> list[str]:
        """The models whose calls are known."""
        return sorted(self._known.models)

    def known(self, key: str, request: ModelRequest | None = None) -> KnownCall | None:
        """A call that need not be made again; the request is named if it is missing in a replay."""
        call = self._known.call(key)
        is_only_counted = request is not None and request.if_known
        if self.replay and (call is not None or not is_only_counted):
            self._looked_up.add(hash(key))
            if call is None:
                self._first_missing = self._first_missing or _description(request)
                self._missing.add(hash(key))
        is_final = call is not None and (self.replay or is_only_counted or self._is_final(call, key, request))
        return call if is_final else None

    def _is_final(self, call: KnownCall, key: str, request: ModelRequest | None) -> bool:
        """Whether a call need not be made again: a failure without a reply may have been one of the server.

        If somebody has written all of its labels, nothing is left to ask.
        """
        if call.state != "failed" or (call.reply is not None and not self._retry_failed):
            return True
        if request is None or not request.failed:
            return False
        labels = ({**verdict, "by": call.model, "sample": request.sample} for verdict in request.failed)
        return all(self._known.correction(label, key) is not None for label in labels)

    @property
    def systems(self) -> list[str]:
        """The systems that items or labels name."""
        return self._known.systems

    def queries(self, system: str) -> Collection[str]:
        """The queries of which a system has items."""
        return self._known.queries(system)

    def items(self, query: str, system: str | None) -> dict[str, Item]:
        """The items of a system, or those of a question for all systems, as they are now, by id."""
        return self._known.items(query, system, Place(self.path, query=query))

    def write(self, call: Record | None, records: Sequence[Record]) -> list[Record]:
        """Write records, and the call that they are from; without a call, only those that are new.

        What somebody has corrected is not written, and what they say instead is returned.
        """
        if call is None:
            self._append(new := self._new(records))
            return new
        if self._file is not None:  # before anything is read from it
            self._file.check(
                lambda: b"".join(map(record_line, [*({**each, "call": call["key"]} for each in records), call]))
            )
        key = str(call["key"])
        times = self._known.times_written(key)
        again = {"again": times} if times else {}
        new = self._without_corrected(key, records)
        self._append([*({**record, "call": key, **again} for record in new), {**call, **again}])
        return self.as_corrected(key, records)

    def reuse(self, key: str, records: Sequence[Record]) -> list[Record]:
        """Write what the reply to a known call says, unless it is what was written last about the same things.

        What somebody has corrected is not written, and what they say instead is returned.
        """
        new = self._without_corrected(key, records)
        if new and not self._known.are_latest(new, key):
            call = self._known.call(key)
            verdicts = sum(record["record"] == "verdict" for record in records)
            again = {"record": "call", "key": key, "model": call and call.model, "state": "reused"}
            self.write({**again, "verdicts": verdicts}, records)
        return self.as_corrected(key, records)

    def as_corrected(self, key: str, records: Sequence[Record]) -> list[Record]:
        """The records of a call as people have corrected them; some of them may remove an item."""
        return [self._known.correction(record, key) or record for record in records]

    def _without_corrected(self, key: str, records: Sequence[Record]) -> list[Record]:
        """The records of a call that nobody has corrected, and corrected items that are not there any more."""
        known, place = cache(self.items), Place(self.path)
        new = []
        for record in records:
            correction = self._known.correction(record, key)
            if correction is None:
                new.append(record)
            elif correction["record"] == "item" and not correction.get("removed"):
                item = read_item(correction, place)
                if item.id not in known(item.query, item.system):  # what it is from had changed, and changed back
                    new.append(correction)
        return new

    def _append(self, records: Sequence[Record]) -> None:
        self._unwritten += len(records)
        if not records or self._is_read_only:
            return
        lines = [*map(record_line, records)]
        if self._file is None:
            start = self._lines.seek(0, os.SEEK_END)
            self._lines.writelines(lines)
        else:
            self._check_owners(records)
            start = self._file.append(b"".join([self._before, *lines])) + len(self._before)
            self._before = b""
        for record, line in zip(records, lines, strict=True):
            self._known.add(record, start)
            start += len(line)
        if self._file is not None and time.monotonic() - self._last_sync > _SECONDS_BETWEEN_SYNCS:
            self._file.sync()
            self._last_sync = time.monotonic()

    def _check_owners(self, records: Sequence[Record]) -> None:
        """Refuse items that the file has for all systems, or for one of them: nobody could read the file any more."""
        known, place = cache(self.items), Place(self.path)
        for item in (read_item(record, place) for record in records if record["record"] == "item"):
            for system in (None,) if item.system is not None else (None, *self._known.systems):
                before = known(item.query, system).get(item.id)
                if before is None or _may_replace(item, before):
                    continue
                it = f"the item {shown(item.id)} of query {shown(item.query)} is in the file"
                what = f"{it} for {_owner(before)}, and now for {_owner(item)}"
                hint = "Use another file, or the same name of the system as before ("
                if before.system == item.system:
                    what = f"{it} as a {before.type}, and now as a {item.type}"
                    hint = "Use another file, or name the system of the answers ("
                raise KaratError(what, place=place, hint=[hint, Parameter("system"), ")."])

    def _new(self, records: Sequence[Record]) -> list[Record]:
        """The records that the file does not have yet, or not any more."""
        known, place = cache(self.items), Place(self.path)
        new = []
        for record in records:
            if record["record"] == "item":
                item = read_item(record, place)
                before = known(item.query, item.system).get(item.id)
                is_known = before is None if item.removed else before is not None and _is_same(item, before)
            elif record["record"] == "task":
                task = self._known.tasks.get(record["name"])
                is_known = task == record
                if task is not None:  # otherwise nobody could read the file any more
                    read_task(record, place).check_same_scale(read_task(task, place), place)
            else:
                is_known = is_judged_without_call(record) and self._known.is_latest(record)
            if not is_known:
                new.append(record)
        return new

    def _record_at(self, start: int) -> Record:
        """The record that begins at a byte."""
        self._lines.seek(start)
        line = self._lines.readline()
        [record] = decode_lines([line]) or [None]
        if type(record) is dict and "record" in record:
            return record
        if self._file is not None and not line.endswith(b"\n"):
            self._file.check(bytes)  # somebody may have shortened it
        return read_record(line.removeprefix(BOM), Place(self.path), is_first=False)

    def _read(self, file: BinaryIO) -> None:
        """Find out what is in the file, and remove what a crash has left of a call."""
        size, unfinished = 0, []
        for record, start, end in read_records(file, self.path):
            if record is None:
                unfinished = [start]
            else:
                self._known.add(record, start)
                size = end
        unfinished = [*self._known.end(), *unfinished]
        if self._file is None:
            return
        if unfinished:
            file.seek(size := unfinished[0])
            kept_in = keep_beside(self.path, "removed", file.read())
            self._file.truncate(size)
            lines, were, are = plural(len(unfinished), "line"), "was", "is"
            if len(unfinished) > 1:
                were, are = "were", "are"
            what = f"{lines} of an unfinished call {were} removed from the end, and {are} kept in {kept_in}"
            self.notes.append(f"{self.path}: {what}")
        file.seek(max(size - 1, 0))
        self._before = FILE_LINE if not size else b"" if file.read(1) == b"\n" else b"\n"


def print_what_is_kept() -> None:
    """Say on standard error that nothing is lost, for a signal that ends the program."""
    for file in _being_written:
        what = f"{printable(file.path)} has what was judged so far: run the same command again to go on."
        what = what if file.has_replies else "Nothing was judged yet."
        with suppress(OSError):
            # The console of Windows takes bytes for text in an old encoding.
            encoding = "ascii" if sys.platform == "win32" else "utf-8"
            os.write(2, f"karat: interrupted. {what}\n".encode(encoding, "backslashreplace"))


def _may_replace(item: Item, before: Item) -> bool:
    """Whether an item may have the id of an earlier one. Documents are apart from the items of systems."""
    if item.system != before.system:
        return "document" in (item.type, before.type)
    return (item.type == "document") == (before.type == "document")


def _is_same(item: Item, before: Item) -> bool:
    """Whether an item is as it was before; what nobody has corrected is known by its digest."""
    now, earlier = (each._replace(text=None, digest=each.current_digest, place=None) for each in (item, before))
    return now == earlier and not before.is_corrected


def _owner(item: Item) -> str:
    return "all systems" if item.system is None else f"the system {shown(item.system)}"


def _description(request: ModelRequest | None) -> str:
    """What a request is about, for messages."""
    if request is None:
        return ""
    about = next(iter(request.failed), {})
    names = [f"{field} {printable(str(about[field]))}" for field in ("query", "system") if about.get(field)]
    return f"{request.prompt} about {', '.join(names)}" if names else request.prompt
