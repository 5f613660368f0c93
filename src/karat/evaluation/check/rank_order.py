"""Whether the scores of a run are in the order of its ranks, by which neither karat nor trec_eval sorts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from karat.data.judged import Floats, Ints
from karat.errors import Place, plural
from karat.evaluation.check.batches import SeenBatch
from karat.ranking.ties import rows_by_score
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.pairs.containers import Batch, RankedLists, Run, ScoredMappings, ScoredRows
from karat.reading.pairs.pair_checks import InvalidNumberError
from karat.reading.pairs.places import Pair, places_of
from karat.scores.finding import Finding, finding_about_queries


@dataclass
class RankOrder:
    """The queries with a document that has a higher score, but also a higher rank than another one; a `RunCheck`."""

    run: Run
    _queries: list[str] = field(default_factory=list)
    _first: Pair | None = None

    def see(self, seen: SeenBatch) -> None:
        """Compare the scores of some queries with their ranks."""
        batch = seen.source
        if seen.by_rank is None or isinstance(batch, RankedLists) or isinstance(seen.by_rank, RankedLists):
            return
        rows = _disordered(batch, _ranks(batch, seen.by_rank))
        segments = np.searchsorted(batch.offsets, rows, side="right") - 1
        self._queries += (batch.queries[segment] for segment in dict.fromkeys(segments.tolist()))
        if len(rows) and self._first is None:
            self._first = _pair(batch, int(rows[0]), int(segments[0]))

    def findings(self) -> Iterator[Finding]:
        """These queries, with the first place."""
        if self._first is None:
            return
        what = "whose ranks are not in the order of their scores, by which documents are sorted"
        hint = "Are smaller scores better, or were documents ranked again without new scores?"
        place = places_of(self.run.locate, [self._first], most=1).get(self._first, Place(self.run.name))
        yield replace(finding_about_queries("rank-disorder", self._queries, what, hint), place=place)


def wrong_ranks(by_rank: RejectedRows, most: int, rejected: RejectedRows, name: str) -> Iterator[Finding]:
    """The ranks that cannot be read, of rows that were not `rejected` for another reason.

    If reading the rows `by_rank` ended after so many wrong rows, the column does not contain ranks.
    """
    wrong = (error for error in by_rank.errors if isinstance(error, InvalidNumberError))
    errors = [error for error in wrong if error.place is None or error.place not in rejected]
    if not errors:
        return
    hint = "Documents are sorted by their scores. Write ranks as 1, 2, 3, or leave them out."
    message, place = f"{plural(len(errors), 'rank')} cannot be read: {errors[0].what}", errors[0].place
    if by_rank.count > most:
        message, place = f"more than {plural(most, 'rank')} cannot be read", Place(name)
    yield Finding("rank-disorder", message, len(errors), hint, place=place)


def _pair(batch: ScoredMappings | ScoredRows, row: int, segment: int) -> Pair:
    return batch.queries[segment], batch.of_query(segment)[row - int(batch.offsets[segment])]


def _ranks(batch: ScoredMappings | ScoredRows, by_rank: ScoredMappings | ScoredRows) -> Floats:
    """The rank of each row, NaN where it cannot be read, or if some rows cannot be, and others are repeated."""
    if np.array_equal(batch.offsets, by_rank.offsets) and _has_same_documents(batch, by_rank):
        return -by_rank.scores
    rank_of: dict[Pair, float] = {}
    for pair, rank in zip(_pairs(by_rank), (-by_rank.scores).tolist(), strict=True):
        rank_of[pair] = np.nan if pair in rank_of else rank
    return np.array([rank_of.get(pair, np.nan) for pair in _pairs(batch)])


def _has_same_documents(batch: Batch, other: Batch) -> bool:
    if isinstance(batch, ScoredRows) and isinstance(other, ScoredRows):
        return batch.queries == other.queries and bool(batch.docs.equals(other.docs))
    if isinstance(batch, ScoredMappings) and isinstance(other, ScoredMappings):
        return batch.queries == other.queries and all(
            [*docs] == [*theirs] for docs, theirs in zip(batch.docs, other.docs, strict=True)
        )
    return False


def _pairs(batch: ScoredMappings | ScoredRows) -> Iterator[Pair]:
    return ((query, doc) for query, docs in zip(batch.queries, batch.by_query(), strict=True) for doc in docs)


def _disordered(batch: ScoredMappings | ScoredRows, ranks: Floats) -> Ints:
    """The rows with a smaller rank than a row of the same query with a higher score, in order.

    Any order of documents with equal scores is right, and so are equal ranks.
    """
    segment = np.repeat(np.arange(len(batch.queries)), np.diff(batch.offsets))
    known = ~np.isnan(ranks)

    def falls(order: Ints) -> Ints:
        order = order[known[order]]
        of_rank, of_query = ranks[order], segment[order]
        rows: Ints = order[1:][(of_rank[1:] < of_rank[:-1]) & (of_query[1:] == of_query[:-1])]
        return rows

    rows = falls(rows_by_score(batch))
    # Ties may have their ranks in any order: with these in order, a rank that falls has a smaller score.
    return np.sort(falls(np.lexsort((ranks, -batch.scores, segment)))) if len(rows) else rows
