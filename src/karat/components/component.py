"""`component`: what makes a class a part of pipelines. It knows the class's inputs and outputs, and its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from karat.errors import KaratError, shown

Class = TypeVar("Class", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])

_OUTPUTS = "__karat_outputs__"
_registered: dict[str, type] = {}


@dataclass(frozen=True)
class Input:
    """One input of a component."""

    type: Any
    mandatory: bool


class _Component:
    """The decorator, and its own decorator for the method `run`."""

    def __call__(self, cls: Class) -> Class:
        """Register a class as a component: `@component` above it."""
        if not inspect.isclass(cls) or not callable(getattr(cls, "run", None)):
            raise KaratError(
                f"{getattr(cls, '__name__', shown(cls))} cannot be a component",
                mend="A component is a class with a method run(self, ...) that returns a dictionary of its outputs.",
            )
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
    """Whether an object's class, itself and not a parent of it, is registered."""
    return _registered.get(type_name(type(instance))) is type(instance)


def registered() -> Mapping[str, type]:
    """The classes that a pipeline may be loaded with, by their names."""
    return dict(_registered)


def inputs_of(instance: object) -> dict[str, Input]:
    """The inputs of a component: the parameters of its `run`."""
    run = instance.run  # type: ignore[attr-defined]  # every component has one
    hints = _hints(run)
    return {
        name: Input(hints.get(name, Any), parameter.default is parameter.empty)
        for name, parameter in inspect.signature(run).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def takes_anything(instance: object) -> bool:
    """Whether `run` ends in `**inputs`."""
    run = instance.run  # type: ignore[attr-defined]  # every component has one
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(run).parameters.values())


def outputs_of(instance: object) -> dict[str, Any]:
    """The outputs of a component and their types, as declared; empty where nothing was declared."""
    run = instance.run  # type: ignore[attr-defined]  # every component has one
    return dict(getattr(run, _OUTPUTS, {}))


def _hints(run: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(run, include_extras=True)
    except Exception:  # a name that is not there at run time, or worse: then nothing is known of the types
        return {}
