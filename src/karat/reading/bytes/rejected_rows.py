"""Rows that cannot be read: an error that ends the reading, or errors that are collected while the others are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from threading import Lock
from typing import NamedTuple

from karat.errors import KaratError, Place

MOST_ERRORS = 10_000
_PER_SET = 1 << 10  # numbers in one set of bits


class RejectedRows:
    """The errors of rows that were left out.

    A file may be read several times, and in threads: a row counts once, and the errors are in the order of the file.

    >>> rejected = RejectedRows()
    >>> for line in (7, 3, 7):
    ...     rejected.add(KaratError("the line has 5 columns", place=Place("run.trec", line=line)))
    >>> rejected.count, [str(error) for error in rejected.errors]
    (2, ['run.trec:3: the line has 5 columns', 'run.trec:7: the line has 5 columns'])
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        """how many rows are left out; the next one is an error"""
        self.count = 0
        """how many rows were left out, however many errors are kept"""
        self._by_type: dict[type[KaratError], _FirstErrors] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._places: set[Place] = set()
        self._lock = Lock()

    @property
    def errors(self) -> list[KaratError]:
        """The errors of the first rows that were left out, at most `MOST_ERRORS` of each type, each with its place."""
        with self._lock:
            kept = [each for of_type in self._by_type.values() for each in of_type.first()]
        return [each.error for each in sorted(kept, key=_Kept.order)]

    def others(self) -> dict[type[KaratError], int]:
        """How many more rows were left out than there are errors, by the types of their errors."""
        with self._lock:
            return {kind: of_type.count - len(of_type.first()) for kind, of_type in self._by_type.items()}

    def add(self, error: KaratError) -> None:
        """Count the row with this error, and keep the error, unless the row is known already."""
        place = error.place or Place("")
        with self._lock:
            if place in self:
                return
            self._remember(place)
            self.count += 1
            if self._most is not None and self.count > self._most:
                raise error from None
            self._by_type.setdefault(type(error), _FirstErrors()).add(_Kept(error, self.count))

    def add_values(self, values: RejectedRows) -> None:
        """Count the wrong values of a field too, whose rows were not left out: other fields may have some as well."""
        with self._lock:
            self.count += values.count
            for kind, errors in values._by_type.items():
                self._by_type.setdefault(kind, _FirstErrors()).add_all(errors)

    def __contains__(self, place: Place) -> bool:
        """Whether the row at a place was left out."""
        number = _number_in(place)
        if number is None:
            return place in self._places
        return bool(self._numbers.get((place.source, number // _PER_SET), 0) & 1 << number % _PER_SET)

    def _remember(self, place: Place) -> None:
        """Remember a row by its place; of numbered rows, by a bit each, as there may be millions."""
        number = _number_in(place)
        if number is None:
            self._places.add(place)
        else:
            where = place.source, number // _PER_SET
            self._numbers[where] = self._numbers.get(where, 0) | 1 << number % _PER_SET


class _Kept(NamedTuple):
    """The error of a row, and how many rows had been left out when it was added."""

    error: KaratError
    added: int

    def order(self) -> tuple[str, int, int]:
        """What errors are sorted by: where they are, and of rows without numbers, which one was found first."""
        place = self.error.place
        return (place.source, _number_in(place) or 0, self.added) if place else ("", 0, self.added)


class _FirstErrors:
    """Errors of one type: how many there are, and the first of them by place."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[_Kept] = []
        self._last: tuple[str, int, int] | None = None
        """where the last error is that may be kept, once there were too many"""

    def add(self, new: _Kept) -> None:
        """Count an error, and keep it if it may be one of the first."""
        self.count += 1
        if self._last is not None and new.order() >= self._last:
            return
        self._kept.append(new._replace(error=new.error.but()))  # without a traceback, which would keep data in memory
        if len(self._kept) >= 2 * MOST_ERRORS:
            self._kept = self.first()
            self._last = self._kept[-1].order()

    def add_all(self, others: _FirstErrors) -> None:
        """Count these errors too, and keep the first of all."""
        for each in others.first():
            self.add(each)
        self.count += others.count - len(others.first())

    def first(self) -> list[_Kept]:
        """The first errors."""
        return sorted(self._kept, key=_Kept.order)[:MOST_ERRORS]


def reject(error: KaratError, rejected: RejectedRows | None) -> None:
    """Raise the error of a row, or collect it, if rows that are wrong are left out."""
    if rejected is None:
        raise error from None
    rejected.add(error)


def reject_all(errors: Iterable[KaratError], rows: int | None, rejected: RejectedRows | None) -> None:
    """Reject some of so many rows. If all are wrong, the file is not what it was taken for: the first is an error."""
    if rejected is not None:
        errors = [*errors]
    for error in errors:
        reject(error, None if isinstance(errors, list) and len(errors) == rows else rejected)


def row_numbers(source: str, positions: Iterable[int], first: int, rejected: RejectedRows | None) -> Iterator[int]:
    """The numbers of some rows of a table, by their positions among those from row `first` on that were not left out.

    The positions are in ascending order.
    """
    if rejected is None or not rejected.count:
        yield from (first + at for at in positions)
        return
    kept = enumerate(filter(lambda row: Place(source, row=row) not in rejected, count(first)))
    for at in positions:
        yield next(row for position, row in kept if position == at)


def _number_in(place: Place) -> int | None:
    """The number of a line or a row, which names it in its file; None for anything else, such as a document."""
    number = place.row if place.line is None else place.line
    return number if isinstance(number, int) else None
