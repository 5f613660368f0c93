"""All ids of a corpus, or of a file of queries, with hashes of their texts and their places, in a few bytes each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Ints
from karat.documents.normalization import Folds, normalized
from karat.errors import Place
from karat.reading.pairs.arrays import Column, ColumnBuilder, offset_kind, text_column
from karat.reading.pairs.hashing import Hashes, RowIndex, text_hashes
from karat.reading.texts.entries import Entry

_AT_ONCE = 1 << 14  # ids that are appended together
_SIZE = 16  # bytes of a hash
_EMPTY = bytes(_SIZE)
"""instead of the hash of a text that is empty"""
_NO_NUMBER = -1


class _NumberedFrom(NamedTuple):
    """Entries of one source, from this one on, whose places are lines or rows."""

    first: int
    name: str
    are_rows: bool


@dataclass(eq=False)
class TextIndex:
    """The entries of a source of texts, in their order.

    With `folds`, texts of different ids are the same if they are after they were folded.
    """

    folds: Folds = ()
    _ids: list[str] = field(default_factory=list)
    """the last ones"""
    _hashes: bytearray = field(default_factory=bytearray)
    _folded: bytearray = field(default_factory=bytearray)
    """the hashes of folded texts, if texts are folded"""
    _numbers: array[int] = field(default_factory=lambda: array("q"))
    """of lines or rows"""
    _sources: list[_NumberedFrom] = field(default_factory=list)
    _places: dict[int, Place] = field(default_factory=dict)
    """places that have neither a line nor a row"""

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, entry: Entry) -> None:
        """Remember an entry; its text is not kept."""
        id_, text, place = entry
        self._ids.append(id_)
        if len(self._ids) >= _AT_ONCE:
            self._append_ids()
        self._hashes += _EMPTY if text is None else _hash(text.text, text.title)
        if self.folds:
            self._folded += _EMPTY if text is None else _hash(normalized(text.text, self.folds), text.title)
        number = place.row if place.line is None else place.line
        if not isinstance(number, int) or place.field:
            self._places[len(self._numbers)] = place
            number = _NO_NUMBER
        elif not self._sources or self._sources[-1][1:] != (place.source, place.line is None):
            self._sources.append(_NumberedFrom(len(self._numbers), place.source, place.line is None))
        self._numbers.append(number)

    def id_of(self, row: int) -> str:
        """The id of an entry."""
        start, stop = self._offsets[row : row + 2].tolist()
        return bytes(self._id_bytes[start:stop]).decode("utf-8", "surrogatepass")

    def all_ids(self) -> Iterator[str]:
        """The ids of all entries."""
        return map(self.id_of, range(len(self)))

    def place_of(self, row: int) -> Place:
        """Where an entry is."""
        if (number := self._numbers[row]) == _NO_NUMBER:
            return self._places[row]
        _, name, are_rows = next(source for source in reversed(self._sources) if source.first <= row)
        return Place(name, row=number) if are_rows else Place(name, line=number)

    @cached_property
    def id_hashes(self) -> Hashes:
        """The hashes of all ids, in ascending order."""
        return np.sort(self._hashes_of_ids)

    @cached_property
    def empty(self) -> Bools:
        """Which entries have no text."""
        none: Bools = (self._text_hashes == 0).all(axis=1)
        return none

    def same_ids(self) -> list[list[int]]:
        """The entries that have the id of another one: a list for each id."""
        rows_of: dict[str, list[int]] = {}
        for row in RowIndex.of(self._hashes_of_ids).possible_repeats().tolist():
            rows_of.setdefault(self.id_of(row), []).append(row)
        return [rows for rows in rows_of.values() if len(rows) > 1]

    def same_texts(self) -> list[list[int]]:
        """The entries with other ids that have the same text: a list for each text, with the first entry of each id."""
        hashes = _as_hashes(self._folded) if self.folds else self._text_hashes
        rows_of: dict[bytes, dict[str, int]] = {}
        for row in RowIndex.of(hashes[:, 0]).possible_repeats().tolist():
            if not self.empty[row]:
                rows_of.setdefault(hashes[row].tobytes(), {}).setdefault(self.id_of(row), row)
        return [[*rows.values()] for rows in rows_of.values() if len(rows) > 1]

    def have_same_text(self, row: int, other: int) -> bool:
        """Whether two entries have exactly the same text."""
        return bool((self._text_hashes[row] == self._text_hashes[other]).all())

    def _append_ids(self) -> None:
        self._builder.append(text_column(self._ids))
        self._ids.clear()

    @cached_property
    def _builder(self) -> ColumnBuilder:
        return ColumnBuilder()

    @cached_property
    def _column(self) -> Column:
        self._append_ids()
        return self._builder.column()

    @cached_property
    def _offsets(self) -> Ints:
        return np.frombuffer(self._column.buffers()[1], offset_kind(self._column))

    @cached_property
    def _id_bytes(self) -> memoryview:
        return memoryview(self._column.buffers()[2])

    @cached_property
    def _hashes_of_ids(self) -> Hashes:
        return text_hashes(self._column)

    @property
    def _text_hashes(self) -> Hashes:
        return _as_hashes(self._hashes)


def _as_hashes(data: bytearray) -> Hashes:
    return np.frombuffer(data, np.uint64).reshape(-1, 2)


def _hash(text: str, title: str) -> bytes:
    return blake2b(f"{len(title)} {title}{text}".encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
