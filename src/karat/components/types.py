"""Which types fit each other, and which values fit a type: what a pipeline checks before it runs anything."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin


def compatible(sent: Any, wanted: Any) -> bool:
    """Whether a value of one type may fit another. What only running can tell is let through.

    >>> compatible(list[str], list[list[str]]), compatible(list[str] | list[list[str]], list[list[str]])
    (False, True)
    """
    if _is_open(sent) or _is_open(wanted):
        return True
    pairs = [(one, other) for one in _alternatives(sent) for other in _alternatives(wanted)]
    return any(_is_open(one) or _is_open(other) or _one_fits(one, other) for one, other in pairs)


def fits(value: object, wanted: Any) -> bool:
    """Whether a value is of a type, its elements included.

    >>> fits([["a"], []], list[list[str]]), fits(["a"], list[list[str]]), fits([1], list[str | None])
    (True, False, False)
    """
    return _checker(wanted)(value)


def type_text(wanted: Any) -> str:
    """A type as people write it.

    >>> type_text(list[list[Annotated[Any, "Document"]]]), type_text(str | None)
    ('list[list[Document]]', 'str | None')
    """
    if get_origin(wanted) is Annotated and isinstance(wanted.__metadata__[0], str):
        return wanted.__metadata__[0]
    plain = _plain(wanted)
    if get_origin(plain) in _UNIONS:
        return " | ".join(type_text(each) for each in get_args(plain))
    if plain is types.NoneType or plain is None:
        return "None"
    if get_origin(plain) is Literal:
        return " | ".join(map(repr, get_args(plain)))
    if arguments := get_args(plain):
        inside = ", ".join("..." if each is ... else type_text(each) for each in arguments)
        return f"{_name(get_origin(plain))}[{inside}]"
    return _name(plain)


_UNIONS = (Union, types.UnionType)


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)


def _plain(kind: Any) -> Any:
    """A type without what is written beside it."""
    while get_origin(kind) is Annotated or hasattr(kind, "__supertype__"):
        kind = kind.__supertype__ if hasattr(kind, "__supertype__") else get_args(kind)[0]
    return kind


def _is_open(kind: Any) -> bool:
    plain = _plain(kind)
    return plain is Any or plain is object or isinstance(plain, TypeVar | str)


def _alternatives(kind: Any) -> list[Any]:
    plain = _plain(kind)
    if get_origin(plain) in _UNIONS:
        return [each for part in get_args(plain) for each in _alternatives(part)]
    return [types.NoneType if plain is None else plain]


def _one_fits(sent: Any, wanted: Any) -> bool:
    if get_origin(sent) is Literal:
        return any(fits(value, wanted) for value in get_args(sent))
    if get_origin(wanted) is Literal:
        return any(fits(value, sent) for value in get_args(wanted))
    if not _is_subclass(get_origin(sent) or sent, get_origin(wanted) or wanted):
        return False
    ours, theirs = get_args(sent), get_args(wanted)
    if not ours or not theirs:
        return True
    if ... in ours or ... in theirs or len(ours) != len(theirs):
        # A tuple of any length, or a mapping as an iterable of its keys: the first argument speaks for all.
        return compatible(ours[0], theirs[0])
    return all(compatible(one, other) for one, other in zip(ours, theirs, strict=True))


def _checker(wanted: Any) -> Callable[[Any], bool]:
    """The question whether a value is of a type, made ready to be asked of many values."""
    if _is_open(wanted):
        return lambda _: True
    checks = [_one_checker(each) for each in _alternatives(wanted)]
    return checks[0] if len(checks) == 1 else lambda value: any(check(value) for check in checks)


def _one_checker(wanted: Any) -> Callable[[Any], bool]:
    origin, arguments = get_origin(wanted) or wanted, get_args(wanted)
    if origin is Literal:
        return lambda value: any(value == each and type(value) is type(each) for each in arguments)
    known: dict[type, bool] = {}

    def is_one(value: object) -> bool:
        kind = type(value)
        if kind not in known:
            known[kind] = _is_subclass(kind, origin)
        return known[kind]

    if not arguments or all(each is ... or _is_open(each) for each in arguments):
        return is_one
    checks = [_checker(each) for each in arguments if each is not ...]
    if _is_subclass(origin, Mapping) and len(checks) == 2:
        has_key, has_value = checks
        return lambda value: is_one(value) and all(has_key(key) and has_value(each) for key, each in value.items())
    if origin is tuple and ... not in arguments:
        return lambda value: (
            is_one(value)
            and len(value) == len(checks)
            and all(check(each) for check, each in zip(checks, value, strict=True))
        )
    if _is_subclass(origin, Collection):
        has_element = checks[0]
        return lambda value: is_one(value) and all(map(has_element, value))
    return is_one


def _is_subclass(kind: Any, wanted: Any) -> bool:
    if kind in (str, bytes) and wanted not in (kind, object):
        # A text is a sequence of texts, and hardly ever meant as one.
        return False
    if wanted is float and kind is int:
        return True
    try:
        return issubclass(kind, wanted)
    except TypeError:
        # Protocols and other types that cannot be asked.
        return True
