"""The type checks of a pipeline: which sockets can be connected, and which values an input accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Optional, Protocol, TypeVar, Union

import numpy as np
import pytest

from karat import Document, KaratError
from karat.components.types import compatible, find_mismatch, type_from_text, type_text

T = TypeVar("T")


class Named(Protocol):
    name: str


COMPATIBLE = [
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
    (T, str),
    (Any, str),
    (str, object),
    (str, Named),
    (None, str | None),
]
INCOMPATIBLE = [
    (str, int),
    (str, list[str]),
    (str, Sequence[str]),
    (list[str], list[int]),
    (list[str], list[list[str]]),
    (list[Document], Sequence[Sequence[Any]]),
    (float, int),
    (None, str),
    (dict[str, int], list[str]),
    (str | bytes, int),
]


@pytest.mark.parametrize(("sent", "wanted"), COMPATIBLE)
def test_sockets_whose_types_have_values_in_common_can_be_connected(sent: Any, wanted: Any) -> None:
    assert compatible(sent, wanted)


@pytest.mark.parametrize(("sent", "wanted"), INCOMPATIBLE)
def test_sockets_whose_types_have_no_values_in_common_cannot_be_connected(sent: Any, wanted: Any) -> None:
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
        (len, Named),
        ([], list[str]),
        ([["a"], ["b", "c"]], list[str] | list[list[str]]),
        ([["a"], None, "b"], Sequence[str | Sequence[str] | None]),
        (np.int64(3), int),
        ([np.float32(0.5), 1], list[float]),
    ],
)
def test_a_value_of_the_right_type_is_accepted(value: object, wanted: Any) -> None:
    assert find_mismatch(value, wanted) is None


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (5, str),
        ("a", list[str]),
        ("a", Sequence[str]),
        (["a", 5], list[str]),
        (["a"], list[list[str]]),
        ([["a"], "b"], Sequence[Sequence[Any]]),
        (["a"], dict[str, int]),
        (["a", 1], tuple[str, int]),
        (("a", 1), tuple[str, ...]),
        ({"a", 1}, set[str]),
        (None, str),
        (1.5, int),
        ([["a"], "b"], list[str] | list[list[str]]),
        ([["a"], [5]], Sequence[str | Sequence[str]]),
    ],
)
def test_a_value_of_another_type_is_rejected(value: object, wanted: Any) -> None:
    assert find_mismatch(value, wanted) is not None


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (list[str], "list[str]"),
        (Sequence[Sequence[Annotated[Any, "Document"]]], "list[list[Document]]"),
        (str | None, "str | None"),
        (dict[str, Any], "dict[str, Any]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Callable[[int, str], None], "Callable[[int, str], None]"),
        (None, "None"),
        (list[Document], "list[karat.Document]"),
    ],
)
def test_a_type_is_shown_as_users_write_it(wanted: Any, text: str) -> None:
    assert type_text(wanted) == text


@pytest.mark.parametrize(
    ("value", "wanted", "mismatch"),
    [
        ([["a"]], list[list[str]], None),
        ([[5]], Sequence[Annotated[list[str], "names"]], ("[0][0]", 5, str)),
        ([["a"], ["b", 5]], list[list[str]], ("[1][1]", 5, str)),
        ("a", list[str], ("", "a", list[str])),
        ([5], list[str] | list[list[str]], ("", [5], list[str] | list[list[str]])),
    ],
)
def test_the_first_part_of_the_wrong_type_is_found_with_its_place(value: Any, wanted: Any, mismatch: Any) -> None:
    assert find_mismatch(value, wanted) == mismatch


@pytest.mark.parametrize(
    "wanted", [list[str], list[list[str]], dict[str, Any], str | None, list[int | float], list[dict[str, list[bool]]]]
)
def test_a_type_that_is_written_is_read_again(wanted: Any) -> None:
    assert type_from_text(type_text(wanted)) == wanted


def test_the_old_spelling_of_types_is_read() -> None:
    assert type_from_text("typing.List[typing.Union[str, int]]") == list[str | int]
    assert type_from_text("typing.Optional[typing.Dict[str, typing.Any]]") == dict[str, Any] | None


@pytest.mark.parametrize(
    "text",
    ["", "list[", "os.system", "__import__('os')", "list[Document]", "list[1]", "int[str]", "a" * 10**5, 7, None],
)
def test_nothing_but_built_in_types_is_read(text: object) -> None:
    with pytest.raises(KaratError, match="is not a type that can be loaded"):
        type_from_text(text)
