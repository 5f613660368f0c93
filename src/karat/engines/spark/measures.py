"""Measures on their way to executors, which do not know those that were registered on the driver only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any, get_type_hints

from karat.registry import Measure, register
from karat.registry.measure import Function
from karat.registry.names import Value
from karat.registry.registry import Metadata


def portable(measure: Measure) -> Callable[[], Measure]:
    """A function that returns the measure in any process: one of karat's by its name, any other with its function."""
    definition = measure.definition
    if definition.function.__module__.partition(".")[0] == "karat":
        return partial(_known, measure)
    metadata = {name: getattr(definition, name) for name in Metadata.__annotations__}
    given = {name: value for name, value in metadata.items() if value is not None}
    return partial(_registered, _with_types(definition.function), given, measure.settings)


def _with_types(function: Function) -> Function:
    """The function with types for annotations: what is sent by value has only the globals that its code uses."""
    if not isinstance(function, FunctionType):
        return function
    copied = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__, copied.__doc__ = function.__kwdefaults__, function.__doc__
    copied.__module__, copied.__qualname__ = function.__module__, function.__qualname__
    copied.__annotations__ = get_type_hints(function)
    return copied


def _known(measure: Measure) -> Measure:
    return measure


def _registered(function: Function, metadata: Mapping[str, Any], settings: tuple[tuple[str, Value], ...]) -> Measure:
    declared = register(**metadata)(function)
    return Measure(declared.name, settings, definition=declared.definition)
