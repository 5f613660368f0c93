"""Which types and values fit each other in a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar, Union

import pytest

from karat import Document
from karat.components.types import compatible, fits, misfit, type_text

Name = NewType("Name", str)
T = TypeVar("T")

FITTING = [
    (str, str),
    (list[str], list[str]),
    (list[str], Sequence[str]),
    (list[str], Sequence[str | None]),
    (list, list[str]),
    (list[str], list),
    (list[Document], list[Any]),
    (str, str | None),
    (str | None, str),
    (list[str] | list[list[str]], list[list[str]]),
    (Optional[str], Union[str, int]),  # noqa: UP007, UP045  # the old spelling is still written
    (int, float),
    (dict[str, int], Mapping[str, float]),
    (dict[str, int], Iterable[str]),
    (tuple[str, ...], Sequence[str]),
    (Literal["a", "b"], str),
    (str, Literal["a", "b"]),
    (Annotated[list[str], "names"], list[str]),
    (Name, str),
    (T, str),
    (Any, str),
    (None, str | None),
]
UNFIT = [
    (str, int),
    (str, list[str]),
    (str, Sequence[str]),
    (list[str], list[int]),
    (list[str], list[list[str]]),
    (list[Document], Sequence[Sequence[Any]]),
    (float, int),
    (None, str),
    (dict[str, int], dict[int, int]),
    (Literal["a"], int),
    (str | bytes, int),
]


@pytest.mark.parametrize(("sent", "wanted"), FITTING)
def test_types_that_may_fit_are_connected(sent: Any, wanted: Any) -> None:
    assert compatible(sent, wanted)


@pytest.mark.parametrize(("sent", "wanted"), UNFIT)
def test_types_that_never_fit_are_not(sent: Any, wanted: Any) -> None:
    assert not compatible(sent, wanted)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("a", str),
        (["a", None], list[str | None]),
        ([["a"], []], Sequence[Sequence[str]]),
        ([["a"], ("b",)], Sequence[Sequence[Any]]),
        ({"a": 1}, dict[str, int]),
        (("a", 1), tuple[str, int]),
        (("a", "b", "c"), tuple[str, ...]),
        ({1, 2}, set[int]),
        (1, float),
        (None, str | None),
        ("b", Literal["a", "b"]),
        (len, Any),
        ([], list[str]),
    ],
)
def test_values_of_a_type_fit_it(value: object, wanted: Any) -> None:
    assert fits(value, wanted)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (5, str),
        ("a", list[str]),
        ("a", Sequence[str]),
        (["a", 5], list[str]),
        (["a"], list[list[str]]),
        ([["a"], "b"], Sequence[Sequence[Any]]),
        ({"a": "b"}, dict[str, int]),
        (("a",), tuple[str, int]),
        (("a", 1), tuple[str, ...]),
        (None, str),
        ("c", Literal["a", "b"]),
        (True, Literal[1]),
        (1.5, int),
    ],
)
def test_values_of_another_type_do_not(value: object, wanted: Any) -> None:
    assert not fits(value, wanted)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (list[str], "list[str]"),
        (Sequence[Sequence[Annotated[Any, "Document"]]], "list[list[Document]]"),
        (str | None, "str | None"),
        (dict[str, Any], "dict[str, Any]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Literal["a", 1], "'a' | 1"),
        (None, "None"),
        (list[Document], "list[karat.Document]"),
    ],
)
def test_a_type_is_shown_as_people_write_it(wanted: Any, text: str) -> None:
    assert type_text(wanted) == text


@pytest.mark.parametrize(
    ("value", "wanted", "found"),
    [
        ([["a"]], list[list[str]], None),
        ([["a"], ["b", 5]], list[list[str]], ("[1][1]", 5, str)),
        ("a", list[str], ("", "a", list[str])),
        ([5], list[str] | list[list[str]], ("", [5], list[str] | list[list[str]])),
    ],
)
def test_what_does_not_fit_is_found_inside_of_a_value(value: Any, wanted: Any, found: Any) -> None:
    assert misfit(value, wanted) == found
