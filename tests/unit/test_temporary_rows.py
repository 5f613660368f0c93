"""Runs that are not grouped by query and too large for the memory are sorted through a temporary file."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.errors import KaratError
from karat.reading.bytes.temporary_parts import TemporaryParts
from karat.reading.pairs import tables, temporary_rows
from tests.block_size import block_size

MEASURES = ["nDCG", "AP", "RR", "P@3", "NumRet"]


def sort_on_disk(patch: pytest.MonkeyPatch, rows_in_memory: int = 5, rows_at_once: int = 3) -> None:
    patch.setattr(tables, "MOST_IN_MEMORY", rows_in_memory)
    patch.setattr(temporary_rows, "ROWS_AT_ONCE", rows_at_once)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    queries=st.sampled_from([2, 9, 30]),
    ties=st.sampled_from(["trec", "input", "best"]),
    limits=st.sampled_from([(1, 1), (5, 3), (40, 1000)]),
)
def test_sorting_through_a_temporary_file_changes_no_bit(
    seed: int, queries: int, ties: str, limits: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    chance = Random(seed)
    docs = [f"d{at}" for at in range(9)]
    names = [f"q{at}" for at in range(queries)]
    truth = {query: {doc: chance.randint(0, 2) for doc in docs[::2]} for query in names[1:]}
    rows = [(query, doc, chance.randint(0, 4) / 2) for query in names for doc in chance.choices(docs, k=6)]
    chance.shuffle(rows)
    path = tmp_path_factory.getbasetemp() / "scattered.trec"
    path.write_text("".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in rows))
    with block_size(200), pytest.MonkeyPatch.context() as patch:
        in_memory = karat.evaluate(truth, path, MEASURES, ties=ties, duplicates="first")  # type: ignore[arg-type]
        sort_on_disk(patch, *limits)
        on_disk = karat.evaluate(truth, path, MEASURES, ties=ties, duplicates="first")  # type: ignore[arg-type]
    assert on_disk.per_query == in_memory.per_query
    assert [each for each in on_disk.findings if each.code != "reading"] == list(in_memory.findings)


@pytest.fixture
def scattered(tmp_path: Path) -> Path:
    rows = [(f"q{at % 7}", f"d{at}", float(at)) for at in range(60)]
    query, doc, score = (pa.array(column) for column in zip(*rows, strict=True))
    pq.write_table(pa.table({"query": query, "doc": doc, "score": score}), tmp_path / "run.parquet", row_group_size=20)
    return tmp_path / "run.parquet"


def test_a_note_says_what_was_needed(scattered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = {"q1": {"d1": 1}}
    assert "not grouped" not in str(karat.evaluate(truth, scattered))
    sort_on_disk(monkeypatch)
    note = "run.parquet: the run is not grouped by query; 60 rows were sorted through a temporary file of 0.0 MB."
    assert note in str(karat.evaluate(truth, scattered))


@pytest.mark.skipif(sys.platform == "win32", reason="an open file has a name there, and is removed when it is closed")
def test_the_temporary_file_has_no_name_so_that_nothing_is_left_however_the_process_ends(
    scattered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    sort_on_disk(monkeypatch)
    listed: list[list[str]] = []
    append = temporary_rows.TemporaryRows.append

    def spied(self: temporary_rows.TemporaryRows, rows: object) -> None:
        append(self, rows)  # type: ignore[arg-type]
        listed.append(os.listdir(folder))

    monkeypatch.setattr(temporary_rows.TemporaryRows, "append", spied)
    karat.evaluate({"q1": {"d1": 1}}, scattered)
    assert listed
    assert not any(listed)


def test_a_disk_without_enough_space_is_an_error_that_says_what_to_do(
    scattered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sort_on_disk(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 20))
        with pytest.raises(KaratError, match=r"too large to be sorted in memory.*after 0\.0 MB: there is not enough"):
            karat.evaluate({"q1": {"d1": 1}}, scattered)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(TemporaryParts, "append", full)
    with pytest.raises(KaratError, match=r"No space left on device\. Sort the run by query, or make space in .*TMPDIR"):
        karat.evaluate({"q1": {"d1": 1}}, scattered)


def test_a_temporary_folder_that_is_not_there_is_an_error(
    scattered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sort_on_disk(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(KaratError, match="No such file or directory"):
        karat.evaluate({"q1": {"d1": 1}}, scattered)


def test_a_document_listed_twice_is_still_named_by_its_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scattered.run"
    path.write_text("".join(f"q{at % 3} Q0 d{at % 10} 1 {at} t\n" for at in range(35)))
    sort_on_disk(monkeypatch)
    with block_size(60), pytest.raises(KaratError, match=r"scattered\.run:1 and 31: document d0 .* query q0"):
        karat.evaluate({"q0": ["d0"]}, path)
