"""Which environment variables a saved component may read: a file must not choose which secret is sent to a server."""

from __future__ import annotations

import inspect
import re
import sys
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from karat.errors import KaratError, Message, Parameter, enumeration, shown
from karat.errors.arguments import check_names

ANY_VARIABLE = "*"

_SERVER = re.compile(r"(.*_)?(url|uri|endpoint|host|server|address|proxy|proxies)(_.*)?", re.IGNORECASE)
# What a file can tell a chat generator without permission, because it does not change where a key is sent.
_TEXTS = ("model", "azure_deployment", "api_version", "organization")
_NUMBERS = ("timeout", "max_retries", "tools_strict")
_GENERATORS = ("chat_generator", "chat_generators")  # each of them is checked, too
_GENERATION = frozenset(
    "candidate_count frequency_penalty logit_bias logprobs max_completion_tokens max_new_tokens max_output_tokens"
    " max_tokens min_p n presence_penalty reasoning reasoning_effort repetition_penalty response_format seed stop"
    " stop_sequences temperature thinking top_k top_logprobs top_p verbosity".split()
)
_NAME = re.compile(r"(?!.*\.\.)[\w.:@+-]+(/[\w.:@+-]+)*")  # neither an address nor a path that leads elsewhere
_KEY = re.compile("key|token|secret|password", re.IGNORECASE)


def check_env_vars(cls: type, description: object, allowed: Collection[str]) -> None:
    """Reject a saved component that reads environment variables other than those that are allowed.

    A class can list variables that are always allowed for it: `env_vars = ("HF_TOKEN",)`. A file must not name others,
    because a component may send what it reads to a server; and not even these if it names the server. A chat generator
    may read what its class reads by default, but only if no parameter may change where that is sent. The variable `*`
    allows all of them.
    """
    if isinstance(allowed, str):
        hint = f"Pass a list: [{shown(allowed)}]."
        raise KaratError([Parameter("allowed_env_vars", allowed), " is a string"], hint=hint)
    permitted = {*check_names("allowed_env_vars", allowed, ["NAME"])}
    if ANY_VARIABLE in permitted:
        return
    parts = _Parts.of(description)
    own = () if parts.servers else getattr(cls, "env_vars", ())
    _refuse("component", [name for name in parts.variables if name not in permitted.union(own)], parts)
    waiting, checked = [*parts.generators], {id(description)}
    while waiting:
        generator = waiting.pop()
        if id(generator) not in checked:
            checked.add(id(generator))
            waiting += _check_generator(generator, permitted)


def haystack_class(name: object) -> Any:
    """The class of a Haystack component with this name, if it is imported already; otherwise None."""
    haystack = sys.modules.get("haystack")
    return haystack.component.registry.get(name) if haystack and isinstance(name, str) else None


def _check_generator(description: Mapping[str, Any], permitted: Collection[str]) -> Iterable[Mapping[str, Any]]:
    """Reject a saved chat generator that reads what was not allowed; returns the generators in it."""
    parameters = description["init_parameters"]
    parts = _Parts.of(parameters)
    by_default = _default_variables(haystack_class(description.get("type")))
    doubtful = [str(name) for name, value in parameters.items() if not _is_harmless(name, value)]
    if not doubtful:
        own = {variable for variables in by_default.values() for variable in variables}
        _refuse("chat generator", [name for name in parts.variables if name not in own.union(permitted)], parts)
        return parts.generators
    # Where no key is named, or it may be missing, the class and its client look for their own.
    other = [variables for name, variables in by_default.items() if not _is_certain(parameters.get(name))]
    variables = dict.fromkeys([*parts.variables, *(variable for names in other for variable in names)])
    if not variables:
        what = f"the saved chat generator has {enumeration([shown(name) for name in doubtful], 'and')}"
        hint: Message = ["If you trust it, pass ", Parameter("allowed_env_vars", [ANY_VARIABLE]), ", for all."]
        raise KaratError(f"{what}, and it is not known which environment variables it reads", hint=hint)
    _refuse("chat generator", [name for name in variables if name not in permitted], parts, doubtful)
    return parts.generators


def _refuse(kind: str, variables: list[str], parts: _Parts, doubtful: Collection[str] = ()) -> None:
    """Raise an error if there are variables that were not allowed."""
    if not variables:
        return
    one = len(variables) == 1
    sent = ""
    if parts.servers:
        sent = f" and sends {'it' if one else 'them'} to {shown(parts.servers[0])}"
    elif doubtful:
        names = enumeration([shown(name) for name in doubtful], "and")
        sent = f", and its {names} may change where {'it is' if one else 'they are'} sent"
    raise KaratError(
        f"the saved {kind} reads {enumeration([shown(name) for name in variables], 'and')} from the environment{sent},"
        " which was not allowed",
        hint=["If you trust it, pass ", Parameter("allowed_env_vars", variables), "."],
    )


class _Parts(NamedTuple):
    """What is anywhere in a description, besides the chat generators in it: variables, and addresses of servers."""

    variables: list[str]
    servers: list[str]
    generators: list[Mapping[str, Any]]

    @classmethod
    def of(cls, description: object) -> _Parts:
        parts = cls([], [], [])
        waiting: deque[Any] = deque([description])
        seen: set[int] = set()
        while waiting:
            value = waiting.popleft()
            if id(value) in seen or not isinstance(value, Mapping | list | tuple):
                continue
            seen.add(id(value))
            if not isinstance(value, Mapping):
                waiting.extend(value)
            elif value is not description and isinstance(value.get("init_parameters"), Mapping):
                parts.generators.append(value)
            else:
                for name, named in value.items():
                    if name in ("env_vars", "api_key_env"):  # Haystack saves a Secret as `env_vars`
                        parts.variables.extend(_texts(named))
                    elif isinstance(name, str) and _SERVER.fullmatch(name):
                        parts.servers.extend(_texts([*named.values()] if isinstance(named, Mapping) else named))
                waiting.extend(value.values())
        return cls(list(dict.fromkeys(parts.variables)), parts.servers, parts.generators)


def _texts(value: object) -> Iterable[str]:
    """The texts of a value that is a text or several; what is inside a mapping is looked at on its own."""
    if value and not isinstance(value, Mapping):
        yield from map(str, value if isinstance(value, list | tuple | set | frozenset) else [value])


def _is_harmless(name: object, value: Any) -> bool:
    """Whether a parameter of a chat generator cannot change where its key is sent."""
    if value is None or value in ([], {}):
        return True
    match name:
        case str() if name in _TEXTS:
            return isinstance(value, str) and _NAME.fullmatch(value) is not None
        case str() if name in _NUMBERS:
            return isinstance(value, int | float)
        case str() if name in _GENERATORS:
            generators = value if isinstance(value, list) else [value]
            return all(
                isinstance(each, Mapping) and isinstance(each.get("init_parameters"), Mapping) for each in generators
            )
        case "generation_kwargs":
            return isinstance(value, Mapping) and value.keys() <= _GENERATION
    return isinstance(name, str) and _KEY.search(name) is not None and _is_secret(value)


def _is_secret(value: object) -> bool:
    """Whether a value is a Secret as Haystack saves it."""
    return (
        isinstance(value, Mapping) and value.get("type") == "env_var" and value.keys() <= {"type", "env_vars", "strict"}
    )


def _is_certain(value: object) -> bool:
    """Whether a value is a Secret without which the generator raises an error."""
    return isinstance(value, Mapping) and _is_secret(value) and value.get("strict") is True


def _default_variables(cls: Any) -> dict[str, list[str]]:
    """The variables that a class of Haystack reads if a parameter is not given, by the name of the parameter."""
    variables: dict[str, list[str]] = {}
    for base in () if cls is None else cls.__mro__:
        try:
            parameters = inspect.signature(base.__init__).parameters.values()
        except (TypeError, ValueError):  # written in C
            continue
        for parameter in parameters:
            names = getattr(parameter.default, "_env_vars", None)  # of a Secret
            if isinstance(names, tuple | list):
                variables.setdefault(parameter.name, [*map(str, names)])
    return variables
