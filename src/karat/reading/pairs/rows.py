"""Read rows given as Python objects: `(query, doc, grade)` for ground truth, `(query, doc, score)` for a run.

A row is a tuple of these three, or has fields with names: a named tuple, a mapping, or an object with attributes. A
tuple is always a row, and never the documents of a query: these are a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from karat.errors import KaratError, Place, shown
from karat.reading.pairs.arrays import ColumnBuilder, text_column
from karat.reading.pairs.columns import ReadColumns, columns_to_read
from karat.reading.pairs.frames import Frame
from karat.reading.pairs.numeric_ids import IdKind, Note, numeric_ids_note
from karat.reading.pairs.objects import is_row
from karat.reading.pairs.pair_checks import PairColumns, PairRules, checked_pairs, valid_pairs
from karat.reading.pairs.tables import MOST_ROWS, Number
from karat.reading.records.attributes import field_names_of

_ROWS_AT_ONCE = 1 << 12  # so few that they stay in the cache
_LISTS = "Pass documents as lists: [[doc, ...], [doc, ...]]."


def read_rows(rows: Iterable[Any], number: Number, given: Mapping[str, str] | None, name: str) -> Frame:
    """The rows of a list or an iterator, in memory as columns; `given` are the names of fields, by role."""
    queries, docs, numbers = ColumnBuilder(), ColumnBuilder(), bytearray()
    iterator, start = iter(rows), 0
    reader: _RowReader | None = None
    while chunk := list(islice(iterator, _ROWS_AT_ONCE)):
        reader = reader or _RowReader(chunk[0], number, given, name)
        pairs = reader.read(chunk, start)
        queries.append(text_column(pairs.queries))
        docs.append(text_column(pairs.docs))
        numbers += pairs.numbers.data
        start += len(chunk)
        if start > MOST_ROWS:
            hint = "Write them to a file, sorted by query, and pass its path."
            raise KaratError(
                f"more than {MOST_ROWS:,} rows, which are read into memory together", place=name, hint=hint
            )
    notes = reader.notes() if reader else ()
    return Frame.from_columns(name, queries.column(), docs.column(), np.frombuffer(numbers, np.float64), notes)


@dataclass
class _RowReader:
    """Reads rows in chunks: all rows of a chunk at once if they are alike and valid, otherwise one by one."""

    first: Any
    number: Number
    given: Mapping[str, str] | None
    name: str
    _columns: dict[tuple[str, ...], ReadColumns] = field(default_factory=dict)
    """the fields to read, by the names of all fields of a row"""
    _numeric: set[IdKind] = field(default_factory=set)

    def read(self, chunk: Sequence[Any], start: int) -> PairColumns:
        """The pairs in rows; `start` is the number of the first row."""
        try:
            pairs = valid_pairs(self._alike(chunk), self._rules)
        except (TypeError, ValueError, LookupError, AttributeError):
            pairs = None
        if pairs is None:  # reading the rows one by one finds out what is wrong, and where
            rows = (self._values(entry, at) for at, entry in enumerate(chunk, start))
            pairs = checked_pairs(rows, self._rules, lambda row: Place(self.name, row=start + row))
        self._numeric.update(pairs.numeric)
        return pairs

    def notes(self) -> tuple[Note, ...]:
        """What was guessed about the rows, once they were read."""
        guessed = dict.fromkeys(note for columns in self._columns.values() for note in columns.note(self.name))
        return (*guessed, *numeric_ids_note(self.name, *self._numeric))

    @cached_property
    def _rules(self) -> PairRules:
        """What the pairs must be. The first row decides whether there are ranks instead of scores."""
        if _is_plain(self.first) or not is_row(self.first, self.number, self.given):
            return PairRules(self.number, self._form)
        noun = "rank" if self._fields(self.first, 0).by_rank else self.number
        return PairRules(noun, f"Every row needs a {noun}.")

    @property
    def _form(self) -> str:
        return f"Each row is a tuple (query, doc, {self.number}). {_LISTS}"

    def _alike(self, chunk: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """The queries, documents and numbers of rows of one type; any error if they are not alike."""
        first = chunk[0]
        (kind,) = set(map(type, chunk))
        if kind is tuple:
            if self.given or set(map(len, chunk)) != {3}:
                raise ValueError("not three values")
            return [query for query, _, _ in chunk], [doc for _, doc, _ in chunk], [value for _, _, value in chunk]
        columns = self._fields(first, 0)
        names = columns.query, columns.doc, columns.number
        getters: list[Callable[[Any], Any]]
        if isinstance(first, tuple):
            getters = [itemgetter(field_names_of(first).index(name)) for name in names]
        else:
            getters = [itemgetter(name) if kind is dict else attrgetter(name) for name in names]
        queries, docs, numbers = (list(map(get, chunk)) for get in getters)
        return queries, docs, numbers

    def _values(self, entry: Any, at: int) -> tuple[Any, Any, Any]:
        """The query, the document and the number of a row, or an error that says why it is none."""
        if _is_plain(entry):
            if self.given:
                what, hint = f"{shown(entry)} has no names of fields", "Leave the names of columns out."
                raise KaratError(what, place=Place(self.name, row=at), hint=hint)
            if len(entry) == 3:
                query, doc, number = entry
                return query, doc, number
        elif is_row(entry, self.number, self.given):
            columns = self._fields(entry, at)
            names = (columns.query, columns.doc, columns.number)
            of: Callable[[str], Any] = entry.get if isinstance(entry, Mapping) else partial(_attribute, entry)
            query, doc, number = map(of, names)
            return query, doc, number
        raise KaratError(f"{shown(entry)} is not a row", place=Place(self.name, row=at), hint=self._form)

    def _fields(self, entry: Any, at: int) -> ReadColumns:
        """The fields of a row with names."""
        names = tuple(field_names_of(entry))
        if names not in self._columns:
            place = Place(self.name, row=at)
            columns = columns_to_read(names, self.number, self.given, place, "field")
            if any(each.by_rank != columns.by_rank for each in self._columns.values()):
                what = f"this row has a {'rank' if columns.by_rank else 'score'}, but the first row does not"
                raise KaratError(what, place=place, hint="All rows need the same fields.")
            self._columns[names] = columns
        return self._columns[names]


def _attribute(entry: Any, name: str) -> Any:
    return getattr(entry, name, None)


def _is_plain(entry: Any) -> bool:
    """Whether this is a tuple without names."""
    return isinstance(entry, tuple) and not hasattr(entry, "_fields")
