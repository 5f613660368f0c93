"""Errors on the command line spell parameters as options, whatever they are called in Python."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from karat.cli import program
from karat.cli.parser import option_text
from karat.errors import Parameter
from tests.end_to_end.in_process import refused, run_here

WORDS = {
    "evaluate": "truth.qrels a.trec -m AP",
    "look": "results.jsonl",
    "check": "truth.qrels a.trec",
    "answers": "gold.json answers.json",
    "compare": "truth.qrels a.trec b.trec -m AP",
    "diff": "truth.qrels a.trec b.trec -m AP",
    "gate": "truth.qrels a.trec --min AP=0.1",
    "report": "truth.qrels a.trec b.trec -o report.html",
    "convert": "a.trec run.csv",
    "trec": "truth.qrels a.trec",
    "judge": "results.jsonl --task support --estimate",
    "verdicts summary": "verdicts.jsonl",
    "verdicts template": "results.jsonl --task support -o sheet.csv",
    "verdicts agreement": "verdicts.jsonl --truth truth.qrels",
}
"""a valid call of each command that has options with numbers or choices"""


def commands(group: click.Group = program, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def wrong_value(option: click.Option) -> str | None:
    """A value that click takes and karat refuses; None if any text is valid, or only karat's data tells."""
    if isinstance(option.type, click.types.FloatParamType):
        return "nan"
    if isinstance(option.type, click.types.IntParamType):
        return "-7"
    metavar = option.metavar or ""
    if "|" in metavar or metavar in ("FORMAT", "MATCH"):
        return "wrong value"
    wrong = {"MEASURE=LIMIT": "AP=wrong", "MEASURE=NUMBER": "AP=wrong", "[MEASURE=]D": "AP=-1", "KIND,...": "K999"}
    return wrong.get(metavar)


CASES = [
    (name, option, value)
    for name, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and (value := wrong_value(option)) is not None
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    (tmp_path / "a.trec").write_text("q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 a\nq2 Q0 d2 1 1 a\n")
    (tmp_path / "b.trec").write_text("q1 Q0 d2 1 2 b\nq1 Q0 d1 2 1 b\nq2 Q0 d2 1 1 b\n")
    (tmp_path / "gold.json").write_text('{"q1": "a"}')
    (tmp_path / "answers.json").write_text('{"q1": "a"}')
    (tmp_path / "results.jsonl").write_text('{"query": "q1", "answer": "Gold.", "retrieved": [{"content": "Gold."}]}\n')
    label = {"query": "q1", "type": "document", "task": "relevance", "item": "d1", "label": 1, "by": "model"}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(label) + "\n")
    return tmp_path


@pytest.mark.parametrize(("name", "option", "value"), CASES, ids=lambda value: getattr(value, "name", str(value)))
def test_a_wrong_value_of_any_option_names_the_option(
    name: str, option: click.Option, value: str, folder: Path
) -> None:
    spelling = max(option.opts, key=len)
    message = refused(run_here(folder, *name.split(), *WORDS[name].split(), spelling, value))
    assert re.search(rf"(?<![\w-]){re.escape(spelling)}(?![\w-])", message)
    assert not re.search(rf"(?<![\w-]){option.name}=", message)


def test_every_kind_of_option_is_among_them() -> None:
    tested = {max(option.opts, key=len) for _, option, _ in CASES}
    assert tested >= {"--level", "--digits", "--ties", "--equivalence", "--max-drop", "--match", "--input-format", "-n"}
    assert tested >= {"--max-cost", "--samples", "--plot-kind", "--unknown", "--output-format", "--rel", "--detect"}


COMMANDS = dict(commands())


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        (Parameter("level", 2.0), "--level 2"),
        (Parameter("level"), "--level"),
        (Parameter("equivalence", {"nDCG@10": 0.1}), "--equivalence nDCG@10=0.1"),
        (Parameter("equivalence", {"AP(rel=2)": 0.1, "RR": 1.0}), "--equivalence 'AP(rel=2)=0.1' --equivalence RR=1"),
        (Parameter("lower_is_better", ["latency", "my cost"]), "--lower-is-better latency --lower-is-better 'my cost'"),
        (Parameter("force", True), "--force"),
        (Parameter("measures"), "--measure"),
        (Parameter("run_format", "json"), "--input-format run=json"),
        (Parameter("truth_columns", {"doc": "docno"}), "--column truth.doc=docno"),
        (Parameter("fields", {"query": "id"}), "--field query=id"),
        (Parameter("by", "length"), "--by length"),
        (Parameter("author"), "--author"),
        (Parameter("truth"), "--truth"),
        (Parameter("runs"), "RUN..."),
        (Parameter("detect", None), "--detect"),
        (Parameter("baseline", "a" * 99), f"--baseline '{'a' * 59}…'"),
        (Parameter("max_grade", 3), "max_grade=3"),
    ],
)
def test_a_parameter_is_spelled_as_a_user_would_type_it(parameter: Parameter, text: str) -> None:
    text = text.replace("'", '"') if sys.platform == "win32" else text
    assert option_text(COMMANDS["compare"], parameter) == text


def test_a_switch_that_is_off_is_spelled_by_its_other_name() -> None:
    assert option_text(COMMANDS["gate"], Parameter("significant", False)) == "--no-significant"


def test_an_option_that_a_configuration_file_sets_is_spelled_as_its_key(folder: Path) -> None:
    (folder / "karat.toml").write_text('[gate]\nlevel = 0.9\nlower-is-better = ["latency"]\n[gate.min]\nAP = 0.1\n')
    message = refused(run_here(folder, "gate", "truth.qrels", "a.trec"))
    assert "karat.toml, gate: level has no effect without a max-drop" in message
    assert "or leave level out" in message
    given = refused(run_here(folder, "gate", "truth.qrels", "a.trec", "--level", "0.8"))
    assert "karat: --level has no effect without a max-drop" in given
