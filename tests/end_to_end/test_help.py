"""What --help shows: options in groups, those that are used most first, and an example that works."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import click
import pytest

from karat.cli import demo_data as demo
from karat.cli import program
from karat.cli.parser import GROUPS, OUTPUT, Command
from tests.end_to_end.in_process import printed, run_here


def names_of_commands(group: click.Group = program, before: str = "") -> list[str]:
    """Every command by the words that call it, such as `verdicts import`."""
    context = click.Context(group)
    commands = {f"{before}{name}": group.get_command(context, name) for name in group.list_commands(context)}
    nested = {name: command for name, command in commands.items() if isinstance(command, click.Group)}
    inner = [words for name, command in nested.items() for words in names_of_commands(command, f"{name} ")]
    return [*(name for name in commands if name not in nested), *inner]


COMMANDS = names_of_commands()


def command_of(words: str) -> Command:
    found: click.Command | None = program
    for word in words.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert isinstance(found, Command)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples name."""
    path = tmp_path_factory.mktemp("help") / "demo"
    shutil.copytree(demo.HERE, path)
    (path / "gold.json").write_text(json.dumps({"q1": ["gold", "Au"], "q2": "soft"}))
    (path / "predictions.json").write_text(json.dumps({"q1": "Au", "q2": "it is soft"}))
    return path


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_of_a_command_is_under_a_heading(words: str, folder: Path) -> None:
    command = command_of(words)
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [each.name for each in options if command.group_of(each) is None] == []
    assert {name for names in command.groups.values() for name in names} <= {each.name for each in options}
    text = printed(run_here(folder, *words.split(), "--help", environment={"COLUMNS": "100"}))
    sections = dict(part.split(":\n", 1) for part in text.split("\n\n") if ":\n" in part)
    for option in options:
        assert f"{option.opts[0]}" in sections[command.group_of(option) or ""]
    headings = [heading for heading in sections if heading in GROUPS]
    assert headings == [heading for heading in GROUPS if heading in headings]
    assert "-h, --help" in sections[OUTPUT]


@pytest.mark.parametrize("words", COMMANDS)
def test_the_help_of_a_command_ends_with_one_example_that_fits_into_a_terminal(words: str, folder: Path) -> None:
    text = printed(run_here(folder, *words.split(), "--help", environment={"COLUMNS": "80"}))
    example = text.split("\nExample:\n")[1]
    assert example == f"  {command_of(words).example}\n"
    assert len(example) <= 80
    assert example.split()[:2] == ["karat", words.split()[0]]


@pytest.mark.parametrize("words", COMMANDS)
def test_the_example_of_a_command_works_with_the_files_of_the_demo(words: str, folder: Path) -> None:
    command = command_of(words)
    arguments = shlex.split(command.example)[1:]
    if words in ("verdicts import", "verdicts agreement"):  # the demo has neither a sheet nor the labels of a model
        assert command.make_context(words, arguments[2:]).params
        return
    if words in ("report", "demo"):
        pytest.importorskip("altair")
    done = run_here(folder, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("evaluate", ["--match", "-m", "--ci", "-o", "--field"]),
        ("compare", ["--match", "-m", "--baseline", "-o", "--field"]),
        ("gate", ["--baseline", "--min", "--significant", "-o", "--config"]),
        ("judge", ["--task", "--model", "--max-calls", "-o", "--field"]),
    ],
)
def test_the_options_that_are_used_most_come_first(words: str, first: list[str], folder: Path) -> None:
    text = printed(run_here(folder, words, "--help"))
    options = [part.split(":\n", 1)[1].split()[0].rstrip(",") for part in text.split("\n\n") if ":\n  -" in part]
    assert options == first
