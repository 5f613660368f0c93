"""The run in a range of a file, or in some rows of a table: whole queries, and rows of queries that may go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from karat.data.judged import Floats
from karat.errors import KaratError
from karat.reading.pairs.arrays import Column, concatenate, row_indices, text_column
from karat.reading.pairs.containers import Batch, ScoredRows
from karat.reading.pairs.frames import FrameRun
from karat.reading.pairs.grouping import RowBuilder, as_batches, number_queries
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.places import Locate, Pair, PlacedPair
from karat.reading.pairs.tables import TableRun

_MOST_APART = 0.03


class NotGroupedError(Exception):
    """The rows of a run are not grouped by query: rows of many queries are not next to each other."""


def most_apart(queries: int) -> int:
    """How many of so many queries may have rows that are not next to each other, in a run that is grouped by query."""
    return max(int(_MOST_APART * queries), 1)


class LooseRows(NamedTuple):
    """Rows of queries that may have other rows in other ranges, in the order of the file."""

    queries: Column
    docs: Column
    scores: Floats

    @classmethod
    def of(cls, parts: Iterable[ScoredRows]) -> LooseRows:
        """The rows of some parts."""
        rows = list(parts)
        if not rows:
            return cls(pa.array([], pa.large_string()), pa.array([], pa.large_string()), np.empty(0))
        names = text_column([query for part in rows for query in part.queries])
        sizes = np.concatenate([np.diff(part.offsets) for part in rows])
        queries = names.take(row_indices(np.repeat(np.arange(len(names)), sizes)))
        docs = concatenate([part.docs.cast(pa.large_string()) for part in rows])
        docs = docs.take(row_indices(np.arange(len(docs))))  # a slice would be sent with the whole column
        return cls(queries, docs, np.concatenate([part.scores for part in rows]))

    def __len__(self) -> int:
        return len(self.scores)


@dataclass
class RangeRun:
    """The queries of a range of a file, or of some rows of a table, whose rows are all in it.

    The first and the last query of a range may go on in the ranges beside it, unless they are known to be whole, and
    those that are `apart` have rows in several ranges; so have those whose rows are not next to each other, as far as
    one range can tell. Their rows are left out, and are in `loose` once the run was read.
    """

    run: TableRun | FrameRun
    apart: frozenset[str] = frozenset()
    is_whole_file: bool = False
    """whether the range is a whole file, in which the rows of each query can be brought together"""
    first_is_whole: bool = False
    last_is_whole: bool = False
    _loose: dict[int, ScoredRows] = field(default_factory=dict, repr=False)
    """by the number of the batch that they are from"""

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.run.notes

    @property
    def loose(self) -> LooseRows:
        """The rows that were left out."""
        return LooseRows.of(self._loose[at] for at in sorted(self._loose))

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """The whole queries; a query may appear twice, and then `grouped_batches` leaves it out."""
        return self._without(self.apart, self.run.row_batches())

    def grouped_batches(self) -> Iterator[Callable[[], Batch]]:
        """The queries whose rows are next to each other, or are brought together here."""
        if self.is_whole_file:
            return self._without(self.apart, self.run.grouped_batches())
        times = Counter(query for load in self.run.row_batches() for query in load().queries)
        repeated = self.apart.union(query for query, count in times.items() if count > 1)
        if len(repeated) - len(self.apart) > most_apart(len(times)):
            raise NotGroupedError
        return self._without(repeated, self.run.row_batches())

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The places at which pairs of a query and a document are listed in this range."""
        return self.run.locate(pairs)

    def empty_error(self) -> None:
        """None: another range may have rows."""

    def without_progress(self) -> TableRun | FrameRun:
        """The run in this range, with all rows."""
        return self.run

    def _without(
        self, apart: frozenset[str], batches: Iterator[Callable[[], ScoredRows]]
    ) -> Iterator[Callable[[], Batch]]:
        # A thread may still read a batch of a reading before: it must not add to the rows of this one.
        loose: dict[int, ScoredRows] = {}
        self._loose = loose
        before: Callable[[], ScoredRows] | None = None
        at = 0
        for load in batches:
            if before is not None:
                yield partial(_kept, before, apart, loose, at, at > 0 or self.first_is_whole, True)
                at += 1
            before = load
        if before is not None:
            yield partial(_kept, before, apart, loose, at, at > 0 or self.first_is_whole, self.last_is_whole)


def _kept(
    load: Callable[[], ScoredRows],
    apart: frozenset[str],
    loose: dict[int, ScoredRows],
    at: int,
    first_is_whole: bool,
    last_is_whole: bool,
) -> ScoredRows:
    """The whole queries of a batch; its other rows are put into `loose`, by the number of the batch."""
    rows = load()
    keep = np.fromiter((query not in apart for query in rows.queries), bool, len(rows.queries))
    if len(keep):
        keep[0] &= first_is_whole
        keep[-1] &= last_is_whole
    if keep.all():
        return rows
    loose[at] = rows.queries_where(~keep)
    return rows.queries_where(keep)


@dataclass(frozen=True)
class LooseRun:
    """A run of loose rows, put together."""

    name: str
    rows: Iterable[LooseRows]
    locate: Locate
    notes: tuple[Note, ...] = ()

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """The rows of each query together, in the order of the ranges."""
        return self.grouped_batches()

    def grouped_batches(self) -> Iterator[Callable[[], Batch]]:
        """The same as `batches`."""
        builder = RowBuilder()
        for rows in self.rows:
            if len(rows):
                builder.append(number_queries(*rows))
        return as_batches(builder.take(), self.locate) if len(builder) else iter(())

    def empty_error(self) -> KaratError | None:
        """None: other ranges may have rows."""
        return None

    def without_progress(self) -> LooseRun:
        """This run, which reports no progress."""
        return self
