"""A file that is empty, a folder, unreadable, named twice or also the output is one clear error, in every format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.in_process import refused, run_here

FORMATS = ("trec", "csv", "tsv", "json", "jsonl", "parquet", "feather")
Make = Callable[[Path], object]


@pytest.fixture(autouse=True)
def good_files(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "run.run").write_text("q1 Q0 d1 1 0.5 x\n")
    (tmp_path / "answers.json").write_text('{"q1": "a"}')


BAD: dict[str, tuple[Make, str]] = {
    "an empty file": (Path.touch, "empty|no gold answers found"),
    "an empty folder": (Path.mkdir, "folder"),
    "no file": (str, "no such file"),
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_one_error_that_names_it_and_nothing_is_written(kind: str, suffix: str, tmp_path: Path) -> None:
    make, message = BAD[kind]
    bad = f"bad.{suffix}"
    make(tmp_path / bad)
    for words in (
        ("evaluate", "truth.qrels", bad),
        ("evaluate", bad, "run.run"),
        ("convert", bad, "out.jsonl"),
        ("answers", bad, "answers.json"),
    ):
        error = refused(run_here(tmp_path, *words))
        assert error.startswith(f"karat: {bad}: ")
        assert any(each in error for each in message.split("|")), error
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_that_may_not_be_read_is_one_error(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    bad = f"bad.{suffix}"
    (tmp_path / bad).write_text("x")
    monkeypatch.setattr("karat.reading.bytes.input_file.open", denied, raising=False)
    for words in (("convert", bad, "out.jsonl"), ("answers", bad, "answers.json")):
        assert refused(run_here(tmp_path, *words)) == f"karat: {bad}: cannot be read: Permission denied\n"


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_output_that_is_the_input_is_refused_and_the_file_is_kept(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"same.{suffix}"
    path.write_text("content")
    (tmp_path / "link").symlink_to(path)
    for output in (path.name, f"./{path.name}", "link"):
        error = refused(run_here(tmp_path, "convert", path.name, output, "--output-format", suffix))
        assert "the output file is also an input" in error
    assert path.read_text() == "content"


@pytest.mark.parametrize("words", [("evaluate", "-", "-"), ("answers", "-", "-"), ("compare", "truth.qrels", "-", "-")])
def test_standard_input_is_read_only_once(words: tuple[str, ...], tmp_path: Path) -> None:
    error = refused(run_here(tmp_path, *words))
    assert error == "karat: standard input can be read only once. Use - for one of the files.\n"
