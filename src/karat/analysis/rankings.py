"""The rankings of queries: the run is read again, once for any number of them, and only their first ranks are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from karat.analysis.evidence import Evidence
from karat.documents.fields import DocumentLike
from karat.errors import KaratError
from karat.judged import Floats, Ints, distinct, ranges
from karat.matching.joiner import Joiner
from karat.matching.matchers import FunctionMatcher
from karat.ranking import BatchRanker, RankedBatch, without_identical_ids
from karat.ranking.ties import order_of_ties, stretches
from karat.sources.containers import Batch, InMemoryRun, RankedLists, ScoredMappings, ScoredRows
from karat.threads import in_threads


class Hit(NamedTuple):
    """A rank, the gold that the document there matched, and the reason why it matched."""

    rank: int
    gold: int
    reason: str


class Ranking(NamedTuple):
    """What was retrieved for a query: the documents at the first ranks and at those of the hits, by rank.

    `retrieved` is the number of all documents. The hits are in the order of their ranks.
    """

    documents: Mapping[int, DocumentLike]
    retrieved: int
    hits: tuple[Hit, ...]


def read_ranking(evidence: Evidence, query: str, k: int) -> Ranking:
    """The first k ranks and all hits of a query; reads the run again."""
    return read_rankings(evidence, [query], k)[query]


def read_rankings(evidence: Evidence, queries: Iterable[str], k: int) -> dict[str, Ranking]:
    """The first k ranks and all hits of some queries of the ground truth; reads the run again, once."""
    wanted = tuple(dict.fromkeys(queries))
    run = evidence.run
    found = _read(evidence, run.batches(), wanted, k)
    if found is None and not isinstance(run, InMemoryRun):
        # The rows of a query are in several batches, unless the run has changed.
        found = _read(evidence, run.grouped_batches(), wanted, k)
    if found is None:
        raise KaratError("the run has changed since it was evaluated", where=run.name, hint="Evaluate again.")
    return found


def _read(
    evidence: Evidence, batches: Iterator[Callable[[], Batch]], queries: Sequence[str], k: int
) -> dict[str, Ranking] | None:
    """The rankings in batches; None if they are not those that were evaluated."""
    reader = _BatchReader(evidence, frozenset(queries), k, Joiner(evidence.truth, evidence.match))
    found: dict[str, Ranking] = {}
    for part in in_threads(partial(reader.read, load) for load in batches):
        if part is None or not found.keys().isdisjoint(part):
            return None
        found |= part
    for query in queries:
        if query not in found and evidence.judged.retrieved[evidence.truth.positions[query]]:
            return None
    return {query: found.get(query, Ranking({}, 0, ())) for query in queries}


@dataclass(frozen=True, eq=False)
class _BatchReader:
    """Reads the rankings of some queries in one batch."""

    evidence: Evidence
    queries: Collection[str]
    k: int
    joiner: Joiner

    def read(self, load: Callable[[], Batch]) -> dict[str, Ranking] | None:
        """The rankings in a batch; None if they are not those that were evaluated."""
        batch = _only(load(), self.queries)
        truth, judged, rules = self.evidence.truth, self.evidence.judged, self.evidence.rules
        by_function = isinstance(self.evidence.match, FunctionMatcher)
        evaluated = batch
        batch = self._with_present_keys(batch) if isinstance(batch, RankedLists) else batch
        if isinstance(batch, RankedLists) and not by_function and batch.docs == evaluated.docs:
            # The same keys have the same hits: texts are not compared again.
            batch = without_identical_ids(batch)[0] if rules.ignore_identical_ids else batch
        else:
            batch, part = BatchRanker(truth, rules, self.joiner).rank(batch)
            if not self._has_same_hits(part):
                return None
        sizes = _sizes(batch)
        positions = np.array([truth.positions[query] for query in batch.queries], np.int64)
        if not np.array_equal(sizes, judged.retrieved[positions]):
            return None
        starts, stops = np.searchsorted(judged.hit_query, [positions, positions + 1]).tolist()
        ranks = [
            self._ranks(size, start, stop) for size, start, stop in zip(sizes.tolist(), starts, stops, strict=True)
        ]
        documents = self._in_lists(batch, ranks) if isinstance(batch, RankedLists) else self._in_scored(batch, ranks)
        return {
            query: Ranking(of_query, size, self._hits(query, of_query, start, stop))
            for query, of_query, size, start, stop in zip(
                batch.queries, documents, sizes.tolist(), starts, stops, strict=True
            )
        }

    def _with_present_keys(self, batch: RankedLists) -> RankedLists:
        """The lists with the keys that their documents have now."""
        keys: list[Sequence[str | None]] = [
            self.evidence.match.key.of_retrieved(documents, self.evidence.where(query))
            for query, documents in zip(batch.queries, batch.documents, strict=True)
        ]
        return replace(batch, docs=keys)

    def _ranks(self, size: int, start: int, stop: int) -> Ints:
        """The ranks to keep: the first ones, and those of the hits."""
        hits = self.evidence.judged.hit_rank[start:stop]
        return distinct(np.concatenate((np.arange(1, min(size, self.k) + 1), hits)))

    def _has_same_hits(self, part: RankedBatch) -> bool:
        judged = self.evidence.judged
        of_part = np.zeros(len(judged.queries), bool)
        of_part[part.query] = True
        rows = of_part[judged.hit_query]
        order = np.lexsort((part.hit_gold, part.hit_rank, part.hit_query))
        return all(
            np.array_equal(one[order], other[rows])
            for one, other in (
                (part.hit_query, judged.hit_query), (part.hit_rank, judged.hit_rank), (part.hit_gold, judged.hit_gold),
            )
        )  # fmt: skip

    def _hits(self, query: str, documents: Mapping[int, DocumentLike], start: int, stop: int) -> tuple[Hit, ...]:
        """The hits of a query, each with its reason."""
        truth, judged, match = self.evidence.truth, self.evidence.judged, self.evidence.match
        ranks, golds = judged.hit_rank[start:stop].tolist(), judged.hit_gold[start:stop].tolist()
        retrieved = [documents[rank] for rank in ranks]
        if not isinstance(match, FunctionMatcher):
            retrieved = match.key.of_retrieved(retrieved, self.evidence.where(query))
        pairs = zip(ranks, golds, retrieved, strict=True)
        return tuple(Hit(rank, gold, match.reason(document, truth.docs[gold])) for rank, gold, document in pairs)

    @staticmethod
    def _in_lists(batch: RankedLists, ranks: Sequence[Ints]) -> Iterator[dict[int, DocumentLike]]:
        for documents, of_query in zip(batch.documents, ranks, strict=True):
            yield {rank: documents[rank - 1] for rank in of_query.tolist()}

    def _in_scored(
        self, batch: ScoredMappings | ScoredRows, ranks: Sequence[Ints]
    ) -> Iterator[dict[int, DocumentLike]]:
        """The documents at some ranks of each query: those with their scores are read, and put in order."""
        bounds: list[Ints] = []
        places: list[Ints] = []
        rows: list[Ints] = []
        for at, of_query in enumerate(ranks):
            start, stop = batch.offsets[at : at + 2].tolist()
            by_score = np.argsort(-batch.scores[start:stop], kind="stable")
            ties = stretches(batch.scores[start:stop][by_score])
            wanted = distinct(np.searchsorted(ties, of_query - 1, side="right") - 1)
            sizes = ties[wanted + 1] - ties[wanted]
            places.append(ranges(ties[wanted], sizes))
            bounds.append(np.concatenate(([0], np.cumsum(sizes))))
            rows.append(by_score[places[-1]])
        for at, (query, docs) in enumerate(zip(batch.queries, _docs(batch, rows), strict=True)):
            order = order_of_ties(docs, bounds[at], self._grades(query, docs), self.evidence.rules.ties)
            in_order = dict(zip((places[at] + 1).tolist(), map(docs.__getitem__, order.tolist()), strict=True))
            yield {rank: in_order[rank] for rank in ranks[at].tolist()}

    def _grades(self, query: str, docs: list[str]) -> Floats:
        """The largest grade that each document matches, or 0, if ties are ordered by grades."""
        grades = np.zeros(len(docs))
        if self.evidence.rules.ties in ("best", "worst"):
            keys = self.evidence.match.key.of_retrieved(docs, self.evidence.where(query))
            batch = RankedLists([query], [keys], [docs])
            _, rows, golds = self.joiner.find_in_lists(batch, np.array([self.evidence.truth.positions[query]]))
            np.maximum.at(grades, rows, self.evidence.truth.grades[golds])
        return grades


def _only(batch: Batch, queries: Collection[str]) -> Batch:
    """Some of the queries of a batch."""
    kept = [at for at, query in enumerate(batch.queries) if query in queries]
    if len(kept) == len(batch.queries):
        return batch
    names = [batch.queries[at] for at in kept]
    if isinstance(batch, RankedLists):
        return RankedLists(names, [batch.docs[at] for at in kept], [batch.documents[at] for at in kept])
    segments = np.array(kept, np.int64)
    sizes = np.diff(batch.offsets)[segments]
    rows = ranges(batch.offsets[segments], sizes)
    offsets, scores = np.concatenate(([0], np.cumsum(sizes))), batch.scores[rows]
    if isinstance(batch, ScoredMappings):
        return ScoredMappings(names, [batch.docs[at] for at in kept], scores, offsets)
    from karat.sources.arrays import row_indices

    return replace(batch, queries=names, offsets=offsets, docs=batch.docs.take(row_indices(rows)), scores=scores)


def _sizes(batch: Batch) -> Ints:
    """How many documents each query has."""
    if isinstance(batch, RankedLists):
        return np.fromiter(map(len, batch.documents), np.int64, len(batch.documents))
    return np.diff(batch.offsets)


def _docs(batch: ScoredMappings | ScoredRows, rows: Sequence[Ints]) -> Iterator[list[str]]:
    """The documents in some rows of each query, which are counted from the first one of the query."""
    if isinstance(batch, ScoredMappings):
        for docs, of_query in zip(map(list, batch.docs), rows, strict=True):
            yield list(map(docs.__getitem__, of_query.tolist()))
        return
    from karat.sources.arrays import row_indices

    in_batch = [of_query + start for of_query, start in zip(rows, batch.offsets[:-1].tolist(), strict=True)]
    docs = batch.docs.take(row_indices(np.concatenate([np.empty(0, np.int64), *in_batch]))).to_pylist()
    start = 0
    for of_query in rows:
        yield docs[start : start + len(of_query)]
        start += len(of_query)
