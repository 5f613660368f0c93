"""What is found out about a run while it is read: its depth, the order of its ranks, queries that find themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from karat.data.judged import Floats, Ints
from karat.documents.fields import document_keys
from karat.errors import Place, enumeration, plural
from karat.evaluation.check.batches import SeenBatch
from karat.ranking.ties import rows_by_score
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.pairs.containers import Batch, RankedLists, Run, ScoredMappings, ScoredRows, Truth
from karat.reading.pairs.pair_checks import InvalidNumberError
from karat.reading.pairs.places import Pair, places_of
from karat.registry import Measure
from karat.scores.finding import Finding, finding_about_queries, in_order_of_ids

_MOST_QUERIES = 0.5
"""that have exactly the largest number of documents, if the run was cut there"""
_MANY_QUERIES, _LEAST_CUT = 0.2, 5
"""that have exactly another number of documents, if it was cut there too; small numbers are often equal by chance"""
_SHARE_WITH_OWN_ID = 0.01
"""of the queries; if the ids are numbers, some are equal by chance, so there must be at least two"""


@dataclass
class Depths:
    """The number of documents of each query; a `RunCheck`."""

    name: str
    measures: Sequence[Measure]
    _queries: list[str] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)

    def see(self, seen: SeenBatch) -> None:
        """Count the documents of some queries."""
        batch = seen.batch
        self._sizes += map(len, batch.docs) if isinstance(batch, RankedLists) else np.diff(batch.offsets).tolist()
        self._queries += batch.queries

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the depth of the run."""
        sizes = np.array(self._sizes, np.int64)
        most = int(sizes.max(initial=0))
        if not most:
            return
        yield from self._uneven(sizes, most)
        deeper = [str(measure) for measure in self.measures if measure.cutoff and measure.cutoff > most]
        if deeper:
            verb = "looks" if len(deeper) == 1 else "look"
            what = f"{enumeration(deeper, 'and')} {verb} deeper than the run: no query has more than"
            hint = "Retrieve more documents, or use a smaller cut-off."
            yield Finding(
                "shallow-run", f"{what} {plural(most, 'document')}", len(deeper), hint, place=Place(self.name)
            )

    def _uneven(self, sizes: Ints, most: int) -> Iterator[Finding]:
        """Queries share the largest number of documents, and others have less than half of them.

        Where a system retrieves whatever matches, the numbers differ, and few queries share one. Queries without
        documents are another finding.
        """
        few = (sizes > 0) & (2 * sizes < most)
        depths, times = np.unique(sizes[sizes > 0], return_counts=True)
        shares = times / times.sum()
        is_common = (shares >= _MANY_QUERIES) & (times > 1) & (depths >= _LEAST_CUT)
        has_two_cuts = is_common[-1] and is_common[2 * depths < most].any()
        if not few.any() or not (has_two_cuts or shares[-1] >= _MOST_QUERIES):
            return
        short = dict(zip(compress(self._queries, few.tolist()), sizes[few].tolist(), strict=True))
        first = in_order_of_ids([*short])[0]
        what = f"with fewer than half of the {plural(most, 'document')} that other queries have"
        finding = finding_about_queries("uneven-depth", [*short], what, "Was the run cut by a threshold or a time-out?")
        message = f"{finding.message} ({first}: {plural(short[first], 'document')})"
        yield replace(finding, message=message, place=Place(self.name))


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


@dataclass
class IdenticalIds:
    """The queries that retrieve a document with their own id, unless it is judged; a `RunCheck`."""

    name: str
    truth: Truth
    _queries: list[str] = field(default_factory=list)
    _seen: int = 0

    def see(self, seen: SeenBatch) -> None:
        """Find these queries in a batch."""
        self._seen += len(seen.batch.queries)
        self._queries += (query for query in _with_own_id(seen.batch) if not self._is_judged(query))

    def findings(self) -> Iterator[Finding]:
        """The queries, if they are too many to be chance."""
        least = 2 if all(map(str.isdecimal, self._queries)) else 1
        if len(self._queries) >= max(least, _SHARE_WITH_OWN_ID * self._seen):
            what = "with a document of the same id in the run"
            hint = "If queries are documents too, use --ignore-identical-ids (ignore_identical_ids=True)."
            yield replace(finding_about_queries("identical-ids", self._queries, what, hint), place=Place(self.name))

    def _is_judged(self, query: str) -> bool:
        position = self.truth.positions.get(query)
        return position is not None and query in self.truth.index(position)


def _with_own_id(batch: Batch) -> list[str]:
    if isinstance(batch, ScoredMappings):
        return [query for query, docs in zip(batch.queries, batch.docs, strict=True) if query in docs]
    if isinstance(batch, RankedLists):
        lists = zip(batch.queries, batch.documents, strict=True)
        return [query for query, documents in lists if query in document_keys(documents, "id", f"query {query}")]
    from karat.reading.pairs.arrays import rows_with

    # Few documents have the id of any query, so few are compared with their own.
    rows = rows_with(batch.docs, batch.queries)
    return [query for query, doc in batch.pairs_of(rows) if query == doc]
