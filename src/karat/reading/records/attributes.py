"""The fields of a record: the keys of a mapping, or the attributes of a named tuple, a data class or another object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.errors import KaratError, Place, shown

_WITHOUT_FIELDS = (str, bytes, int, float, complex, list, set, frozenset, type, type(None))


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
