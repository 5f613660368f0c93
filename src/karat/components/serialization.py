"""Convert components to `{"type", "init_parameters"}` and back. Only registered classes are instantiated."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, Self

from karat.components.component import registered, type_name
from karat.components.environment import check_env_vars
from karat.errors import KaratError, did_you_mean, require, shown


def component_class(name: str) -> type:
    """The registered class with this name. Names are looked up, never imported, so a file cannot run code."""
    known = _components()
    if name not in known:
        hint = f"{did_you_mean(name, known)} Import the module that defines it first."
        raise KaratError(f"{shown(name)} is not a registered component", hint=hint.strip())
    return known[name]


def from_haystack(description: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace a Haystack component by karat's component of the same name; other descriptions stay unchanged."""
    name = description["type"]
    if not name.startswith("haystack."):
        return description
    ours = f"karat.{name.removeprefix('haystack.')}"
    if ours not in _components():
        hint = "Run this pipeline in Haystack; karat.integrations.haystack has karat's evaluators for it."
        raise KaratError(f"karat has no {shown(name, 100)}", hint=hint)
    parameters = description.get("init_parameters") or {}
    if name.endswith(".DocumentMAPEvaluator") and isinstance(parameters, Mapping):
        # Haystack's evaluator has no such parameter, and uses the standard convention since 3.1.
        parameters = {"convention": "standard", **parameters}
    if isinstance(parameters, Mapping):
        parameters = _with_model_by_name(parameters)
    return {**description, "type": ours, "init_parameters": parameters}


def _with_model_by_name(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of an evaluator with the name of the model, if Haystack's default chat generator has only that.

    Other chat generators, and settings that karat does not have, stay as they are: Haystack has to load them.
    """
    match parameters.get("chat_generator"):
        case {
            "type": "haystack.components.generators.chat.openai.OpenAIChatGenerator",
            "init_parameters": {"model": str(model), "api_key": {"env_vars": [str(key)]}, **settings},
        }:
            timeout, options = settings.get("timeout"), settings.get("generation_kwargs") or {}
            read = ("api_base_url", "timeout", "generation_kwargs", "max_retries")
            unknown = any(value for name, value in settings.items() if name not in read)
            if unknown or not isinstance(options, Mapping) or not options.keys() <= {"response_format", "seed"}:
                return parameters
            by_name = {name: value for name, value in parameters.items() if name != "chat_generator"}
            by_name |= {"model": model, "base_url": settings.get("api_base_url"), "api_key_env": key}
            return by_name if timeout is None else {**by_name, "timeout": timeout}
    return parameters


def _components() -> Mapping[str, type]:
    """All registered components, those of karat included."""
    import karat.components.evaluators
    import karat.components.preprocessors  # noqa: F401

    return registered()


def default_to_dict(instance: object, **init_parameters: Any) -> dict[str, Any]:
    """A component as `{"type", "init_parameters"}`, which `default_from_dict` reads.

    >>> from karat.components.evaluators import DocumentMRREvaluator
    >>> default_to_dict(DocumentMRREvaluator(), match="content")["init_parameters"]
    {'match': 'content'}
    """
    return {"type": type_name(type(instance)), "init_parameters": init_parameters}


def default_from_dict(cls: type, data: Mapping[str, Any]) -> Any:
    """A component from the dictionary that `default_to_dict` returned.

    >>> from karat.components.evaluators import DocumentMRREvaluator
    >>> stored = default_to_dict(DocumentMRREvaluator(), match="content")
    >>> default_from_dict(DocumentMRREvaluator, stored).match
    'content'
    """
    require(isinstance(cls, type), f"{shown(cls)} is not the class of a component")
    if not isinstance(data, Mapping):
        hint = 'Pass {"type": ..., "init_parameters": {...}}.'
        raise KaratError(f"{shown(data)} is not a dictionary that describes a component", hint=hint)
    name = data.get("type")
    if not isinstance(name, str) or name != type_name(cls):
        raise KaratError(f"the type is {shown(name)}, not {type_name(cls)}")
    parameters = data.get("init_parameters")
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, Mapping):
        raise KaratError(f"the init_parameters of {cls.__name__} are {shown(parameters)}, not a mapping")
    known = inspect.signature(cls).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        for unknown in (parameter for parameter in parameters if parameter not in known):
            near = did_you_mean(unknown, known)
            hint = f"{near} The parameters are {', '.join(known) or 'none'}.".strip()
            raise KaratError(f"{cls.__name__} has no parameter {shown(unknown)}", hint=hint)
    for required in known.values():
        if required.default is required.empty and required.name not in parameters and required.kind in (
            required.POSITIONAL_OR_KEYWORD, required.KEYWORD_ONLY,
        ):  # fmt: skip
            raise KaratError(f"{cls.__name__} requires the parameter {required.name}")
    return cls(**parameters)


class SerializableComponent:
    """A base class for components that store each parameter of their constructor in an attribute of the same name."""

    def to_dict(self) -> dict[str, Any]:
        """The component as `{"type", "init_parameters"}`, which `from_dict` reads."""
        return _parameters_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, allowed_env_vars: Collection[str] = ()) -> Self:
        """The component from the dictionary that `to_dict` returned.

        It can name only environment variables that the component reads by default, or that are allowed here.
        """
        check_env_vars(cls, data, allowed_env_vars)
        made: Self = default_from_dict(cls, cls._loaded(data))
        return made

    @classmethod
    def _loaded(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `to_dict` returned, with parameters as the constructor takes them."""
        return data

    def __repr__(self) -> str:
        parameters = _parameters_to_dict(self)["init_parameters"].items()
        return f"{type(self).__name__}({', '.join(f'{name}={shown(value, 1000)}' for name, value in parameters)})"


def component_to_dict(instance: object) -> dict[str, Any]:
    """A component as a dictionary: from its `to_dict`, or else from the parameters of its constructor."""
    own = getattr(instance, "to_dict", None)
    data = own() if callable(own) else _parameters_to_dict(instance)
    if not isinstance(data, dict):
        raise KaratError(f"to_dict of {type(instance).__name__} returned {shown(data)}, not a dictionary")
    return data


def component_from_dict(cls: type, data: Mapping[str, Any], allowed_env_vars: Collection[str]) -> Any:
    """A component from a dictionary: with the `from_dict` of its class, or else with the constructor."""
    check_env_vars(cls, data, allowed_env_vars)
    own = getattr(cls, "from_dict", None)
    if getattr(own, "__func__", None) is SerializableComponent.from_dict.__func__:  # type: ignore[attr-defined]
        return cls.from_dict(data, allowed_env_vars=allowed_env_vars)  # type: ignore[attr-defined]
    return own(data) if callable(own) else default_from_dict(cls, data)


def _parameters_to_dict(instance: object) -> dict[str, Any]:
    parameters = {}
    for name, parameter in inspect.signature(type(instance)).parameters.items():
        if not hasattr(instance, name) or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise KaratError(
                f"{type(instance).__name__} does not store its parameter {name}",
                hint=f"Set self.{name} in its constructor, or define to_dict.",
            )
        value = getattr(instance, name)
        parameters[name] = value.value if isinstance(value, Enum) else value
    return default_to_dict(instance, **parameters)
