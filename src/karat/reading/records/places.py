"""Where each query was first, so that an error can name both places of one that comes twice."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Protocol, TypeVar

from karat.errors import Place
from karat.reading.records.records import Record

Key = TypeVar("Key", bound=Hashable, contravariant=True)


class Places(Protocol[Key]):
    """Places by what is there: a dictionary, or `RereadPlaces`."""

    def __contains__(self, key: Key, /) -> bool: ...

    def __getitem__(self, key: Key, /) -> Place: ...

    def __setitem__(self, key: Key, place: Place, /) -> None: ...


class RereadPlaces(Places[Hashable]):
    """The places of records that can be read anew: only hashes of their keys are kept, a few bytes for each record.

    `key` returns the key of a record at a place. It is called when two hashes are the same, to find the first place.
    """

    def __init__(self, records: Iterable[tuple[Place, Record]], key: Callable[[Record, Place], Hashable]) -> None:
        self._records, self._key = records, key
        self._hashes: set[int] = set()
        self._number = 0

    def __contains__(self, key: Hashable, /) -> bool:
        return hash(key) in self._hashes and self._find(key) is not None

    def __getitem__(self, key: Hashable, /) -> Place:
        place = self._find(key)
        if place is None:
            raise KeyError(key)
        return place

    def __setitem__(self, key: Hashable, place: Place, /) -> None:
        """Add the key of the next record; its place is found again if it is needed."""
        self._hashes.add(hash(key))
        self._number += 1

    def _find(self, key: Hashable) -> Place | None:
        """The place of the first record with a key, among those that were added."""
        added = islice(self._records, self._number)
        return next((place for place, record in added if self._key(record, place) == key), None)
