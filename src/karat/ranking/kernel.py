"""Order, ties and duplicates: a truth and a run become Judged. The kernel that every engine calls."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from karat.documents.fields import document_keys
from karat.errors import KaratError
from karat.judged import Bools, Floats, Ints, Judged
from karat.matching.joiner import Joiner, join_lists
from karat.matching.matchers import Matcher, Same
from karat.options import Duplicates, Ties
from karat.ranking.ties import Order, ranks_by_score, ranks_in_table
from karat.sources import read_run, read_truth
from karat.sources.containers import Batch, RankedLists, Run, ScoredMappings, ScoredRows, Truth
from karat.sources.list_checks import DocumentLists


@dataclass(frozen=True)
class Rules:
    """How a run is ranked."""

    ties: Ties = "trec"
    duplicates: Duplicates = "error"
    ignore_identical_ids: bool = False


@dataclass
class Observations:
    """What was passed over on the way, to be shown."""

    missing_queries: list[str] = field(default_factory=list)
    unknown_queries: list[str] = field(default_factory=list)
    duplicates: int = 0
    identical: int = 0
    keyless_golds: int = 0
    keyless: dict[str, int] = field(default_factory=dict)
    """How many retrieved documents of a query have nothing to be matched by."""


@dataclass(frozen=True, eq=False)
class Part:
    """The ranks of the judged documents in some queries of the run."""

    queries: list[str]
    query: Ints
    retrieved: Ints
    hit_query: Ints
    hit_rank: Ints
    hit_gold: Ints
    duplicates: int = 0
    identical: int = 0
    keyless: dict[str, int] = field(default_factory=dict)


def judge(truth: Truth, run: Run, rules: Rules, match: Matcher) -> tuple[Judged, Observations]:
    """Rank the judged documents of a run."""
    kernel = _Kernel(truth, rules, Joiner(truth, match))
    parts: list[Part] = []
    seen: set[str] = set()
    for part in _in_threads(kernel, run.batches()):
        before = len(seen)
        seen.update(part.queries)
        if len(seen) - before < len(part.queries):
            # A query's rows are scattered over the run: bring them together, and begin again.
            parts = [kernel(run.as_one_batch())]
            seen = set(parts[0].queries)
            break
        parts.append(part)
    if not seen and (error := run.empty_error()):
        raise error
    return _collected(truth, parts)


def judge_document_lists(
    gold_lists: DocumentLists, lists: DocumentLists, match: Matcher, names: tuple[str, str]
) -> tuple[Judged, Observations, Floats | KaratError | None]:
    """Rank the gold documents of each query in its list of retrieved ones; errors call the two inputs by `names`.

    All gold documents have grade 1; what comes last are their scores, if they have any, or what is wrong with them.
    """
    if not isinstance(match, Same):
        truth = read_truth(gold_lists, key=match.gold_key, name=names[0])
        return *judge(truth, read_run(lists, truth, key=match.key, name=names[1]), Rules(), match), truth.scores
    joined = join_lists(gold_lists, lists, match, names)
    judged = Judged.from_hits(
        queries=tuple(map(str, range(len(lists)))),
        answered=np.ones(len(lists), bool),
        retrieved=joined.sizes,
        hit_query=joined.hit_query,
        hit_rank=joined.hit_place + 1,
        hit_gold=joined.hit_gold,
        gold_grade=np.ones(joined.gold_sizes.sum()),
        gold_offsets=np.concatenate(([0], np.cumsum(joined.gold_sizes))),
    )
    return judged, Observations(keyless_golds=joined.keyless_golds, keyless=joined.keyless), joined.scores


def _in_threads(kernel: Callable[[Batch], Part], batches: Iterator[Callable[[], Batch]]) -> Iterator[Part]:
    """The parts in order, a few batches at a time, so that memory stays flat."""
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    waiting: deque[Future[Part]] = deque()
    first, second = next(batches, None), next(batches, None)
    if first is None or second is None:
        # One batch is not worth a thread.
        yield from (kernel(batch()) for batch in (first,) if batch)
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            for batch in (first, second):
                waiting.append(pool.submit(_made_and_ranked, kernel, batch))
            for batch in batches:
                waiting.append(pool.submit(_made_and_ranked, kernel, batch))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _made_and_ranked(kernel: Callable[[Batch], Part], batch: Callable[[], Batch]) -> Part:
    return kernel(batch())


@dataclass(frozen=True, eq=False)
class _Kernel:
    """Ranks the judged documents of one batch."""

    truth: Truth
    rules: Rules
    joiner: Joiner

    def __call__(self, batch: Batch) -> Part:
        if isinstance(batch, ScoredRows):
            return self._table(batch)
        return self._lists(batch) if isinstance(batch, RankedLists) else self._scored(batch)

    def _lists(self, batch: RankedLists) -> Part:
        identical = 0
        if self.rules.ignore_identical_ids:
            batch, identical = _without_identical_documents(batch)
        places = self._places(batch.queries)
        segment, at, gold = self.joiner.in_lists(batch, places)
        keyless = {
            query: sum(not doc for doc in docs)
            for query, place, docs in zip(batch.queries, places.tolist(), batch.docs, strict=True)
            if place >= 0 and not all(docs)
        }
        sizes = np.fromiter(map(len, batch.docs), np.int64, len(batch.docs))
        return self._part(batch.queries, places, sizes, segment, at + 1, gold, identical=identical, keyless=keyless)

    def _scored(self, batch: ScoredMappings) -> Part:
        identical = 0
        if self.rules.ignore_identical_ids:
            batch, identical = _without_identical(batch)
        places = self._places(batch.queries)
        segment, names, gold = self.joiner.in_scored(batch, places)
        scores = [batch.docs[query][name] for query, name in zip(segment.tolist(), names, strict=True)]
        order = self._order(segment, names, gold)
        ranks = ranks_by_score(batch, segment, np.asarray(scores, np.float64), names, order)
        return self._part(batch.queries, places, np.diff(batch.offsets), segment, ranks, gold, identical=identical)

    def _table(self, batch: ScoredRows) -> Part:
        from karat.matching.rows import same_as_query
        from karat.sources.hashing import repeated_rows, row_hashes

        identical = duplicates = 0
        if self.rules.ignore_identical_ids:
            same = same_as_query(batch)
            batch, identical = batch.where(~same), int(same.sum())
        hashes = row_hashes(batch)
        repeated = repeated_rows(batch, hashes)
        if len(repeated):
            keep = self._best_of(batch, repeated)
            duplicates = int((~keep).sum())
            batch, hashes = batch.where(keep), hashes[keep]
        places = self._places(batch.queries)
        rows, names, gold = self.joiner.in_table(batch, hashes, places)
        segment = batch.segments(rows)
        ranks = ranks_in_table(batch, rows, names, self._order(segment, names, gold))
        return self._part(
            batch.queries, places, np.diff(batch.offsets), segment, ranks, gold,
            duplicates=duplicates, identical=identical,
        )  # fmt: skip

    def _best_of(self, table: ScoredRows, repeated: Ints) -> Bools:
        """Which rows to keep so that each document stays where it is ranked best; an error if that was not asked."""
        from karat.sources.arrays import row_indices

        segments = table.segments(repeated)
        docs = table.docs.take(row_indices(repeated)).to_pylist()
        if self.rules.duplicates == "error":
            query, doc = table.queries[segments[0]], docs[0]
            raise KaratError(
                f"document {doc} comes twice for query {query}",
                where=table.locate(query, doc),
                hint='Fix the run, or keep the best ranked one with duplicates="first" (--duplicates first).',
            )
        best: dict[tuple[int, str], int] = {}
        for row, segment, doc in zip(repeated.tolist(), segments.tolist(), docs, strict=True):
            other = best.setdefault((segment, doc), row)
            if table.scores[row] > table.scores[other]:
                best[segment, doc] = row
        keep = np.ones(len(table.scores), bool)
        keep[repeated] = False
        keep[list(best.values())] = True
        return keep

    def _places(self, queries: Sequence[str]) -> Ints:
        """Where the truth has each query; -1 where it has not."""
        place = self.truth.positions
        return np.fromiter((place.get(query, -1) for query in queries), np.int64, len(queries))

    def _order(self, segment: Ints, names: Sequence[str], gold: Ints) -> Order:
        @cache
        def grades() -> dict[int, dict[str, float]]:
            best: dict[int, dict[str, float]] = {}
            for at, name, grade in zip(segment.tolist(), names, self.truth.grades[gold].tolist(), strict=True):
                of_query = best.setdefault(at, {})
                of_query[name] = max(grade, of_query.get(name, grade))
            return best

        return Order(self.rules.ties, lambda wanted: grades().get(wanted, {}))

    def _part(
        self,
        queries: list[str],
        places: Ints,
        sizes: Ints,
        segment: Ints,
        hit_rank: Ints,
        hit_gold: Ints,
        duplicates: int = 0,
        identical: int = 0,
        keyless: dict[str, int] | None = None,
    ) -> Part:
        known = places >= 0
        return Part(
            queries,
            places[known],
            sizes[known],
            places[segment],
            hit_rank,
            hit_gold,
            duplicates,
            identical,
            keyless or {},
        )


def _without_identical_documents(batch: RankedLists) -> tuple[RankedLists, int]:
    left, dropped = replace(batch, docs=[], documents=[]), 0
    for query, docs, documents in zip(batch.queries, batch.docs, batch.documents, strict=True):
        names = document_keys(documents, "id", f"query {query}")
        kept = [at for at, name in enumerate(names) if name != query]
        left.docs.append([docs[at] for at in kept])
        left.documents.append([documents[at] for at in kept])
        dropped += len(names) - len(kept)
    return left, dropped


def _without_identical(batch: ScoredMappings) -> tuple[ScoredMappings, int]:
    docs = [
        {doc: score for doc, score in of_query.items() if doc != query} if query in of_query else of_query
        for query, of_query in zip(batch.queries, batch.docs, strict=True)
    ]
    flat: Floats = np.fromiter((score for of_query in docs for score in of_query.values()), np.float64)
    offsets = np.concatenate(([0], np.cumsum([len(of_query) for of_query in docs], dtype=np.int64)))
    return replace(batch, docs=docs, scores=flat, offsets=offsets), len(batch.scores) - len(flat)


def _collected(truth: Truth, parts: list[Part]) -> tuple[Judged, Observations]:
    answered = np.zeros(len(truth.queries), bool)
    retrieved = np.zeros(len(truth.queries), np.int64)
    for part in parts:
        answered[part.query] = True
        retrieved[part.query] = part.retrieved
    none = np.empty(0, np.int64)
    judged = Judged.from_hits(
        queries=truth.queries,
        answered=answered,
        retrieved=retrieved,
        hit_query=np.concatenate([none, *(part.hit_query for part in parts)]),
        hit_rank=np.concatenate([none, *(part.hit_rank for part in parts)]),
        hit_gold=np.concatenate([none, *(part.hit_gold for part in parts)]),
        gold_grade=truth.grades,
        gold_offsets=truth.offsets,
    )
    return judged, _noticed(judged, truth, parts)


def _noticed(judged: Judged, truth: Truth, parts: list[Part]) -> Observations:
    answered = judged.answered.tolist()
    return Observations(
        missing_queries=[query for query, there in zip(truth.queries, answered, strict=True) if not there],
        unknown_queries=sorted(query for part in parts for query in part.queries if query not in truth.positions),
        duplicates=sum(part.duplicates for part in parts),
        identical=sum(part.identical for part in parts),
        keyless_golds=truth.keyless,
        keyless={query: count for part in parts for query, count in part.keyless.items()},
    )
