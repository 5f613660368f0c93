"""A folder and a pattern name the files in it, sorted; a path names itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError
from karat.reading.pairs.paths import expand, is_one_source


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.trec", "a.trec", "c[1].trec", "c1.trec", "note.txt", "_SUCCESS", ".hidden", "sub/d.trec"):
        path = tmp_path / "runs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("q Q0 a 1 1 t\n")
    return tmp_path


def test_a_pattern_names_the_files_that_match_it_sorted(folder: Path) -> None:
    assert expand("runs/?.trec") == ["runs/a.trec", "runs/b.trec"]
    assert expand(f"{folder}/runs/*.txt") == [f"{folder}/runs/note.txt"]
    assert expand("runs/**/d.*") == ["runs/sub/d.trec"]
    assert expand("*/[ab].trec") == ["runs/a.trec", "runs/b.trec"]
    assert "runs/_SUCCESS" not in expand("runs/*")
    assert "runs/sub" not in expand("runs/*")
    assert expand("runs/_*") == ["runs/_SUCCESS"]


def test_a_folder_names_its_files_that_are_not_hidden(folder: Path) -> None:
    names = ["a.trec", "b.trec", "c1.trec", "c[1].trec", "note.txt"]
    for given_as in ("runs", "runs/", f"{folder}/runs"):
        assert [Path(each).name for each in expand(given_as)] == names
    (folder / "runs/part-00001").touch()
    (folder / "runs/empty.trec").touch()
    assert [Path(each).name for each in expand("runs")] == sorted([*names, "empty.trec"])


def test_a_file_that_exists_is_itself_whatever_its_name(folder: Path) -> None:
    assert expand("runs/c[1].trec") == ["runs/c[1].trec"]
    (folder / "runs/c[1].trec").unlink()
    assert expand("runs/c[1].trec") == ["runs/c1.trec"]
    (folder / "runs/*").symlink_to("nowhere")
    assert expand("runs/*") == ["runs/*"]


def test_nothing_is_an_error(folder: Path) -> None:
    with pytest.raises(KaratError, match=r"runs/\*\.parquet: no file matches this pattern"):
        expand("runs/*.parquet")
    (folder / "empty").mkdir()
    (folder / "empty/_SUCCESS").touch()
    with pytest.raises(KaratError, match="empty: this folder has no files"):
        expand("empty")
    assert expand("none.trec") == ["none.trec"]


def test_a_folder_that_is_one_data_set_is_itself(folder: Path) -> None:
    (folder / "scifact/qrels").mkdir(parents=True)
    (folder / "runs/dense.parquet").mkdir()
    for name in ("part-00000-x.snappy.parquet", "part-00001.parquet", "_SUCCESS"):
        (folder / "runs/dense.parquet" / name).touch()
    assert expand("scifact") == ["scifact"]
    assert expand("runs/dense.parquet") == ["runs/dense.parquet"]
    assert "runs/dense.parquet" in expand("runs")
    assert expand("runs/*.parquet") == ["runs/dense.parquet"]
    (folder / "runs/dense.parquet/more.parquet").touch()
    assert not is_one_source("runs/dense.parquet")
    assert not is_one_source("runs/a.trec")
    assert not is_one_source("none")


@given(st.text(st.characters(codec="utf-8", exclude_characters="*?[\0"), min_size=1))
def test_a_path_without_a_pattern_that_is_not_a_folder_is_itself(name: str) -> None:
    path = f"/nowhere/{name}"
    assert expand(path) == [path]
