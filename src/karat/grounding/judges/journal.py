"""Where replies and labels are kept: in a verdict file, which is only ever appended to, or in memory.

A reply is written before it counts. All records of a call are written at once, and the call itself comes last: a call
that is in the file has all its records there. What a crash leaves of an unfinished call is removed at the next start.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, Self

from karat.errors import KaratError, Parameter, Place, plural, printable, shown
from karat.errors.arguments import check_path, is_remote
from karat.grounding.judges.known_records import KnownCall, KnownRecords, is_judged_without_call
from karat.grounding.judges.requests import ModelRequest, Record
from karat.grounding.verdict_file.records import FILE_LINE, Item, check_version, kind_of, read_item, record_line
from karat.grounding.verdict_file.tasks import read_task
from karat.output.appended_file import AppendedFile
from karat.reading.bytes.input_file import BOM, InputFile
from karat.reading.bytes.json_decoding import decode_json, decode_lines
from karat.reading.bytes.kinds import PEEK, check_is_text

_HINT = "A verdict file has one record per line."
_IN_MEMORY = "the labels"  # the name of a journal without a file
_LINES_AT_ONCE = 1_000
_FREQUENT = ("verdict", "item", "call")
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
        self._looked_up = self._missing = self._unwritten = 0
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
                with _opened(self.path) as file:
                    self._read(file)
                self._lines = open(self.path, "rb")  # until __exit__
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
            are = "is" if self._missing == 1 else "are"
            what = f"{self._missing:,} of {plural(self._looked_up, 'call')} {are} not in the file"
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
        self._looked_up += 1
        call = self._known.call(key)
        if call is None and self.replay:
            self._first_missing = self._first_missing or _description(request)
            self._missing += 1
        return call if call is not None and (self.replay or self._is_final(call)) else None

    def _is_final(self, call: KnownCall) -> bool:
        """Whether a call need not be made again: a failure without a reply may have been one of the server."""
        return call.state != "failed" or (call.reply is not None and not self._retry_failed)

    def items(self, query: str, system: str | None) -> dict[str, Item]:
        """The items of a system, or those of a question for all systems, as they are now, by id."""
        return self._known.items(query, system, Place(self.path, query=query))

    def write(self, call: Record | None, records: Sequence[Record]) -> None:
        """Write records, and the call that they are from; without a call, only those that are new."""
        if call is None:
            self._append(self._new(records))
        else:
            self._append([*({**record, "call": call["key"]} for record in records), call])

    def reuse(self, key: str, records: Sequence[Record]) -> None:
        """Write what the reply to a known call says, unless it is what was written last about the same things."""
        if records and not self._known.are_latest(records, key):
            call = self._known.call(key)
            verdicts = sum(record["record"] == "verdict" for record in records)
            again = {"record": "call", "key": key, "model": call and call.model, "state": "reused"}
            self.write({**again, "verdicts": verdicts}, records)

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
        return _record(line.removeprefix(BOM), Place(self.path), is_first=False)

    def _read(self, file: BinaryIO) -> None:
        """Find out what is in the file, and remove what a crash has left of a call."""
        size, unfinished = 0, []
        for record, start, end in _records(file, self.path):
            if record is None:
                unfinished = [start]
            else:
                self._known.add(record, start)
                size = end
        unfinished = [*self._known.end(), *unfinished]
        if self._file is None:
            return
        if unfinished:
            self._file.truncate(size := unfinished[0])
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
        raise KaratError("this is not a regular file", place=Place(path), hint="Write it to a file, and name the file.")
    if is_remote(path):
        raise KaratError("remote verdict files are not read here", place=Place(path), hint="Copy it to a local file.")
    InputFile.of(path).start(1)  # raises a good error if it cannot be read
    return open(path, "rb")


def _records(file: BinaryIO, name: str) -> Iterator[tuple[dict[str, Any] | None, int, int]]:
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
                    yield _record(text, Place(name, line=number), is_first=is_first), start, end
                    is_first = False
                except KaratError:
                    is_start = number > 1 or FILE_LINE.startswith(line.rstrip(b"\0"))  # NUL: the power failed
                    if line.endswith(b"\n") or not is_start:
                        raise
                    yield None, start, end


def _record(text: bytes, place: Place, *, is_first: bool) -> dict[str, Any]:
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
    about = next(iter((*request.failed, *request.expected)), {})
    names = [f"{field} {printable(str(about[field]))}" for field in ("query", "system") if about.get(field)]
    return f"{request.prompt} about {', '.join(names)}" if names else request.prompt
