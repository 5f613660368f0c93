"""Commands on files whose names and contents try to control the terminal or the CI system."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from tests.end_to_end.in_process import run_here

ESCAPES = "\x1b[2J\x07\x9b31m\u202e\u200b\x7f"
NAME = f"::error::n##[group]{ESCAPES}\nx"  # of files
QUERY = f"::add-mask::q##vso[x]{ESCAPES}"  # without blanks, as TREC files have them
TEXT = f"\r\n::error::t\n  ::set-output name=a::b ##[error]{ESCAPES}"
SENT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth").write_text(f"{QUERY} 0 {QUERY}a 1\nq2 0 c 1\n")
    (tmp_path / f"{NAME}1.trec").write_text(f"{QUERY} Q0 {QUERY}b 1 2 t\n{QUERY} Q0 {QUERY}a 2 1 t\nq2 Q0 c 1 1 t\n")
    (tmp_path / f"{NAME}2.trec").write_text(f"{QUERY} Q0 {QUERY}a 1 2 t\n")
    record = {"query": TEXT, "gold_documents": [TEXT], "retrieved": [TEXT, "x"], "gold_answers": [TEXT], "answer": "x"}
    (tmp_path / f"{NAME}.jsonl").write_text(f"{json.dumps(record)}\n")
    (tmp_path / f"{NAME}.csv").write_text(f'query,{QUERY}\n"{QUERY}","{TEXT}"\nq2,b\n', newline="")
    (tmp_path / "gold.json").write_text(json.dumps({TEXT: TEXT}))
    (tmp_path / "answers.json").write_text(json.dumps({TEXT: "x"}))
    (tmp_path / f"{NAME}.toml").write_text("[gate.min]\nAP = 0.99\n")
    return tmp_path


RUNS = ["truth", f"./{NAME}1.trec", f"./{NAME}2.trec"]
COMMANDS = {
    "evaluate": ["evaluate", *RUNS],
    "--per-query": ["evaluate", *RUNS, "--per-query"],
    "--explain": ["evaluate", *RUNS, "--explain", QUERY],
    "--bounds": ["evaluate", *RUNS, "--bounds"],
    "--by": ["evaluate", *RUNS, "--by", f"./{NAME}.csv:{QUERY}"],
    "results": ["evaluate", f"./{NAME}.jsonl", "--match", "content"],
    "results --explain": ["evaluate", f"./{NAME}.jsonl", "--match", "content", "--explain", TEXT],
    "answers": ["answers", "gold.json", "answers.json", "--per-query"],
    "compare": ["compare", *RUNS],
    "diff": ["diff", *RUNS],
    "diff --query": ["diff", *RUNS, "--query", QUERY],
    "gate": ["gate", *RUNS[:2], "--config", f"./{NAME}.toml"],
}
WRONG = {
    "an unknown command": [NAME],
    "an unknown option": ["evaluate", f"--{NAME}"],
    "an unknown measure": ["evaluate", *RUNS, "-m", NAME],
    "an unknown choice": ["evaluate", *RUNS, "--ties", NAME],
    "an unknown match": ["evaluate", *RUNS, "--match", NAME],
    "an unknown query": ["evaluate", *RUNS, "--explain", NAME],
    "an unknown baseline": ["compare", *RUNS, "--baseline", NAME],
    "an unknown column": ["evaluate", *RUNS, "--by", f"./{NAME}.csv:x"],
    "a missing file": ["evaluate", "truth", f"::error::{NAME}"],
    "a bad file": ["evaluate", f"./{NAME}.csv", f"./{NAME}.toml"],
    "a bad number": ["diff", *RUNS, "-n", NAME],
    "a bad rule": ["gate", *RUNS[:2], "--min", NAME],
}
FORMATS = {"table", "csv", "tsv", "json", "jsonl", "markdown", "latex"}
ONLY = {"gate": {"table", "json", "markdown"}, "--explain": {"table", "json", "markdown", "latex"}}
CASES = [(name, form) for name in COMMANDS for form in sorted(ONLY.get(name.split()[-1], FORMATS))]
CASES += [(name, "table") for name in WRONG]
COMMANDS |= WRONG


@pytest.mark.parametrize(("name", "form"), CASES)
def test_nothing_controls_the_terminal(name: str, form: str, folder: Path) -> None:
    done = run_here(folder, *COMMANDS[name], "--format", form, terminal=True)
    assert done.returncode == (2 if name in WRONG else name == "gate"), done.stderr
    for text in (done.stdout, done.stderr):
        assert not SENT.search(COLOUR.sub("", text)), ascii(text)


@pytest.mark.parametrize(("name", "form"), CASES)
def test_nothing_commands_github_but_the_annotations_of_a_gate(name: str, form: str, folder: Path) -> None:
    words = [*COMMANDS[name], "--format", form]
    done = run_here(folder, *words, environment={"GITHUB_ACTIONS": "true"})
    lines = re.split(r"[\r\n]", f"{done.stdout}\n{done.stderr}")
    commands = [line for line in lines if line.lstrip().startswith("::") or "##[" in line or "##vso[" in line]
    annotation = "::error title=karat gate::AP is 0.7500, but must be at least 0.9900"
    assert commands == ([annotation] if name == "gate" else [])
    if form == "json" and done.returncode == 0:
        assert json.loads(done.stdout) == json.loads(run_here(folder, *words).stdout)


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "jsonl"])
def test_data_in_pipes_and_files_keep_every_character(form: str, folder: Path) -> None:
    words = ["evaluate", "truth", RUNS[1], "--per-query", "--format", form]
    run_here(folder, *words, "-o", "out", environment={"GITHUB_ACTIONS": "true"})
    text = run_here(folder, *words).stdout
    assert (folder / "out").read_bytes().decode() == text
    if form == "json":
        queries = [row["query"] for row in json.loads(text)["queries"]]
    elif form == "jsonl":
        queries = [json.loads(line)["query"] for line in text.splitlines()]
    else:
        queries = [row[0] for row in csv.reader(io.StringIO(text), delimiter="," if form == "csv" else "\t")][1:]
    assert queries == [QUERY, "q2"]


def test_json_on_a_terminal_is_the_same_data(folder: Path) -> None:
    words = ["evaluate", "truth", RUNS[1], "--per-query", "--format", "json"]
    shown, piped = (run_here(folder, *words, terminal=terminal).stdout for terminal in (True, False))
    assert shown != piped
    assert json.loads(shown) == json.loads(piped)
