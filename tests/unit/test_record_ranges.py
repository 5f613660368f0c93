"""Files of records in ranges: wherever these end, the records and their places are those of the whole files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from karat import KaratError
from karat.errors import Place
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.opened_ranges import opened_range
from karat.reading.records import record_ranges
from karat.reading.records.record_files import records_of_file
from karat.reading.records.record_ranges import plan_records

pytestmark = pytest.mark.usefixtures("tiny_ranges")

Records = list[tuple[str, dict[str, Any]]]


def records_of(path: Path) -> Records:
    """The records of a whole file, each with its place."""
    return [(str(place), dict(record)) for place, record in records_of_file(InputFile(str(path)), None, "")]


def records_of_ranges(path: Path, number: int, form: str | None = None) -> Records:
    """The records of all ranges; places of lines are those in the range."""
    planned = plan_records(str(path), number, form)
    found: Records = []
    for at in planned.ranges:
        with opened_range(at) as file:
            known = planned.form if file.bounds else form
            found += [(str(place), dict(record)) for place, record in records_of_file(file, known, "")]
    return found


def without_places(records: Records) -> list[dict[str, Any]]:
    return [record for _, record in records]


def write_lines(path: Path, records: Sequence[Any], line_end: str = "\n") -> Path:
    path.write_text(line_end.join(json.dumps(each, ensure_ascii=False) for each in records), newline="")
    return path


@pytest.mark.parametrize("seed", range(10))
def test_json_lines_are_divided_anywhere(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    records = [{"query": f"q{at}", "answer": "é" * random.randrange(9)} for at in range(20)]
    path = write_lines(tmp_path / "log.jsonl", records, random.choice(["\n", "\r\n", "\n\n"]))
    for number in (1, 2, 7, 300):
        assert without_places(records_of_ranges(path, number)) == records
        assert without_places(records_of_ranges(path, number, "jsonl")) == records
    assert len(plan_records(str(path), 7).ranges) >= 7


def test_a_key_that_appears_twice_is_an_error_in_the_first_1000_lines_of_the_file_only(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for wrong in (1, 650, 1000, 1001, 1700):
        lines = [json.dumps({"query": f"q{at}", "answer": "x" * 40}) for at in range(1, 1801)]
        lines[wrong - 1] = '{"query": "q", "query": "q0"}'
        path.write_text("\n".join(lines))
        reads = [partial(records_of, path), *(partial(records_of_ranges, path, number) for number in (9, 40))]
        for read in reads:
            if wrong > 1000:
                assert {"query": "q0"} in without_places(read())
                continue
            with pytest.raises(KaratError, match="the key 'query' appears twice") as error:
                read()
            assert error.value.place == Place(str(path), line=wrong)


def test_row_groups_of_parquet_are_ranges_with_the_rows_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"query": [f"q{at}" for at in range(20)], "answer": ["x"] * 20}), path, row_group_size=3)
    planned = plan_records(str(path), 4)
    assert (len(planned.ranges), planned.form) == (6, "parquet")
    for number in (1, 2, 100):
        assert records_of_ranges(path, number) == records_of(path)


def test_row_groups_that_are_large_in_bytes_are_not_in_one_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.parquet"
    texts = [str(Random(at).randbytes(500)) for at in range(40)]
    pq.write_table(pa.table({"query": [f"q{at}" for at in range(40)], "answer": texts}), path, row_group_size=2)
    assert len(plan_records(str(path), 1).ranges) == 1
    monkeypatch.setattr(record_ranges, "BYTES", path.stat().st_size // 5)
    assert len(plan_records(str(path), 1).ranges) == 5


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.csv", b'query,answer\nq1,"two\nlines"\nq2,x\n'),
        ("log.tsv", b"query\tanswer\nq1\tx\nq2\ty\n"),
        ("log.json", b'[{"query": "q1"},\n {"query": "q2"}]'),
        ("one.jsonl", b'{"query": "q1", "answer": "x"}\n\n'),
        ("mapping.json", b'{"q1": "a long answer",\n"q2": "x"}'),
        ("log.jsonl.gz", gzip.compress(b'{"query": "q1"}\n{"query": "q2"}\n' * 9, mtime=0)),
    ],
)
def test_other_files_are_one_range(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (only,) = plan_records(str(path), 9).ranges
    assert only.bounds is None
    assert records_of_ranges(path, 9) == records_of(path)


def test_lines_that_do_not_begin_with_an_object_are_one_range_so_that_the_error_is_that_of_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    for first in ('{"query": "q1"', '["q1"]', "\ud800", '{"query": "\ud800'):
        path.write_bytes(b"\n".join([first.encode(errors="surrogatepass"), *[b'{"query": "q2"}'] * 9]))
        assert len(plan_records(str(path), 9).ranges) == 1


def test_files_of_a_folder_are_several_ranges_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    for name, queries in (("a.jsonl", ["q1"]), ("b.jsonl", ["q2", "q3"]), ("d.jsonl", ["q4"])):
        write_lines(tmp_path / name, [{"query": query} for query in queries])
    (tmp_path / "c.jsonl").write_text(" \n")
    (tmp_path / "_SUCCESS").touch()
    names = [Path(at.path).name for at in plan_records(str(tmp_path), 1).ranges]
    assert (names[0], names[-1], "c.jsonl" in names) == ("a.jsonl", "d.jsonl", False)
    assert [record["query"] for _, record in records_of_ranges(tmp_path, 9)] == ["q1", "q2", "q3", "q4"]
    table = tmp_path / "tables"
    table.mkdir()
    for at in range(3):
        pq.write_table(pa.table({"query": [f"q{at}", f"p{at}"]}), table / f"{at}.parquet", row_group_size=1)
    assert len(plan_records(str(table), 6).ranges) == 6
    assert records_of_ranges(table, 6) == records_of(table)


def test_files_of_several_formats_are_an_error(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"query": "q1"}, {"query": "q2"}])
    feather.write_feather(pa.table({"query": ["q3"]}), tmp_path / "b.feather")
    with pytest.raises(KaratError) as error:
        plan_records(str(tmp_path), 2)
    assert "b.feather: this is Feather, and" in str(error.value)
    assert "is JSON lines" in str(error.value)
