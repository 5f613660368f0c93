"""The type checks of a pipeline: which sockets can be connected, and which values an input accepts.

Classes, unions, `Annotated` and the elements of lists and other collections are checked. Anything else that a type can
express, such as the keys of a mapping or the values of a `Literal`, is left to the component that receives the value.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, Optional, Union, get_args, get_origin

from karat.documents.document import Document
from karat.errors import KaratError, Place, shown
from karat.errors.arguments import list_hint


def compatible(sent: Any, wanted: Any) -> bool:
    """Whether an output of one type can be connected to an input of another: some value may be of both types.

    >>> compatible(list[str], list[list[str]]), compatible(list[str] | list[list[str]], list[list[str]])
    (False, True)
    """
    return any(_may_fit(one, other) for one in _alternatives(sent) for other in _alternatives(wanted))


class Mismatch(NamedTuple):
    """A part of a value that has the wrong type."""

    path: str
    part: object
    wanted: Any


def check_type(value: object, wanted: Any, name: str, place: Place | None = None) -> None:
    """Reject a value of the wrong type; the error names the part of the value that is wrong."""
    if mismatch := find_mismatch(value, wanted):
        hint = f"It must be {type_text(mismatch.wanted)}. {list_hint(mismatch.part)}".strip()
        raise KaratError(f"{name}{mismatch.path} is {shown(mismatch.part)}", place=place, hint=hint)


def find_mismatch(value: object, wanted: Any) -> Mismatch | None:
    """The first part of a value that has the wrong type; None if there is none.

    >>> find_mismatch([["a"], "b"], list[list[str]])
    Mismatch(path='[1]', part='b', wanted=list[str])
    """
    if _all_fit([value], wanted):
        return None
    kind, *others = _alternatives(wanted)
    if not others and isinstance(value, list | tuple) and _is_subclass(type(value), _class(kind)):
        for at, element in enumerate(value):
            if mismatch := find_mismatch(element, _element_type(kind)):
                return mismatch._replace(path=f"[{at}]{mismatch.path}")
    return Mismatch("", value, wanted)


def type_text(kind: Any) -> str:
    """A type as users write it.

    >>> type_text(list[list[Annotated[Any, "Document"]]]), type_text(str | None)
    ('list[list[Document]]', 'str | None')
    """
    if get_origin(kind) is Annotated:
        plain, note, *_ = get_args(kind)
        return note if isinstance(note, str) else type_text(plain)
    if get_origin(kind) in _UNIONS:
        return " | ".join(map(type_text, get_args(kind)))
    if isinstance(kind, list):  # the parameters of a Callable
        return f"[{', '.join(map(type_text, kind))}]"
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    name = _NAMES.get(origin) or str(getattr(origin, "__name__", origin))
    return f"{name}[{', '.join(map(type_text, arguments))}]" if arguments else name


def type_from_text(text: object) -> Any:
    """The type that `type_text` or Haystack wrote; only built-in types and `Any`, so that nothing else is looked up.

    >>> type_from_text("list[list[str]]"), type_from_text("typing.List[str]")
    (list[list[str]], list[str])
    """
    try:
        return _type_of(ast.parse(text, mode="eval").body)  # type: ignore[call-overload]  # a TypeError is expected
    except (SyntaxError, TypeError, ValueError, KeyError, RecursionError, MemoryError):
        hint = "Use str, int, float, bool, list, dict and Any, as in list[str]."
        raise KaratError(f"{shown(text)} is not a type that can be loaded", hint=hint) from None


def _type_of(tree: ast.expr) -> Any:
    match tree:
        case ast.Constant(value=None):
            return None
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="typing"), attr=name):
            return _BUILT_IN[name]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _type_of(left) | _type_of(right)
        case ast.Subscript(value=of, slice=ast.Tuple(elts=arguments)):
            return _type_of(of)[*map(_type_of, arguments)]
        case ast.Subscript(value=of, slice=one):
            return _type_of(of)[_type_of(one)]
    raise ValueError(tree)


_BUILT_IN: dict[str, Any] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "Any": Any,
    "List": list, "Dict": dict, "Optional": Optional, "Union": Union,
}  # fmt: skip
_UNIONS = (Union, types.UnionType)
# Users pass lists, even if any sequence is accepted; and every framework has a class named Document.
_NAMES: dict[Any, str] = {Sequence: "list", Document: "karat.Document", types.NoneType: "None", ...: "..."}
# The numbers of NumPy are accepted too.
_NUMBERS: dict[Any, Any] = {int: Integral, float: Real}


def _may_fit(sent: Any, wanted: Any) -> bool:
    if _class(sent) is object:
        return True
    return _is_subclass(_class(sent), _class(wanted)) and compatible(_element_type(sent), _element_type(wanted))


def _all_fit(values: Collection[Any], wanted: Any) -> bool:
    """Whether all values are of a type.

    Values are checked by class, and there are few classes; then the elements of all of them are checked at once. This
    makes the check of 200,000 documents fast.
    """
    alternatives = _alternatives(wanted)
    for cls in set(map(type, values)):
        elements = [_element_type(each) for each in alternatives if _is_subclass(cls, _class(each))]
        if any(_accepts_anything(each) for each in elements):
            continue
        collections: list[Any] = [value for value in values if type(value) is cls]
        if len(elements) == 1:
            if not _all_fit(list(chain.from_iterable(collections)), elements[0]):
                return False
        elif not all(any(_all_fit(value, each) for each in elements) for value in collections):
            return False
    return True


def _alternatives(kind: Any) -> list[Any]:
    """The members of a union, or the type itself, without annotations."""
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in _UNIONS:
        return [each for member in get_args(kind) for each in _alternatives(member)]
    return [types.NoneType if kind is None else kind]


def _class(kind: Any) -> type:
    """The class of a type's values; `object` for types that are not checked, such as `Any` and `Literal`."""
    cls = get_origin(kind) or kind
    return cls if isinstance(cls, type) and cls is not Any else object


def _element_type(kind: Any) -> Any:
    """The type of a collection's elements; `Any` if it is not a collection, or does not say."""
    arguments = [each for each in get_args(kind) if each is not ...]
    return arguments[0] if len(arguments) == 1 and issubclass(_class(kind), Collection) else Any


def _accepts_anything(kind: Any) -> bool:
    return any(_class(each) is object for each in _alternatives(kind))


def _is_subclass(cls: type, wanted: type) -> bool:
    try:
        if cls in (str, bytes) and wanted is not cls and issubclass(wanted, Iterable):
            # A string is a sequence of strings, but a caller who passes one probably forgot the list around it.
            return False
        return issubclass(cls, _NUMBERS.get(wanted, wanted))
    except TypeError:  # a protocol that cannot be checked
        return True
