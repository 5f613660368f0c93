"""`component`: what makes a class a part of pipelines. It knows the class's inputs and outputs, and its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_type_hints

from karat.errors import KaratError, shown

Class = TypeVar("Class", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])

_OUTPUTS = "__karat_outputs__"
_MARK = "__karat_component__"
_registered: dict[str, type] = {}


@dataclass(frozen=True)
class Input:
    """One input of a component."""

    type: Any
    mandatory: bool
    default: Any = None


class _Component:
    """The decorator, and its own decorator for the method `run`."""

    def __call__(self, cls: Class) -> Class:
        """Register a class as a component: `@component` above it.

        A class whose `run` never changes its inputs may say so with `only_reads = True`: then what evaluators have
        found out about the same inputs before it still holds after it.
        """
        if not inspect.isclass(cls) or not callable(getattr(cls, "run", None)):
            raise KaratError(
                f"{getattr(cls, '__name__', shown(cls))} cannot be a component",
                hint="A component is a class with a method run(self, ...) that returns a dictionary of its outputs.",
            )
        setattr(cls, _MARK, cls)
        _registered[type_name(cls)] = cls
        return cls

    @staticmethod
    def output_types(**types: Any) -> Callable[[Method], Method]:
        """Say what `run` returns: `@component.output_types(score=float)` above it."""

        def declare(run: Method) -> Method:
            setattr(run, _OUTPUTS, types)
            return run

        return declare


component = _Component()


def type_name(cls: type) -> str:
    """The name by which a class is found again when a pipeline is loaded."""
    return f"{cls.__module__}.{cls.__qualname__}"


def is_component(instance: object) -> bool:
    """Whether an object's class, itself and not only a parent of it, is a component."""
    return getattr(type(instance), _MARK, None) is type(instance)


def only_reads(instance: object) -> bool:
    """Whether a component says that its `run` changes nothing; a parent cannot say it of another `run` than its own."""
    home = next(cls for cls in type(instance).__mro__ if "run" in vars(cls))
    return vars(home).get("only_reads") is True


def registered() -> Mapping[str, type]:
    """The classes that a pipeline may be loaded with, by their names."""
    return dict(_registered)


def inputs_of(instance: object) -> dict[str, Input]:
    """The inputs of a component: the parameters of its `run`."""
    cls: Any = type(instance)
    return dict(_inputs(cls))


def takes_anything(instance: object) -> bool:
    """Whether `run` ends in `**inputs`."""
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in _parameters(type(instance)))


def outputs_of(instance: object) -> dict[str, Any]:
    """The outputs of a component and their types, as declared; empty if none are declared."""
    return declared_outputs(_run(type(instance)))


def declared_outputs(run: Callable[..., Any]) -> dict[str, Any]:
    """The outputs that `component.output_types` declared for a method `run`, with their types."""
    return dict(getattr(run, _OUTPUTS, {}))


@cache
def _inputs(cls: type) -> dict[str, Input]:
    try:
        hints = get_type_hints(_run(cls), include_extras=True)
    except Exception:  # a name that is not there at run time, or worse: then nothing is known of the types
        hints = {}
    return {
        parameter.name: Input(hints.get(parameter.name, Any), parameter.default is parameter.empty, parameter.default)
        for parameter in _parameters(cls)
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def _parameters(cls: type) -> list[inspect.Parameter]:
    """The parameters of `run`, without the component itself."""
    parameters = list(inspect.signature(_run(cls)).parameters.values())
    bound = isinstance(inspect.getattr_static(cls, "run"), staticmethod | classmethod)
    return parameters if bound else parameters[1:]


def _run(cls: type) -> Callable[..., Any]:
    run: Callable[..., Any] = cls.run  # type: ignore[attr-defined]  # every component has one
    return run
