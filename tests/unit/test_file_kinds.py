"""A file of a kind that is not read is an error that says what the file is, wherever it is named."""

from __future__ import annotations

import io
import json
import lzma
import pickle
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.orc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, Scores, evaluate, evaluate_answers, evaluate_results
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.kinds import check_is_text
from karat.reading.contents.contents import is_saved_scores

QRELS = b"q1 0 d1 1\n" * 3
FRAME = pd.DataFrame({"query": ["q1"], "doc": ["d1"], "grade": [1]})


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def zipped(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, QRELS)
    return buffer.getvalue()


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table judgments (query)")
    connection.commit()
    return connection.serialize()


BINARY: dict[str, bytes] = {
    "a ZIP archive": zipped("truth.qrels"),
    "an Excel workbook": zipped("xl/workbook.xml"),
    # As ranx saves Run({"q1": {"d1": 2.5, "d2": 1.0}, "q2": {"é": 0.5}}), decompressed.
    "CBOR, as ranx saves runs": bytes.fromhex(
        "a2627131a2626431fb4004000000000000626432fb3ff0000000000000627132a162c3a9fb3fe0000000000000"
    ),
    "compressed with compress": b"\x1f\x9d" + bytes(20),
    "compressed in the legacy format of lz4": b"\x02\x21\x4c\x18" + bytes(20),
    "compressed in the legacy format of xz": lzma.compress(QRELS, lzma.FORMAT_ALONE),
    "compressed with lzip": b"LZIP\x01" + bytes(20),
    "compressed with Snappy": b"\xff\x06\0\0sNaPpY" + bytes(20),
    "an SQLite database": database(),
    "an ORC file": written(lambda buffer: pa.orc.write_table(pa.table({"query": ["q1"]}), buffer)),
    "an Avro file": written(pl.DataFrame({"query": ["q1"]}).write_avro),
    "a pickle": pickle.dumps({"q1": {"d1": 1}}),
    "a PDF file": b"%PDF-1.7\n",
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "an HTML page": b"\n<!DOCTYPE html>\n<html>",
    "text in UTF-16": QRELS.decode().encode("utf-16"),
    "text in UTF-32": QRELS.decode().encode("utf-32"),
}


@pytest.mark.parametrize("kind", BINARY)
def test_every_reader_says_what_a_binary_file_is(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(BINARY[kind])
    readers: list[Callable[[], object]] = [
        lambda: evaluate(path, {"q1": ["d1"]}, "AP"),
        lambda: evaluate({"q1": ["d1"]}, path, "AP"),
        lambda: evaluate_results(path, "AP"),
        lambda: evaluate_answers(path, {"q1": "a"}),
        lambda: evaluate_answers({"q1": "a"}, path),
    ]
    for read in readers:
        with pytest.raises(KaratError) as raised:
            read()
        assert f"this file is {kind}" in raised.value.what
        assert "text in UTF-8 is read here" in raised.value.what
        assert raised.value.hint


def test_utf_16_without_a_byte_order_mark_is_recognized() -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(KaratError, match="text in UTF-16"):
            check_is_text(QRELS.decode().encode(encoding), "here")


@given(st.text())
def test_text_in_utf_8_is_never_taken_for_a_binary_file(text: str) -> None:
    if not text.lstrip().lower().startswith(("<html", "<!doctype")):
        check_is_text(f"q1 {text}".encode(), "here")
        check_is_text(f"\ufeff{text}".encode(), "here")


OTHER_TEXT = {
    '{"q1": {"d1": 1}}': "JSON",
    "query-id\tcorpus-id\tscore\nq1\td1\t1\n": "TSV",
    "query,doc,grade\nq1,d1,1\n": "CSV",
}


@pytest.mark.parametrize("text", OTHER_TEXT)
def test_json_and_tables_with_a_header_are_not_taken_for_broken_trec_files(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    expected = f"the file was to be read as TREC, but it looks like {OTHER_TEXT[text]}"
    with pytest.raises(KaratError, match=expected):
        evaluate(path, {"q1": ["d1"]}, "AP", truth_format="trec")
    with pytest.raises(KaratError, match=expected):
        evaluate({"q1": ["d1"]}, path, "AP", run_format="trec")


@pytest.mark.parametrize("given", ["trec", "csv", "tsv", "json", "jsonl", "feather"])
def test_a_parquet_file_that_is_to_be_read_as_another_format_is_refused(given: str, tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "truth")
    with pytest.raises(KaratError, match="but it looks like Parquet") as raised:
        evaluate(tmp_path / "truth", {"q1": ["d1"]}, "AP", truth_format=given)
    assert "='parquet'" in str(raised.value.hint)


def test_a_file_that_begins_with_a_bracket_is_invalid_json_and_not_trec(tmp_path: Path) -> None:
    path = tmp_path / "truth"
    path.write_text(repr({f"q{at}": {"d1": 1} for at in range(5)}))
    with pytest.raises(KaratError, match="truth: not JSON"):
        evaluate(path, {"q1": ["d1"]}, "AP")


def test_a_mapping_in_json_is_not_taken_for_results(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_text(json.dumps({"q1": {"d1": 1}, "q2": {"d2": 1}}))
    with pytest.raises(KaratError, match="this is a JSON object of queries and their documents, not results"):
        evaluate_results(path, "AP")


def test_a_table_of_documents_is_not_taken_for_saved_scores(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "truth.parquet")
    FRAME.to_csv(tmp_path / "truth.csv", index=False)
    assert not is_saved_scores(InputFile.of(tmp_path / "truth.parquet"))
    assert not is_saved_scores(InputFile.of(tmp_path / "truth.csv"))
    scores = evaluate({"q1": ["d1"]}, {"q1": ["d1"]}, "AP")
    for name in ("scores.parquet", "scores.csv", "scores.json"):
        getattr(scores, f"to_{name.rpartition('.')[2]}")(tmp_path / name)
        assert is_saved_scores(InputFile.of(tmp_path / name))


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl", ".tsv"])
def test_scores_say_what_a_binary_file_is(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"scores{suffix}"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(KaratError, match="this file is a ZIP archive; text in UTF-8 is read here"):
        Scores.load(path)


@pytest.mark.parametrize("indent", [None, 2])
def test_judgments_in_json_are_not_taken_for_scores(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "qrels.json"
    path.write_text(json.dumps({"q1": {"d1": 1}, "q2": {"d7": 1, "d8": 0}}, indent=indent))
    with pytest.raises(KaratError, match="a JSON object of queries and their documents, not scores"):
        Scores.load(path)
    path.write_text(json.dumps({"q1": {"cost": 1}, "q2": {"cost": 2, "latency": 0.5}, "q3": {}}, indent=indent))
    assert Scores.load(path)["cost"] == 1.5


def test_an_empty_file_name_is_an_error() -> None:
    with pytest.raises(KaratError, match="the name of a file is empty"):
        evaluate("", {"q": ["a"]}, "AP")


@pytest.mark.parametrize("name", ["rows.json", "indented.json", "rows.jsonl"])
@pytest.mark.parametrize("column", ["doc", "docno", "corpus-id"])
def test_rows_of_documents_in_json_are_not_scores(name: str, column: str, tmp_path: Path) -> None:
    rows = [{"query": "q1", column: "d1", "grade": 1}, {"query": "q2", column: "d1", "grade": 0}]
    text = json.dumps(rows, indent=1 if name == "indented.json" else None)
    (tmp_path / name).write_text("\n".join(map(json.dumps, rows)) if name == "rows.jsonl" else text)
    assert not is_saved_scores(InputFile.of(tmp_path / name))
    (tmp_path / name).write_text((tmp_path / name).read_text().replace(column, "comment"))
    assert is_saved_scores(InputFile.of(tmp_path / name))
