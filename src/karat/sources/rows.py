"""Read rows given as Python objects: `(query, doc, grade)` for ground truth, `(query, doc, score)` for a run.

A row is a tuple of these three, or has fields with names: a named tuple, a mapping, or an object with attributes. A
tuple is always a row, and never the documents of a query: these are a list.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from karat.arguments import as_number
from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, Place, shown
from karat.judged import Floats
from karat.sources.arrays import ColumnBuilder, text_column
from karat.sources.attributes import field_names_of
from karat.sources.columns import ReadColumns, columns_to_read, is_rank, rank_error
from karat.sources.frames import Frame
from karat.sources.numeric_ids import IdKind, numeric_ids_note
from karat.sources.objects import is_row
from karat.sources.tables import MOST_ROWS, Number

_ROWS_AT_ONCE = 1 << 12  # so few that they stay in the cache
_TUPLES = {number: f"Each row is a tuple (query, doc, {number})." for number in ("grade", "score")}
_LISTS = "Pass documents as lists: [[doc, ...], [doc, ...]]."

Row = tuple[str, str, float]


def read_rows(rows: Iterable[Any], number: Number, given: Mapping[str, str] | None, name: str) -> Frame:
    """The rows of a list or an iterator, in memory as columns; `given` are the names of fields, by role."""
    reader = _RowReader(number, given, name)
    queries, docs, numbers = ColumnBuilder(), ColumnBuilder(), bytearray()
    iterator, start = iter(rows), 0
    while chunk := list(islice(iterator, _ROWS_AT_ONCE)):
        of_queries, of_docs, of_numbers = reader.read(chunk, start)
        queries.append(text_column(of_queries))
        docs.append(text_column(of_docs))
        numbers += of_numbers.data
        start += len(chunk)
        if start > MOST_ROWS:
            hint = "Write them to a file, sorted by query, and pass its path."
            raise KaratError(
                f"more than {MOST_ROWS:,} rows, which are read into memory together", place=name, hint=hint
            )
    return Frame.from_columns(
        name, queries.column(), docs.column(), np.frombuffer(numbers, np.float64), tuple(dict.fromkeys(reader.notes))
    )


@dataclass(frozen=True)
class _RowReader:
    """Reads rows in chunks: all rows of a chunk at once if they are alike and valid, otherwise one by one."""

    number: Number
    given: Mapping[str, str] | None
    name: str
    notes: list[str] = field(default_factory=list)
    _columns: dict[tuple[str, ...], ReadColumns] = field(default_factory=dict)
    """the fields to read, by the names of all fields of a row"""

    def read(self, chunk: Sequence[Any], start: int) -> tuple[Sequence[str], Sequence[str], Floats]:
        """The query, the document and the number of each row; `start` is the number of the first row."""
        try:
            queries, docs, numbers = self._alike(chunk)
            values = np.frombuffer(array("d", numbers))
            is_number = np.isfinite(values) if self.number == "grade" else ~np.isnan(values)
            if is_number.all():
                texts = _ids(queries), _ids(docs)
                self._note_numbers(queries[0], docs[0])
                return *texts, values
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
            pass  # reading the rows one by one finds out what is wrong, and where
        rows = [self._row(entry, f"{self.name}, row {at}") for at, entry in enumerate(chunk, start)]
        of_queries, of_docs, of_numbers = zip(*rows, strict=True)
        for ids in (of_queries, of_docs):
            reject_lone_surrogates(ids, self.name)
        return of_queries, of_docs, np.array(of_numbers)

    def _alike(self, chunk: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """The queries, documents and numbers of rows of one type; any error if they are not alike."""
        first = chunk[0]
        (kind,) = set(map(type, chunk))
        if kind is tuple:
            if self.given or set(map(len, chunk)) != {3}:
                raise ValueError("not three values")
            return [query for query, _, _ in chunk], [doc for _, doc, _ in chunk], [value for _, _, value in chunk]
        columns = self._fields(first, self.name)
        names = columns.query, columns.doc, columns.number
        getters: list[Callable[[Any], Any]]
        if isinstance(first, tuple):
            getters = [itemgetter(field_names_of(first).index(name)) for name in names]
        else:
            getters = [itemgetter(name) if kind is dict else attrgetter(name) for name in names]
        queries, docs, numbers = (list(map(get, chunk)) for get in getters)
        if columns.by_rank and not all(map(is_rank, numbers)):
            raise ValueError("not a rank")
        return queries, docs, [-rank for rank in numbers] if columns.by_rank else numbers

    def _row(self, entry: Any, place: Place | str) -> Row:
        """One row, or an error that says what is wrong with it."""
        hint, by_rank = f"{_TUPLES[self.number]} {_LISTS}", False
        if isinstance(entry, tuple) and not hasattr(entry, "_fields"):
            if self.given:
                raise KaratError(
                    f"{shown(entry)} has no names of fields", place=place, hint="Leave the names of columns out."
                )
            if len(entry) != 3:
                raise KaratError(f"{shown(entry)} is not a row", place=place, hint=hint)
            query, doc, value = entry
        elif is_row(entry, self.number, self.given):
            columns = self._fields(entry, place)
            hint, by_rank = f"Every row needs a {'rank' if columns.by_rank else self.number}.", columns.by_rank
            of = entry.get if isinstance(entry, Mapping) else lambda name: getattr(entry, name, None)
            query, doc, value = map(of, (columns.query, columns.doc, columns.number))
        else:
            raise KaratError(f"{shown(entry)} is not a row", place=place, hint=hint)
        self._note_numbers(query, doc)
        ids = identifier(query, place), identifier(doc, place)
        if not all(ids):
            raise KaratError("an id is empty", place=place)
        read = self._number(value, place, hint)
        if by_rank and not is_rank(read):
            raise rank_error(shown(value), place)
        return *ids, -read if by_rank else read

    def _number(self, value: Any, place: Place | str, hint: str) -> float:
        read: float
        try:
            read = array("d", [value])[0]
        except (TypeError, ValueError, OverflowError):  # a large number is infinite
            large = as_number(value)
            read = math.nan if large is None else large
        if math.isnan(read) or (self.number == "grade" and math.isinf(read)):
            convert = f"Convert each {self.number} with float(). " if isinstance(value, str) else ""
            raise KaratError(f"{self.number} {shown(value)} is not a number", place=place, hint=f"{convert}{hint}")
        return read

    def _note_numbers(self, query: object, doc: object) -> None:
        kinds: dict[IdKind, object] = {"query": query, "document": doc}
        for kind, value in kinds.items():
            if not isinstance(value, str):
                self.notes[:] = dict.fromkeys([*self.notes, *numeric_ids_note(self.name, kind)])

    def _fields(self, entry: Any, place: Place | str) -> ReadColumns:
        """The fields of a row with names."""
        names = tuple(field_names_of(entry))
        if names not in self._columns:
            self._columns[names] = columns_to_read(names, self.number, self.given, place, "field")
            self.notes.extend(self._columns[names].note(self.name))
        return self._columns[names]


def _ids(values: Sequence[Any]) -> Sequence[str]:
    """Ids as texts; any error if one of them is not valid."""
    if set(map(type, values)) == {int}:
        return list(map(str, values))
    if not "".join(values).isascii():
        reject_lone_surrogates(values, "")
    if "" in values:
        raise ValueError("an id is empty")
    return values
