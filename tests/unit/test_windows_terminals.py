"""What differs on Windows, simulated: commands to type, signals, pipes and consoles."""

from __future__ import annotations

import ctypes
import errno
import io
import os
import signal
import sys
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import Any

import pytest

import karat.__main__
from karat import KaratError, cli
from karat.cli import terminal
from karat.errors.command_lines import command_line
from karat.grounding.judges import journal
from karat.grounding.judges.asking import _Asking
from karat.grounding.judges.journal import Journal
from karat.output.escapes import reads_escapes
from tests.end_to_end.in_process import Streams, Terminal, process_state

RUN = "q Q0 a 1 1 t\n"


# Commands are typed into other shells.


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (r"runs\bm25.trec", r"runs\bm25.trec"),
        (r"C:\runs\*.trec", r"C:\runs\*.trec"),
        ("nDCG@10=0.5", "nDCG@10=0.5"),
        ("@10", '"@10"'),
        ("AP(rel=2)", '"AP(rel=2)"'),
        ("my run.trec", '"my run.trec"'),
        ("C:\\my data\\", '"C:\\my data\\\\"'),
        ('a "b" \\"', '"a \\"b\\" \\\\\\""'),
        ("", '""'),
    ],
)
def test_suggested_commands_have_the_quotes_of_its_shells(word: str, expected: str, windows: Path) -> None:
    assert command_line(["karat", word]) == f"karat {expected}"


# Signals, and waiting for threads.


def test_ctrl_break_ends_the_program_as_ctrl_c_does(monkeypatch: pytest.MonkeyPatch) -> None:
    handled: list[int] = []
    monkeypatch.setattr(signal, "SIGBREAK", 21, raising=False)
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)
    monkeypatch.setattr(signal, "signal", lambda number, _: handled.append(number))
    karat.__main__._handle_signals()
    assert handled == [signal.SIGINT, signal.SIGTERM, 21]


def test_a_judge_that_waits_for_a_model_wakes_up_for_ctrl_c() -> None:
    waits: list[float] = []

    def get(timeout: float) -> None:
        waits.append(timeout)
        if len(waits) < 3:
            raise Empty

    asking = object.__new__(_Asking)
    asking._answered = SimpleNamespace(get=get)  # type: ignore[assignment]
    assert asking._next_answer() is None
    assert len(waits) == 3
    assert max(waits) <= 1


def test_what_an_interrupted_judge_keeps_is_said_in_ascii(windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    with Journal(windows / "größe.jsonl") as file:
        file.write({"record": "call", "key": "k", "model": "m", "reply": "{}", "state": "done", "verdicts": 0}, [])
        monkeypatch.setattr(os, "write", lambda _, data: written.append(data))
        journal.print_what_is_kept()
        monkeypatch.undo()
    assert rb"gr\xf6\xdfe.jsonl has what was judged so far" in written[0]


# Pipes and consoles.


def printed_in_pipe(monkeypatch: pytest.MonkeyPatch, text: str, form: str = "csv") -> bytes:
    """What is printed as data into a pipe with the encoding that Python gives it on Windows."""
    out = io.BytesIO()
    stream = io.TextIOWrapper(out, encoding="cp1252", errors="backslashreplace", newline="\n")
    monkeypatch.setattr(sys, "stdout", stream)
    terminal.print_data(text, form)
    return out.getvalue()


def test_data_in_a_pipe_is_utf_8(windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    assert printed_in_pipe(monkeypatch, "größe,日,\ud800\n") == "größe,日,\\ud800\n".encode()


def test_an_encoding_that_was_asked_for_is_kept(windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    assert printed_in_pipe(monkeypatch, "größe,日\n") == b"gr\xf6\xdfe,\\u65e5\n"


def test_lines_in_a_pipe_end_as_on_other_systems(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("q 0 a 1\n")
    (tmp_path / "run.trec").write_text(RUN)
    out, err = io.BytesIO(), io.BytesIO()
    streams = Streams(io.StringIO(), *(io.TextIOWrapper(each, encoding="utf-8", newline="\r\n") for each in (out, err)))
    words = ["karat", "evaluate", "truth.qrels", "run.trec", "--per-query", "--format", "csv"]
    with process_state(tmp_path, words, streams), pytest.raises(SystemExit):
        cli.main()
    assert out.getvalue().startswith(b"query,")
    assert b"\r" not in out.getvalue() + err.getvalue()


class _ClosedPipe(io.TextIOWrapper):
    """A stream whose reader is gone."""

    def write(self, _: str) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")


def closed_pipe(folder: Path) -> _ClosedPipe:
    return _ClosedPipe(open(folder / "pipe", "wb"), encoding="utf-8")


def test_a_closed_pipe_that_is_called_an_invalid_argument_ends_the_program_quietly(
    windows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closed_pipe(windows) as pipe, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", pipe)
        with pytest.raises(SystemExit) as end:
            terminal.write_output("x")
        assert end.value.code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="this is about other systems")
def test_an_invalid_argument_is_an_error_on_other_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_pipe(tmp_path) as pipe, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", pipe)
        with pytest.raises(KaratError, match="cannot be written"):
            terminal.write_output("x")


@pytest.mark.parametrize(
    ("is_console", "mode", "is_new", "expected", "told"),
    [
        pytest.param(True, 7, True, True, [], id="it reads them already"),
        pytest.param(True, 3, True, True, [7], id="it is told to"),
        pytest.param(True, 3, False, False, [7], id="it is too old"),
        pytest.param(False, 0, True, False, [], id="it is no console"),
    ],
)
def test_a_console_gets_escape_sequences_only_if_it_reads_them(
    is_console: bool, mode: int, is_new: bool, expected: bool, told: list[int], windows: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    modes: list[int] = []

    def get_mode(_: object, result: Any) -> int:
        result._obj.value = mode
        return int(is_console)

    def set_mode(_: object, wanted: int) -> int:
        modes.append(wanted)
        return int(is_new)

    kernel = SimpleNamespace(GetConsoleMode=get_mode, SetConsoleMode=set_mode)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    with open(windows / "console", "w") as console:
        assert reads_escapes(console) is expected
    assert modes == told


def test_a_console_that_reads_no_escape_sequences_gets_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal(io.BytesIO()))
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert terminal.colour_console() is not None
    monkeypatch.setattr(terminal, "reads_escapes", lambda _: False)
    assert terminal.colour_console() is None
