"""Read data frames: any object with the Arrow C stream interface (pandas, polars, PyArrow, DuckDB)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Floats
from karat.errors import KaratError, Place
from karat.reading.pairs.arrays import Column
from karat.reading.pairs.arrow_columns import checked_columns, id_notes, rules_of, valid_ids, valid_numbers
from karat.reading.pairs.arrow_lists import list_columns, read_lists
from karat.reading.pairs.columns import columns_to_read
from karat.reading.pairs.containers import Batch, ScoredRows
from karat.reading.pairs.grouping import Locate, NumberedRows, as_batches, group_by_query, number_queries
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.tables import ByQuery, Number
from karat.reading.records.record_files import records_from_frame

_HINT = "A data frame needs the columns query, doc and grade (ground truth) or score (run)."


@dataclass(frozen=True)
class Frame:
    """The columns that are read from a data frame; `locate` finds the two rows of a duplicate, for an error."""

    name: str
    query: Column
    doc: Column
    number: Floats
    locate: Locate
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, source: Any, number: Number, names: Mapping[str, str] | None, name: str) -> Frame | ByQuery:
        """Read a data frame, with a row per pair or per query; `names` are the names of its columns, by role."""
        table = arrow_table(source, name, _HINT)
        if lists := list_columns(table.schema, number, names, name):
            selected = table.select(lists.names)
            return read_lists(name, records_from_frame(selected, name), number, lists)
        columns = columns_to_read(table.column_names, number, names, name)
        rules = rules_of(columns, number)
        query, doc = (valid_ids(table[column], Place(name, column=column)) for column in (columns.query, columns.doc))
        values = valid_numbers(table[columns.number], rules, Place(name, column=columns.number))
        if query is None or doc is None or values is None:
            query, doc, values = checked_columns(table, columns, rules, name, lambda row: Place(name, row=row))
        notes = (*columns.note(name), *id_notes(table.schema, columns, name))
        return cls.from_columns(name, query, doc, values, notes)

    @classmethod
    def from_columns(cls, name: str, query: Column, doc: Column, number: Floats, notes: tuple[Note, ...]) -> Frame:
        """Rows that were read already."""
        return cls(name, query, doc, number, partial(_locate, query, doc, name), notes)

    def run(self) -> FrameRun:
        """The run in the rows."""
        return FrameRun(self.name, number_queries(self.query, self.doc, self.number), self.locate, self.notes)

    def grouped(self) -> ScoredRows:
        """The rows, grouped by query."""
        return group_by_query(self.query, self.doc, self.number, self.locate)


@dataclass(frozen=True)
class FrameRun:
    """A run in a data frame, in batches that threads share."""

    name: str
    rows: NumberedRows
    locate: Locate
    notes: tuple[Note, ...]

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """The run in batches of complete queries."""
        return as_batches(self.rows, self.locate)

    grouped_batches = batches

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


def _locate(query: Column, doc: Column, name: str, one_query: str, one_doc: str) -> Place:
    """The first two rows with this query and document."""
    rows = pc.indices_nonzero(pc.and_(pc.equal(query, one_query), pc.equal(doc, one_doc))).to_pylist()
    return Place(name, row=(rows[0], rows[1]))
