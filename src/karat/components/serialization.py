"""Components as dictionaries, `{"type", "init_parameters"}`, and back. Only registered classes are ever built."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any, Self

from karat.components.component import registered, type_name
from karat.errors import KaratError, did_you_mean, shown


def component_class(name: str) -> type:
    """The registered class of a name. A name is looked up and never imported: a file cannot make code run."""
    # Those that come with karat are registered by now.
    import karat.components.evaluators
    import karat.components.preprocessors  # noqa: F401

    known = registered()
    if name not in known:
        hint = f"{did_you_mean(name, known)} Import the module that defines it with @component first."
        raise KaratError(f"{shown(name)} is no registered component", hint=hint.strip())
    return known[name]


def as_ours(description: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description of one of Haystack's evaluators as that of karat's of the same name; others as they are."""
    name = description["type"]
    if not name.startswith("haystack.components."):
        return description
    parameters = description.get("init_parameters") or {}
    if name.endswith(".DocumentMAPEvaluator") and isinstance(parameters, Mapping):
        # Haystack's has been the standard one since 3.1; what it saves says nothing of it.
        parameters = {"convention": "standard", **parameters}
    return {**description, "type": f"karat.{name.removeprefix('haystack.')}", "init_parameters": parameters}


def default_to_dict(instance: object, **init_parameters: Any) -> dict[str, Any]:
    """`{"type", "init_parameters"}`: what `default_from_dict` makes the same component of."""
    return {"type": type_name(type(instance)), "init_parameters": init_parameters}


def default_from_dict(cls: type, data: Mapping[str, Any]) -> Any:
    """A component from what `default_to_dict` gave."""
    name = type_name(cls)
    if not isinstance(data, Mapping):
        raise KaratError(f"{shown(data)} describes no component", hint='Give {"type": ..., "init_parameters": {...}}.')
    if data.get("type") != name:
        raise KaratError(f"{shown(data.get('type'))} is not {name}", hint="The type names the class to be made.")
    parameters = data.get("init_parameters") or {}
    if not isinstance(parameters, Mapping):
        raise KaratError(f"the init_parameters of {cls.__name__} map names to values, and are not {shown(parameters)}")
    known = inspect.signature(cls).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        for unknown in (parameter for parameter in parameters if parameter not in known):
            takes = f"It takes {', '.join(known)}." if known else "It takes none."
            raise KaratError(
                f"{cls.__name__} has no parameter {shown(unknown)}",
                hint=f"{did_you_mean(str(unknown), known)} {takes}".strip(),
            )
    for required in known.values():
        if required.default is required.empty and required.name not in parameters and required.kind in (
            required.POSITIONAL_OR_KEYWORD, required.KEYWORD_ONLY,
        ):  # fmt: skip
            raise KaratError(f"{cls.__name__} needs its parameter {required.name}")
    return cls(**parameters)


class SerializableComponent:
    """A component that is described by the parameters of its constructor, each kept under its own name."""

    def to_dict(self) -> dict[str, Any]:
        """`{"type", "init_parameters"}`, which `from_dict` reads."""
        return _parameters_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The component of such a dictionary."""
        made: Self = default_from_dict(cls, data)
        return made

    def __repr__(self) -> str:
        parameters = _parameters_to_dict(self)["init_parameters"].items()
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in parameters)})"


def component_to_dict(instance: object) -> dict[str, Any]:
    """A component as a dictionary: by its own `to_dict`, or by the parameters of its constructor."""
    own = getattr(instance, "to_dict", None)
    data = own() if callable(own) else _parameters_to_dict(instance)
    if not isinstance(data, dict):
        raise KaratError(f"to_dict of {type(instance).__name__} returned {shown(data)}, not a dictionary")
    return data


def component_from_dict(cls: type, data: Mapping[str, Any]) -> Any:
    """A component from such a dictionary: by the class's own `from_dict`, or by its constructor."""
    own = getattr(cls, "from_dict", None)
    return own(data) if callable(own) else default_from_dict(cls, data)


def _parameters_to_dict(instance: object) -> dict[str, Any]:
    parameters = {}
    for name, parameter in inspect.signature(type(instance)).parameters.items():
        if not hasattr(instance, name) or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise KaratError(
                f"the parameter {name} of this {type(instance).__name__} is not known any more",
                hint=f"Keep it as self.{name}, or give the class a to_dict.",
            )
        value = getattr(instance, name)
        parameters[name] = value.value if isinstance(value, Enum) else value
    return default_to_dict(instance, **parameters)
