"""Gives a test a pipe as its standard input, which saves the time that starting Python takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from unittest.mock import patch


@contextmanager
def piped(data: bytes) -> Iterator[None]:
    """Standard input, and its file descriptor, are a pipe with these bytes."""
    reading, writing = os.pipe()
    before = os.dup(0)
    os.dup2(reading, 0)
    os.close(reading)
    writer = Thread(target=_write, args=(writing, data), daemon=True)
    writer.start()
    try:
        with open(0, encoding="utf-8", closefd=False) as stream, patch.object(sys, "stdin", stream):
            yield
    finally:
        os.dup2(before, 0)  # which closes the pipe, so that the writer ends even if nothing was read
        os.close(before)
        writer.join(10)


def _write(pipe: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(pipe, "wb") as stream:
        stream.write(data)
