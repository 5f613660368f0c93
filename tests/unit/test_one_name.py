"""One name for one thing: what a parameter is called in Python, it is called on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, get_type_hints

import click
import pytest

import karat
from karat.grounding.judges.options import JudgeArguments
from karat.options import EVALUATION_OPTIONS, GateOptions
from karat.testing import assert_scores

KEYWORDS = {"judge": [*get_type_hints(JudgeArguments)], "gate": [*GateOptions.__annotations__]}
"""the names of keyword arguments that are not parameters by themselves"""
EVALUATIONS: tuple[Callable[..., Any], ...] = (karat.evaluate, karat.evaluate_results, karat.evaluate_verdicts)
VIEWS: tuple[Callable[..., Any], ...] = (
    karat.Scores.slices, karat.Scores.explain, karat.Scores.bounds, karat.Scores.plot, karat.SystemScores.report,
    karat.Scores.table, karat.Scores.corrected,
)  # fmt: skip
COMMANDS: dict[Callable[..., Any], tuple[str, str]] = {
    karat.evaluate: ("evaluate", "evaluation"),
    karat.evaluate_results: ("evaluate", "evaluation"),
    karat.evaluate_verdicts: ("evaluate", ""),
    karat.evaluate_answers: ("answers", ""),
    karat.look: ("look", ""),
    karat.judge: ("judge", "judge"),
    karat.estimate_judging: ("judge", "judge"),
    karat.gate: ("gate", "gate"),
    assert_scores: ("gate", "gate"),
    karat.compare: ("compare", ""),
}

IN_PYTHON_ONLY = {
    **dict.fromkeys(
        ("truth", "run", "results", "predictions", "log", "scores", "systems", "source", "runs"), "the files"
    ),
    **dict.fromkeys(("name", "system"), "a system has the name of its file"),
    "progress": "a bar is shown on a terminal",
    "resamples": "intervals are drawn with the default number of resamples",
    "seed": "random numbers are those of the default seed",
}
SPELLED_DIFFERENTLY = {
    "measures": "measure", "fields": "field",  # options that are repeated name one of them
    "truth_format": "input-format", "run_format": "input-format",  # truth=csv
    "truth_columns": "column", "run_columns": "column",  # truth.doc=docno
}  # fmt: skip
ON_THE_COMMAND_LINE_ONLY = {
    **dict.fromkeys(("file", "format", "report", "plot", "junit"), "where the result is written, and how"),
    **dict.fromkeys(
        ("ci", "bounds", "explain", "per_query", "estimate"), "what is shown, which Python has methods for"
    ),
    "plot_kind": "the first parameter of plot(), and --plot is the file",
    **dict.fromkeys(("engine", "master", "order", "per_query_path"), "karat.engines.spark has functions of its own"),
    "verbose": "the logger karat.spark says how a run is read",
    "sort": "columns of Python are sorted by those who have them",
    "safe_csv": "to_csv(safe=True)",
    **dict.fromkeys(("formats", "columns"), "input_format, truth_format, run_columns and so on"),
}


def parameters(function: Callable[..., Any], more: str) -> Iterator[str]:
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD and name != "self":
            yield name
    yield from EVALUATION_OPTIONS if more == "evaluation" else KEYWORDS.get(more, [])


def options(command: str) -> list[click.Option]:
    declared: click.Command = import_module(f"karat.cli.{command}").command
    return [option for option in declared.params if isinstance(option, click.Option)]


@pytest.mark.parametrize("function", COMMANDS, ids=lambda function: function.__name__)
def test_a_parameter_is_an_option_of_the_same_name(function: Callable[..., Any]) -> None:
    command, more = COMMANDS[function]
    spellings = {spelling for option in options(command) for spelling in option.opts}
    named = {name: f"--{SPELLED_DIFFERENTLY.get(name, name.replace('_', '-'))}" for name in parameters(function, more)}
    missing = [name for name, spelling in named.items() if spelling not in spellings and name not in IN_PYTHON_ONLY]
    assert missing == []


@pytest.mark.parametrize("function", COMMANDS, ids=lambda function: function.__name__)
def test_an_option_is_a_parameter_of_the_same_name(function: Callable[..., Any]) -> None:
    command, more = COMMANDS[function]
    known = {name for view in (*EVALUATIONS, *VIEWS) for name in parameters(view, "evaluation")}
    known |= {*parameters(function, more), *ON_THE_COMMAND_LINE_ONLY}
    unknown = [option for option in options(command) if option.name not in known]
    spellings = [max(option.opts, key=len).removeprefix("--").replace("-", "_") for option in unknown]
    assert [name for name in spellings if name not in known] == []


def test_the_verdict_file_is_called_so_wherever_it_is_written() -> None:
    for command in (import_module("karat.cli.judge").command, import_module("karat.cli.verdicts").import_sheet):
        assert ["-o", "--verdicts"] in [option.opts for option in command.params]


def test_gate_and_assert_scores_take_the_same_arguments() -> None:
    assert inspect.signature(karat.gate) == inspect.signature(assert_scores)
