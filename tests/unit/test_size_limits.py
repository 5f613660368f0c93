"""Memory stays bounded, whatever a file contains: beyond a limit, an error names it."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.comparison.gate.config import read_config
from karat.reading.bytes import compression, input_file
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs import tables, trec_blocks
from karat.reading.pairs.trec import RUN, parse_lines
from tests.block_size import block_size

MB = 1 << 20
TRUTH = {"q": ["a"]}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], str]:
    def write(data: bytes) -> str:
        (tmp_path / "file").write_bytes(data)
        return str(tmp_path / "file")

    return write


Read = Callable[[str], object]
READERS: dict[str, Read] = {
    "a run": lambda path: karat.evaluate(TRUTH, path),
    "ground truth": lambda path: karat.evaluate(path, TRUTH),
    "results": karat.evaluate_results,
    "answers": lambda path: karat.evaluate_answers({"q": "a"}, path),
}


@pytest.mark.parametrize("line", [b"\n", b"# comment\n", b"q Q0 a 1 1 t\n", b"q 0 a 1\n", b'{"query": "q"}\n', b"["])
@pytest.mark.parametrize("reader", READERS)
def test_gzip_data_that_expands_too_much_is_an_error(
    reader: str, line: bytes, write: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "_EXPANSION_CHECKED_FROM", MB // 2)  # less than a block of lines
    path = write(gzip.compress(line * (MB // len(line))))
    with pytest.raises(KaratError, match=r"file: the gzip data expands to more than 200 times its size\."):
        READERS[reader](path)


def test_gzip_data_that_expands_much_is_read_if_it_is_small(write: Callable[[bytes], str]) -> None:
    path = write(gzip.compress(b"\n" * MB + b"q Q0 a 1 1 t\n"))
    assert karat.evaluate(TRUTH, path, "RR")["RR"] == 1


@pytest.mark.parametrize("line", ["\n", "# comment\n", "#\n", " \t\n"])
def test_blank_lines_and_comments_are_skipped_without_being_kept(line: str, write: Callable[[bytes], str]) -> None:
    path = write((line * 1000).encode() + b"q Q0 a 1 1 t\n" + (line * 1000).encode())
    with block_size(100):
        assert max(len(block.data) for block in InputFile(path).blocks()) < 1000
        assert karat.evaluate(TRUTH, path, "RR")["RR"] == 1


def test_the_lines_of_a_query_have_a_largest_size(
    write: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(b"# first\n" + b"".join(b"q Q0 d%d 1 1 t\n" % at for at in range(150_000)))
    monkeypatch.setattr(input_file, "LARGEST_QUERY", MB)
    with block_size(1000), pytest.raises(KaratError, match=r"file:2: the lines of one query take more than 1 MB\."):
        karat.evaluate(TRUTH, path)


def test_the_lines_of_ground_truth_have_a_largest_number(
    write: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("".join(f"{'qrs'[at % 3]} 0 d{at} 1\n" for at in range(50)).encode())
    monkeypatch.setattr(tables, "MOST_ROWS", 49)
    with block_size(100), pytest.raises(KaratError, match="ground truth has more than 49 rows"):
        READERS["ground truth"](path)
    monkeypatch.setattr(tables, "MOST_ROWS", 50)
    with block_size(100):
        READERS["ground truth"](path)


def test_a_line_of_results_has_a_largest_length(write: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(b'{"query": "q", "truth": ["a"], "retrieved": ["a"]}\n{"query": "' + b"r" * 2 * MB)
    monkeypatch.setattr(input_file, "LONGEST_RECORD", MB)
    with pytest.raises(KaratError, match=r"file:2: the line is longer than 1 MB\. JSON lines have one object per"):
        karat.evaluate_results(path)


def test_a_file_that_is_read_as_a_whole_has_a_largest_size(
    write: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_file, "LARGEST_DOCUMENT", MB)
    with pytest.raises(KaratError, match="file: the file is larger than 1 MB, too large to be read as a whole"):
        karat.evaluate_answers({"q": "a"}, write(b'[{"query": "q", "answer": "' + b"a" * 2 * MB))


def test_a_pipe_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_file, "LARGEST_PIPE", MB)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q Q0 a 1 1 t\n" * 100_000)))
    with pytest.raises(KaratError, match="standard input: more than 1 MB from a pipe, which is read into memory"):
        karat.evaluate(TRUTH, "-")


@pytest.mark.parametrize("deep", [b'{"query": "q", "truth": %s}', b'{"query": "q", "truth": ["a"], "retrieved": %s}'])
def test_a_record_that_is_nested_too_deeply_is_an_error(deep: bytes, write: Callable[[bytes], str]) -> None:
    with pytest.raises(KaratError, match="file:1: objects are nested too deeply"):
        karat.evaluate_results(write(deep % (b"[" * 100_000 + b"]" * 100_000)))


def test_a_configuration_has_a_largest_size(write: Callable[[bytes], str]) -> None:
    with pytest.raises(KaratError, match="file: the file is larger than 4 MB"):
        read_config(write(b"#" * (4 * MB + 1)))


text_lines = st.lists(
    st.sampled_from(["q Q0 a 1 1 t", "r\tQ0  b 1 2 t ", "", " ", "#", " # c", "#q Q0 a 1 1 t", "\t", "q Q0 c# 1 3 t"])
)


@given(text_lines, st.sampled_from(["\n", "\r\n", "\r"]))
def test_lines_are_read_in_blocks_as_they_are_one_by_one(lines: list[str], line_end: str) -> None:
    data = line_end.join(["q Q0 first 1 9 t", *lines]).encode()
    block = Block(memoryview(data), InputFile("file"), 0)
    columns = trec_blocks.read_block(block, RUN)
    pairs = parse_lines(block, RUN)
    assert (columns.query.to_pylist(), columns.doc.to_pylist()) == (list(pairs.queries), list(pairs.docs))
    assert columns.number.tolist() == pairs.numbers.tolist()
