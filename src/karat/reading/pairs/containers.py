"""The containers that all sources are read into: ground truth, and a run in batches of complete queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Floats, Ints, stretches
from karat.documents.fields import DocumentLike
from karat.documents.key import Key, TextOfId
from karat.errors import KaratError
from karat.reading.pairs.digests import LazyDigests, truth_digests
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.places import Locate, Pair, PlacedPair, queries_in

if TYPE_CHECKING:
    from karat.reading.pairs.arrays import Column
    from karat.reading.pairs.hashing import Hashes, RowIndex


@dataclass(frozen=True, eq=False)
class GradesFromLabels:
    """Which judged documents have grades from labels, rather than from the ground truth; and whose labels."""

    rows: Bools
    by: str
    records: Any = None
    """the verdict files with these labels, as they were read (`VerdictRecords`)"""


@dataclass(frozen=True, eq=False)
class Truth:
    """Ground truth: the judged documents of each query, and their grades.

    The documents of query i are rows `offsets[i]` to `offsets[i + 1]` of `docs` (their keys) and `grades`.
    `keyless` counts listed documents without a key, which can never match. `scores` contains the scores of documents
    that were listed with scores, as grades, and 1 for all others. It is an error if a score is not a valid grade, and
    None if there are no scores. `documents` contains the documents as they were given, or None if all are plain keys.
    `only_relevant` means that documents were listed, not graded: nobody judged a document as not relevant. `notes` say
    what was guessed when the source was read. `labels` says which grades are from labels, if any are.
    """

    queries: tuple[str, ...]
    offsets: Ints
    docs: Sequence[str]
    grades: Floats
    keyless: int = 0
    scores: Floats | KaratError | None = None
    documents: Sequence[DocumentLike] | None = None
    only_relevant: bool = False
    notes: tuple[Note, ...] = ()
    labels: GradesFromLabels | None = None

    @classmethod
    def empty(cls) -> Truth:
        """No judged documents."""
        return cls((), np.zeros(1, np.int64), [], np.empty(0))

    def graded_by(self, gold: int) -> str:
        """`, graded by NAME` if the grade of a judged document is from a label, for the reason why it matched."""
        return "" if self.labels is None or not self.labels.rows[gold] else f", graded by {self.labels.by}"

    def original_documents(self, golds: range) -> Sequence[DocumentLike]:
        """Judged documents as they were given, by their row numbers."""
        return (self.docs if self.documents is None else self.documents)[golds.start : golds.stop]

    def normalized_by(self, key: Key) -> Truth:
        """This ground truth with normalized keys, or with texts for its ids.

        Documents with the same key are merged, with the largest grade.
        """
        if not key.changes_ids:
            return self
        folded = key.folded(self.docs)
        merged: list[list[int]] = []
        sizes = [0]
        for query in range(len(self.queries)):
            by_key: dict[str, list[int]] = {}
            for gold in self.golds(query):
                if doc := folded[gold]:
                    by_key.setdefault(doc, []).append(gold)
            merged += by_key.values()
            sizes.append(len(by_key))
        first = [golds[0] for golds in merged]
        scores = self.scores
        documents = self.docs if self.documents is None and isinstance(key, TextOfId) else self.documents
        return Truth(
            self.queries,
            np.cumsum(sizes),
            [folded[gold] or "" for gold in first],
            np.array([max(self.grades[golds]) for golds in merged], np.float64),
            self.keyless + sum(not doc for doc in folded),
            np.array([max(scores[golds]) for golds in merged]) if isinstance(scores, np.ndarray) else scores,
            None if documents is None else [documents[gold] for gold in first],
            notes=self.notes,
        )

    def in_order_of_keys(self) -> Truth:
        """This ground truth, which has no labels, with the documents of each query in the order of their keys."""
        queries = range(len(self.queries))
        order = [gold for query in queries for gold in sorted(self.golds(query), key=self.docs.__getitem__)]
        return replace(
            self,
            docs=[self.docs[gold] for gold in order],
            grades=self.grades[order],
            scores=self.scores[order] if isinstance(self.scores, np.ndarray) else self.scores,
            documents=None if self.documents is None else [self.documents[gold] for gold in order],
        )

    def only(self, wanted: Bools) -> Truth:
        """The ground truth of some queries. Documents without a key are of no query, and are not counted."""
        rows = np.repeat(wanted, np.diff(self.offsets))
        golds = np.flatnonzero(rows).tolist()
        queries = np.flatnonzero(wanted).tolist()
        if isinstance(self.docs, list):
            docs: Sequence[str] = [self.docs[gold] for gold in golds]
        else:
            from karat.reading.pairs.arrays import Texts, row_indices, text_column

            docs = Texts(text_column(self.docs).take(row_indices(np.flatnonzero(rows))))
        return replace(
            self,
            queries=tuple(self.queries[query] for query in queries),
            offsets=np.concatenate(([0], np.cumsum(np.diff(self.offsets)[wanted]))),
            docs=docs,
            grades=self.grades[rows],
            keyless=0,
            scores=self.scores[rows] if isinstance(self.scores, np.ndarray) else self.scores,
            documents=None if self.documents is None else [self.documents[gold] for gold in golds],
            labels=None if self.labels is None else replace(self.labels, rows=self.labels.rows[rows]),
        )

    @cached_property
    def row_index(self) -> RowIndex:
        """The judged documents by their hashes, to look them up in a table."""
        from karat.reading.pairs.arrays import text_column
        from karat.reading.pairs.hashing import RowIndex, row_hashes

        return RowIndex.of(row_hashes(text_column(self.queries), self.offsets, text_column(self.docs)))

    def index(self, query: int) -> dict[str, int]:
        """The judged documents of a query: key to row number."""
        golds = self.golds(query)
        return dict(zip(self.docs[golds.start : golds.stop], golds, strict=True))

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each query in `queries`."""
        return {query: at for at, query in enumerate(self.queries)}

    @cached_property
    def digests(self) -> LazyDigests:
        """The digest of each query's judged documents; systems with the same ground truth share them."""
        # The digests refer to a copy, which shares all data: a cycle would keep it in memory for longer.
        return LazyDigests(partial(truth_digests, replace(self)))

    def golds(self, query: int) -> range:
        """The row numbers of a query's judged documents."""
        return range(int(self.offsets[query]), int(self.offsets[query + 1]))


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Lists of documents in rank order, without scores. A document may be listed more than once.

    `docs` contains their keys (None matches nothing), and `documents` the documents as they were given.
    """

    queries: list[str]
    docs: list[Sequence[str | None]]
    documents: list[Sequence[DocumentLike]]


@dataclass(frozen=True, eq=False)
class ScoredMappings:
    """Documents with scores, as one mapping per query; `scores` and `offsets` contain the scores of all queries."""

    queries: list[str]
    docs: list[dict[str, float]]
    scores: Floats
    offsets: Ints

    def by_query(self) -> Sequence[Iterable[str]]:
        """The documents of each query."""
        return self.docs

    def of_query(self, at: int) -> list[str]:
        """The documents of one query, by its position in `queries`."""
        return list(self.docs[at])

    def ids(self, rows: Ints) -> list[str]:
        """The documents in some rows; those of a query follow each other."""
        queries = np.searchsorted(self.offsets, rows, side="right") - 1
        places = (rows - self.offsets[queries]).tolist()
        ids: list[str] = []
        for start, stop in pairwise(stretches(queries).tolist()):
            ids += map(self.of_query(queries[start]).__getitem__, places[start:stop])
        return ids


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Documents with scores, as columns; query i has the rows `offsets[i]` to `offsets[i + 1]`.

    `locate` finds the lines of the source in which some of the documents are, for errors and findings.
    """

    queries: list[str]
    offsets: Ints
    docs: Column
    scores: Floats
    locate: Locate

    def segments(self, rows: Ints) -> Ints:
        """The query of each row, by its position in `queries`."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    def pairs_of(self, rows: Ints) -> list[Pair]:
        """The query and the document of some rows."""
        segments = self.segments(rows).tolist()
        return [(self.queries[segment], doc) for segment, doc in zip(segments, self.ids(rows), strict=True)]

    def by_query(self) -> Iterator[list[str]]:
        """The documents of each query. Nothing is converted before it is needed."""
        docs = self.docs.to_pylist()
        yield from (docs[start:stop] for start, stop in pairwise(self.offsets.tolist()))

    def of_query(self, at: int) -> list[str]:
        """The documents of one query, by its position in `queries`."""
        start, stop = self.offsets[at : at + 2].tolist()
        return list(self.docs.slice(start, stop - start).to_pylist())

    def queries_where(self, wanted: Bools) -> ScoredRows:
        """The rows of some queries."""
        at = np.flatnonzero(wanted)
        queries = [self.queries[query] for query in at.tolist()]
        if len(at) and at[-1] - at[0] == len(at) - 1:  # they are next to each other
            offsets = self.offsets[at[0] : at[-1] + 2]
            start, stop = int(offsets[0]), int(offsets[-1])
            docs, scores = self.docs.slice(start, stop - start), self.scores[start:stop]
            return replace(self, queries=queries, offsets=offsets - start, docs=docs, scores=scores)
        sizes = np.diff(self.offsets)
        rows = self.where(np.repeat(wanted, sizes))
        return replace(rows, queries=queries, offsets=np.concatenate(([0], np.cumsum(sizes[wanted]))))

    def ids(self, rows: Ints) -> list[str]:
        """The documents in some rows."""
        from karat.reading.pairs.arrays import row_indices

        return list(self.docs.take(row_indices(rows)).to_pylist())

    def hashes(self) -> Hashes:
        """The hash of each row."""
        from karat.reading.pairs.arrays import text_column
        from karat.reading.pairs.hashing import row_hashes

        return row_hashes(text_column(self.queries), self.offsets, self.docs)

    def where(self, keep: Bools) -> ScoredRows:
        """The rows selected by a mask; a query may be left without rows."""
        from karat.reading.pairs.arrays import row_indices

        kept_before = np.concatenate(([0], np.cumsum(keep)))
        docs = self.docs.take(row_indices(np.flatnonzero(keep)))
        return replace(self, offsets=kept_before[self.offsets], docs=docs, scores=self.scores[keep])


Batch = RankedLists | ScoredMappings | ScoredRows


class Run(Protocol):
    """A run as batches of queries. A batch is read when its function is called, so that threads can share the work."""

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was guessed when the source was read, as sentences without a full stop."""

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """The run in its own order. If a query appears in two batches, use `grouped_batches` instead."""

    def grouped_batches(self) -> Iterator[Callable[[], Batch]]:
        """The run in batches of complete queries."""

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The places at which pairs of a query and a document are listed, for errors and findings."""

    def empty_error(self) -> Exception | None:
        """The error to raise if the run is empty; None if an empty run is valid."""

    def without_progress(self) -> Run:
        """The same run, to be read again without reporting progress."""


@dataclass(frozen=True)
class InMemoryRun:
    """A run in memory."""

    name: str
    parts: tuple[Batch, ...]
    notes: tuple[Note, ...] = ()

    def batches(self) -> Iterator[Callable[[], Batch]]:
        for part in self.parts:
            yield lambda part=part: part  # type: ignore[misc]  # mypy cannot type a default in a lambda

    def grouped_batches(self) -> Iterator[Callable[[], Batch]]:
        raise AssertionError("a run in memory has each query only once")

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The queries of pairs: a mapping has no lines."""
        return queries_in(self.name, pairs)

    def empty_error(self) -> None:
        """None: an empty mapping means that the system retrieved nothing."""

    def without_progress(self) -> InMemoryRun:
        """This run, which reports no progress."""
        return self
