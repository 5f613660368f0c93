"""Which types fit each other, and which values fit a type: what a pipeline checks before it runs anything."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from karat.documents.document import Document


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
    return _check(wanted)(value)


def misfit(value: Any, wanted: Any) -> tuple[str, object, Any] | None:
    """The first part of a value that is not of its type: where it is, what it is, and what it should be.

    >>> misfit([["a"], "b"], list[list[str]])
    ('[1]', 'b', list[str])
    """
    if fits(value, wanted):
        return None
    element = _element_type(wanted)
    if element is not None and isinstance(value, list | tuple):
        for at, each in enumerate(value):
            if found := misfit(each, element):
                path, part, needed = found
                return f"[{at}]{path}", part, needed
    return "", value, wanted


def _element_type(wanted: Any) -> Any:
    """The type that all elements of a list have; None where there is no one such type, or nobody knows which."""
    kind, *others = _alternatives(wanted)
    arguments = get_args(kind)
    one_for_all = len(arguments) == 1 or (len(arguments) == 2 and arguments[1] is ...)
    return arguments[0] if one_for_all and not others and _is_subclass(get_origin(kind), Sequence) else None


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


_NUMBERS: dict[Any, Any] = {int: Integral, float: Real}
_UNIONS = (Union, types.UnionType)


def _name(kind: Any) -> str:
    # People give lists, whatever else would do as well; and there are many classes called Document.
    special = {Sequence: "list", Document: "karat.Document"}
    return special.get(kind) or getattr(kind, "__name__", None) or str(kind)


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


class _Check(NamedTuple):
    """Whether values are of a type: a question first to their classes, of which there are few, then to their parts."""

    of_class: Callable[[type], bool]
    of_value: Callable[[Any], bool] | None = None
    settled: Callable[[type], bool] = lambda _: False
    """whether the class alone is enough, whatever its values have in them"""

    def __call__(self, value: Any) -> bool:
        return self.of_class(type(value)) and (self.of_value is None or self.of_value(value))

    def all(self, values: Iterable[Any]) -> bool:
        kinds = set(map(type, values))
        return all(map(self.of_class, kinds)) and (
            self.of_value is None or all(map(self.settled, kinds)) or all(map(self.of_value, values))
        )


def _check(wanted: Any) -> _Check:
    if _is_open(wanted):
        return _Check(lambda _: True)
    checks = [_one_check(each) for each in _alternatives(wanted)]
    if len(checks) == 1:
        return checks[0]
    return _Check(
        lambda kind: any(check.of_class(kind) for check in checks),
        None
        if all(check.of_value is None for check in checks)
        else lambda value: any(check(value) for check in checks),
        lambda kind: any(check.of_value is None and check.of_class(kind) for check in checks),
    )


def _one_check(wanted: Any) -> _Check:
    origin, arguments = get_origin(wanted) or wanted, get_args(wanted)
    if origin is Literal:
        return _Check(
            lambda kind: any(kind is type(each) for each in arguments),
            lambda value: any(value == each and type(value) is type(each) for each in arguments),
        )

    def of_class(kind: type) -> bool:
        return _is_subclass(kind, origin)

    if all(each is ... or _is_open(each) for each in arguments):
        return _Check(of_class)
    checks = [_check(each) for each in arguments if each is not ...]
    if _is_subclass(origin, Mapping) and len(checks) == 2:
        return _Check(of_class, lambda value: checks[0].all(value) and checks[1].all(value.values()))
    if origin is tuple and ... not in arguments:
        return _Check(of_class, lambda value: len(value) == len(checks) and all(map(_Check.__call__, checks, value)))
    return _Check(of_class, checks[0].all if _is_subclass(origin, Collection) else None)


def _is_subclass(kind: Any, wanted: Any) -> bool:
    try:
        if kind in (str, bytes) and wanted is not kind and issubclass(wanted, Iterable):
            # A text is a sequence of texts, and hardly ever meant as one.
            return False
        # NumPy's numbers are numbers too.
        return issubclass(kind, _NUMBERS.get(wanted, wanted))
    except TypeError:
        # Protocols and other types that cannot be asked.
        return True
