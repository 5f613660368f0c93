"""Scores of several systems in one file, as `karat compare`, `diff` and `gate` read them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from karat import Scores, SystemScores
from karat.cli import demo_data as demo
from tests.end_to_end.in_process import Done, printed, refused, run_here

Karat = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(demo.TRUTH, tmp_path / "truth.qrels")
    for name, path in demo.runs().items():
        shutil.copy(path, tmp_path / f"{name}.trec")
    return tmp_path


@pytest.fixture
def karat(folder: Path) -> Karat:
    return lambda *words: run_here(folder, *words)


@pytest.fixture
def saved(karat: Karat) -> Callable[[str], str]:
    def save(name: str) -> str:
        runs = ("overlap.trec", "bm25.trec", "bm25-rm3.trec")
        done = karat("evaluate", "truth.qrels", *runs, "-m", "RR", "-m", "P@10", "--per-query", "-o", name)
        assert done.returncode == 0
        return name

    return save


@pytest.mark.parametrize("suffix", ["json", "csv", "parquet", "tsv", "jsonl"])
def test_a_comparison_of_a_saved_file_is_that_of_its_runs(
    karat: Karat, saved: Callable[[str], str], suffix: str
) -> None:
    rest = ("--baseline", "bm25", "-m", "RR", "--format", "csv")
    expected = printed(karat("compare", "truth.qrels", "overlap.trec", "bm25.trec", "bm25-rm3.trec", *rest))
    assert printed(karat("compare", saved(f"runs.{suffix}"), *rest)) == expected


def test_one_system_of_a_file_is_chosen_by_its_name(karat: Karat, saved: Callable[[str], str]) -> None:
    file, asked = saved("runs.json"), ("-m", "RR", "--format", "csv")
    expected = printed(karat("compare", "truth.qrels", "bm25.trec", "bm25-rm3.trec", *asked))
    assert printed(karat("compare", f"{file}:bm25", f"{file}:bm25-rm3", *asked)) == expected
    assert printed(karat("compare", "truth.qrels", "bm25.trec", f"{file}:bm25-rm3", *asked)) == expected
    assert "bm25   bm25-rm3   difference" in printed(karat("diff", f"{file}:bm25", f"{file}:bm25-rm3", "-m", "RR"))
    assert "Did you mean bm25?" in refused(karat("compare", f"{file}:bn25", f"{file}:bm25"))
    assert "Name two systems: " in refused(karat("diff", file, "-m", "RR"))


def test_names_that_occur_in_two_files_are_told_apart_by_the_file(
    karat: Karat, folder: Path, saved: Callable[[str], str]
) -> None:
    systems = SystemScores.load(folder / saved("runs.json"))
    SystemScores({name: systems[name] for name in ("bm25", "overlap")}).save(folder / "old.parquet")
    systems["bm25-rm3"].save(folder / "new.csv")
    out = printed(karat("compare", "runs.json", "old.parquet", "new.csv", "--baseline", "old:bm25", "--format", "csv"))
    names = dict.fromkeys(line.split(",")[1] for line in out.splitlines()[1:])
    assert list(names) == ["runs:overlap", "runs:bm25", "bm25-rm3", "old:bm25", "old:overlap", "new"]
    out = printed(karat("compare", "runs.json:bm25", "runs.json:bm25", "-m", "RR", "--format", "csv"))
    assert "runs:bm25 (1)" in out
    assert "runs:bm25 (2)" in out


def test_a_gate_asks_which_system_of_a_file_it_checks(karat: Karat, saved: Callable[[str], str]) -> None:
    file = saved("runs.parquet")
    rules = ("--min", "RR=0.5", "--max-drop", "RR=0.01", "--baseline", f"{file}:bm25")
    assert karat("gate", f"{file}:bm25-rm3", *rules).returncode == 0
    assert karat("gate", f"{file}:overlap", *rules).returncode == 1
    error = refused(karat("gate", file, *rules))
    assert "contains overlap, bm25 and bm25-rm3. Write runs.parquet:overlap for one of them." in error
    assert "Write runs.parquet:overlap" in refused(karat("gate", f"{file}:bm25", *rules[:-1], file))


def test_a_file_whose_name_contains_a_colon_is_read_as_a_file(
    karat: Karat, folder: Path, saved: Callable[[str], str]
) -> None:
    file = saved("runs.json")
    SystemScores.load(folder / file)["bm25"].save(folder / "runs.json:bm25.json")
    assert Scores.load(folder / "runs.json:bm25.json").name == "bm25"
    assert karat("gate", "runs.json:bm25.json", "--min", "RR=0.5").returncode == 0


def test_a_file_of_several_systems_is_not_overwritten(karat: Karat, folder: Path, saved: Callable[[str], str]) -> None:
    before = (folder / saved("runs.json")).read_bytes()
    error = refused(karat("compare", "runs.json:bm25", "runs.json:overlap", "-o", "runs.json"))
    assert "the output file is also an input" in error
    assert (folder / "runs.json").read_bytes() == before


def test_a_table_of_means_is_refused_with_the_way_to_save_all_queries(karat: Karat) -> None:
    assert karat("evaluate", "truth.qrels", "bm25.trec", "overlap.trec", "-o", "means.csv").returncode == 0
    assert "means.csv: this is a table of means" in (error := refused(karat("compare", "means.csv")))
    assert "--per-query" in error


def test_a_run_in_the_place_of_ground_truth_is_not_left_out_silently(karat: Karat, saved: Callable[[str], str]) -> None:
    file = saved("runs.json")
    for words in (("compare", "bm25.trec", file), ("gate", "bm25.trec", f"{file}:bm25", "--min", "RR=0")):
        assert "bm25.trec:1: the line has 6 columns" in refused(karat(*words))
    assert printed(karat("compare", "truth.qrels", file)) == printed(karat("compare", file))


def test_the_baseline_of_a_comparison_can_be_named_with_its_file(karat: Karat, saved: Callable[[str], str]) -> None:
    file = saved("runs.json")
    named = printed(karat("compare", file, "--baseline", f"{file}:bm25"))
    assert named == printed(karat("compare", file, "--baseline", "bm25"))
    assert "is not one of the systems" in refused(karat("compare", file, "--baseline", f"{file}:bn25"))
