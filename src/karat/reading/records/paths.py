"""Values inside records: paths such as `choices.0.text`, through mappings, lists and objects with attributes.

A path has steps with dots between them:

- `name` is the value of a key or an attribute. A key may have dots in it: `attributes.input.value` is also found where
  `attributes` has a key `input.value`.
- `0` is the first entry of a list, `-1` the last one, and `*` all of them, or all values of a mapping.
- `messages[role=user]` are the entries of a list whose `role` is `user`; `null` stands for a value that is missing.
  `messages[role!=user]` are the others.
- `messages.after[role=user]` are the entries of a list after the last one whose `role` is `user`.
- `first()` and `last()` after `*` are the first and the last of all values: `*.documents.last()`.
- `json()` is the value of a text in JSON, and any other value as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from karat.errors import KaratError, Place, shown

Record = Mapping[str, Any]

_WITHOUT_FIELDS = (str, bytes, int, float, complex, list, set, frozenset, type, type(None))
_STEP = re.compile(r"(?:[^.\[\]]|\[[^\]]*\])+")
_PATH = re.compile(rf"{_STEP.pattern}(?:\.{_STEP.pattern})*")
_FILTER = re.compile(r"(?P<name>[^\[\]]*)\[(?P<path>[^=!\[\]]+)(?P<sign>!?=)(?P<value>[^\[\]]*)\]")
_POSITION = re.compile(r"-?[0-9]{1,9}")
_MISSING = "null"
_CHOICES = {"first()": 0, "last()": -1}
_DEEPEST_PATHS = 4  # steps
_MOST_PATHS = 100  # of an object: one that is keyed by document may have any number of keys


def field_value(record: Record, path: str, place: Place | str = "") -> Any:
    """The value that a path leads to, or None.

    >>> field_value({"choices": [{"text": "soft"}]}, "choices.0.text")
    'soft'
    >>> field_value({"messages": [{"role": "user", "text": "?"}, {"role": "tool", "text": "!"}]}, "messages.*.text")
    ['?', '!']
    >>> field_value({"messages": [{"role": "user", "text": "?"}]}, "messages[role=user].-1.text")
    '?'
    """
    if path in record:
        return record[path]
    steps = _steps(path)
    return _value(record, steps, place) if len(steps) > 1 or _FILTER.fullmatch(path) else None


def field_names_of(record: Any) -> list[str]:
    """The names of the fields of a record: of an object, only attributes that are stored, so reading them runs no code.

    >>> from types import SimpleNamespace
    >>> field_names_of({"query": "q1"}), field_names_of(SimpleNamespace(query="q1")), field_names_of("text")
    (['query'], ['query'], [])
    """
    if isinstance(record, Mapping):
        return [name for name in record if isinstance(name, str)]
    if isinstance(record, tuple):
        return list(getattr(record, "_fields", ()))
    if isinstance(record, _WITHOUT_FIELDS):
        return []
    try:
        stored = list(vars(record))
    except Exception:  # an object without attributes, or one that does not let them be listed
        stored = []
    slots = [cls.__dict__.get("__slots__", ()) for cls in reversed(type(record).__mro__)]
    declared = [name for names in slots for name in ([names] if isinstance(names, str) else names)]
    return [name for name in dict.fromkeys([*declared, *stored]) if isinstance(name, str) and not name.startswith("_")]


def inner_paths(record: Record, depth: int = _DEEPEST_PATHS) -> Iterator[str]:
    """The paths of the fields of a record and of what is inside them; entries of lists are `*`, or `0` for the first.

    >>> [*inner_paths({"q": "?", "out": {"text": "!", "docs": [{"id": "d1"}]}, "scores": {"d1": 0.5}})]
    ['q', 'out', 'out.text', 'out.docs', 'out.docs.*.id', 'out.docs.0.id', 'scores']
    """
    for name in islice(record, _MOST_PATHS):
        if not isinstance(name, str) or not _PATH.fullmatch(name):
            continue
        yield name
        value = record[name]
        if not depth:
            continue
        if isinstance(value, list | tuple) and value and not isinstance(value[0], Mapping):
            continue
        if isinstance(value, list | tuple):
            inside = [*inner_paths(value[0], depth - 1)] if value else []
            yield from (f"{name}.{at}.{path}" for at in ("*", "0") for path in inside)
        elif field_names := field_names_of(value):
            fields = value if isinstance(value, Mapping) else dict.fromkeys(field_names)
            # Numbers by name are documents and their scores.
            if not all(isinstance(inner, int | float) for inner in fields.values()):
                yield from (f"{name}.{path}" for path in inner_paths(fields, depth - 1))


def attribute(record: Any, name: str, place: Place | str) -> Any:
    """An attribute of an object, or None if it has none of this name; methods are never called."""
    if isinstance(record, _WITHOUT_FIELDS):
        return None
    try:
        return getattr(record, name, None)
    except Exception as error:  # a property may raise anything
        hint = "Pass the name of another field, or records that are dictionaries."
        raise KaratError(
            f"the attribute {shown(name)} cannot be read: {error}", place=place or None, hint=hint
        ) from error


def is_missing(value: Any) -> bool:
    """Whether a value is null, a blank text, as that of an empty cell, or NaN, which pandas has for null."""
    return (
        value is None or (isinstance(value, str) and not value.strip()) or (isinstance(value, float) and value != value)
    )


@cache
def _steps(path: str) -> tuple[str, ...]:
    """The steps of a path; none if it is not a path, such as `a..b` or `a[`."""
    return tuple(_STEP.findall(path)) if _PATH.fullmatch(path) else ()


def _value(value: Any, steps: tuple[str, ...], place: Place | str) -> Any:
    """What the steps of a path lead to from a value."""
    if not steps or value is None:
        return value
    if isinstance(value, Mapping):
        for end in range(len(steps), 1, -1):
            if (name := ".".join(steps[:end])) in value:
                return _value(value[name], steps[end:], place)
    step, rest = steps[0], steps[1:]
    condition = _FILTER.fullmatch(step)
    if condition and condition["name"] == "after" and isinstance(value, list):
        last = max((at for at, entry in enumerate(value) if _is_selected(entry, condition, place)), default=-1)
        return _value(value[last + 1 :], rest, place)
    if condition:
        entries = _value(value, (condition["name"],), place) if condition["name"] else value
        selected = [entry for entry in _entries(entries) if _is_selected(entry, condition, place)]
        return _value(selected, rest, place)
    if step == "*" and isinstance(value, list | tuple | Mapping):
        return _values([*value.values()] if isinstance(value, Mapping) else value, rest, place)
    return _value(_one_step(value, step, place), rest, place)


def _values(entries: Sequence[Any], steps: tuple[str, ...], place: Place | str) -> Any:
    """What the steps lead to from all entries: a list, or the first or last of them and what is inside it."""
    end = next((at for at, step in enumerate(steps) if step in _CHOICES), len(steps))
    values = [value for entry in entries if (value := _value(entry, steps[:end], place)) is not None]
    if "*" in steps[:end]:
        values = [value for inner in values if isinstance(inner, list) for value in inner]
    if end == len(steps):
        return values
    return _value(values[_CHOICES[steps[end]]], steps[end + 1 :], place) if values else None


def _one_step(value: Any, step: str, place: Place | str) -> Any:
    if step == "json()":
        return _decoded(value)
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list):
        at = int(step) if _POSITION.fullmatch(step) else len(value)
        return value[at] if -len(value) <= at < len(value) else None
    return attribute(value, step, place)


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _entries(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else ()


def _is_selected(entry: Any, condition: re.Match[str], place: Place | str) -> bool:
    value = _value(entry, _steps(condition["path"]), place)
    is_equal = (_MISSING if is_missing(value) else str(value)) == condition["value"]
    return is_equal == (condition["sign"] == "=")
