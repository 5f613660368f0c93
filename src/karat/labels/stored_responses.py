"""Responses in a temporary file, so that the memory that is used hardly depends on their number."""

from __future__ import annotations

import json
import operator
import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from karat.errors import KaratError
from karat.labels.responses import Passage, Response, Sentence

_IN_MEMORY = 1 << 22  # bytes; more of them are written to a file


class StoredResponses(Sequence[Response]):
    """Responses that are read from a temporary file when they are needed.

    The file has no name: the operating system removes it when it is closed, or when this process ends, however it ends.
    """

    def __init__(self, responses: Iterable[Response]) -> None:
        self._lock = threading.Lock()
        self._starts = array("Q", [0])
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # closed with this object
        weakref.finalize(self, self._file.close)
        for response in responses:
            line = _encoded(response)
            try:
                self._file.write(line)
            except OSError as error:
                raise _unusable(error) from None
            self._starts.append(self._starts[-1] + len(line))

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

    def _read(self, at: int) -> Response:
        start, end = self._starts[at : at + 2]
        try:
            with self._lock:
                self._file.seek(start)
                line = self._file.read(end - start)
        except OSError as error:
            raise _unusable(error) from None
        return _decoded(line)


def _encoded(response: Response) -> bytes:
    sentences = [(each.text, each.cites) for each in response.sentences]
    passages = [(each.id, each.rank, each.text) for each in response.passages]
    fields = response.query, response.system, response.question, response.answer
    return json.dumps((*fields, sentences, passages, response.gold_answers)).encode()


def _decoded(line: bytes) -> Response:
    query, system, question, answer, sentences, passages, gold = json.loads(line)
    return Response(
        query,
        system,
        question,
        answer,
        tuple([Sentence(text, tuple(cites)) for text, cites in sentences]),
        tuple([Passage(*fields) for fields in passages]),
        None if gold is None else tuple(gold),
    )


def _unusable(error: OSError) -> KaratError:
    what = f"the temporary file for answers cannot be used: {error.strerror or error}"
    return KaratError(what, hint="Make space in the temporary folder, or set TMPDIR to another folder.")
