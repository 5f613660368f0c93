"""Responses in a temporary file, so that the memory that is used hardly depends on their number."""

from __future__ import annotations

import json
import operator
import os
import sys
import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from typing import Any, overload

from karat.errors import KaratError
from karat.labels.responses import Passage, Response, Sentence

_IN_MEMORY = 1 << 22  # bytes; more of them are written to a file
_lock = threading.Lock()  # for Windows


class StoredResponses(Sequence[Response]):
    """Responses that are read from a temporary file when they are needed, by any number of threads and processes.

    The file has no name: the operating system removes it when it is closed, or when this process ends, however it ends.
    """

    def __init__(self, responses: Iterable[Response]) -> None:
        self._starts = array("Q", [0])
        self._last = bytearray()
        """the last responses, which are not in the file"""
        self._written = 0
        self._file: FileIO | None = None
        for response in responses:
            self._last += _encoded(response)
            self._starts.append(self._written + len(self._last))
            if len(self._last) > _IN_MEMORY:
                self._write()

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[Response]:
        return map(self._read, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Response: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Response]: ...
    def __getitem__(self, at: int | slice) -> Response | Sequence[Response]:
        if isinstance(at, slice):
            return [*map(self._read, range(len(self))[at])]
        return self._read(range(len(self))[operator.index(at)])

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)  # a copy, such as that of another process, is in memory

    def _write(self) -> None:
        """Move the last responses to the file."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # closed with this object
                weakref.finalize(self, self._file.close)
            rest = memoryview(self._last)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise _unusable(error) from None
        self._written, self._last = self._starts[-1], bytearray()

    def _read(self, at: int) -> Response:
        start, end = self._starts[at : at + 2]
        if self._file is None or start >= self._written:
            return _decoded(self._last[start - self._written : end - self._written])
        try:
            return _decoded(_read_at(self._file, start, end - start))
        except OSError as error:
            raise _unusable(error) from None


def _read_at(file: FileIO, start: int, length: int) -> bytes:
    """Some bytes of a file, without its position: threads share it, and so do processes after a fork."""
    if sys.platform == "win32":  # which has no fork either
        with _lock:
            file.seek(start)
            return file.read(length)
    return os.pread(file.fileno(), length, start)


def _encoded(response: Response) -> bytes:
    sentences = [(each.text, each.cites) for each in response.sentences]
    passages = [(each.id, each.rank, each.text) for each in response.passages]
    fields = response.query, response.system, response.question, response.answer
    return json.dumps((*fields, sentences, passages, response.gold_answers, response.knows_passages)).encode()


def _decoded(line: bytes | bytearray) -> Response:
    query, system, question, answer, sentences, passages, gold, knows_passages = json.loads(line)
    return Response(
        query,
        system,
        question,
        answer,
        tuple([Sentence(text, tuple(cites)) for text, cites in sentences]),
        tuple([Passage(*fields) for fields in passages]),
        None if gold is None else tuple(gold),
        knows_passages,
    )


def _unusable(error: OSError) -> KaratError:
    what = f"the temporary file for answers cannot be used: {error.strerror or error}"
    return KaratError(what, hint="Make space in the temporary folder, or set TMPDIR to another folder.")
