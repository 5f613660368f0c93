"""The parameters of a measure: read from its function's signature, checked when they are set."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from karat.errors import KaratError, shown
from karat.registry.names import Numbers, Pairs, Value, format_value

REQUIRED: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Help:
    """A parameter's line of help and its limits, given in its annotation: `Annotated[int, Help("...", low=1)]`."""

    text: str
    low: float | None = None
    high: float | None = None
    exclusive: bool = False
    is_threshold: bool = False
    """whether it is the lowest grade that counts as relevant, which `rel=` of an evaluation sets"""


@dataclass(frozen=True)
class MeasureParameter:
    """One parameter of a measure: its type, its default and a line of help."""

    name: str
    kind: type
    default: Any
    choices: tuple[str, ...] = ()
    optional: bool = False
    help: Help = Help("")

    def value(self, argument: object, measure: str) -> Value:
        """Convert a text or a Python object to this parameter's type, or raise an error that describes valid values."""
        if self.optional and (argument is None or (isinstance(argument, str) and argument == "none")):
            return None
        try:
            value = self._convert(argument)
        except (ValueError, TypeError, OverflowError, KeyError, RecursionError):
            text = argument if isinstance(argument, str) else shown(argument)
            raise KaratError(f"{measure}: {self.name}={text} is not {self._valid_values()}") from None
        if self.choices and str(value).lower() in self.choices:
            value = str(value).lower()
        if self.choices and value not in self.choices:
            raise KaratError(f"{measure}: {self.name}={value} is not {self._valid_values()}")
        numbers = value if isinstance(value, tuple) else (value,)
        if not all(self._within(number) for number in numbers if isinstance(number, int | float)):
            raise KaratError(f"{measure}: {self.name}={format_value(value)} is not {self._valid_values()}")
        return value

    def _convert(self, argument: object) -> Value:
        if self.kind is bool:
            return {"true": True, "false": False}[str(argument).lower()]
        if self.kind is tuple:
            return _pairs(argument)
        if self.kind is list:
            return _numbers(argument)
        if self.kind is str:
            if argument is None:
                raise ValueError
            text = format_value(argument) if isinstance(argument, bool) else str(argument)
            quotable = text.strip() == text and not ('"' in text and "'" in text)
            if not quotable or text == "none" or not text:
                raise ValueError
            return text
        number = _number(argument)
        if self.kind is int:
            if not number.is_integer():
                raise ValueError
            return int(number)
        return number

    def _within(self, value: float) -> bool:
        low, high = self.help.low, self.help.high
        if value != value or value in (float("inf"), float("-inf")):
            return False
        if self.help.exclusive:
            return (low is None or value > low) and (high is None or value < high)
        return (low is None or value >= low) and (high is None or value <= high)

    def _valid_values(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return "a non-empty text without spaces at either end and without both kinds of quotes"
        if self.kind is tuple:
            return "a mapping of numbers, such as {1:1,2:3}"
        noun = {int: "a whole number", list: "a list such as {0.2,0.5}, of numbers"}.get(self.kind, "a number")
        low, high = self.help.low, self.help.high
        if low is not None and high is not None:
            between = "strictly between" if self.help.exclusive else "between"
            return f"{noun} {between} {format_value(low)} and {format_value(high)}"
        if low is not None:
            return f"{noun} {'above' if self.help.exclusive else 'of at least'} {format_value(low)}"
        return noun


def _number(argument: object) -> float:
    if isinstance(argument, bool) or (isinstance(argument, str) and "_" in argument):
        raise ValueError
    return float(argument)  # type: ignore[arg-type]  # the caller handles what float cannot convert


def _pairs(argument: object) -> Pairs:
    """A mapping of numbers, from a text such as `{1:1, 2:3}`, a mapping, or pairs."""
    if isinstance(argument, str):
        inside = re.fullmatch(r"\{(.*)\}", argument.strip(), re.DOTALL)
        listed = inside[1].split(",") if inside and inside[1].strip() else []
        pairs: Any = [pair.split(":") for pair in listed] if inside else None
    else:
        pairs = argument.items() if isinstance(argument, Mapping) else argument
    numbers = [(_number(key), _number(value)) for key, value in pairs]
    if len(dict(numbers)) < len(numbers) or not all(map(math.isfinite, chain.from_iterable(numbers))):
        raise ValueError
    return tuple(sorted((key, value) for key, value in numbers if key != value))


def _numbers(argument: object) -> Numbers:
    """Several numbers, from a text such as `{0.2,0.5}`, or a sequence."""
    if isinstance(argument, str):
        inside = re.fullmatch(r"\{(.*)\}", argument.strip(), re.DOTALL)
        argument = inside[1].split(",") if inside else None
    if not isinstance(argument, list | tuple) or not argument:
        raise ValueError
    return tuple(sorted(map(_number, argument)))


# Every measure of judged documents has it; `Measure.compute` applies it, so that no measure has to.
JUDGED_ONLY = MeasureParameter(
    "judged_only", bool, False, help=Help("whether unjudged documents are first removed from the run")
)


def parameters_of(function: Callable[..., Any]) -> Mapping[str, MeasureParameter]:
    """The keyword parameters of a measure's function; its first argument is the data."""
    try:
        hints = get_type_hints(function, include_extras=True)
        declared = list(inspect.signature(function).parameters.items())[1:]
    except (TypeError, ValueError, NameError) as error:  # a class, a built-in function, an annotation of unknown type
        raise KaratError(f"{shown(function)} cannot be registered: {error}", hint="Register a function.") from None
    parameters = {}
    for name, parameter in declared:
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            raise KaratError(f"{function.__name__}: {name} must be a keyword-only parameter", hint="Put a * before it.")
        hint = hints.get(name, type(parameter.default) if parameter.default is not REQUIRED else str)
        parameters[name] = _parameter(name, hint, parameter.default)
    return MappingProxyType(parameters)


def _parameter(name: str, hint: Any, default: Any) -> MeasureParameter:
    help_ = Help("")
    optional = False
    while True:
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            help_ = next((note for note in notes if isinstance(note, Help)), help_)
        elif get_origin(hint) in (Union, UnionType):
            optional = NoneType in get_args(hint)
            (hint,) = (part for part in get_args(hint) if part is not NoneType)
        else:
            break
    if get_origin(hint) is Literal:
        return MeasureParameter(name, str, default, get_args(hint), optional, help_)
    kind = list if hint == Numbers else get_origin(hint) or hint
    return MeasureParameter(name, kind, default, (), optional, help_)
