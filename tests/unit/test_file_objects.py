"""Open files and file-like objects are read from their current position, or are one clear error."""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import karat
from karat import KaratError
from karat.reading.bytes import input_file
from karat.reading.bytes.file_objects import is_file_object
from karat.reading.bytes.input_file import InputFile
from tests.compressions import COMPRESS

QRELS = "q1 0 a 1\nq2 0 é 1\n"
RUN = "q1 Q0 a 1 2 t\nq2 Q0 x 1 2 t\nq2 Q0 é 2 1 t\n"


class Wrapper:
    """An object with nothing but a read method."""

    def __init__(self, *returned: object) -> None:
        self.returned = list(returned)

    def read(self, size: int = -1) -> object:
        assert size > 0
        value = self.returned.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    def close(self) -> None: ...


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a file with this content."""
    files: list[Any] = []

    def opened(text: str, mode: str = "rb", open: Callable[..., Any] = open, **options: Any) -> Any:  # noqa: A002
        path = tmp_path / f"file{len(files)}"
        path.write_bytes(gzip.compress(text.encode()) if open is gzip.open else text.encode())
        files.append(open(path, mode, **options))
        return files[-1]

    yield opened
    for file in files:
        file.close()


OBJECTS: dict[str, Callable[[Callable[..., Any], str], Any]] = {
    "a binary file": lambda opened, text: opened(text),
    "an unbuffered file": lambda opened, text: opened(text, buffering=0),
    "a text file": lambda opened, text: opened(text, "r", encoding="utf-8"),
    "BytesIO": lambda _, text: io.BytesIO(text.encode()),
    "StringIO": lambda _, text: io.StringIO(text),
    "gzip.open": lambda opened, text: opened(text, open=gzip.open),
    "gzip.open of text": lambda opened, text: opened(text, "rt", open=gzip.open, encoding="utf-8"),
    "compressed bytes": lambda _, text: io.BytesIO(COMPRESS["zstd"](text.encode())),
    "Arrow's file": lambda _, text: pa.BufferReader(text.encode()),
    "an object with read": lambda _, text: Wrapper(text[:3], text[3:], ""),
    "an object that returns bytearrays": lambda _, text: Wrapper(bytearray(text.encode()), b""),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_ground_truth_and_runs_are_read_from_open_files(kind: str, opened: Callable[..., Any]) -> None:
    truth, run = (OBJECTS[kind](opened, text) for text in (QRELS, RUN))
    assert karat.evaluate(truth, run, "RR")["RR"] == 0.75


@pytest.mark.parametrize("kind", OBJECTS)
def test_results_and_answers_are_read_from_open_files(kind: str, opened: Callable[..., Any]) -> None:
    line = '{"query": "q", "truth": ["a"], "retrieved": ["b", "a"], "gold_answers": "é", "answer": "é"}\n'
    assert karat.evaluate_results(OBJECTS[kind](opened, line), "RR")["RR"] == 0.5
    gold, predicted = (OBJECTS[kind](opened, text) for text in ('{"q": "é"}', "query,answer\nq,é\n"))
    assert karat.evaluate_answers(gold, predicted, "EM")["EM"] == 1


def test_a_run_whose_lines_are_not_grouped_is_read_again_from_memory() -> None:
    lines = "".join(f"q{at % 2} Q0 d{at} 1 {-at} t\n" for at in range(60_000))
    assert karat.evaluate({"q1": ["d1"]}, io.StringIO(lines), "RR")["RR"] == 1


def test_reading_begins_at_the_current_position() -> None:
    file = io.BytesIO(b"header\nq1 0 a 1\n")
    file.readline()
    assert karat.evaluate(file, {"q1": ["a"]}, "RR")["RR"] == 1
    with pytest.raises(KaratError, match=r"the file object: there is nothing left to read.*Call its seek\(0\) first"):
        karat.evaluate(file, {"q1": ["a"]}, "RR")
    file.seek(7)
    assert karat.evaluate(file, {"q1": ["a"]}, "RR")["RR"] == 1


def test_the_file_is_not_closed(opened: Callable[..., Any]) -> None:
    file = opened(QRELS)
    karat.evaluate(file, {"q1": ["a"]})
    assert not file.closed


def test_messages_name_the_file(opened: Callable[..., Any]) -> None:
    file = opened("q1 Q0 a 1 x t\n")
    with pytest.raises(KaratError, match=rf"{file.name}:1: "):
        karat.evaluate({"q1": ["a"]}, file)
    for unnamed in (io.BytesIO(b"q"), tempfile.TemporaryFile()):  # noqa: SIM115  # its name is a number
        with unnamed:
            unnamed.write(b"q1 Q0 a 1 x t\n")
            unnamed.seek(0)
            with pytest.raises(KaratError, match=r"^the file object:1: "):
                karat.evaluate({"q1": ["a"]}, unnamed)


def test_the_name_of_an_open_file_is_not_taken_for_a_path(tmp_path: Path) -> None:
    for name in (str(tmp_path), "-", "s3://bucket/run", f"{tmp_path}/*"):
        file = io.BytesIO(RUN.encode())
        file.name = name  # as some libraries do
        assert karat.evaluate({"q1": ["a"]}, file, "RR")["RR"] == 1


def test_standard_input_can_be_passed_as_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode()), "utf-8"))
    assert karat.evaluate({"q1": ["a"]}, sys.stdin, "RR")["RR"] == 1


def closed() -> io.BytesIO:
    file = io.BytesIO(b"q1 0 a 1\n")
    file.close()
    return file


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "closed": (lambda _: closed(), "the file is closed. Pass it while it is open"),
    "open for writing": (lambda path: (path / "new").open("wb"), "the file is not open for reading"),
    "text open for writing": (lambda path: (path / "new").open("w"), "the file is not open for reading"),
    "binary open as text": (lambda _: io.TextIOWrapper(io.BytesIO(gzip.compress(b"q")), "utf-8"), "in binary mode"),
    "a failing read": (lambda _: Wrapper(OSError(5, "Input/output error")), "cannot be read: Input/output error"),
    "an exception of its own": (lambda _: Wrapper(KeyError("oops")), "cannot be read: 'oops'"),
    "an exception without a text": (lambda _: Wrapper(TimeoutError()), "cannot be read: TimeoutError"),
    "read that returns None": (lambda _: Wrapper(None), r"read\(\) returned None, which is neither bytes nor text"),
    "read that returns numbers": (lambda _: Wrapper([1]), "which is neither bytes nor text"),
    "a lone surrogate": (lambda _: io.StringIO("q1 0 \ud800 1\n"), "a lone surrogate"),
    "empty": (lambda _: io.BytesIO(), "empty|no "),
}


READERS: tuple[Callable[[Any], object], ...] = (
    lambda source: karat.evaluate(source, {"q1": ["a"]}),
    lambda source: karat.evaluate({"q1": ["a"]}, source),
    karat.evaluate_results,
    lambda source: karat.evaluate_answers(source, {"q1": "a"}),
)


@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_be_read_is_one_clear_error(kind: str, tmp_path: Path) -> None:
    make, message = WRONG[kind]
    for read in READERS:
        with closing(make(tmp_path)) as source, pytest.raises(KaratError, match=message):
            read(source)


def test_an_open_file_has_the_largest_size_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_file, "LARGEST_PIPE", 1 << 20)
    with pytest.raises(
        KaratError, match="the file object: more than 1 MB from an open file, which is read into memory"
    ):
        karat.evaluate({"q": ["a"]}, io.BytesIO(b"q Q0 a 1 1 t\n" * 100_000))


def test_data_and_classes_are_not_taken_for_open_files() -> None:
    class Reader(dict[str, list[str]]):
        def read(self) -> None: ...

    assert karat.evaluate(Reader(q=["a"]), {"q": ["a"]}, "RR")["RR"] == 1
    assert not any(map(is_file_object, (Reader(), io.BytesIO, [], "", pa.table({"a": [1]}), Path())))
    with pytest.raises(KaratError, match="is not ground truth"):
        karat.evaluate(io.BytesIO, {"q": ["a"]})


def test_a_path_of_bytes_is_a_path(tmp_path: Path) -> None:
    class BytesPath:
        def __fspath__(self) -> bytes:
            return str(tmp_path / "truth").encode()

    (tmp_path / "truth").write_text(QRELS, "utf-8")
    assert karat.evaluate(BytesPath(), {"q1": ["a"], "q2": ["é"]}, "RR")["RR"] == 1
    assert InputFile.of(BytesPath()).name == str(tmp_path / "truth")
