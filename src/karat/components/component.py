"""The `component` decorator, and what a pipeline reads from a component class: its name, inputs and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_type_hints

from karat.errors import KaratError, Place, did_you_mean, require, shown

Class = TypeVar("Class", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])

_OUTPUTS = "__karat_outputs__"
_INPUTS = "__karat_inputs__"
_COMPONENT = "__karat_component__"
_registered: dict[str, type] = {}


@dataclass(frozen=True)
class Input:
    """An input of a component."""

    type: Any
    mandatory: bool
    default: Any = None


class _Component:
    """The decorator for classes; its `output_types` is the decorator for their `run`."""

    def __call__(self, cls: Class) -> Class:
        """Register a class as a component: `@component` above the class.

        A class whose `run` does not modify its inputs can declare `modifies_inputs = False`. A pipeline then does not
        copy the inputs, and evaluators that run later can reuse results computed from the same inputs.
        """
        require(
            inspect.isclass(cls) and callable(getattr(cls, "run", None)),
            f"{getattr(cls, '__name__', shown(cls))} cannot be a component",
            "A component is a class with a method run(self, ...) that returns a dictionary of outputs.",
        )
        setattr(cls, _COMPONENT, cls)
        _registered[type_name(cls)] = cls
        return cls

    @staticmethod
    def output_types(**types: Any) -> Callable[[Method], Method]:
        """Declare what `run` returns: `@component.output_types(score=float)` above the method."""

        def declare(run: Method) -> Method:
            setattr(run, _OUTPUTS, types)
            return run

        return declare

    @staticmethod
    def set_input_types(instance: object, **types: Any) -> None:
        """Declare the inputs of a component whose method is `run(self, **inputs)`, in its constructor.

        All of them are mandatory, and no others are accepted.
        """
        setattr(instance, _INPUTS, {name: Input(kind, mandatory=True) for name, kind in types.items()})


component = _Component()


def type_name(cls: type) -> str:
    """The name of a class in a saved pipeline."""
    return f"{cls.__module__}.{cls.__qualname__}"


def is_component(instance: object) -> bool:
    """Whether the class of an object is a component itself; a subclass of a component is not one automatically."""
    return getattr(type(instance), _COMPONENT, None) is type(instance)


def may_modify_inputs(instance: object) -> bool:
    """Whether `run` may modify its inputs; only the class that defines `run` can declare that it does not."""
    defining_class = next(cls for cls in type(instance).__mro__ if "run" in vars(cls))
    return vars(defining_class).get("modifies_inputs") is not False


def registered() -> Mapping[str, type]:
    """The component classes that a saved pipeline can use, by name."""
    return dict(_registered)


def inputs_of(instance: object) -> dict[str, Input]:
    """The inputs of a component: the parameters of its `run`, and those that its constructor declared."""
    cls: Any = type(instance)
    return {**_inputs(cls), **getattr(instance, _INPUTS, {})}


def unknown_input(name: object, known: Collection[str], place: Place | None = None) -> KaratError:
    """The error for an input that a component does not have."""
    hint = f"{did_you_mean(name, known)} The inputs are {', '.join(known) or 'none'}.".strip()
    return KaratError(f"unknown input {shown(name)}", place=place, hint=hint)


def accepts_any_input(instance: object) -> bool:
    """Whether `run` has a parameter `**inputs`, and the constructor did not declare what they are."""
    if hasattr(instance, _INPUTS):
        return False
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
    except Exception:  # an annotation that cannot be evaluated at run time: then no type is known
        hints = {}
    return {
        parameter.name: Input(hints.get(parameter.name, Any), parameter.default is parameter.empty, parameter.default)
        for parameter in _parameters(cls)
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def _parameters(cls: type) -> list[inspect.Parameter]:
    """The parameters of `run`, without `self`."""
    parameters = list(inspect.signature(_run(cls)).parameters.values())
    without_self = isinstance(inspect.getattr_static(cls, "run"), staticmethod | classmethod)
    return parameters if without_self else parameters[1:]


def _run(cls: type) -> Callable[..., Any]:
    run: Callable[..., Any] = cls.run  # type: ignore[attr-defined]  # every component has one
    return run
