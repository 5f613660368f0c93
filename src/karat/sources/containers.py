"""What every source becomes: a truth, and a run in batches of complete queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from karat.documents.fields import DocumentLike
from karat.documents.key import Key
from karat.errors import KaratError
from karat.judged import Bools, Floats, Ints

if TYPE_CHECKING:
    from karat.sources.arrays import Column


@dataclass(frozen=True, eq=False)
class Truth:
    """The judged documents of each query, and their grades: queries in order, documents CSR by query.

    `keyless` counts what was listed and has nothing to be matched by. `scores` has the grades of documents that were
    listed with scores, 1 for all others, or what is wrong with these scores; None where nothing was listed so.
    `documents` are the documents as they were listed, where they are more than their keys.
    """

    queries: tuple[str, ...]
    offsets: Ints
    docs: Sequence[str]
    grades: Floats
    keyless: int = 0
    scores: Floats | KaratError | None = None
    documents: Sequence[DocumentLike] | None = None

    def original_documents(self, golds: range) -> Sequence[DocumentLike]:
        """Judged documents as they were given."""
        return (self.docs if self.documents is None else self.documents)[golds.start : golds.stop]

    def normalized_by(self, key: Key) -> Truth:
        """The same with normalised keys: documents that become one keep their largest grade."""
        if not key.folds:
            return self
        folded = key.folded(self.docs)
        same: list[list[int]] = []
        sizes = [0]
        for query in range(len(self.queries)):
            by_key: dict[str, list[int]] = {}
            for gold in self.golds(query):
                if doc := folded[gold]:
                    by_key.setdefault(doc, []).append(gold)
            same += by_key.values()
            sizes.append(len(by_key))
        first = [golds[0] for golds in same]
        scores = self.scores
        return Truth(
            self.queries,
            np.cumsum(sizes),
            [folded[gold] or "" for gold in first],
            np.array([max(self.grades[golds]) for golds in same], np.float64),
            self.keyless + folded.count(""),
            np.array([max(scores[golds]) for golds in same]) if isinstance(scores, np.ndarray) else scores,
            None if self.documents is None else [self.documents[gold] for gold in first],
        )

    def index(self, query: int) -> dict[str, int]:
        """A query's judged documents by name: which of all judged documents each is."""
        golds = self.golds(query)
        return dict(zip(self.docs[golds.start : golds.stop], golds, strict=True))

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each query stands."""
        return {query: at for at, query in enumerate(self.queries)}

    def golds(self, query: int) -> range:
        """The indices of a query's judged documents."""
        return range(int(self.offsets[query]), int(self.offsets[query + 1]))


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Documents in rank order, without scores; a document may repeat, and None can never match.

    `docs` are their keys, `documents` the documents as they were given.
    """

    queries: list[str]
    docs: list[Sequence[str | None]]
    documents: list[Sequence[DocumentLike]]


@dataclass(frozen=True, eq=False)
class ScoredMappings:
    """Documents by score, as mappings: each document is there once."""

    queries: list[str]
    docs: list[dict[str, float]]
    scores: Floats
    offsets: Ints


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Documents by score, as columns; `offsets` says which rows belong to which query.

    `locate` names the source's lines of two rows that hold the same query and document, for an error.
    """

    queries: list[str]
    offsets: Ints
    docs: Column
    scores: Floats
    locate: Callable[[str, str], str]

    def segments(self, rows: Ints) -> Ints:
        """Which query, by its place in `queries`, each row belongs to."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    def where(self, keep: Bools) -> ScoredRows:
        """The table without some of its rows; a query may be left with none."""
        from karat.sources.arrays import row_indices

        kept_before = np.concatenate(([0], np.cumsum(keep)))
        docs = self.docs.take(row_indices(np.flatnonzero(keep)))
        return replace(self, offsets=kept_before[self.offsets], docs=docs, scores=self.scores[keep])


Batch = RankedLists | ScoredMappings | ScoredRows


class Run(Protocol):
    """A run: batches of queries, each made when it is called for, so that threads can share the work."""

    @property
    def name(self) -> str: ...

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """The run as it comes. A query that comes in two batches makes the caller ask for `whole`."""

    def as_one_batch(self) -> Batch:
        """The run in one batch, with the rows of each query brought together."""

    def empty_error(self) -> Exception | None:
        """What is wrong with a run that holds nothing; None where that may be meant."""

    def without_progress(self) -> Run:
        """The same run, to be looked at once more in silence."""


@dataclass(frozen=True)
class InMemoryRun:
    """A run that is in memory."""

    name: str
    parts: tuple[Batch, ...]

    def batches(self) -> Iterator[Callable[[], Batch]]:
        for part in self.parts:
            yield lambda part=part: part  # type: ignore[misc]  # mypy cannot type a default in a lambda

    def as_one_batch(self) -> Batch:
        raise AssertionError("a run in memory has each query once")

    def empty_error(self) -> None:
        """An empty mapping says that the system answered nothing."""

    def without_progress(self) -> InMemoryRun:
        """Itself."""
        return self
