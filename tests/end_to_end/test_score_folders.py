"""Folders of scores, as an evaluation on Spark writes them, on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from karat import evaluate_runs
from karat.cli import demo_data as demo
from karat.reading.bytes.part_files import DESCRIPTION
from tests.end_to_end.in_process import Done, printed, refused, run_here
from tests.stored_scores import store

Karat = Callable[..., Done]
RUNS = {name: demo.runs()[name] for name in ("bm25", "overlap")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scores of two systems, each in a folder, and in a file."""
    path = tmp_path_factory.mktemp("scores")
    for name, scores in evaluate_runs(demo.TRUTH, RUNS, ["RR", "P@10"]).items():
        store(scores, path / name)
        scores.save(path / f"{name}.json")
    return path


@pytest.fixture
def karat(folder: Path) -> Karat:
    return lambda *words: run_here(folder, *words)


@pytest.mark.parametrize("spelling", ["{}", "{}/", "./{}"])
def test_a_comparison_of_folders_is_that_of_files(spelling: str, karat: Karat) -> None:
    systems = [spelling.format(name) for name in RUNS]
    expected = printed(karat("compare", "bm25.json", "overlap.json", "-m", "RR", "--format", "csv"))
    assert printed(karat("compare", *systems, "-m", "RR", "--format", "csv")) == expected
    assert printed(karat("compare", systems[0], "overlap.json", "-m", "RR", "--format", "csv")) == expected
    assert printed(karat("compare", demo.TRUTH, *systems, "-m", "RR", "--format", "csv")) == expected


def test_a_folder_is_gated_and_diffed(karat: Karat) -> None:
    passed = printed(karat("gate", "bm25", "--min", "RR=0.1", "--max-drop", "RR=0.01", "--baseline", "overlap"))
    assert "gate passed" in passed
    assert "bm25   overlap   difference" in printed(karat("diff", "bm25", "overlap", "-m", "RR"))


def test_a_folder_of_scores_is_not_a_run(karat: Karat) -> None:
    assert "these are saved scores, not ground truth, a run or results" in refused(
        karat("evaluate", demo.TRUTH, "bm25")
    )


def test_a_folder_whose_evaluation_did_not_finish_is_an_error_that_says_so(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "died").mkdir()
    for path in (folder / "bm25").glob("*.parquet"):
        (tmp_path / "died" / path.name).write_bytes(path.read_bytes())
    whole = str(folder / "overlap")
    assert f"died: this folder has no {DESCRIPTION}, which is written last" in refused(
        run_here(tmp_path, "compare", whole, "died")
    )
    (tmp_path / "earlier" / "_temporary").mkdir(parents=True)
    assert "earlier: this folder has no files. Spark has not finished writing it, or was stopped." in refused(
        run_here(tmp_path, "compare", whole, "earlier")
    )


def test_a_folder_whose_files_were_renamed_is_read(folder: Path, tmp_path: Path) -> None:
    store_again = tmp_path / "renamed"
    store_again.mkdir()
    for at, path in enumerate((folder / "bm25").glob("*.parquet")):
        (store_again / f"scores{at}.parquet").write_bytes(path.read_bytes())
    (store_again / DESCRIPTION).write_bytes((folder / "bm25" / DESCRIPTION).read_bytes())
    assert "gate passed" in printed(run_here(tmp_path, "gate", "renamed", "--min", "RR=0.1"))
    assert "difference from" in printed(run_here(tmp_path, "compare", "renamed", folder / "overlap", "-m", "RR"))
