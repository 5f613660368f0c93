"""Tables: sources with a row per query and document, such as TREC files, read in parts; their ground truth and runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from karat.data.judged import Floats, Ints
from karat.documents.key import Key
from karat.errors import KaratError, Place
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.rejected_rows import MOST_ERRORS
from karat.reading.bytes.threads import in_threads
from karat.reading.pairs.containers import Batch, ScoredRows, Truth
from karat.reading.pairs.mappings import run_from_mapping, truth_from_mapping
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.pair_checks import PairColumns
from karat.reading.pairs.places import Locate, Pair, PlacedPair, place_of, places_of

if TYPE_CHECKING:
    from karat.reading.pairs.arrays import Column
    from karat.reading.pairs.grouping import NumberedRows

Number = Literal["grade", "score", "rank"]
"""what the number of a row is: a grade in ground truth, a score in a run, or minus the rank beside it"""

SMALL_FILE = 1 << 19  # bytes
MOST_ROWS = 1 << 28  # of ground truth, or of a list, which are in memory together
# More rows of a run, if they have to be sorted, are sorted through a temporary file: in memory, each takes 60 bytes.
MOST_IN_MEMORY = 1 << 24


class Columns(NamedTuple):
    """Rows as columns: the query, the document and the number of each row. The queries may be run-end encoded."""

    query: Column
    doc: Column
    number: Floats


class PairTable(Protocol):
    """A source with a row per pair of query and document. It can be read more than once."""

    @property
    def name(self) -> str:
        """The name of the source in messages."""

    @property
    def by_rank(self) -> bool:
        """Whether the number of a row is minus its rank, because the source has no scores."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was guessed about the source, as sentences without a full stop."""

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """The rows in parts, each read when its function is called, so that threads can share the work.

        With `whole_queries`, parts end where the query changes, so that the rows of a query, if they are next to each
        other, are in one part.
        """

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query, if the source is so small that loading Arrow would take longer.

        None otherwise, and if a document is listed twice for a query: what that means depends on options.
        """

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The places at which pairs of a query and a document are listed, for errors and findings."""

    def empty_error(self) -> KaratError:
        """The error for a source without rows."""


@dataclass(frozen=True)
class ByQuery:
    """The documents of each query, `{query: {doc: number}}` or `{query: [doc, ...]}`, and what was guessed."""

    documents: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    finite: bool = False
    """whether scores must be finite: in JSON, an infinite number is one that is beyond doubles"""


@dataclass(frozen=True)
class TableRun:
    """A run in a table."""

    table: PairTable
    progress: Progress | None = None
    of_name: tuple[str, ...] = ()
    """what the name of the file got wrong, as sentences"""
    _sorting: list[str] = field(default_factory=list, repr=False, compare=False)
    """how the rows were sorted, as a sentence, once they were"""

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*self.of_name, *self.table.notes, *self._sorting)

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """One batch per part of the table; the whole table if it is small."""
        if small := self.table.small(self.progress):
            yield from run_from_mapping(small, Key(), self.name).batches()
        else:
            yield from self.row_batches()

    def row_batches(self) -> Iterator[Callable[[], ScoredRows]]:
        """One batch per part of the table, with all rows in their order, however small it is."""
        for part in self.table.parts(self.progress):
            yield partial(_consecutive, self.table, part)

    def grouped_batches(self) -> Iterator[Callable[[], ScoredRows]]:
        """All rows, for a table whose rows are not grouped by query: in memory, or through a temporary file."""
        from karat.reading.pairs.grouping import RowBuilder, as_batches
        from karat.reading.pairs.temporary_rows import ROWS_AT_ONCE, TemporaryRows

        builder, temporary = RowBuilder(), None
        with ExitStack() as opened:
            for part in _numbered_parts(self.table, self.progress):
                builder.append(part)
                if len(builder) > (ROWS_AT_ONCE if temporary else MOST_IN_MEMORY):
                    temporary = temporary or opened.enter_context(TemporaryRows(self.name))
                    temporary.append(builder.take())
            rows = builder.take()
            if temporary is None:
                yield from as_batches(rows, self.table.locate)
                return
            temporary.append(rows)
            self._sorting[:] = [temporary.note()]
            yield from temporary.batches(rows.queries, self.table.locate)

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The places at which pairs of a query and a document are listed."""
        return self.table.locate(pairs)

    def empty_error(self) -> KaratError:
        """The error for a table without rows."""
        return self.table.empty_error()

    def without_progress(self) -> TableRun:
        """The same run, to be read again without reporting progress."""
        return replace(self, progress=None)


def is_small_file(file: InputFile, most: int | None = None) -> bool:
    """Whether plain Python reads a file, of at most so many bytes, in less time than it takes to load Arrow."""
    most = SMALL_FILE if most is None else min(most, SMALL_FILE)
    return len(file.start(most + 1)) <= most


def columns_of(pairs: PairColumns) -> Columns:
    """Pairs as Arrow columns."""
    from karat.reading.pairs.arrays import text_column

    return Columns(text_column(pairs.queries), text_column(pairs.docs), pairs.numbers)


def by_query(pairs: PairColumns) -> dict[str, dict[str, float]] | None:
    """The number of each document of each query; None if a document is listed twice for a query."""
    numbers: dict[str, dict[str, float]] = {}
    for query, doc, number in zip(pairs.queries, pairs.docs, pairs.numbers.tolist(), strict=True):
        documents = numbers.setdefault(query, {})
        if doc in documents:
            return None
        documents[doc] = number
    return numbers


class RepeatedJudgment(NamedTuple):
    """A document that is judged more than once for a query."""

    pair: Pair
    grades: tuple[float, ...]
    """in the order of the source; the first one counts"""
    place: Place | None
    """of the first two judgments"""

    @property
    def contradict(self) -> bool:
        """Whether the grades differ."""
        return len({*self.grades}) > 1


@dataclass
class RepeatedJudgments:
    """Documents that are judged more than once: the first judgment of each counts, if it is no error to have others."""

    contradicting: int = 0
    """documents with different grades"""
    alike: int = 0
    """documents with the same grade"""
    judgments: list[RepeatedJudgment] = field(default_factory=list)
    """of both kinds, the first `MOST_ERRORS` documents"""

    def add(self, grades: Mapping[Pair, list[float]], locate: Locate) -> None:
        """Add documents that are judged more than once, with all their grades."""
        contradicting = [pair for pair, of_pair in grades.items() if len({*of_pair}) > 1]
        alike = [pair for pair, of_pair in grades.items() if len({*of_pair}) == 1]
        listed = [*contradicting[:MOST_ERRORS], *alike[:MOST_ERRORS]]
        places = places_of(locate, listed)
        self.contradicting += len(contradicting)
        self.alike += len(alike)
        self.judgments += (RepeatedJudgment(pair, tuple(grades[pair]), places.get(pair)) for pair in listed)


def truth_from_table(
    table: PairTable, key: Key, queries: Container[str] | None = None, repeated: RepeatedJudgments | None = None
) -> Truth:
    """The ground truth in a table: that of all queries, or of some."""
    if queries is None and (small := table.small()):
        truth = truth_from_mapping(small, key, table.name)
    else:
        from karat.reading.pairs.grouping import as_table

        rows = _read_all(table, queries)
        truth = truth_from_rows(as_table(rows, table.locate), repeated).normalized_by(key) if rows else Truth.empty()
    return replace(truth, notes=table.notes)


def truth_from_rows(table: ScoredRows, repeated: RepeatedJudgments | None = None) -> Truth:
    """The ground truth in rows that are grouped by query.

    A document that is judged twice is an error, unless `repeated` collects such documents.
    """
    from karat.reading.pairs.arrays import Texts
    from karat.reading.pairs.hashing import repeats_among

    truth = Truth(tuple(table.queries), table.offsets, Texts(table.docs), table.scores)
    rows = repeats_among(table, truth.row_index.possible_repeats())
    if not len(rows):
        return truth
    if repeated is None:
        query, doc = table.pairs_of(rows[:1])[0]
        raise KaratError(
            f"document {doc} is judged twice for query {query}",
            place=place_of(table.locate, (query, doc)),
            hint="Keep one judgment per document.",
        )
    table = _first_of_each(table, rows, repeated)
    return Truth(tuple(table.queries), table.offsets, Texts(table.docs), table.scores)


def _first_of_each(table: ScoredRows, rows: Ints, repeated: RepeatedJudgments) -> ScoredRows:
    """A table without the rows that judge a document again, which are collected."""
    first_of: dict[Pair, int] = {}
    grades: dict[Pair, list[float]] = {}
    keep = np.ones(len(table.scores), bool)
    for row, pair, grade in zip(rows.tolist(), table.pairs_of(rows), table.scores[rows].tolist(), strict=True):
        keep[row] = first_of.setdefault(pair, row) == row
        grades.setdefault(pair, []).append(grade)
    repeated.add(grades, table.locate)
    return table.where(keep)


def _consecutive(table: PairTable, part: Callable[[], Columns]) -> ScoredRows:
    from karat.reading.pairs.grouping import group_consecutive

    return group_consecutive(*part(), table.locate)


def _read_all(table: PairTable, queries: Container[str] | None) -> NumberedRows | None:
    """All rows of a table of ground truth, or those of some queries; None if these have none."""
    from karat.reading.pairs.grouping import RowBuilder

    builder = RowBuilder()
    for part in _numbered_parts(table):
        builder.append(part if queries is None else part.of_queries(queries))
        if len(builder) > MOST_ROWS:
            what = f"the ground truth has more than {MOST_ROWS:,} rows, which are read into memory together"
            raise KaratError(what, place=table.name, hint="Split it by query into several files.")
    if not len(builder) and queries is None:
        raise table.empty_error()
    return builder.take() if len(builder) else None


def _numbered_parts(table: PairTable, progress: Progress | None = None) -> Iterator[NumberedRows]:
    return in_threads(partial(_numbered, part) for part in table.parts(progress, whole_queries=False))


def _numbered(part: Callable[[], Columns]) -> NumberedRows:
    from karat.reading.pairs.grouping import number_queries

    return number_queries(*part())
