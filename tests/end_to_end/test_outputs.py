"""No output destroys an input, whichever parameters name them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import karat
from tests.end_to_end.in_process import plain_environment, run_here

TRUTH = "q1 0 a 1\nq2 0 c 2\n"
RUN = "q1 Q0 a 1 3 t\nq2 Q0 x 1 1 t\nq2 Q0 c 2 0 t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth.qrels").write_text(TRUTH)
    (tmp_path / "run.trec").write_text(RUN)
    (tmp_path / "other.trec").write_text(RUN)
    (tmp_path / "queries.csv").write_text("query,language,text\nq1,en,one\nq2,de,two words\n")
    (tmp_path / "gold.json").write_text('{"q1": "one"}')
    (tmp_path / "answers.json").write_text('{"q1": "two"}')
    (tmp_path / "rules.toml").write_text('[gate]\nbaseline = "old.json"\n[gate.max-drop]\nAP = 0.1\n')
    karat.evaluate(str(tmp_path / "truth.qrels"), str(tmp_path / "run.trec"), "AP").to_json(tmp_path / "old.json")
    return tmp_path


PAIR = ["truth.qrels", "run.trec"]
COMMANDS = {
    "evaluate": ["evaluate", *PAIR],
    "evaluate --by": ["evaluate", *PAIR, "--by", "queries.csv:language"],
    "evaluate --queries": ["evaluate", *PAIR, "--by", "length", "--queries", "./queries.csv:text"],
    "answers": ["answers", "gold.json", "answers.json"],
    "compare": ["compare", *PAIR, "other.trec"],
    "diff": ["diff", *PAIR, "other.trec"],
    "gate": ["gate", *PAIR, "--min", "AP=0.1"],
    "gate --baseline": ["gate", *PAIR, "--max-drop", "AP=0.1", "--baseline", "other.trec"],
    "gate --config": ["gate", *PAIR, "--config", "rules.toml"],
}
CASES = [
    (name, file)
    for name, words in COMMANDS.items()
    for file in [word.split(":")[0].removeprefix("./") for word in words[1:] if "." in word and "=" not in word]
    + (["old.json"] if name == "gate --config" else [])
]


@pytest.mark.parametrize(("name", "file"), CASES)
def test_no_option_that_writes_can_name_an_input(name: str, file: str, folder: Path) -> None:
    before = (folder / file).read_bytes()
    os.link(folder / file, folder / "hard link")
    (folder / "link").symlink_to(file)
    (folder / "folder").mkdir()
    writers = [["--format", "json", "-o"], *([["--junit"]] if name.startswith("gate") else [])]
    for writer in writers:
        for spelling in (file, f"./folder/../{file}", folder / file, "hard link", "link"):
            done = run_here(folder, *COMMANDS[name], *writer, spelling)
            assert (done.returncode, "the output file is also an input" in done.stderr) == (2, True), done.stderr
    assert (folder / file).read_bytes() == before


def test_the_baseline_of_a_configuration_can_be_one_of_several_systems_and_is_not_overwritten(folder: Path) -> None:
    run_here(folder, "evaluate", *PAIR, "other.trec", "-m", "AP", "-o", "runs.json")
    before = (folder / "runs.json").read_bytes()
    (folder / "rules.toml").write_text('[gate]\nbaseline = "runs.json:other"\n[gate.max-drop]\nAP = 0.1\n')
    assert run_here(folder, *COMMANDS["gate --config"]).returncode == 0
    for words in (COMMANDS["gate --config"], ["compare", "runs.json:run", "runs.json:other"]):
        done = run_here(folder, *words, "-o", "runs.json")
        assert (done.returncode, "the output file is also an input" in done.stderr) == (2, True), done.stderr
    assert (folder / "runs.json").read_bytes() == before


def test_a_file_that_standard_input_comes_from_is_not_overwritten(folder: Path) -> None:
    words = [sys.executable, "-m", "karat", "evaluate", "truth.qrels", "-", "-o", "run.trec", "--format", "csv"]
    with open(folder / "run.trec", "rb") as stdin:
        done = subprocess.run(
            words, cwd=folder, stdin=stdin, env=plain_environment(), capture_output=True, text=True, check=False
        )
    assert (done.returncode, "the output file is also an input: -" in done.stderr) == (2, True)
    assert (folder / "run.trec").read_text() == RUN


@pytest.mark.parametrize("name", ["new.txt", "existing.txt"])
def test_two_outputs_cannot_be_the_same_file(name: str, folder: Path) -> None:
    (folder / "existing.txt").write_text("old")
    done = run_here(folder, "gate", *PAIR, "--min", "AP=0.1", "--junit", f"./{name}", "-o", name)
    assert (done.returncode, "-o and --junit name the same file" in done.stderr) == (2, True), done.stderr
    assert (folder / "existing.txt").read_text() == "old"


def test_standard_output_has_one_result_only(folder: Path) -> None:
    done = run_here(folder, "gate", *PAIR, "--min", "AP=0.1", "--junit", "-")
    assert (done.returncode, "--junit takes a file, not standard output" in done.stderr) == (2, True)
    assert not (folder / "-").exists()


def test_outputs_that_are_no_files_can_have_the_same_name(folder: Path) -> None:
    done = run_here(folder, "gate", *PAIR, "--min", "AP=0.1", "--junit", os.devnull, "-o", os.devnull)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("file", ["run.trec", "rules.toml", "out.md"])
def test_the_step_summary_of_github_is_an_output_too(file: str, folder: Path) -> None:
    before = (folder / file).read_text() if file != "out.md" else None
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / file)}
    done = run_here(folder, "gate", *PAIR, "--config", "rules.toml", "-o", "out.md", environment=github)
    expected = "-o and GITHUB_STEP_SUMMARY name the same file" if file == "out.md" else "is also an input"
    assert (done.returncode, expected in done.stderr) == (2, True), done.stderr
    assert before is None or (folder / file).read_text() == before


def test_a_file_of_a_column_and_the_column_may_contain_colons(folder: Path) -> None:
    for name, column in (("a:b.csv", "language"), ("queries 2.csv", "meta:language")):
        (folder / name).write_text(f"query,{column}\nq1,en\nq2,de\n")
        words = ["evaluate", *PAIR, "-m", "AP", "--by", f"{name}:{column}", "--format", "csv"]
        groups = [line.split(",")[0] for line in run_here(folder, *words).stdout.splitlines()]
        assert sorted(groups) == ["de", "en", "group"]
        done = run_here(folder, *words, "-o", name)
        assert (done.returncode, "is also an input" in done.stderr) == (2, True)


@pytest.mark.parametrize("target", [".", "new/", "nowhere/scores.csv", "run.trec/scores.csv", "read-only.csv"])
def test_an_output_that_cannot_be_written_is_rejected_before_anything_is_read(target: str, folder: Path) -> None:
    (folder / "read-only.csv").touch(0o400)
    if target == "read-only.csv" and os.access(folder / target, os.W_OK):
        pytest.skip("root may write to every file")
    done = run_here(folder, "evaluate", "missing.qrels", "run.trec", "-o", target)
    assert done.returncode == 2
    assert f"{target}: cannot be written: " in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_an_output_needs_a_name(name: str, folder: Path) -> None:
    done = run_here(folder, *COMMANDS[name], "-o", "")
    assert (done.returncode, done.stderr) == (2, "karat: the name of the output file is empty. Name a file.\n")
