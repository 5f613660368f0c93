"""Reads the body of a response whatever its status, within a limit of bytes and of time.

The client of the openai package reads the body of an error as a whole, however long it is. So each response is read as
soon as its headers are there, by hooks of the HTTP client, and the client gets what was read.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from karat.grounding.judges.requests import CallError, LateReplyError

HEADERS = {"Accept-Encoding": "identity"}
"""what to ask for: replies are short, and what is compressed can become any number of bytes"""
_LONGEST_REPLY = 10_000_000  # bytes
_LONGEST_ERROR = 1_000_000
_END, _BODY = "karat.end", "karat.body"
# How zlib recognizes a format: gzip or zlib, by their headers.
_WINDOW = 47


@dataclass(frozen=True)
class ResponseBody:
    """What arrived of a response, and the exception that ended it, if any."""

    text: str
    error: Exception | None = None


def reading_hooks(timeout: float) -> dict[str, list[Callable[..., None]]]:
    """Hooks for an HTTP client with which `body_of` knows the body of every response."""
    return {"request": [partial(_start, timeout)], "response": [partial(_read, timeout)]}


def body_of(response: Any) -> ResponseBody:
    """The body of a response that the hooks have read."""
    body: ResponseBody = response.extensions[_BODY]
    return body


def _start(timeout: float, request: Any) -> None:
    request.extensions.setdefault(_END, time.monotonic() + timeout)


def _read(timeout: float, response: Any) -> None:
    """Read a response, which then has what was read as its content."""
    limit = _LONGEST_REPLY if response.is_success else _LONGEST_ERROR
    content, error = bytearray(), None
    try:
        for part in _decoded(response.stream, response.headers.pop("content-encoding", ""), limit):
            content += part
            if len(content) > limit:
                raise CallError(f"the reply has more than {limit:,} bytes", again=False, may_cost=True)
            if time.monotonic() > response.request.extensions[_END]:
                raise LateReplyError(timeout)
    except Exception as problem:  # what arrived until then may say what it cost
        error = problem.with_traceback(None)
    finally:
        response.stream.close()
    del content[limit:]
    response.extensions[_BODY] = ResponseBody(content.decode(errors="replace"), error)
    response.stream = type(response)(response.status_code, content=bytes(content)).stream


def _decoded(parts: Iterable[bytes], encoding: str, most: int) -> Iterator[bytes]:
    """The parts of a body, decompressed if it was compressed nevertheless; at most `most` bytes at a time."""
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        yield from parts
        return
    decompressor = zlib.decompressobj(_WINDOW)
    for part in parts:
        rest = part
        while rest:
            try:
                yield decompressor.decompress(rest, most)
            except zlib.error as error:
                raise CallError(f"the reply is damaged: {error}", again=True, may_cost=True) from None
            rest = decompressor.unconsumed_tail
