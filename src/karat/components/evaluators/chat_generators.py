"""Chat generators of Haystack, and functions in their place: how evaluators take, save and load them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from karat.components.serialization import component_to_dict
from karat.errors import KaratError, Message, Parameter, require, shown

ChatGenerator = Callable[[list[dict[str, str]]], str] | Any
"""A chat generator of Haystack, or anything with `run(messages=...)`; or a function from messages to a text."""

DEFAULT_MODEL = "gpt-5-mini"


def chosen_model(
    chat_generator: ChatGenerator | None, model: str | ChatGenerator | None
) -> tuple[ChatGenerator | None, str | None]:
    """The chat generator, or else the name of the model; either can be given as `model`."""
    if chat_generator is not None and model is not None:
        both: Message = [Parameter("chat_generator"), " and ", Parameter("model"), " are both given"]
        raise KaratError(both, hint="Pass one of them.")
    if chat_generator is None and (model is None or isinstance(model, str)):
        name = DEFAULT_MODEL if model is None else model
        require(name.strip(), [Parameter("model", name), " is not the name of a model"])
        return None, name
    chosen = model if chat_generator is None else chat_generator
    if isinstance(chosen, type) or not (is_generator(chosen) or callable(chosen)):
        hint = "Pass an object with run(messages=...), a function that takes messages and returns a text, or a name."
        raise KaratError(f"{shown(chosen)} is not a language model", hint=hint)
    return chosen, None


def is_generator(value: object) -> bool:
    """Whether a value is a chat generator; a function is not one."""
    return callable(getattr(value, "run", None))


def generator_to_dict(generator: ChatGenerator) -> dict[str, Any]:
    """A chat generator as Haystack saves it; a function, or an object that does not know how, cannot be saved."""
    if not is_generator(generator) or not callable(getattr(generator, "to_dict", None)):
        kind = "function" if not is_generator(generator) else "chat generator"
        name = getattr(generator, "__name__", type(generator).__name__)
        hint = "Pass the name of a model, or a chat generator of Haystack."
        raise KaratError(f"the {kind} {name} cannot be saved", hint=hint)
    return component_to_dict(generator)


def generator_from_dict(description: object) -> ChatGenerator:
    """A chat generator as Haystack saved it.

    Its class is looked up among those that are imported already; and only releases of Haystack load it that do not
    import whatever module its parameters name.
    """
    name = description.get("type") if isinstance(description, Mapping) else None
    is_safe = isinstance(name, str) and "haystack.core.serialization_security" in sys.modules
    cls = sys.modules["haystack"].component.registry.get(name) if is_safe else None
    if cls is None:
        what = f"{shown(name, 100)} is not a chat generator that is imported"
        hint = "Import its class from Haystack before you load it, or pass the name of a model instead."
        raise KaratError(what, hint=hint)
    try:
        return cls.from_dict(description)
    except Exception as error:  # whatever its class raises about its parameters
        raise KaratError(f"the chat generator {name} cannot be loaded: {error}") from None
