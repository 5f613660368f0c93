"""Ground truth and runs in Parquet and Feather files."""

from __future__ import annotations

import gzip
import io
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.errors import KaratError
from karat.reading.pairs import arrow_blocks

MEASURES = ("AP", "nDCG", "RR", "NumRet")
TRUTH = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}
ROWS = [("q1", "a", 3.0), ("q1", "b", 2.0), ("q2", "b", 1.0), ("q2", "a", 0.5)]


def table_of(rows: list[tuple[str, str, float]] = ROWS, number: str = "score", kind: Any = None) -> pa.Table:
    query, doc, value = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"query": query, "doc": doc, number: pa.array(value, pa.float64())})
    return table if kind is None else table.cast(pa.schema([("query", kind), ("doc", kind), (number, pa.float64())]))


def write(table: pa.Table, path: Path, rows_per_group: int = 1 << 20) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=rows_per_group)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, compression="lz4", chunksize=rows_per_group)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows_per_group)
    return path


def expected(rows: list[tuple[str, str, float]] = ROWS, truth: Any = TRUTH) -> dict[str, Any]:
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in rows:
        run.setdefault(query, {})[doc] = score
    return karat.evaluate(truth, run, MEASURES).per_query


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    suffix=st.sampled_from(["parquet", "feather", "arrows"]),
    rows_per_group=st.sampled_from([1, 3, 8, 100]),
    largest=st.sampled_from([2, 100]),
    fewest=st.sampled_from([1, 6, 100]),
    shuffled=st.booleans(),
)
def test_row_groups_and_parts_of_any_size_change_no_score(
    seed: int,
    suffix: str,
    rows_per_group: int,
    largest: int,
    fewest: int,
    shuffled: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    chance = Random(seed)
    docs = [f"d{at}" for at in range(12)]
    truth = {f"q{at}": {doc: chance.randint(0, 2) for doc in docs[::2]} for at in range(8)}
    rows = [
        (query, doc, chance.randint(0, 4) / 2) for query in truth for doc in chance.sample(docs, chance.randint(1, 9))
    ]
    if shuffled:
        chance.shuffle(rows)
    folder = tmp_path_factory.mktemp("parts")
    cut = chance.randint(1, len(rows) - 1)
    for name, part in (("part-0", rows[:cut]), ("part-1", rows[cut:])):
        write(table_of(part), folder / f"{name}.{suffix}", rows_per_group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_blocks, "_LARGEST_ROW_GROUP", largest)
        patch.setattr(arrow_blocks, "_ROWS_PER_PART", fewest + 2)
        patch.setattr(arrow_blocks, "_FEWEST_ROWS", fewest)
        assert karat.evaluate(truth, folder, MEASURES).per_query == expected(rows, truth)


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrows"])
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_ids_may_be_texts_of_any_type(kind: pa.DataType, suffix: str, tmp_path: Path) -> None:
    path = write(table_of(kind=kind), tmp_path / f"run.{suffix}")
    truth = write(
        table_of([("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 2)], "grade", kind), tmp_path / f"truth.{suffix}"
    )
    assert karat.evaluate(TRUTH, path, MEASURES).per_query == expected()
    assert karat.evaluate(truth, path, MEASURES).per_query == expected()


@pytest.mark.parametrize("kind", [pa.int32(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64())], ids=str)
def test_ids_may_be_whole_numbers(kind: pa.DataType, tmp_path: Path) -> None:
    rows = [("1", "10", 3.0), ("1", "20", 2.0), ("2", "10", 1.0)]
    number = kind.value_type if pa.types.is_dictionary(kind) else kind
    table = table_of(rows)
    for at in (0, 1):
        column = table.column(at).cast(number)
        table = table.set_column(at, table.column_names[at], column.dictionary_encode() if kind != number else column)
    for suffix in ("parquet", "feather"):
        path = write(table, tmp_path / f"run.{suffix}")
        assert karat.evaluate({"1": {"20": 1}}, path, MEASURES).per_query == expected(rows, {"1": {"20": 1}})


def test_ranks_without_scores_are_an_order_and_other_columns_are_not_read(tmp_path: Path) -> None:
    table = pa.table({"qid": ["q", "q"], "docno": ["a", "b"], "rank": [2, 1], "text": [["not"], ["read"]]})
    scores = karat.evaluate({"q": {"b": 1}}, write(table, tmp_path / "run.parquet"), "RR")
    assert scores["RR"] == 1
    assert "documents are ordered by the column 'rank'" in str(scores)


def test_files_of_a_folder_may_differ_in_types_but_not_in_columns(tmp_path: Path) -> None:
    write(table_of([("1", "7", 3.0)]), tmp_path / "part-0.parquet")
    numbers = pa.table({"query": pa.array([1], pa.int32()), "doc": pa.array([8]), "score": pa.array([1], pa.int8())})
    write(numbers, tmp_path / "part-1.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.parquet.crc").write_bytes(b"crc")
    pq.write_metadata(numbers.schema, tmp_path / "_metadata")
    truth = {"1": {"8": 1}}
    assert karat.evaluate(truth, tmp_path, "RR")["RR"] == 0.5
    assert karat.evaluate(truth, str(tmp_path / "part-*.parquet"), "RR")["RR"] == 0.5
    write(numbers.rename_columns(["qid", "doc", "score"]), tmp_path / "part-2.parquet")
    with pytest.raises(KaratError, match=r"part-2\.parquet: the columns \('qid', 'doc', 'score'\) differ from"):
        karat.evaluate(truth, tmp_path)


def test_a_folder_without_tables_or_with_partitions_and_a_pattern_without_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="this is a folder, not a file"):
        karat.evaluate(TRUTH, tmp_path)
    (tmp_path / "system=a").mkdir()
    with pytest.raises(KaratError, match=r"the folder is partitioned: system=a contains only a part of the table"):
        karat.evaluate(TRUTH, tmp_path)
    with pytest.raises(KaratError, match="no file matches this pattern"):
        karat.evaluate(TRUTH, str(tmp_path / "*.parquet"))
    write(table_of(), tmp_path / "a.parquet")
    write(table_of(), tmp_path / "b.feather")
    with pytest.raises(KaratError, match="these are Parquet and Feather files"):
        karat.evaluate(TRUTH, tmp_path)


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_a_document_listed_twice_is_named_by_its_rows(suffix: str, tmp_path: Path) -> None:
    path = write(table_of([*ROWS, ("q1", "a", 1.0)]), tmp_path / f"run.{suffix}", 2)
    with pytest.raises(KaratError, match=rf"run\.{suffix}, rows 0 and 4: document a is listed twice for query q1"):
        karat.evaluate(TRUTH, path)
    (tmp_path / "parts").mkdir()
    for name in ("a", "b"):
        write(table_of(), tmp_path / "parts" / f"{name}.{suffix}")
    with pytest.raises(KaratError, match=rf"a\.{suffix}, row 0 and .*b\.{suffix}, row 0: document a is listed twice"):
        karat.evaluate(TRUTH, tmp_path / "parts")
    with pytest.raises(KaratError, match="document a is judged twice for query q1"):
        karat.evaluate(write(table_of([*ROWS, ("q1", "a", 1.0)], "grade"), tmp_path / f"t.{suffix}"), path)


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("rows_per_group", [2, 100])
@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("query", ["q1", "q1", "q2", None], "column query, row 3: the id of the query is missing"),
        ("doc", ["a", "b", None, "c"], "column doc, row 2: the id of the document is missing"),
        ("score", [1.0, 2.0, None, 1.0], "column score, row 2: the score is missing"),
        ("score", [1.0, 2.0, 3.0, float("nan")], "column score, row 3: score nan is not a number"),
        ("query", ["q1", "", "q2", "q2"], "column query, row 1: the id of the query is empty"),
        ("doc", [2.0, 1.5, 3.0, 4.0], "column doc, row 1: 1.5 is not an id"),
        ("score", ["1", "2", "x", "4"], "column score, row 2: score 'x' is not a number"),
        ("score", [b"1", b"2", b"3", b"4"], "column score: type binary is not numeric"),
    ],
)
def test_a_value_that_cannot_be_read_is_named_by_its_row(
    column: str, values: list[Any], message: str, rows_per_group: int, suffix: str, tmp_path: Path
) -> None:
    table = table_of().set_column(table_of().column_names.index(column), column, pa.array(values))
    with pytest.raises(KaratError, match=f"run.{suffix}, {message}"):
        karat.evaluate(TRUTH, write(table, tmp_path / f"run.{suffix}", rows_per_group))


def test_texts_that_are_not_utf_8_are_an_error(tmp_path: Path) -> None:
    for name, at in (("query", 0), ("doc", 1)):
        for suffix in ("parquet", "feather"):
            bad = pa.array([b"q1", b"q1", b"q\xff", b"q2"]).view(pa.string())
            path = write(table_of().set_column(at, name, bad), tmp_path / f"run.{suffix}")
            with pytest.raises(KaratError, match=r"damaged or cut short \(.*UTF"):
                karat.evaluate(TRUTH, path)


def test_a_name_of_a_column_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    for suffix in ("feather", "arrows"):
        path = write(table_of().rename_columns(["query", "document", "score"]), tmp_path / f"run.{suffix}")
        path.write_bytes(path.read_bytes().replace(b"document", b"docum\xffnt"))
        with pytest.raises(KaratError, match="the Arrow data is damaged or cut short"):
            karat.evaluate(TRUTH, path)


def test_tables_without_the_columns_or_without_rows_are_errors(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="no columns 'query' and 'score'; the columns are 'a', 'doc'"):
        karat.evaluate(TRUTH, write(pa.table({"a": [1], "doc": ["d"]}), tmp_path / "run.parquet"))
    with pytest.raises(KaratError, match="no columns 'query', 'doc' and 'score'; the columns are none"):
        karat.evaluate(TRUTH, write(pa.table({}), tmp_path / "run.parquet"))
    for suffix in ("parquet", "feather", "arrows"):
        path = write(table_of().slice(0, 0), tmp_path / f"run.{suffix}")
        with pytest.raises(KaratError, match=rf"run\.{suffix}: the table has no rows"):
            karat.evaluate(TRUTH, path)
    pq.ParquetWriter(tmp_path / "none.parquet", table_of().schema).close()  # no row group
    with pytest.raises(KaratError, match="the table has no rows"):
        karat.evaluate(tmp_path / "none.parquet", path)


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrows"])
def test_of_the_columns_that_are_read_each_is_there_once(suffix: str, tmp_path: Path) -> None:
    columns = [pa.array(["q1"]), pa.array(["d1"]), pa.array([1.0]), pa.array(["d2"])]
    twice = pa.Table.from_arrays(columns, names=["query", "doc", "score", "doc"])
    with pytest.raises(KaratError, match="more than one column 'doc'"):
        karat.evaluate(TRUTH, write(twice, tmp_path / f"run.{suffix}"))
    other = pa.Table.from_arrays([*columns, columns[3]], names=["query", "doc", "score", "text", "text"])
    expected = karat.evaluate(TRUTH, {"q1": ["d1"]}, "AP")
    assert karat.evaluate(TRUTH, write(other, tmp_path / f"run.{suffix}"), "AP").per_query == expected.per_query


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrows"])
def test_a_file_cut_short_anywhere_is_an_error_in_one_sentence(suffix: str, tmp_path: Path) -> None:
    whole = write(table_of(ROWS * 1), tmp_path / f"run.{suffix}", 2).read_bytes()
    path = tmp_path / f"cut.{suffix}"
    # The sizes are multiples of 8, as are those of the batches in a stream: cut between two of them, it looks whole.
    for size in range(8, len(whole), 8 if suffix == "arrows" else 48):
        path.write_bytes(whole[:size])
        with pytest.raises(KaratError, match=r"cut\.\w+: the \w+ data is damaged or cut short"):
            karat.evaluate(TRUTH, path, "AP")


def test_a_parquet_file_with_damaged_statistics_does_not_end_the_process(tmp_path: Path) -> None:
    path = write(table_of(), tmp_path / "run.parquet")
    optional, required = b"\x02\x18\x05score", b"\x00\x18\x05score"
    path.write_bytes(path.read_bytes().replace(optional, required, 1))
    with pytest.raises(KaratError, match=r"run\.parquet: the Parquet data is damaged .*histogram size mismatch"):
        karat.evaluate(TRUTH, path)


def test_an_encrypted_file_is_recognized(tmp_path: Path) -> None:
    path = write(table_of(), tmp_path / "run.parquet")
    data = path.read_bytes()
    path.write_bytes(data[:-4] + b"PARE")
    with pytest.raises(KaratError, match=r"run\.parquet: the Parquet file is encrypted"):
        karat.evaluate(TRUTH, path)


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrows"])
def test_a_file_may_be_compressed_as_a_whole_or_be_a_pipe(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write(table_of(), tmp_path / f"run.{suffix}", 2).read_bytes()
    (tmp_path / "run.gz").write_bytes(gzip.compress(data))
    assert karat.evaluate(TRUTH, tmp_path / "run.gz", MEASURES).per_query == expected()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert karat.evaluate(TRUTH, "-", MEASURES).per_query == expected()


def test_a_row_per_query_with_a_list_of_documents_is_a_ranking(tmp_path: Path) -> None:
    texts = pa.table({"query": ["q1", "q2"], "documents": [["a", "b"], ["b", "a"]]})
    records = pa.table(
        {
            "query_id": ["q1", "q2"],
            "retrieved_documents": [
                [{"doc_id": "a", "score": 0.5}, {"doc_id": "b", "score": 0.7}],
                [{"doc_id": "b", "score": 0.5}, {"doc_id": "a", "score": 0.4}],
            ],
        }
    )
    in_two = pa.table({"qid": ["q1", "q2"], "docno": [["b", "a"], ["a", "b"]], "score": [[2, 3], [0.5, 1.0]]})
    kind = pa.map_(pa.string(), pa.float64())
    maps = pa.table({"query": ["q1", "q2"], "docs": pa.array([[("b", 2), ("a", 3)], [("b", 1), ("a", 0.5)]], kind)})
    for table in (texts, records, in_two, maps):
        for suffix in ("parquet", "feather"):
            path = write(table, tmp_path / f"run.{suffix}")
            assert karat.evaluate(TRUTH, path, MEASURES).per_query == expected()
        for frame in (table, table.to_pandas(), pl.DataFrame(table)):
            if table is not maps or isinstance(frame, pa.Table):  # only Arrow has maps
                assert karat.evaluate(TRUTH, frame, MEASURES).per_query == expected()
    golds = write(pa.table({"query": ["q1", "q2"], "truth": [["a"], None]}), tmp_path / "truth.parquet")
    assert karat.evaluate(golds, path, "RR").values["RR"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["q1", "q2", "a", "b"])])
def test_categories_of_polars_are_ids(kind: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame(table_of()).with_columns(pl.col("query", "doc").cast(kind))
    frame.write_ipc(tmp_path / "run.feather")
    frame.write_ipc_stream(tmp_path / "run.arrows")
    frame.write_parquet(tmp_path / "run.parquet")
    for run in (frame, *(tmp_path / f"run.{suffix}" for suffix in ("feather", "arrows", "parquet"))):
        assert karat.evaluate(TRUTH, run, MEASURES).per_query == expected()


def test_gold_documents_in_a_list_have_their_grades_and_guessed_columns_are_noted(tmp_path: Path) -> None:
    documents = [[{"docno": "a", "label": 1}, {"docno": "b", "label": 0}], [{"docno": "a", "label": 2}]]
    truth = pa.table({"qid": [1, 2], "docs": documents})
    run = {1: {"a": 3, "b": 2}, 2: {"b": 1, "a": 0.5}}
    for source in (truth, write(truth, tmp_path / "truth.parquet")):
        scores = karat.evaluate(source, {str(query): docs for query, docs in run.items()}, MEASURES)
        assert [*scores.per_query.values()] == [*expected().values()]
        assert "query is read from the column 'qid' and doc from 'docs'" in str(scores.findings)
        assert "ids are numbers, read as texts" in str(scores.findings)


def test_lists_that_cannot_be_read_are_errors_that_name_the_row(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="is not the name of a column"):
        karat.evaluate({"q": ["a"]}, pa.table({"query": ["q"]}), run_columns={"doc": np.zeros(3)})  # type: ignore[dict-item]
    with pytest.raises(KaratError, match="cannot be read as a table: 'utf-8' codec can't decode"):
        karat.evaluate({"q": ["a"]}, pa.table({"query": ["q"], b"\xff": ["a"]}))
    flat = pa.table({"query": ["q"], "doc": [["a"]], "points": [0.5]})
    with pytest.raises(KaratError, match="the column 'doc' contains lists, but 'points' does not"):
        karat.evaluate({"q": ["a"]}, flat, run_columns={"score": "points"})
    for columns, message in (
        ({"query": ["q", "q"], "documents": [["a"], ["b"]]}, "row 1: query 'q' was already in .*, row 0"),
        ({"query": [None, "q"], "documents": [["a"], ["b"]]}, "row 0: the field 'query' is missing"),
        ({"query": ["q"], "doc": [["a", "b"]], "score": [[1.0]]}, "row 0: 2 documents, but 1 values"),
        ({"query": ["q"], "doc": [["a", "a"]], "score": [[1.0, 2.0]]}, "row 0: document 'a' is listed twice"),
    ):
        for source in (pa.table(columns), write(pa.table(columns), tmp_path / "run.parquet")):
            with pytest.raises(KaratError, match=message):
                karat.evaluate({"q": ["a"]}, source)


def test_a_query_with_too_many_rows_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(table_of([("q1", f"d{at}", 1.0) for at in range(30)]), tmp_path / "run.parquet", 5)
    monkeypatch.setattr(arrow_blocks, "MOST_ROWS_OF_QUERY", 20)
    with pytest.raises(KaratError, match="query q1 has more than 20 rows, which are read into memory together"):
        karat.evaluate(TRUTH, path)


def test_progress_ends_with_the_size_of_the_files(tmp_path: Path) -> None:
    path = write(table_of(), tmp_path / "run.parquet", 1)
    calls: list[tuple[int, int]] = []
    karat.evaluate(TRUTH, path, progress=lambda done, total: calls.append((done, total)))
    size = path.stat().st_size
    assert calls == sorted(calls)
    assert calls[-1] == (size, size)


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrows"])
def test_an_open_file_is_read_from_its_position(suffix: str, tmp_path: Path) -> None:
    data = write(table_of(), tmp_path / f"run.{suffix}").read_bytes()
    path = tmp_path / "after.bin"
    path.write_bytes(b"12345" + data)
    with path.open("rb") as file:
        file.seek(5)
        assert karat.evaluate(TRUTH, file, MEASURES).per_query == expected()
    assert karat.evaluate(TRUTH, io.BytesIO(data), MEASURES).per_query == expected()


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrows"])
def test_answers_and_results_are_read_from_tables(suffix: str, tmp_path: Path) -> None:
    golds = write(pa.table({"query": ["q1", "q2"], "gold_answers": [["x", "y"], ["z"]]}), tmp_path / f"gold.{suffix}")
    predicted = write(pa.table({"query": ["q1", "q2"], "answer": ["y", None]}), tmp_path / f"predicted.{suffix}")
    assert karat.evaluate_answers(golds, predicted, "EM").values["EM"].tolist() == [1.0, 0.0]
    columns = {"query": ["q1", "q2"], "truth": [["a"], ["b"]], "retrieved": [["x", "a"], ["b"]]}
    results = write(pa.table(columns), tmp_path / f"results.{suffix}")
    assert karat.evaluate_results(results, "RR").values["RR"].tolist() == [0.5, 1.0]
    with pytest.raises(KaratError, match=rf"results\.{suffix}, row 0: .*no column 'gold_answers'"):
        karat.evaluate_answers(results, predicted, "EM")
    results.write_bytes(results.read_bytes()[:-30])
    with suppress(KaratError):
        karat.evaluate_results(results, "RR")
        assert suffix == "arrows"


@pytest.mark.parametrize("inside", [False, True], ids=["a map", "a structure with a map"])
def test_the_metadata_of_documents_in_lists_may_be_maps(inside: bool) -> None:
    of_meta = pa.map_(pa.string(), pa.string())
    kind = pa.list_(pa.struct({"id": pa.string(), "meta": pa.struct({"of": of_meta}) if inside else of_meta}))

    def table(name: str, *documents: tuple[str, Any]) -> pa.Table:
        listed = [{"id": doc, "meta": {"of": meta} if inside else meta} for doc, meta in documents]
        return pa.table({"query": ["q"], name: pa.array([listed], kind)})

    truth = table("truth", ("a", [("file", "1")]))
    run = table("retrieved", ("x", None), ("y", []), ("z", [("file", "1"), ("page", "2")]))
    match = "meta.of.file" if inside else "meta.file"
    assert karat.evaluate(truth, run, "RR", match=match)["RR"] == 1 / 3
