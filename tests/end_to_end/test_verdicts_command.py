"""`karat verdicts template` and `karat verdicts import`: what they write, say and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.in_process import run_here

RESULTS = [
    {"query": "q1", "question": "Is gold soft?", "answer": "It is soft [1]. Yes.", "retrieved": ["Gold is soft."]},
    {"query": "q2", "question": "Is it yellow?", "answer": "It is yellow [1].", "retrieved": ["Gold is yellow."]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rag.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RESULTS))
    return tmp_path


def fill(folder: Path, name: str, *labels: str) -> None:
    text = (folder / name).read_text("utf-8-sig")
    for label in labels:
        text = text.replace("nothing_to_judge,,,", f"nothing_to_judge,{label},,", 1)
    (folder / name).write_text(text, "utf-8")


def test_a_sheet_is_written_filled_in_and_imported(folder: Path) -> None:
    done = run_here(folder, "verdicts", "template", "rag.jsonl", "--task", "support", "-o", "todo.csv")
    assert (done.returncode, done.stderr) == (0, "wrote todo.csv: 2 labels to give, about 2 queries\n")
    assert done.stdout.splitlines() == [
        "Fill in the column label. Then:",
        "  karat verdicts import todo.csv -o todo.jsonl",
        "  karat evaluate rag.jsonl --verdicts todo.jsonl -m SupportPrecision -m SupportRecall",
    ]
    fill(folder, "todo.csv", "full")
    done = run_here(folder, "verdicts", "import", "todo.csv", "-o", "verdicts.jsonl", "--author", "ann")
    assert (done.returncode, done.stdout) == (0, "1 label added to verdicts.jsonl.\n1 row is not labelled yet.\n")
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    assert [line["record"] for line in lines] == ["file", *["item"] * 7, "verdict"]
    assert {line["system"] for line in lines[1:]} == {"rag"}
    assert lines[-1]["by"] == "human:ann"


def test_a_file_with_nothing_but_a_rubric_is_enough_to_ask_for_its_labels(folder: Path) -> None:
    (folder / "rubric.jsonl").write_text('{"record": "task", "name": "style", "scale": {"poor": 0, "good": 1}}')
    words = ("verdicts", "template", "rag.jsonl", "--task", "style", "--items", "rubric.jsonl", "-o", "todo.csv")
    assert "2 labels to give" in run_here(folder, *words).stderr
    assert run_here(folder, "verdicts", "rubric.jsonl").returncode == 0
    (folder / "rubric.jsonl").write_text('{"record": "file", "version": 1}')
    assert "rubric.jsonl: no verdicts found" in run_here(folder, "verdicts", "rubric.jsonl").stderr


def test_all_errors_of_a_sheet_are_printed_and_nothing_is_imported(folder: Path) -> None:
    run_here(folder, "verdicts", "template", "rag.jsonl", "--task", "support", "-o", "todo.csv")
    fill(folder, "todo.csv", "ful", "ok", "ok")
    done = run_here(folder, "verdicts", "import", "todo.csv", "-o", "verdicts.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "todo.csv, row 2: the label 'ful' is not on the scale of the task 'support'. Did you mean full? The labels are"
        " contradicts, none, partial, full.",
        "todo.csv, row 3: the label 'ok' is in a row that asks for none. Leave the label empty, or write"
        " nothing_to_judge.",
        "todo.csv, row 4: the label 'ok' is not on the scale of the task 'support'. The labels are contradicts,"
        " none, partial, full.",
        "karat: todo.csv: 3 errors in the sheet; nothing was imported",
    ]
    assert not (folder / "verdicts.jsonl").exists()


def test_claims_nuggets_and_rubrics_come_from_a_verdict_file(folder: Path) -> None:
    records = [
        {"record": "task", "name": "politeness", "question": "Is it polite?", "scale": {"rude": 0, "polite": 1}},
        {"record": "item", "query": "q1", "system": "rag", "id": "c1", "type": "claim", "of": "answer", "text": "soft"},
        {"record": "item", "query": "q1", "id": "n1", "type": "nugget", "text": "soft", "importance": "vital"},
        {"record": "item", "query": "q2", "id": "n1", "type": "nugget", "text": "yellow", "importance": "okay"},
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    for task, labels in (("nuggets", 2), ("politeness", 2), ("faithfulness", 2)):
        words = ("verdicts", "template", "rag.jsonl", "--items", "items.jsonl", "--task", task, "-o", f"{task}.csv")
        assert run_here(folder, *words).stderr == f"wrote {task}.csv: {labels} labels to give, about 2 queries\n"
    done = run_here(folder, *words[:-1], "other.csv", "--system", "other")
    assert "the claims are about the answers of rag, not of 'other'. Name the system" in done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            "--task nuggets -o todo.csv",
            "no nuggets are listed for query 'q1'. Write nuggets as items of a verdict file",
        ),
        ("--task claims -o todo.csv", "no claims are listed for query 'q1'."),
        ("--task suport -o todo.csv", "'suport' is not a task that a sheet can ask for. Did you mean support?"),
        ("--task support -o todo.xlsx", "todo.xlsx: a sheet is written as CSV or TSV. Write to a .csv file."),
        ("--task support -o rag.jsonl", "rag.jsonl: the output file is also an input. Write to another file."),
        ("--task support -o old.csv", "old.csv: the file exists, and may contain labels. Write to another file"),
        ("--task support", "--output is missing."),
    ],
)
def test_what_cannot_be_written_is_an_error(folder: Path, words: str, error: str) -> None:
    (folder / "old.csv").write_text("labels")
    done = run_here(folder, "verdicts", "template", "rag.jsonl", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"karat: {error}")
    assert not (folder / "todo.csv").exists()


def test_passages_that_are_known_by_id_need_a_corpus(folder: Path) -> None:
    (folder / "ids.jsonl").write_text('{"query": "q1", "answer": "It is soft [1].", "retrieved": ["d1"]}\n')
    words = ("verdicts", "template", "ids.jsonl", "--task", "support", "-o", "todo.csv")
    done = run_here(folder, *words)
    assert done.stderr == (
        "karat: the text of passage 'd1' of query 'q1' is not in the results. Add the texts with --corpus.\n"
    )
    (folder / "corpus.jsonl").write_text('{"id": "d1", "text": "Gold is soft."}\n')
    assert run_here(folder, *words, "--corpus", "corpus.jsonl").returncode == 0
    assert "[1] Gold is soft." in (folder / "todo.csv").read_text("utf-8-sig")


def test_help_names_the_commands(folder: Path) -> None:
    for words in (("verdicts",), ("verdicts", "--help")):
        done = run_here(folder, *words)
        assert done.returncode == 0
        assert "template   Write a sheet" in done.stdout
    done = run_here(folder, "verdicts", "tempalte")
    assert done.stderr == "karat: no such command: tempalte. Did you mean template?\n"


def test_files_are_summarized_without_a_subcommand(folder: Path) -> None:
    label = {"query": "q1", "item": "answer", "task": "correctness", "label": "correct", "by": "human:ann"}
    lines = [label, {**label, "label": "partial", "by": "human:ben", "why": "=1+1"}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "verdicts.jsonl").write_text(text + '{"record": "verd')
    done = run_here(folder, "verdicts", "verdicts.jsonl", "--export", "all.csv", "--safe-csv")
    assert done.returncode == 0, done.stderr
    printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "correctness (all) human:ann correct: 1 1" in printed
    assert "note: verdicts.jsonl:3: the last line is cut short and was left out." in printed
    assert "correctness (all) 1 0 0.0000" in printed
    assert "correctness (all) q1 answer human:ann: correct, human:ben: partial" in printed
    exported = (folder / "all.csv").read_text().splitlines()
    assert exported[2] == "q1,,correctness,answer,,partial,labelled,human:ben,0,'=1+1,,,counts,,,verdicts.jsonl:2"
    (folder / "template.jsonl").write_text(text)
    for words in (("template.jsonl", "--format", "json"), ("--format", "json", "verdicts.jsonl")):
        document = json.loads(run_here(folder, "verdicts", *words).stdout)
        assert [each["label"] for each in document["labels"]] == ["correct", "partial"]
        assert document["disagreements"][0]["labels"] == {"human:ann": "correct", "human:ben": "partial"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("missing.jsonl", "karat: missing.jsonl: no such file"),
        ("rag.jsonl", "karat: rag.jsonl:1: this is not a record of a verdict file. An item has a type"),
        ("rag.jsonl --export all.json", "karat: all.json: labels are exported as CSV or TSV. Use .csv or .tsv.\n"),
        (
            "rag.jsonl --export rag.jsonl",
            "karat: rag.jsonl: the output file is also an input. Write to another file.\n",
        ),
        ("rag.jsonl -n -1", "karat: -n -1 is negative."),
        ("rag.jsonl --safe-csv", "karat: --safe-csv has no effect on the format table."),
    ],
)
def test_what_cannot_be_summarized_is_an_error(folder: Path, words: str, message: str) -> None:
    done = run_here(folder, "verdicts", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message), done.stderr
