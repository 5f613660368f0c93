"""Folders and patterns on the command line, compressed and remote files, and outputs that are inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import karat
from karat import KaratError
from tests.compressions import COMPRESS
from tests.end_to_end.in_process import Done, printed, refused, run_here

Karat = Callable[..., Done]
RUNS = {"bm25": "q1 Q0 a 1 2 t\n", "dense": "q1 Q0 x 1 2 t\nq1 Q0 a 2 1 t\n"}


@pytest.fixture
def command(tmp_path: Path) -> Karat:
    (tmp_path / "truth.qrels").write_text("q1 0 a 1\n")
    (tmp_path / "runs").mkdir()
    for name, text in RUNS.items():
        (tmp_path / f"runs/{name}.trec").write_text(text)
    (tmp_path / "runs/_SUCCESS").touch()
    return lambda *words: run_here(tmp_path, *words)


@pytest.mark.parametrize("runs", ["runs", "runs/", "runs/*.trec", "runs/[bd]*"])
def test_a_folder_and_a_pattern_of_runs_are_a_list_of_runs(runs: str, command: Karat) -> None:
    words = ("truth.qrels", "runs/bm25.trec", "runs/dense.trec", "-m", "RR")
    assert printed(command("evaluate", "truth.qrels", runs, "-m", "RR")) == printed(command("evaluate", *words))
    compared = printed(command("compare", "truth.qrels", runs, "-m", "RR", "--baseline", "bm25"))
    assert compared == printed(command("compare", *words, "--baseline", "bm25"))


def test_folders_and_patterns_name_runs_in_python(command: Karat, tmp_path: Path) -> None:
    del command
    for runs in (tmp_path / "runs", str(tmp_path / "runs/*.trec"), [tmp_path / "runs/b*", tmp_path / "runs/d*"]):
        scores = karat.evaluate_runs(tmp_path / "truth.qrels", runs, "RR")
        assert {name: each["RR"] for name, each in scores.items()} == {"bm25": 1, "dense": 0.5}
    with pytest.raises(KaratError, match="no file matches this pattern"):
        karat.evaluate_runs(tmp_path / "truth.qrels", str(tmp_path / "none/*"), "RR")


def test_a_pattern_of_saved_scores_is_a_list_of_systems(command: Karat, tmp_path: Path) -> None:
    for name in RUNS:
        printed(command("evaluate", "truth.qrels", f"runs/{name}.trec", "-m", "RR", "-o", f"{name}.json"))
        pd.DataFrame({"query": ["q1"], "RR": [0.5]}).to_parquet(tmp_path / f"{name}.parquet")
    expected = printed(command("compare", "bm25.json", "dense.json"))
    assert printed(command("compare", "[bd]*.json")) == expected
    assert "bm25" in printed(command("compare", "*.parquet"))


@pytest.mark.parametrize("name", ["dense", "dense.parquet"])
def test_the_part_files_of_a_table_are_one_run(name: str, command: Karat, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    for at in (1, 2):
        frame = pd.DataFrame({"query": [f"q{at}"], "doc": ["a"], "score": [1.0]})
        frame.to_parquet(tmp_path / name / f"part-0000{at}.snappy.parquet")
    (tmp_path / name / "_SUCCESS").touch()
    for run in (name, f"{name}/", f"{name}/part-*"):
        assert "1.0000" in printed(command("evaluate", "truth.qrels", run, "-m", "RR"))


def test_the_part_files_of_a_table_are_one_file_of_results_or_of_answers(command: Karat, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for at in (1, 2):
        frame = pd.DataFrame({"query": [f"q{at}"], "truth": [["a"]], "retrieved": [["a"]], "answer": ["b"]})
        frame.to_parquet(tmp_path / f"parts/part-{at}.parquet")
    assert karat.evaluate_results(tmp_path / "parts", "RR").per_query == {"q1": {"RR": 1.0}, "q2": {"RR": 1.0}}
    assert len(karat.evaluate_answers(tmp_path / "parts", {"q1": "b", "q2": "c"}).per_query) == 2
    assert "1.0000" in printed(command("evaluate", "parts", "-m", "RR"))


def test_a_pattern_that_matches_nothing_is_an_error(command: Karat) -> None:
    error = refused(command("evaluate", "truth.qrels", "runs/*.gz"))
    assert error == (
        "karat: runs/*.gz: no file matches this pattern."
        " Name a file, a folder of files, or a pattern such as runs/*.trec.\n"
    )


@pytest.mark.parametrize("truth", ["qrels", "qrels/", "qrels/*.tsv"])
def test_a_folder_is_not_split_into_ground_truth_and_runs(truth: str, command: Karat, tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    for split in ("dev", "test"):
        (tmp_path / f"qrels/{split}.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\n")
    expected = (
        f"karat: {truth}: ground truth comes first, and it is one file, but this stands for several files."
        " Name one of them, such as qrels/dev.tsv.\n"
    )
    for words in (["evaluate", truth, "runs"], ["compare", truth, "runs"], ["diff", truth, "runs"]):
        assert refused(command(*words)) == expected


@pytest.mark.parametrize("name", COMPRESS)
def test_every_command_reads_compressed_files(name: str, command: Karat, tmp_path: Path) -> None:
    expected = printed(command("evaluate", "truth.qrels", "runs/dense.trec"))
    for file in ("truth.qrels", "runs/dense.trec"):
        (tmp_path / file).write_bytes(COMPRESS[name]((tmp_path / file).read_bytes()))
    assert printed(command("evaluate", "truth.qrels", "runs/dense.trec")) == expected
    (tmp_path / "cut").write_bytes((tmp_path / "runs/dense.trec").read_bytes()[:-3])
    assert f"cut: the {name} data is damaged or cut short" in refused(command("evaluate", "truth.qrels", "cut"))


@pytest.mark.parametrize("runs", ["runs", "runs/*", "runs/b*.trec", "runs/bm25.trec"])
def test_an_output_that_is_one_of_the_inputs_is_an_error(runs: str, command: Karat, tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("runs/bm25.trec")
    for output in ("runs/bm25.trec", str(tmp_path / "runs/bm25.trec"), "link.json"):
        error = refused(command("evaluate", "truth.qrels", runs, "-o", output, "--format", "json"))
        assert "the output file is also an input" in error
    assert (tmp_path / "runs/bm25.trec").read_text() == RUNS["bm25"]
    uri = (tmp_path / "truth.qrels").as_uri()
    assert "also an input" in refused(command("evaluate", uri, runs, "-o", "truth.qrels", "--format", "json"))


def test_an_output_in_a_data_set_is_an_error(command: Karat, tmp_path: Path) -> None:
    (tmp_path / "scifact/qrels").mkdir(parents=True)
    (tmp_path / "scifact/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\n")
    error = refused(command("evaluate", "scifact", "runs", "-o", "scifact/qrels/test.tsv"))
    assert "the output file is also an input" in error


def test_remote_files_that_cannot_be_read_or_written_are_an_error(command: Karat) -> None:
    error = refused(command("evaluate", "truth.qrels", "https://user:hush@example.org/run.trec"))
    assert error == "karat: https://example.org/run.trec: https:// is not read. Download the file first.\n"
    error = refused(command("evaluate", "truth.qrels", "runs", "-o", "s3://user:hush@bucket/scores.json"))
    assert error == (
        "karat: s3://bucket/scores.json: remote files are read but not written. Write to a local file, then copy it.\n"
    )
