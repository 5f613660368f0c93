"""How errors on the command line spell the parameters of Python: as options of the command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import click

from karat.errors import KaratError, Parameter
from karat.errors.arguments import is_list_like

# Parameters whose option has another name, and what the value of the option begins with.
_OPTIONS = {
    "truth_format": ("formats", "truth="),
    "run_format": ("formats", "run="),
    "input_format": ("formats", ""),
    "truth_columns": ("columns", "truth."),
    "run_columns": ("columns", "run."),
    "kind": ("as", ""),
}
_WIDTH = 60  # characters of a value in a message


@contextmanager
def naming_options(context: click.Context) -> Iterator[None]:
    """Let errors name options of a command, unless they spell parameters in a way of their own, as keys of a file."""
    try:
        yield
    except KaratError as error:
        if error.spelling is str:
            error.spelling = partial(spelled, context.command)
        raise


def spelled(command: click.Command, parameter: Parameter) -> str:
    """A parameter as it is written on the command line; as in Python if the command does not have it."""
    name, prefix = _OPTIONS.get(parameter.name, (parameter.option or parameter.name, ""))
    found = next((each for each in command.params if each.name == name), None)
    if found is None:
        return str(parameter)
    values = _value_texts(parameter.value) if parameter.has_value else []
    if isinstance(found, click.Argument):
        return " ".join([str(found.metavar), *map(shlex.quote, values)])
    option = max(found.opts, key=len)
    if isinstance(found, click.Option) and found.is_flag:
        return option if parameter.value else max(found.secondary_opts, key=len, default=option)
    return " ".join(f"{option} {shlex.quote(prefix + value)}" for value in values) or option


def _value_texts(value: object) -> list[str]:
    """What is written after an option: once, or several times for a list or a mapping."""
    if isinstance(value, Mapping):
        return [f"{name}={_value_text(each)}" for name, each in value.items()]
    values = list(value) if is_list_like(value) else [] if value is None else [value]  # type: ignore[call-overload]
    return list(map(_value_text, values))


def _value_text(value: object) -> str:
    """A value without the quotation marks of Python, and a whole number without a point."""
    text = str(value).removesuffix(".0") if isinstance(value, float) else str(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
