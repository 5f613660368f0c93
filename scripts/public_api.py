"""The public names of karat: modules and commands, what belongs to each, and what its parameters are.

`docs/stability.md` promises that these names stay; `list_api.py` writes them down.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import click

import karat
from karat import Definition, Measure
from karat.cli import program
from karat.comparison.gate import gate_by_rules
from karat.grounding.judges.options import JudgeOptions
from karat.options import EVALUATION_OPTIONS
from karat.registry.parameters import REQUIRED, MeasureParameter

MODULES = (
    "karat",
    "karat.answers",
    "karat.demo",
    "karat.testing",
    "karat.pooled",
    "karat.dataclasses",
    "karat.components.evaluators",
    "karat.components.preprocessors",
    "karat.integrations.haystack",
    "karat.compat.pytrec_eval",
    "karat.engines.spark",
    "karat.measures",
)

_EVALUATION = {name: option.default for name, option in EVALUATION_OPTIONS.items()}
_DEFAULTS: dict[str, dict[str, Any]] = {  # of options, whose typed dictionaries do not contain them
    "EvaluationOptions": _EVALUATION,
    "SparkOptions": _EVALUATION,
    "GateOptions": {each.name: each.default for each in inspect.signature(gate_by_rules).parameters.values()},
    "JudgeArguments": {each.name: each.default for each in fields(JudgeOptions)},
    "Metadata": {each.name: each.default for each in fields(Definition)},
}


class Name(NamedTuple):
    """A public name of a module or of a class, as it would stand in the code: `before(parameters)after`."""

    name: str
    value: Any
    before: str
    parameters: tuple[str, ...] | None = None
    """of what can be called"""
    after: str = ""


def public_names(module: str) -> list[Name]:
    """The names in a public module, in alphabetical order."""
    home = public_module(module)
    names = sorted(home.__all__, key=lambda name: (name.lower(), name))
    return [_name(name, getattr(home, name)) for name in names]


def public_module(module: str) -> ModuleType:
    """A public module: `karat.demo` is an attribute of karat, and lies elsewhere."""
    name = module.removeprefix("karat.")
    found = getattr(karat, name) if name in karat.__all__ else import_module(module)
    assert isinstance(found, ModuleType)
    return found


def members(cls: type) -> Iterator[Name]:
    """What karat gives the instances of a class: fields, properties and methods, those of its bases included."""
    shown = set[str]()
    for field in fields(cls) if is_dataclass(cls) else ():
        if not field.name.startswith("_"):
            optional = field.default is not MISSING or field.default_factory is not MISSING
            shown.add(field.name)
            yield Name(field.name, field, f"{field.name}: {field.type}{' = ...' if optional else ''}")
    for name in sorted(dir(cls)):
        value = inspect.getattr_static(cls, name)
        if name.startswith("_") or name in shown or not _is_own(cls, name):
            continue
        if isinstance(value, property | cached_property):
            getter: Any = value.func if isinstance(value, cached_property) else value.fget
            yield Name(name, value, f"{name}: {_text(inspect.signature(getter).return_annotation)}")
        elif isinstance(value, classmethod | staticmethod):
            yield _callable(name, value, value.__func__, f"@{type(value).__name__} ", of_instance=True)
        elif inspect.isfunction(value):
            prefix = "async " if inspect.iscoroutinefunction(value) else ""
            yield _callable(name, value, value, prefix, of_instance=True)


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """The commands and what follows `karat` on the command line to call them; first, `karat` itself."""
    yield [], program
    context = click.Context(program)
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        assert command is not None
        yield [name], command
        if isinstance(command, click.Group):
            for part in command.list_commands(context):
                yield [name, part], command.commands[part]


def spelled(parameter: click.Parameter) -> str:
    """An argument or an option of a command, with its placeholder or its choices, and its default."""
    if isinstance(parameter, click.Argument):
        return parameter.metavar or parameter.name or ""
    is_value = isinstance(parameter, click.Option) and not parameter.is_flag and not parameter.count
    default = parameter.default if is_value and isinstance(parameter.default, str | int | float) else None
    kind = f" {parameter.metavar or parameter.type.name.upper()}" if is_value else ""
    return f"{', '.join(sorted(parameter.opts, key=len))}{kind}{'' if default is None else f' = {default}'}"


def _is_own(cls: type, name: str) -> bool:
    home = next(base for base in cls.__mro__ if name in vars(base))
    return home.__module__.partition(".")[0] == "karat"


def _name(name: str, value: Any) -> Name:
    if inspect.isclass(value):
        if issubclass(value, Enum | Exception) or is_dataclass(value):  # the fields of data classes are listed below it
            kind = "(Enum)" if issubclass(value, Enum) else "(Exception)" if issubclass(value, Exception) else ""
            return Name(name, value, f"class {name}{kind}")
        return _callable(name, value, value, "class ")._replace(after="")
    if inspect.isfunction(value):
        return _callable(name, value, value)
    if isinstance(value, Measure):
        return Name(name, value, f"{name}: Measure", tuple(map(_setting, value.definition.parameters.values())))
    kind = "Path" if isinstance(value, Path) else type(value).__name__  # a path has other types on other systems
    return Name(name, value, f"{name}: {kind}")


def _callable(name: str, value: Any, function: Any, prefix: str = "", *, of_instance: bool = False) -> Name:
    """A function, with the options that it takes as `**options` by their names."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if of_instance and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    shown, star = [], False
    for parameter in parameters:
        options = _options(function, parameter)
        if not star and (options or parameter.kind is parameter.KEYWORD_ONLY):
            shown.append("*")
        star = star or parameter.kind in (parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY)
        shown += options or [_parameter(parameter)]
    returned = signature.return_annotation
    return Name(name, value, prefix + name, tuple(shown), f" -> {_text(returned)}")


def _options(function: Any, parameter: inspect.Parameter) -> list[str]:
    """The options, with types and defaults, if a parameter is `**options: Unpack[...]` of a typed dictionary."""
    annotation = str(parameter.annotation)
    if parameter.kind is not parameter.VAR_KEYWORD or not annotation.startswith("Unpack["):
        return []
    typed_name = annotation.removeprefix("Unpack[").removesuffix("]")
    typed: Any = vars(inspect.getmodule(function))[typed_name]
    defaults = _DEFAULTS[typed_name]
    return [
        f"{name}: {kind.__forward_arg__} = {_default(defaults[name])}" for name, kind in typed.__annotations__.items()
    ]


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" * (parameter.kind is parameter.VAR_KEYWORD)
    annotation = "" if parameter.annotation is parameter.empty else f": {_text(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
    return f"{stars}{parameter.name}{annotation}{default}"


def _default(value: object) -> str:
    if value is MISSING or inspect.isfunction(value):
        return "..."
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)


def _setting(parameter: MeasureParameter) -> str:
    return parameter.name if parameter.default is REQUIRED else f"{parameter.name}={parameter.default}"


def _text(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
