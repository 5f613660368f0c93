"""Data frames, and rows given as Python objects, as columns.

A data frame is any object with the Arrow C stream interface (pandas, polars, PyArrow, DuckDB). A row is a tuple such as
`(query, doc, score)`, or it has fields with names: a named tuple, a mapping, or an object with attributes. A tuple is
always a row, and never the documents of a query: these are a list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from karat.data.caching import cached_property
from karat.data.judged import Floats
from karat.errors import KaratError, Place, shown
from karat.reading.bytes.rejected_rows import RejectedRows, reject, row_numbers
from karat.reading.pairs.arrays import Column, ColumnBuilder, row_indices, rows_with, text_column
from karat.reading.pairs.arrow_columns import (
    checked_columns,
    id_notes,
    list_columns,
    read_lists,
    rules_of,
    valid_ids,
    valid_numbers,
)
from karat.reading.pairs.columns import ReadColumns, columns_to_read
from karat.reading.pairs.containers import ScoredRows
from karat.reading.pairs.grouping import (
    NumberedRows,
    as_batches,
    group_by_query,
    group_consecutive,
    number_queries,
)
from karat.reading.pairs.numeric_ids import IdKind, Note, numeric_ids_note
from karat.reading.pairs.objects import is_row
from karat.reading.pairs.pair_checks import PairColumns, PairRules, checked_pairs, valid_pairs
from karat.reading.pairs.places import Locate, Pair, PlacedPair
from karat.reading.pairs.tables import MOST_ROWS, ByQuery, Columns, Number
from karat.reading.records.paths import field_names_of
from karat.reading.records.record_files import records_from_frame

_HINT = "A data frame needs the columns query, doc and grade (ground truth) or score (run)."
_ROWS_AT_ONCE = 1 << 12  # so few that they stay in the cache
_LISTS = "Pass documents as lists: [[doc, ...], [doc, ...]]."


@dataclass(frozen=True)
class Frame:
    """The columns that are read from a data frame; `locate` finds rows, for an error."""

    name: str
    query: Column
    doc: Column
    number: Floats
    locate: Locate
    notes: tuple[Note, ...]

    @classmethod
    def of(
        cls,
        source: Any,
        number: Number,
        names: Mapping[str, str] | None,
        name: str,
        rejected: RejectedRows | None = None,
    ) -> Frame | ByQuery:
        """Read a data frame, with a row per pair or per query; `names` are the names of its columns, by role."""
        table = arrow_table(source, name, _HINT)
        if lists := list_columns(table.schema, number, names, name):
            selected = table.select(lists.present)
            return read_lists(name, records_from_frame(selected, name), number, lists, rejected)
        columns = columns_to_read(table.column_names, number, names, name)
        rules = rules_of(columns, number)
        query, doc = (valid_ids(table[column], Place(name, column=column)) for column in (columns.query, columns.doc))
        values = valid_numbers(table[columns.number], rules, Place(name, column=columns.number))
        if query is None or doc is None or values is None:
            query, doc, values = checked_columns(table, columns, rules, name, rejected)
        notes = (*columns.note(name), *id_notes(table.schema, columns, name))
        return cls.from_columns(name, Columns(query, doc, values), notes, rejected)

    @classmethod
    def from_columns(cls, name: str, columns: Columns, notes: tuple[Note, ...], rejected: RejectedRows | None) -> Frame:
        """Rows that were read already, without those that were rejected."""
        return cls(name, *columns, partial(_locate, columns, name, rejected), notes)

    def run(self) -> FrameRun:
        """The run in the rows."""
        return FrameRun(self)

    def grouped(self) -> ScoredRows:
        """The rows, grouped by query."""
        return group_by_query(self.query, self.doc, self.number, self.locate)


@dataclass(frozen=True)
class FrameRun:
    """A run in a data frame, in batches that threads share."""

    frame: Frame

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.frame.notes

    def batches(self) -> Iterator[Callable[[], ScoredRows]]:
        """The run in batches of complete queries."""
        return as_batches(self._rows, self.frame.locate)

    grouped_batches = batches

    def row_batches(self) -> Iterator[Callable[[], ScoredRows]]:
        """One batch, with all rows in their order."""
        yield partial(group_consecutive, self.frame.query, self.frame.doc, self.frame.number, self.frame.locate)

    @cached_property
    def _rows(self) -> NumberedRows:
        return number_queries(self.frame.query, self.frame.doc, self.frame.number)

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The rows with these queries and documents."""
        return self.frame.locate(pairs)

    def empty_error(self) -> None:
        """None: an empty data frame means that the system retrieved nothing."""

    def without_progress(self) -> FrameRun:
        """This run, which reports no progress."""
        return self


def arrow_table(source: Any, name: str, hint: str) -> pa.Table:
    """A data frame as an Arrow table."""
    try:
        names = getattr(source, "columns", None)
        if isinstance(names, list) and any(isinstance(each, str) and "\0" in each for each in names):
            # polars would end the process.
            raise KaratError("the name of a column contains a NUL character", place=name, hint="Rename the column.")
        table = pa.table(source)
        _ = table.column_names  # an error if one is not UTF-8
        return table
    except KaratError:
        raise
    except Exception as error:  # the library that made the frame may raise anything
        raise KaratError(f"cannot be read as a table: {error}", place=name, hint=hint) from None


def _locate(
    columns: Columns, name: str, rejected: RejectedRows | None, pairs: Collection[Pair]
) -> Iterator[PlacedPair]:
    """The rows with these queries and documents."""
    rows = rows_with(columns.doc, {doc for _, doc in pairs})
    queries, docs = (column.take(row_indices(rows)).to_pylist() for column in (columns.query, columns.doc))
    numbers = row_numbers(name, rows.tolist(), 0, rejected)
    for row, pair in zip(numbers, zip(queries, docs, strict=True), strict=True):
        if pair in pairs:
            yield pair, Place(name, row=row)


def read_rows(
    rows: Iterable[Any], number: Number, by_role: Mapping[str, str] | None, name: str, rejected: RejectedRows | None
) -> Frame:
    """The rows of a list or an iterator, in memory as columns; `by_role` are names of fields."""
    queries, docs, numbers = ColumnBuilder(), ColumnBuilder(), bytearray()
    iterator, start = iter(rows), 0
    reader: _RowReader | None = None
    while chunk := list(islice(iterator, _ROWS_AT_ONCE)):
        reader = reader or _RowReader(chunk[0], number, by_role, name, rejected)
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
    columns = Columns(queries.column(), docs.column(), np.frombuffer(numbers, np.float64))
    return Frame.from_columns(name, columns, notes, rejected)


@dataclass
class _RowReader:
    """Reads rows in chunks: all rows of a chunk at once if they are alike and valid, otherwise one by one."""

    first: Any
    number: Number
    by_role: Mapping[str, str] | None
    name: str
    rejected: RejectedRows | None
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
            read: list[int] = []
            rows = self._rows(chunk, start, read)
            pairs = checked_pairs(rows, self._rules, lambda row, _: Place(self.name, row=read[row]), self.rejected)
        self._numeric.update(pairs.numeric)
        return pairs

    def notes(self) -> tuple[Note, ...]:
        """What was guessed about the rows, once they were read."""
        guessed = dict.fromkeys(note for columns in self._columns.values() for note in columns.note(self.name))
        return (*guessed, *numeric_ids_note(self.name, *self._numeric))

    @cached_property
    def _rules(self) -> PairRules:
        """What the pairs must be. The first row decides whether there are ranks instead of scores."""
        if _is_plain(self.first) or not is_row(self.first, self.number, self.by_role):
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
            if self.by_role or set(map(len, chunk)) != {3}:
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

    def _rows(self, chunk: Sequence[Any], start: int, read: list[int]) -> Iterator[tuple[Any, Any, Any]]:
        """The values of each row, whose number is added to those that were `read`."""
        for at, entry in enumerate(chunk, start):
            try:
                values = self._values(entry, at)
            except KaratError as error:
                reject(error, self.rejected)
                continue
            read.append(at)
            yield values

    def _values(self, entry: Any, at: int) -> tuple[Any, Any, Any]:
        """The query, the document and the number of a row, or an error that says why it is none."""
        if _is_plain(entry):
            if self.by_role:
                what, hint = f"{shown(entry)} has no names of fields", "Leave the names of columns out."
                raise KaratError(what, place=Place(self.name, row=at), hint=hint)
            if len(entry) == 3:
                query, doc, number = entry
                return query, doc, number
        elif is_row(entry, self.number, self.by_role):
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
            columns = columns_to_read(names, self.number, self.by_role, place, "field")
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
