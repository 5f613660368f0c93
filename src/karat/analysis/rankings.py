"""The rankings of queries: the run is read again, once for any number of them, and only their first ranks are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from karat.analysis.evidence import Evidence
from karat.data.judged import Floats, Ints, distinct, ranges
from karat.documents.fields import DocumentLike
from karat.errors import KaratError
from karat.matching.joiner import Joiner
from karat.matching.matchers import FunctionMatcher
from karat.ranking import BatchRanker, RankedBatch, without_identical_ids
from karat.ranking.ties import in_order_of_ties, rows_by_score, tie_starts
from karat.reading.bytes.threads import in_threads
from karat.reading.pairs.containers import Batch, InMemoryRun, RankedLists, ScoredMappings, ScoredRows


class Hit(NamedTuple):
    """A rank, the gold that the document there matched, and why; also by whom, if its grade is from a label."""

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
    rankings = _read(evidence, run.batches(), wanted, k)
    if rankings is None and not isinstance(run, InMemoryRun):
        # The rows of a query are in several batches, unless the run has changed.
        rankings = _read(evidence, run.grouped_batches(), wanted, k)
    if rankings is None:
        raise KaratError("the run has changed since it was evaluated", place=run.name, hint="Evaluate again.")
    return rankings


def _read(
    evidence: Evidence, batches: Iterator[Callable[[], Batch]], queries: Sequence[str], k: int
) -> dict[str, Ranking] | None:
    """The rankings in batches; None if they are not those that were evaluated."""
    reader = _BatchReader(evidence, frozenset(queries), k, Joiner(evidence.truth, evidence.match))
    rankings: dict[str, Ranking] = {}
    for part in in_threads(partial(reader.read, load) for load in batches):
        if part is None or not rankings.keys().isdisjoint(part):
            return None
        rankings |= part
    for query in queries:
        if query not in rankings and evidence.judged.retrieved[evidence.truth.positions[query]]:
            return None
    return {query: rankings.get(query, Ranking({}, 0, ())) for query in queries}


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
        starts, stops = np.searchsorted(judged.hit_query, [positions, positions + 1])
        ranks, offsets = self._ranks(sizes, starts, stops)
        if isinstance(batch, RankedLists):
            documents: Iterable[list[DocumentLike]] = _in_lists(batch, ranks, offsets)
        else:
            documents = self._in_scored(batch, ranks, offsets)
        of_queries = zip(documents, pairwise(offsets.tolist()), strict=True)
        kept = [dict(zip(ranks[start:stop].tolist(), docs, strict=True)) for docs, (start, stop) in of_queries]
        hits = self._hits(batch.queries, kept, starts, stops)
        values = zip(kept, sizes.tolist(), hits, strict=True)
        return {query: Ranking(*ranking) for query, ranking in zip(batch.queries, values, strict=True)}

    def _with_present_keys(self, batch: RankedLists) -> RankedLists:
        """The lists with the keys that their documents have now."""
        keys: list[Sequence[str | None]] = [
            self.evidence.match.key.of_retrieved(documents, self.evidence.place(query))
            for query, documents in zip(batch.queries, batch.documents, strict=True)
        ]
        return replace(batch, docs=keys)

    def _ranks(self, sizes: Ints, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
        """The ranks to keep, the first ones of each query and those of its hits; and where each query begins."""
        first = np.minimum(sizes, min(self.k, int(sizes.max(initial=0))))  # k may have any number of digits
        query = np.repeat(np.arange(len(sizes)), first), np.repeat(np.arange(len(sizes)), stops - starts)
        rank = ranges(np.ones_like(first), first), self.evidence.judged.hit_rank[ranges(starts, stops - starts)]
        width = int(sizes.max(initial=0)) + 1
        kept = distinct(np.concatenate(query) * width + np.concatenate(rank))
        return kept % width, np.searchsorted(kept, np.arange(len(sizes) + 1) * width)

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

    def _hits(
        self, queries: Sequence[str], documents: Sequence[Mapping[int, DocumentLike]], starts: Ints, stops: Ints
    ) -> Iterator[tuple[Hit, ...]]:
        """The hits of each query, each with its reason."""
        truth, judged, match = self.evidence.truth, self.evidence.judged, self.evidence.match
        key = None if isinstance(match, FunctionMatcher) else match.key
        for query, by_rank, start, stop in zip(queries, documents, starts.tolist(), stops.tolist(), strict=True):
            ranks, golds = judged.hit_rank[start:stop].tolist(), judged.hit_gold[start:stop].tolist()
            retrieved: Sequence[Any] = [by_rank[rank] for rank in ranks]
            if key is not None:
                retrieved = key.of_retrieved(retrieved, self.evidence.place(query))
            pairs = zip(ranks, golds, retrieved, strict=True)
            yield tuple(
                Hit(rank, gold, f"{match.reason(document, truth.docs[gold])}{truth.graded_by(gold)}")
                for rank, gold, document in pairs
            )

    def _in_scored(
        self, batch: ScoredMappings | ScoredRows, ranks: Ints, offsets: Ints
    ) -> Iterator[list[DocumentLike]]:
        """The documents at some ranks of each query: those with their scores are read, and put in order."""
        by_score = rows_by_score(batch)
        ties = tie_starts(batch.scores[by_score], batch.offsets)
        places = np.repeat(batch.offsets[:-1], np.diff(offsets)) + ranks - 1
        wanted = distinct(np.searchsorted(ties, places, side="right") - 1)
        sizes = ties[wanted + 1] - ties[wanted]
        read = ranges(ties[wanted], sizes)
        docs = batch.ids(by_score[read])
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        docs = in_order_of_ties(docs, bounds, lambda tied: self._grades(batch, tied, read), self.evidence.rules.ties)
        kept = np.searchsorted(read, places).tolist()
        for start, stop in pairwise(offsets.tolist()):
            yield [docs[at] for at in kept[start:stop]]

    def _grades(self, batch: ScoredMappings | ScoredRows, docs: list[str], places: Ints) -> Floats:
        """The largest grade that each document matches, or 0."""
        grades = np.zeros(len(docs))
        bounds = np.searchsorted(places, batch.offsets).tolist()
        for query, (start, stop) in zip(batch.queries, pairwise(bounds), strict=True):
            keys = self.evidence.match.key.of_retrieved(docs[start:stop], self.evidence.place(query))
            lists = RankedLists([query], [keys], [docs[start:stop]])
            position = np.array([self.evidence.truth.positions[query]])
            _, rows, golds = self.joiner.find_in_lists(lists, position)
            np.maximum.at(grades, start + rows, self.evidence.truth.grades[golds])
        return grades


def _in_lists(batch: RankedLists, ranks: Ints, offsets: Ints) -> Iterator[list[DocumentLike]]:
    """The documents at some ranks of each query."""
    for documents, (start, stop) in zip(batch.documents, pairwise(offsets.tolist()), strict=True):
        yield [documents[rank - 1] for rank in ranks[start:stop].tolist()]


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
    from karat.reading.pairs.arrays import row_indices

    return replace(batch, queries=names, offsets=offsets, docs=batch.docs.take(row_indices(rows)), scores=scores)


def _sizes(batch: Batch) -> Ints:
    """How many documents each query has."""
    if isinstance(batch, RankedLists):
        return np.fromiter(map(len, batch.documents), np.int64, len(batch.documents))
    return np.diff(batch.offsets)
