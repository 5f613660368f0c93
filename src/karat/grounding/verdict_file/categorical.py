"""Columns in which values repeat: every distinct value once, and for each row its position among them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from karat.data.judged import Bools, Ints
from karat.errors import Place

Value = TypeVar("Value")
Other = TypeVar("Other")
_TEXT = (str, type(None))
_LARGEST = 2**62  # of a number for several values

PlaceOf = Callable[[int], Place]
"""the place of a row, for errors"""
Check = Callable[[list[Any], PlaceOf], Iterable[Value]]
"""the values that cells of a column stand for; one that is wrong is an error"""


@dataclass(frozen=True, eq=False)
class Categorical(Generic[Value]):
    """A column of values that repeat: `categories` are in the order in which they appear, `codes` are their positions.

    >>> builder = CategoricalBuilder()
    >>> builder.add(["b", "a", "b"], lambda row: Place("rows", row=row), lambda values, place: values)
    >>> column = builder.column()
    >>> list(column), column[1], column.categories, column.codes.tolist()
    (['b', 'a', 'b'], 'a', ['b', 'a'], [0, 1, 0])
    """

    categories: Sequence[Value]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> Value:
        value: Value = self.categories[self.codes[row]]
        return value

    def __iter__(self) -> Iterator[Value]:
        return map(self.categories.__getitem__, self.codes.tolist())

    def take(self, rows: Ints) -> Categorical[Value]:
        """The column of some rows; categories that none of them has are kept."""
        return Categorical(self.categories, self.codes[rows])

    def counts(self) -> dict[Value, int]:
        """How many rows have each value, in the order in which the values appear."""
        number = np.bincount(self.codes, minlength=len(self.categories))
        first = np.zeros(len(self.categories), np.int64)
        first[self.codes[::-1]] = np.arange(len(self.codes))[::-1]  # of equal positions, the last one is assigned
        used = np.flatnonzero(number)
        used = used[np.argsort(first[used])]
        return {self.categories[code]: count for code, count in zip(used.tolist(), number[used].tolist(), strict=True)}

    def map(self, function: Callable[[Value], Other]) -> Categorical[Other]:
        """The column of what a function returns for each value."""
        code_of: dict[Other, int] = {}
        codes = [code_of.setdefault(function(each), len(code_of)) for each in self.categories]
        return Categorical(list(code_of), np.array(codes, np.int32)[self.codes])

    def numbers(self, function: Callable[[Value], int]) -> Ints:
        """For each row, the number that a function returns for its value."""
        numbers: Ints = np.array([function(each) for each in self.categories], np.int64)[self.codes]
        return numbers

    def where(self, condition: Callable[[Value], bool]) -> Bools:
        """For each row, whether its value fulfills a condition."""
        fulfilled: Bools = np.array([condition(each) for each in self.categories], bool)[self.codes]
        return fulfilled


def joint_codes(*columns: NDArray[Any]) -> Ints:
    """A number for the values that each row has in several columns of whole numbers from 0.

    >>> joint_codes(np.array([0, 1, 1, 0]), np.array([10**9, 5, 5, 5])).tolist()
    [1000000000, 1000000006, 1000000006, 5]
    """
    joint, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        codes, number = column.astype(np.int64), int(column.max(initial=0)) + 1
        if number > _LARGEST // size:
            (_, joint), (values, codes) = (np.unique(each, return_inverse=True) for each in (joint, codes))
            size, number = len(joint), len(values)
        joint, size = joint * number + codes, size * number
    return joint


class CategoricalBuilder(Generic[Value]):
    """A column of values that repeat, while it is read."""

    def __init__(self) -> None:
        self._categories: list[Value] = []
        self._code_of: dict[Any, int] = {}
        """by value, and by texts that stand for one"""
        self._codes = array("i")

    def add(self, cells: Sequence[Any], place: PlaceOf, check: Check[Value]) -> None:
        """Add a cell per row. `check` returns the values that cells stand for, and is called with new ones only."""
        if _are_one_text(cells):
            self._codes.extend(self._codes_of(cells[:1], place, check) * len(cells))  # one system or author
        else:
            self._codes.extend(self._codes_of(cells, place, check))

    def _codes_of(self, cells: Sequence[Any], place: PlaceOf, check: Check[Value]) -> array[int]:
        try:
            codes: list[Any] = list(map(self._code_of.get, cells))
            new = [cell for cell in dict.fromkeys(cells) if cell not in self._code_of] if None in codes else []
            are_texts = all(map(_is_text, new))
        except (TypeError, ValueError):  # a list or an object
            are_texts = False
        if not are_texts:  # 1 and True are equal, but may stand for different values
            codes = list(map(self._code, check(list(cells), place)))
        elif new:
            values = check(new, lambda at: place(cells.index(new[at])))
            self._code_of |= dict(zip(new, map(self._code, values), strict=True))
            codes = list(map(self._code_of.__getitem__, cells))
        return array("i", codes)

    def _code(self, value: Value) -> int:
        code = self._code_of.setdefault(value, len(self._categories))
        if code == len(self._categories):
            self._categories.append(value)
        return code

    def column(self) -> Categorical[Value]:
        """The column with all rows."""
        return Categorical(self._categories, np.array(self._codes, np.int32))


def _are_one_text(cells: Sequence[Any]) -> bool:
    """Whether all cells are one and the same text; others may be anything, also what cannot be compared."""
    if not cells or type(cells[0]) not in _TEXT:
        return False
    try:
        return cells.count(cells[0]) == len(cells)
    except (TypeError, ValueError):
        return False


def _is_text(value: object) -> bool:
    """Whether something is a text or None, or a tuple of these."""
    return type(value) in _TEXT or (type(value) is tuple and all(type(each) in _TEXT for each in value))
