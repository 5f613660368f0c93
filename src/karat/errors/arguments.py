"""Arguments of public functions: numbers, texts, switches and paths of any type, checked in one place."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from numbers import Integral, Number
from typing import Any

from karat.errors import KaratError, Message, Parameter, require, shown


def as_number(value: Any) -> float | None:
    """A number of any type, including those of NumPy, as a float; ±inf if it is too large, None if it is not a number.

    >>> from fractions import Fraction
    >>> as_number(Fraction(1, 2)), as_number(10**400), as_number(True), as_number("1")
    (0.5, inf, None, None)
    """
    value = _scalar(value)
    if isinstance(value, bool) or not isinstance(value, Number):
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # a complex number is a TypeError
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]  # complex numbers do not overflow
    except (TypeError, ValueError):  # a complex number, a signalling NaN
        return None


def as_count(value: Any, least: int = 0, most: float = math.inf) -> int | None:
    """A whole number of any type in this range as an int; None for everything else.

    >>> as_count(7), as_count(7.0), as_count(0, least=1)
    (7, None, None)
    """
    if type(value) is not int:
        value = _scalar(value)
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    return int(value) if is_whole and least <= value <= most else None


def is_list_like(value: Any) -> bool:
    """Whether a value can be read as a list: it can be iterated, and is not a text, a single number or a data frame."""
    is_frame = hasattr(type(value), "columns")  # iterating a data frame gives the names of its columns
    return (
        isinstance(value, Iterable) and not isinstance(value, str | bytes) and not is_frame and _scalar(value) is value
    )


def sorted_set(values: Set[Any]) -> list[Any]:
    """The elements of a set in an order that depends on nothing but them; they may be of several types.

    >>> sorted_set({"b", "a", 2})
    [2, 'a', 'b']
    """
    return sorted(values, key=lambda value: value if isinstance(value, str) else shown(value, 1000))


def check_text(name: str, value: object) -> str:
    """An argument that must be a text."""
    if not isinstance(value, str):
        raise KaratError([Parameter(name), f" must be text, not {shown(value)}"])
    return str.__str__(value)


def check_switch(name: str, value: Any) -> bool:
    """An argument that must be True or False, which may also be written 1 or 0."""
    switch = _scalar(value)
    if not isinstance(switch, int) or switch not in (0, 1):
        raise KaratError([Parameter(name, value), " is neither True nor False"])
    return bool(switch)


def parse_number(name: str, text: str, hint: Message) -> float:
    """The value of an argument, which is written as text, as a number."""
    try:
        return float(text)
    except ValueError:
        raise KaratError([Parameter(name, text), " is not a number"], hint=hint) from None


def name_and_number(name: str, text: str, hint: Message, form: str = "MEASURE=LIMIT") -> tuple[str, float]:
    """The name and the number that an argument is written with, such as `AP(rel=2)=0.01`.

    >>> name_and_number("min", "AP(rel=2)=0.01", "")
    ('AP(rel=2)', 0.01)
    """
    key, equals, number = (part.strip() for part in text.rpartition("="))
    require(key and equals and number, [Parameter(name, text), f" is not of the form {form}"], hint)
    try:
        return key, float(number)
    except ValueError:
        raise KaratError([Parameter(name, text), f": {shown(number)} is not a number"], hint=hint) from None


def list_hint(value: object) -> str:
    """How to turn something that is almost a list into one; an empty string if there is no simple way."""
    if isinstance(value, Set):
        return "A set has no order."
    if hasattr(value, "tolist"):
        return "Call .tolist() on it."
    return "Wrap it in list(...)." if isinstance(value, Iterator) else ""


def check_names(name: str, value: object, example: object) -> list[str]:
    """An argument that must be a name or several names."""
    hint: Message = ["Pass ", Parameter(name, example), "."]
    if not isinstance(value, str) and not is_list_like(value):
        raise KaratError([Parameter(name, value), " is not a list of names"], hint=hint)
    names = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]  # just checked
    for item in names:
        if not isinstance(item, str):
            raise KaratError([Parameter(name), f" contains {shown(item)}, which is not a name"], hint=hint)
    return names


def check_mapping(name: str, value: object, example: object) -> None:
    """An argument that must be a mapping of names to names, or None."""
    if value is not None and not isinstance(value, Mapping):
        what: Message = [Parameter(name, value), " is not a mapping of names to names"]
        raise KaratError(what, hint=["Pass ", Parameter(name, example), "."])


def check_path(value: object, name: str = "path") -> str:
    """The text of a path; anything else, and a text that no file can have as its name, is refused."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]  # a TypeError is one of the two answers
    except TypeError:
        text = None
    require(isinstance(text, str), [Parameter(name), f" must be the path of a file, not {shown(value)}"])
    try:
        valid = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate
        valid = False
    require(valid, f"{shown(text)} is not the name of a file")
    return str.__str__(text)


def is_remote(path: str) -> bool:
    """Whether a path is a URI of a remote file, such as `s3://bucket/key`."""
    return _URI.match(path) is not None and not path.lower().startswith("file://")


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def _scalar(value: Any) -> Any:
    """The number in a NumPy scalar or in an array without dimensions; any other value unchanged."""
    is_single = getattr(type(value), "__array_interface__", None) is not None and value.shape == ()
    return value.item() if is_single else value
