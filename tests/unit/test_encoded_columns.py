"""Columns with dictionaries, or with runs of equal values, are read as plain ones; limits keep them small."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores
from karat.reading.bytes import arrow_file, compression, input_file
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs import arrow_blocks, arrow_columns, pair_checks
from karat.reading.pairs.arrow_columns import text_ids, valid_numbers
from karat.reading.pairs.pair_checks import PairRules
from karat.reading.texts.entries import Text
from karat.reading.texts.text_files import read_values
from karat.reading.texts.texts import read_texts

TRUTH = {"q1": {"d1": 1}, "q2": {"d3": 2}}
RUN = pa.table(
    {
        "query": ["q1", "q1", "q1", "q2", "q2"],
        "doc": ["d2", "d1", "d7", "d9", "d3"],
        "score": [9.0, 8.0, 8.0, 3.0, 2.0],
    }
)
MEASURES = ["RR", "nDCG@10"]
PER_QUERY = karat.evaluate(TRUTH, RUN, MEASURES).per_query


def run_ends(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pc.run_end_encode(chunk) for chunk in column.chunks])


def dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.dictionary_encode()


ENCODINGS: dict[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]] = {"runs": run_ends, "dictionary": dictionary}


def encoded(table: pa.Table, encode: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> pa.Table:
    return pa.table({name: encode(table[name]) for name in table.column_names})


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_all_columns_of_tables_and_files_may_be_encoded(encoding: str, tmp_path: Path) -> None:
    table = encoded(RUN, ENCODINGS[encoding])
    assert karat.evaluate(TRUTH, table, MEASURES).per_query == PER_QUERY
    assert karat.evaluate(TRUTH, table.slice(1), "RR").per_query == {"q1": {"RR": 0.5}, "q2": {"RR": 0.5}}
    feather.write_feather(table, tmp_path / "run.feather")
    with pa.ipc.new_stream(tmp_path / "run.arrow", table.schema) as writer:
        writer.write_table(table)
    if encoding == "dictionary":
        pq.write_table(table, tmp_path / "run.parquet")
    for path in tmp_path.iterdir():
        assert karat.evaluate(TRUTH, path, MEASURES).per_query == PER_QUERY


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_ids_that_are_encoded_numbers_are_joined_with_texts_and_noted(encoding: str) -> None:
    table = pa.table({"query": [1, 1], "doc": [8.0, 7.0], "score": [2, 1]})
    scores = karat.evaluate({"1": {"7": 1}}, encoded(table, ENCODINGS[encoding]), "RR")
    plain = karat.evaluate({"1": {"7": 1}}, table, "RR")
    assert scores["RR"] == 0.5
    assert [str(each) for each in scores.findings] == [str(each) for each in plain.findings]


@pytest.mark.parametrize("column", ["query", "doc", "score"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_missing_value_in_an_encoded_column_is_an_error(encoding: str, column: str, tmp_path: Path) -> None:
    values = [None if at == 3 else each for at, each in enumerate(RUN[column].to_pylist())]
    table = encoded(RUN.set_column(RUN.column_names.index(column), column, [values]), ENCODINGS[encoding])
    feather.write_feather(table, tmp_path / "run.feather")
    for source in (table, tmp_path / "run.feather"):
        with pytest.raises(KaratError, match=r"row 3: the .* is missing"):
            karat.evaluate(TRUTH, source)


def test_a_missing_value_inside_of_a_dictionary_is_an_error() -> None:
    docs = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2, 3]), pa.array(["a", None, "b", "c"]))
    with pytest.raises(KaratError, match="row 1: the id of the document is missing"):
        karat.evaluate(TRUTH, RUN.set_column(1, "doc", docs))


def test_categories_of_data_frames_and_views_of_texts_are_read() -> None:
    pandas = pd.DataFrame(RUN.to_pydict()).astype({"query": "category", "doc": "category", "score": "category"})
    assert karat.evaluate(TRUTH, pandas, MEASURES).per_query == PER_QUERY
    views = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 3, 4]), RUN["doc"].combine_chunks().cast(pa.string_view())
    )
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 5], pa.int16()), pa.array(["q1", "q2"], pa.string_view()))
    table = RUN.set_column(1, "doc", views).set_column(0, "query", runs)
    assert karat.evaluate(TRUTH, table, MEASURES).per_query == PER_QUERY
    frame = pl.DataFrame(RUN.to_pydict()).with_columns(pl.col("query", "doc").cast(pl.Categorical))
    assert karat.evaluate(TRUTH, frame, MEASURES).per_query == PER_QUERY


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_scores_and_texts_may_be_encoded(encoding: str, tmp_path: Path) -> None:
    table = encoded(pa.table({"query": ["q1", "q2"], "RR": [0.5, 1.0]}), ENCODINGS[encoding])
    feather.write_feather(table, tmp_path / "scores")
    assert Scores.load(tmp_path / "scores").per_query == {"q1": {"RR": 0.5}, "q2": {"RR": 1.0}}
    table = encoded(pa.table({"_id": ["1", "2"], "text": ["soft", "hard"]}), ENCODINGS[encoding])
    feather.write_feather(table, tmp_path / "queries.feather")
    texts = read_texts(tmp_path / "queries.feather", ["1", "2"], "queries")
    assert dict(texts) == {"1": Text("soft"), "2": Text("hard")}
    rows = read_values(InputFile.of(tmp_path / "queries.feather"), "text").rows
    assert [row[1:] for row in rows] == [("1", "soft"), ("2", "hard")]


@given(st.lists(st.sampled_from(["a", "b", "ccc", "ä"]), min_size=1), st.integers(0, 9), st.sampled_from([*ENCODINGS]))
def test_encoded_columns_are_read_as_plain_ones(values: list[str], start: int, encoding: str) -> None:
    plain = pa.chunked_array([values[:3], values[3:]], pa.string())
    column = ENCODINGS[encoding](plain).slice(start)
    assert text_ids(column, "here").to_pylist() == plain.slice(start).to_pylist()
    lengths = pc.binary_length(plain)
    found = valid_numbers(ENCODINGS[encoding](lengths).slice(start), PairRules("grade"), "here")
    assert found is not None
    assert np.array_equal(found, lengths.slice(start).to_numpy())


# Limits


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for checks in (pair_checks, arrow_columns):
        monkeypatch.setattr(checks, "LONGEST_ID", 1000)
    for module in (arrow_file, arrow_blocks):
        monkeypatch.setattr(module, "LARGEST_COLUMN", 1 << 20)
    monkeypatch.setattr(arrow_file, "_LONG_ON_AVERAGE", 100)
    monkeypatch.setattr(compression, "_EXPANSION_CHECKED_FROM", 1 << 20)


def written(columns: dict[str, Any], path: Path, **options: Any) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path, write_statistics=False, **options)
    else:
        feather.write_feather(pa.table(columns), path)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("column", ["query", "doc"])
@pytest.mark.usefixtures("small_limits")
def test_an_id_has_the_same_limit_as_a_line_of_text(column: str, suffix: str, tmp_path: Path) -> None:
    for length in (1000, 1001):
        columns = {**RUN.to_pydict(), column: ["d0", "d1", "d2", "x" * length, "d4"]}
        path = written(columns, tmp_path / f"run{suffix}")
        if length > 1000:
            kind = "query" if column == "query" else "document"
            with pytest.raises(KaratError, match=f"row 3: the id of the {kind} is longer than 0 MB. Are these the ids"):
                karat.evaluate(TRUTH, path)
        elif column == "doc":
            karat.evaluate(TRUTH, path)


@pytest.mark.parametrize("column", ["query", "doc"])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.usefixtures("small_limits")
def test_a_long_text_that_is_repeated_does_not_fill_the_memory(column: str, encoding: str, tmp_path: Path) -> None:
    rows = 5000
    short = pa.array([f"d{at}" for at in range(rows)])
    texts = pa.array(["x" * 900, "y" * 900])
    if encoding == "dictionary":
        long = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows) % 2, pa.int32()), texts)
    else:
        long = pa.RunEndEncodedArray.from_arrays(pa.array([2, rows], pa.int32()), texts)
    columns = {"query": short, "doc": short, "score": pa.array(np.arange(float(rows)))} | {column: long}
    path = written(columns, tmp_path / "run.feather")
    message = f"column {column}: 5,000 values take more than 1 MB of memory, because long texts are repeated"
    for source in (pa.table(columns), path):
        with pytest.raises(KaratError, match=message):
            karat.evaluate(TRUTH, source)


@pytest.mark.parametrize("column", ["query", "doc"])
@pytest.mark.parametrize("has_schema", [True, False])
@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.usefixtures("small_limits")
def test_a_long_text_in_a_dictionary_of_parquet_does_not_fill_the_memory(
    column: str, has_schema: bool, is_streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 5000
    short = pa.array([f"{at % 4}" for at in range(rows)])
    long = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows) % 2, pa.int32()), pa.array(["x" * 900, "y" * 900]))
    columns = {"query": short, "doc": short, "score": pa.array([1.0] * rows)} | {column: long}
    path = written(columns, tmp_path / "run.parquet", store_schema=has_schema)
    if is_streamed:
        monkeypatch.setattr(arrow_blocks, "_LARGEST_ROW_GROUP", 10)
    with pytest.raises(KaratError, match=f"column {column}: 5,000 values take more than 1 MB of memory"):
        karat.evaluate(TRUTH, path)


@pytest.mark.usefixtures("small_limits")
def test_parquet_that_expands_suspiciously_is_an_error(tmp_path: Path) -> None:
    columns = {"query": ["q1"] * 4000, "doc": ["0" * 900] * 4000, "score": [1.0] * 4000}
    path = written(columns, tmp_path / "run.parquet", use_dictionary=False, compression="zstd")
    with pytest.raises(KaratError, match="the Parquet data expands to more than 200 times its size"):
        karat.evaluate(TRUTH, path)
    with pytest.raises(KaratError, match="the Parquet data expands to more than 200 times its size"):
        Scores.load(path)


LONG = pa.table({"query": ["q1"] * 3, "doc": ["0" * 3_000_000] * 3, "score": [1.0] * 3})


def arrow_data(table: pa.Table, open_file: Any, codec: str | None) -> bytes:
    sink = pa.BufferOutputStream()
    with open_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def misaligned(stream: bytes) -> bytes:
    """A stream whose messages do not begin at multiples of eight bytes, which Arrow reads all the same."""
    length = int.from_bytes(stream[4:8], "little")
    return stream[:4] + (length + 1).to_bytes(4, "little") + stream[8 : 8 + length] + b"\0" + stream[8 + length :]


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    "data",
    [
        arrow_data(LONG, pa.ipc.new_file, "zstd"),
        arrow_data(LONG, pa.ipc.new_stream, "zstd"),
        misaligned(arrow_data(LONG, pa.ipc.new_stream, "zstd")),
        arrow_data(encoded(LONG, dictionary), pa.ipc.new_file, "zstd"),
    ],
)
def test_an_arrow_file_that_expands_suspiciously_is_an_error(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.feather").write_bytes(data)
    for read in (partial(karat.evaluate, TRUTH), Scores.load):
        with pytest.raises(KaratError, match="the Arrow data expands to more than 200 times its size"):
            read(tmp_path / "run.feather")


def test_a_buffer_that_begins_with_a_frame_without_data_has_a_size_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (8, 24, 1 << 20):
        monkeypatch.setattr(arrow_file, "_READ", step)
        for start in (b"\x28\xb5\x2f\xfd", b"\x5a\x2a\x4d\x18"):
            data = b"ARROW1\0\0" + bytes(8) + (10**12).to_bytes(8, "little") + start + bytes(13)
            assert arrow_file._expanded_size(pa.BufferReader(data)) == 10**12
        assert arrow_file._expanded_size(pa.BufferReader(b"ARROW1\0\0" + b"\xff" * 8 + start + bytes(4))) == 0


@pytest.mark.parametrize("codec", ["lz4", "zstd", None])
@pytest.mark.parametrize("open_file", [pa.ipc.new_file, pa.ipc.new_stream])
def test_compressed_arrow_files_are_read(open_file: Any, codec: str | None, tmp_path: Path) -> None:
    (tmp_path / "run.feather").write_bytes(arrow_data(RUN, open_file, codec))
    assert karat.evaluate(TRUTH, tmp_path / "run.feather", MEASURES).per_query == PER_QUERY


def test_large_rows_of_parquet_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{at:03}" * 400 for at in range(500)]
    columns = {"query": [f"q{at}" for at in range(500)], "doc": ["d1"] * 500, "score": [1.0] * 500, "text": texts}
    path = written(columns, tmp_path / "run.parquet", use_dictionary=False)
    sizes: list[int] = []
    block_of = arrow_blocks._block
    monkeypatch.setattr(arrow_file, "_BYTES_AT_ONCE", 30_000)
    monkeypatch.setattr(arrow_blocks, "_LARGEST_COLUMNS", 10_000)

    def counted(*arguments: Any) -> arrow_blocks.RowBlock:
        block = block_of(*arguments)
        sizes.append(len(block.docs))
        return block

    monkeypatch.setattr(arrow_blocks, "_block", counted)
    assert karat.evaluate({"q7": ["d1"]}, path, "RR")["RR"] == 1
    assert sum(sizes) == 500
    assert max(sizes) < 30


def test_a_table_that_is_read_as_a_whole_has_the_limit_of_a_json_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (arrow_file, input_file):
        monkeypatch.setattr(module, "LARGEST_DOCUMENT", 1 << 10)
    noise = [f"{at * 7919 % 1009}" for at in range(1000)]
    columns = {"query": [f"q{at}" for at in range(1000)], "cost": noise}
    for suffix in (".parquet", ".feather"):
        with pytest.raises(KaratError, match="the file is larger than 0 MB, too large to be read as a whole"):
            Scores.load(written(columns, tmp_path / f"scores{suffix}"))
    file = io.BytesIO(written(columns, tmp_path / "scores.parquet").read_bytes())
    with pytest.raises(KaratError, match="too large to be read as a whole"):
        Scores.load(file)


def test_a_page_of_parquet_that_announces_gigabytes_is_damaged(tmp_path: Path) -> None:
    columns = {"query": ["q1"] * 50, "score": [1.0] * 50, "doc": [f"d{at}" for at in range(50)]}
    data = bytearray(written(columns, tmp_path / "run.parquet", use_dictionary=False).read_bytes())
    at = pq.ParquetFile(tmp_path / "run.parquet").metadata.row_group(0).column(2).data_page_offset
    assert data[at : at + 3] == b"\x15\0\x15"  # then the size of the page, in seven bits per byte
    end = next(place for place in range(at + 3, len(data)) if data[place] < 128)
    data[at + 3 : end + 1] = b"\xfe\xff\xff\xff\x0f"
    (tmp_path / "run.parquet").write_bytes(data)
    with pytest.raises(KaratError, match="the Parquet data is damaged or cut short"):
        karat.evaluate(TRUTH, tmp_path / "run.parquet")
