"""Runs the command inside the test process, which saves the time that starting Python takes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from unittest.mock import patch

from karat.cli import main

Done = subprocess.CompletedProcess[str]

# Variables set by terminals and CI systems that would change the output.
UNWANTED = (
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "TERM",
    "PYTHONWARNINGS",
    "GITHUB_ACTIONS",
    "TF_BUILD",
    "TEAMCITY_VERSION",
)


def plain_environment(more: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The environment of an ordinary terminal."""
    kept = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    return kept | {"TERM": "xterm-256color"} | dict(more)


class Terminal(io.TextIOWrapper):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def run_here(
    folder: Path,
    *words: str | Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] = MappingProxyType({}),
    terminal: bool = False,
    encoding: str = "utf-8",
    merged: bool = False,
) -> Done:
    """Run `karat WORDS...` in a folder, between pipes. Unexpected exceptions are raised instead of printed.

    If `merged`, standard error is part of the output, as after `2>&1`.
    """
    stream = Terminal if terminal else io.TextIOWrapper
    out = io.BytesIO()
    err = out if merged else io.BytesIO()
    streams = Streams(
        io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"),
        stream(out, encoding=encoding, write_through=True),
        stream(err, encoding=encoding, write_through=True),
    )
    status: object = None
    with process_state(folder, ["karat", *map(str, words)], streams, environment):
        try:
            main()
        except SystemExit as end:
            status = end.code
    assert isinstance(status, int), f"ended with {status!r}"
    printed = out.getvalue().decode(encoding), "" if merged else err.getvalue().decode(encoding)
    return Done(list(map(str, words)), status, *printed)


def run_code_here(code: str, folder: Path) -> Done:
    """Run Python code in a folder as a module of its own, between pipes, as `python -c` does. Exceptions are raised."""
    out = io.BytesIO()
    streams = Streams(io.StringIO(), io.TextIOWrapper(out, encoding="utf-8", write_through=True), io.StringIO())
    with process_state(folder, ["-c"], streams), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # as Python does by default
        exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    return Done(["-c"], 0, out.getvalue().decode(), "")


class Streams(NamedTuple):
    """The standard streams of a process."""

    stdin: io.TextIOBase
    stdout: io.TextIOBase
    stderr: io.TextIOBase


@contextmanager
def process_state(
    folder: Path, argv: list[str], streams: Streams, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """What a new process would have: its folder, arguments, environment and standard streams."""
    with (
        chdir(folder),
        patch.dict(os.environ, plain_environment(environment), clear=True),
        patch.object(sys, "argv", argv),
        patch.multiple(sys, **streams._asdict()),
    ):
        yield
        sys.stdout.flush()
        sys.stderr.flush()


def printed(done: Done) -> str:
    """What a command printed; it must have succeeded."""
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(done: Done) -> str:
    """The error of a command, which must be one line, and all that it printed."""
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("karat: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def good(folder: Path, *words: str | Path) -> str:
    """What a command prints that succeeds without a word on standard error, except what it wrote."""
    done = run_here(folder, *words)
    others = [line for line in done.stderr.splitlines() if not line.startswith("wrote ")]
    assert (done.returncode, others) == (0, [])
    return done.stdout


def mistake(folder: Path, *words: str | Path) -> str:
    """The error of a command that fails with status 2, in one line."""
    done = run_here(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr
