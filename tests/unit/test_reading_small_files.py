"""Small TREC files are read in plain Python, large ones with Arrow: the results and the errors are the same."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs import tables, trec
from karat.reading.pairs.any_source import read_truth
from karat.reading.pairs.containers import ScoredMappings, ScoredRows
from karat.reading.pairs.tables import TableRun
from tests.block_size import block_size

Write = Callable[[str | bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(data: str | bytes) -> str:
        (tmp_path / "file").write_bytes(data.encode() if isinstance(data, str) else data)
        return str(tmp_path / "file")

    return write


MEASURES = ["nDCG", "AP", "P@2", "Bpref"]


@st.composite
def lines(draw: st.DrawFn, form: str, numbers: list[str]) -> bytes:
    """Lines that are mostly right, with scattered queries, ties, repeated documents, comments and mistakes."""
    text = ""
    for _ in range(draw(st.integers(0, 9))):
        query, doc = draw(st.sampled_from(["q1", "q2", "q3", "é"])), draw(st.sampled_from(["a", "b", "q1", "c#1", "ü"]))
        line = form.format(query=query, doc=doc, number=draw(st.sampled_from(numbers)))
        unusual = draw(st.integers(0, 19))
        if unusual < 4:
            line = ["# " + line, line + " more", "  " + line.replace(" ", "\t "), ""][unusual]
        text += line + draw(st.sampled_from(["\n"] * 5 + ["\r\n", "\r"]))
    return draw(st.sampled_from([b""] * 9 + [b"\xef\xbb\xbf", b"q\0 "])) + text.encode()


def evaluated(truth: Path, run: Path, options: dict[str, str]) -> object:
    """All that an evaluation returns, or its error."""
    try:
        scores = karat.evaluate(truth, run, MEASURES, **options)  # type: ignore[arg-type]  # any option
    except KaratError as error:
        return str(error)
    return scores.to_dict(), scores.findings, scores.explain(scores.queries[0]).to_dict()


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "ties": st.sampled_from(["input", "best", "worst"]),
        "duplicates": st.just("first"),
        "missing": st.just("skip"),
        "ignore_identical_ids": st.just(True),
        "match": st.sampled_from(["prefix", "prefix(separator=#)", "id(normalize=true)", "overlap"]),
    },
)


@settings(max_examples=30)
@given(
    lines("{query} 0 {doc} {number}", ["0", "1", "2", "-1", "0.5"] * 9 + ["inf", "x"]),
    lines("{query} Q0 {doc} 1 {number} t", ["1", "1", "2.5", "-3e-2"] * 9 + ["inf", "nan", "1_0"]),
    OPTIONS,
)
@example(b"q1 0 a 1\n", b"q1 Q0 a 1 1 t\nq1 Q0 a 2 2 t\n", {})
@example(b"q1 0 a 1\n", b"q1 Q0 a 1 1 t\nq1 Q0 b 2 2 t\nq1 Q0 a 2 3 t\n", {"duplicates": "first"})
@example(b"q1 0 a 1\nq1 0 a 2\n", b"q1 Q0 a 1 1 t\n", {})
@example(b"q1 0 a 1\n", b"# nothing\n", {})
@example(b"q1 0 a 1\n", b"q1 Q0 a 1 1 t\nq1 Q0 a 1 1 t\nq2 Q0 a 1 nan t\n", {})
@example(b"", b"q1 Q0 a 1 1 t\n", {})
@example(b"q1 0 \xff 1\n", b"q1 Q0 a 1 1 t\n", {})
@example(b"q1 0 a 1\nq2 0 a 1\nq1 0 b 2\n", b"q2 Q0 a 1 1 t\nq1 Q0 b 1 1 t\nq2 Q0 b 1 2 t\n", {"ties": "input"})
def test_small_files_give_the_same_scores_findings_explanations_and_errors(
    tmp_path_factory: pytest.TempPathFactory, truth: bytes, run: bytes, options: dict[str, str]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name, content in (("small.qrels", truth), ("small.trec", run)):
        (folder / name).write_bytes(content)
    with block_size(1 << 12):
        expected = evaluated(folder / "small.qrels", folder / "small.trec", options)
    found = evaluated(folder / "small.qrels", folder / "small.trec", options)
    # Of two faults in a file, blocks may find a repeated document before an invalid line in the next block.
    assert found == expected or (isinstance(found, str) and "listed twice" in str(expected))


def batch_type(path: str) -> type:
    return type(next(TableRun(trec.TrecTable(InputFile(path), "score")).batches())())


def test_arrow_reads_what_is_large_or_repeats_a_document_whether_or_not_it_is_loaded(write: Write) -> None:
    once = "q Q0 d 1 1 t\n"
    large = f"#{'x' * 600_000}\n{once}"
    assert "pyarrow" in sys.modules
    assert batch_type(write(once)) is ScoredMappings
    assert batch_type(write(gzip.compress(once.encode()))) is ScoredMappings
    assert batch_type(write(once * 2)) is ScoredRows
    assert batch_type(write(large)) is ScoredRows
    assert batch_type(write(gzip.compress(large.encode()))) is ScoredRows


def test_a_large_file_with_a_byte_order_mark_is_read_to_its_end(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "SMALL_FILE", 10)  # the byte order mark and the first line are 11 bytes
    assert list(read_truth(write("\ufeffq 0 a 1\nq 0 b 1\n")).docs) == ["a", "b"]


def test_the_progress_of_a_small_file_ends_at_its_size(write: Write) -> None:
    calls: list[tuple[int, int]] = []
    text = "q Q0 d 1 1 t\n"
    karat.evaluate({"q": {"d": 1}}, write(text), "RR", progress=lambda *call: calls.append(call))
    assert calls == [(len(text), len(text))]


def test_judgments_of_a_small_file_are_in_the_order_of_first_appearance(write: Write) -> None:
    path = write("q2 0 b 1\nq1 0 c 0\nq2 0 a 2\n")
    truth = read_truth(path)
    assert (truth.queries, truth.docs, truth.grades.tolist()) == (("q2", "q1"), ["b", "a", "c"], [1.0, 2.0, 0.0])
    assert not truth.only_relevant
