"""The options of a judge are declared once: the library, the evaluators and the command line have the same ones."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import click
import pytest

import karat
from karat.cli.judge import command
from karat.components.evaluators import ContextRelevanceEvaluator, FaithfulnessEvaluator, LLMEvaluator
from karat.grounding.judges.options import JUDGE_OPTIONS, JudgeArguments, JudgeOptions
from karat.grounding.judges.requests import ModelSettings

OF_EVALUATORS = {"model", "base_url", "api_key_env", "concurrency", "timeout", "replay", "system"}
OF_MANY_COMMANDS = {"queries", "corpus", "fields", "records", "input_format", "truth", "answers"}
"""options that other commands have, too, with their own words"""


def test_keyword_arguments_have_the_names_and_types_of_the_options() -> None:
    assert get_type_hints(JudgeArguments) == get_type_hints(JudgeOptions)
    assert [*JUDGE_OPTIONS] == [each.name for each in fields(JudgeOptions)]


@pytest.mark.parametrize("function", [karat.judge, karat.estimate_judging])
def test_the_functions_take_nothing_but_files_and_options(function: Any) -> None:
    assert [*inspect.signature(function).parameters] == ["source", "runs", "verdicts", "options"]


def test_the_documentation_of_judge_names_every_option() -> None:
    text = str(karat.judge.__doc__)
    assert [name for name in JUDGE_OPTIONS if f"`{name}`" not in text and f"`{name}=" not in text] == []


@pytest.mark.parametrize("evaluator", [LLMEvaluator, FaithfulnessEvaluator, ContextRelevanceEvaluator])
def test_evaluators_have_the_same_defaults(evaluator: type) -> None:
    parameters = inspect.signature(evaluator).parameters
    assert parameters.keys() & JUDGE_OPTIONS.keys() - {"examples"} == OF_EVALUATORS  # Haystack's are something else
    for name in OF_EVALUATORS:
        assert parameters[name].default == JUDGE_OPTIONS[name].default, name


def test_the_command_has_the_same_names_defaults_and_help() -> None:
    options = {each.name: each for each in command.params if isinstance(each, click.Option)}
    for name in JUDGE_OPTIONS.keys() - OF_MANY_COMMANDS:
        option, declared = options[name], JUDGE_OPTIONS[name]
        assert option.opts == [f"--{name.replace('_', '-')}"]
        assert (option.is_flag, option.help) == (declared.default is False, declared.help), name
        assert option.is_flag or option.default == declared.default, name


def test_settings_of_a_model_have_the_same_defaults() -> None:
    for name in ("temperature", "seed", "max_tokens"):
        assert getattr(ModelSettings(""), name) == JUDGE_OPTIONS[name].default


def test_numbers_of_any_type_become_plain_ones() -> None:
    numpy = pytest.importorskip("numpy")
    options = JudgeOptions(seed=numpy.int64(7), timeout=numpy.float32(0.5), replay=numpy.bool_(True))
    assert (repr(options.seed), repr(options.timeout), options.replay) == ("7", "0.5", True)


def test_an_unknown_option_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(
        TypeError, match=r"unknown option 'concurency'\. Did you mean concurrency\? The options are task"
    ):
        karat.estimate_judging([], concurency=2)  # type: ignore[call-arg]
