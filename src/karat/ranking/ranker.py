"""The ranks of judged documents in a run, batch by batch, and what was observed about the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import repeat

import numpy as np

from karat.data.judged import Bools, Floats, Ints, Judged, Pool
from karat.documents.fields import document_keys
from karat.documents.key import Key
from karat.errors import KaratError, Message, Parameter, require
from karat.matching.joiner import Joiner, join_lists
from karat.matching.matcher import Matcher
from karat.matching.matchers import Same
from karat.options import Duplicates
from karat.ranking.ties import TieOrder, ranks_by_score, ties_of_large_scores
from karat.reading.bytes.rejected_rows import MOST_ERRORS
from karat.reading.bytes.threads import in_threads
from karat.reading.pairs.any_source import run_from_lists, truth_from_lists
from karat.reading.pairs.containers import Batch, RankedLists, Run, ScoredMappings, ScoredRows, Truth
from karat.reading.pairs.list_checks import DocumentLists
from karat.reading.pairs.mappings import truth_from_mapping
from karat.reading.pairs.places import Pair, place_of


@dataclass(frozen=True)
class RankingRules:
    """The options that decide how a run is ranked."""

    ties: TieOrder = "trec"
    duplicates: Duplicates = "error"
    ignore_identical_ids: bool = False
    single_precision: bool = False
    """Whether scores are compared as float32, as trec_eval 9 does."""


@dataclass
class Observations:
    """What was ignored or missing in a run, for findings."""

    unknown_queries: list[str] = field(default_factory=list)
    duplicates: int = 0
    identical_ids: int = 0
    large_ties: int = 0
    """Tied documents whose scores are so large that they may have been different whole numbers."""
    golds_without_key: int = 0
    slow_queries: list[str] = field(default_factory=list)
    """Queries with texts so long that comparing them took seconds."""
    without_key: dict[str, int] = field(default_factory=dict)
    """For queries with such documents: how many retrieved documents have no key, and so cannot match."""


@dataclass(frozen=True, eq=False)
class RankedBatch:
    """The ranks of the judged documents in a batch of queries of the run."""

    queries: list[str]
    query: Ints
    retrieved: Ints
    hit_query: Ints
    hit_rank: Ints
    hit_gold: Ints
    duplicates: int = 0
    duplicate_pairs: Sequence[Pair] = ()
    """the first documents that are listed again, with their queries, at most `MOST_ERRORS`"""
    identical_ids: int = 0
    large_ties: int = 0
    without_key: dict[str, int] = field(default_factory=dict)


def rank_judged(truth: Truth, run: Run, rules: RankingRules, match: Matcher) -> tuple[Judged, Observations]:
    """Rank the judged documents of a run."""
    joiner = Joiner(truth, match)
    ranker = BatchRanker(truth, rules, joiner)
    parts: list[RankedBatch] = []
    seen: set[str] = set()
    for part in _rank(ranker, run.batches()):
        before = len(seen)
        seen.update(part.queries)
        if len(seen) - before < len(part.queries):
            # The rows of a query are in several batches: start again, with the rows of each query together.
            parts = list(_rank(ranker, run.grouped_batches()))
            break
        parts.append(part)
    if not seen and (error := run.empty_error()):
        raise error
    judged, observations = assemble(truth, parts)
    observations.slow_queries = [truth.queries[query] for query in sorted(joiner.slow_queries)]
    return judged, observations


def rank_pool(truth: Truth, run: Run, rules: RankingRules, match: Matcher) -> Pool:
    """Rank the retrieved documents that any query judges: the judged documents of a query are then all of these."""
    hint: Message = ["Leave ", Parameter("match"), " out, or use Unjudged@k."]
    what: Message = ["Hole cannot be computed with ", Parameter("match", str(match))]
    require(isinstance(match, Same) and not match.key.changes_ids, what, hint)
    everywhere = set(truth.docs)
    retrieved: dict[str, dict[str, float]] = {query: {} for query in truth.queries}
    for load in run.batches():
        batch = load()
        lists = batch.docs if isinstance(batch, RankedLists) else batch.by_query()
        for query, docs in zip(batch.queries, lists, strict=True):
            if query in retrieved:
                retrieved[query] |= dict.fromkeys(everywhere.intersection(docs), 0.0)
    judged, _ = rank_judged(truth_from_mapping(retrieved, Key(), "the ground truth"), run, rules, match)
    return Pool(**{field.name: getattr(judged, field.name) for field in fields(judged)})


def rank_document_lists(
    gold_lists: DocumentLists, lists: DocumentLists, match: Matcher, names: tuple[str, str]
) -> tuple[Judged, Observations, Floats | KaratError | None]:
    """Rank the gold documents of each query in its list; `names` are the names of the two inputs in errors.

    In Judged, all gold documents have grade 1. The third value is an array of their scores, None without scores, or the
    error if a score is wrong.
    """
    if not isinstance(match, Same):
        truth = truth_from_lists(gold_lists, match.gold_key, names[0])
        return *rank_judged(
            truth, run_from_lists(lists, truth, match.key, names[1]), RankingRules(), match
        ), truth.scores
    joined = join_lists(gold_lists, lists, match, names)
    judged = Judged.from_hits(
        queries=tuple(map(str, range(len(lists)))),
        in_run=np.ones(len(lists), bool),
        retrieved=joined.sizes,
        hit_query=joined.hit_query,
        hit_rank=joined.hit_position + 1,
        hit_gold=joined.hit_gold,
        gold_grade=np.ones(joined.gold_sizes.sum()),
        gold_offsets=np.concatenate(([0], np.cumsum(joined.gold_sizes))),
    )
    return (
        judged,
        Observations(golds_without_key=joined.golds_without_key, without_key=joined.without_key),
        joined.scores,
    )


def _rank(ranker: BatchRanker, batches: Iterator[Callable[[], Batch]]) -> Iterator[RankedBatch]:
    return in_threads(partial(_read_and_rank, ranker, batch) for batch in batches)


def _read_and_rank(ranker: BatchRanker, batch: Callable[[], Batch]) -> RankedBatch:
    return ranker.rank(batch())[1]


@dataclass(frozen=True, eq=False)
class BatchRanker:
    """Ranks the judged documents of one batch."""

    truth: Truth
    rules: RankingRules
    joiner: Joiner

    def rank(self, batch: Batch) -> tuple[Batch, RankedBatch]:
        """The batch without the documents that the rules leave out, and the ranks of its judged documents."""
        left, [part] = self.rank_in_orders(batch, [self.rules.ties])
        return left, part

    def rank_in_orders(self, batch: Batch, orders: Sequence[TieOrder]) -> tuple[Batch, list[RankedBatch]]:
        """The same for several orders of ties, whatever the rules say about them."""
        if isinstance(batch, RankedLists):
            return self._lists(batch, orders)
        if self.rules.single_precision:
            batch = replace(batch, scores=_in_single_precision(batch.scores))
        return self._table(batch, orders) if isinstance(batch, ScoredRows) else self._scored(batch, orders)

    def _lists(self, batch: RankedLists, orders: Sequence[TieOrder]) -> tuple[Batch, list[RankedBatch]]:
        identical = 0
        if self.rules.ignore_identical_ids:
            batch, identical = without_identical_ids(batch)
        positions = self._positions(batch.queries)
        segment, at, gold = self.joiner.find_in_lists(batch, positions)
        without_key = {
            query: sum(not doc for doc in docs)
            for query, position, docs in zip(batch.queries, positions.tolist(), batch.docs, strict=True)
            if position >= 0 and not all(docs)
        }
        sizes = np.fromiter(map(len, batch.docs), np.int64, len(batch.docs))
        ranks = [at + 1 for _ in orders]  # without scores, there are no ties
        return batch, self._parts(
            batch.queries, positions, sizes, segment, ranks, gold, identical_ids=identical, without_key=without_key
        )

    def _scored(self, batch: ScoredMappings, orders: Sequence[TieOrder]) -> tuple[Batch, list[RankedBatch]]:
        identical = 0
        if self.rules.ignore_identical_ids:
            batch, identical = _mappings_without_identical_ids(batch)
        positions = self._positions(batch.queries)
        segment, ids, gold, score = self.joiner.find_in_mappings(batch, positions)
        if self.rules.single_precision:
            score = _in_single_precision(score)
        ranks = ranks_by_score(batch, segment, score, ids, self.truth.grades[gold], orders)
        return batch, self._parts(
            batch.queries, positions, batch.offsets[1:] - batch.offsets[:-1], segment, ranks, gold,
            identical_ids=identical, large_ties=ties_of_large_scores(batch, positions),
            without_key=self.joiner.without_text(batch.queries, batch.by_query(), positions),
        )  # fmt: skip

    def _table(self, batch: ScoredRows, orders: Sequence[TieOrder]) -> tuple[Batch, list[RankedBatch]]:
        from karat.matching.rows import has_id_of_query
        from karat.reading.pairs.hashing import repeated_rows

        identical = duplicates = 0
        pairs: list[Pair] = []
        if self.rules.ignore_identical_ids:
            same = has_id_of_query(batch)
            batch, identical = batch.where(~same), int(same.sum())
        hashes = batch.hashes()
        repeated = repeated_rows(batch, hashes)
        if len(repeated):
            keep = self._rows_to_keep(batch, repeated)
            left_out = np.flatnonzero(~keep)
            duplicates, pairs = len(left_out), batch.pairs_of(left_out[:MOST_ERRORS])
            batch, hashes = batch.where(keep), hashes[keep]
        positions = self._positions(batch.queries)
        rows, gold = self.joiner.find_in_table(batch, hashes, positions)
        segment, grade = batch.segments(rows), self.truth.grades[gold]
        ranks = ranks_by_score(batch, segment, batch.scores[rows], lambda hits: batch.ids(rows[hits]), grade, orders)
        return batch, self._parts(
            batch.queries, positions, np.diff(batch.offsets), segment, ranks, gold,
            duplicates=duplicates, duplicate_pairs=pairs,
            identical_ids=identical, large_ties=ties_of_large_scores(batch, positions),
            without_key=self.joiner.without_text(batch.queries, batch.by_query(), positions),
        )  # fmt: skip

    def _rows_to_keep(self, table: ScoredRows, repeated: Ints) -> Bools:
        """Which rows to keep so that each document is kept at its best rank; an error unless duplicates="first"."""
        pairs = table.pairs_of(repeated)
        if self.rules.duplicates == "error":
            query, doc = pairs[0]
            raise KaratError(
                f"document {doc} is listed twice for query {query}",
                place=place_of(table.locate, (query, doc)),
                hint=["Fix the run, or keep the higher rank with ", Parameter("duplicates", "first"), "."],
            )
        best: dict[tuple[int, str], int] = {}
        for row, segment, (_, doc) in zip(repeated.tolist(), table.segments(repeated).tolist(), pairs, strict=True):
            other = best.setdefault((segment, doc), row)
            if table.scores[row] > table.scores[other]:
                best[segment, doc] = row
        keep = np.ones(len(table.scores), bool)
        keep[repeated] = False
        keep[list(best.values())] = True
        return keep

    def _positions(self, queries: Sequence[str]) -> Ints:
        """The position of each query in the ground truth, or -1 if it is not there."""
        position = self.truth.positions
        return np.fromiter(map(position.get, queries, repeat(-1)), np.int64, len(queries))

    def _parts(
        self,
        queries: list[str],
        positions: Ints,
        sizes: Ints,
        segment: Ints,
        ranks: Sequence[Ints],
        hit_gold: Ints,
        duplicates: int = 0,
        duplicate_pairs: Sequence[Pair] = (),
        identical_ids: int = 0,
        large_ties: int = 0,
        without_key: dict[str, int] | None = None,
    ) -> list[RankedBatch]:
        """A part for each order of ties, in which the judged documents have other ranks."""
        known, counts = positions >= 0, (duplicates, duplicate_pairs, identical_ids, large_ties, without_key or {})
        return [
            RankedBatch(queries, positions[known], sizes[known], positions[segment], hit_rank, hit_gold, *counts)
            for hit_rank in ranks
        ]


def _in_single_precision(scores: Floats) -> Floats:
    """Scores as float32, in which nearly equal ones are equal, and very large ones infinite."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)


def without_identical_ids(batch: RankedLists) -> tuple[RankedLists, int]:
    """Lists without the documents whose id is that of their query, and the number of these documents."""
    left, dropped = replace(batch, docs=[], documents=[]), 0
    for query, docs, documents in zip(batch.queries, batch.docs, batch.documents, strict=True):
        names = document_keys(documents, "id", f"query {query}")
        kept = [at for at, name in enumerate(names) if name != query]
        left.docs.append([docs[at] for at in kept])
        left.documents.append([documents[at] for at in kept])
        dropped += len(names) - len(kept)
    return left, dropped


def _mappings_without_identical_ids(batch: ScoredMappings) -> tuple[ScoredMappings, int]:
    docs = list(batch.docs)
    keep = np.ones(len(batch.scores), bool)
    for at, query in enumerate(batch.queries):
        if query in docs[at]:
            keep[batch.offsets[at] + list(docs[at]).index(query)] = False
            docs[at] = {doc: score for doc, score in docs[at].items() if doc != query}
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    # The scores are not those of the mappings if they are compared in single precision.
    left = replace(batch, docs=docs, scores=batch.scores[keep], offsets=kept_before[batch.offsets])
    return left, int((~keep).sum())


def assemble(truth: Truth, parts: list[RankedBatch]) -> tuple[Judged, Observations]:
    """The judged documents of all batches, and what was observed in them."""
    in_run = np.zeros(len(truth.queries), bool)
    retrieved = np.zeros(len(truth.queries), np.int64)
    for part in parts:
        in_run[part.query] = True
        retrieved[part.query] = part.retrieved
    none = np.empty(0, np.int64)
    judged = Judged.from_hits(
        queries=truth.queries,
        in_run=in_run,
        retrieved=retrieved,
        hit_query=np.concatenate([none, *(part.hit_query for part in parts)]),
        hit_rank=np.concatenate([none, *(part.hit_rank for part in parts)]),
        hit_gold=np.concatenate([none, *(part.hit_gold for part in parts)]),
        gold_grade=truth.grades,
        gold_offsets=truth.offsets,
    )
    return judged, _observe(truth, parts)


def _observe(truth: Truth, parts: list[RankedBatch]) -> Observations:
    return Observations(
        unknown_queries=sorted(query for part in parts for query in part.queries if query not in truth.positions),
        duplicates=sum(part.duplicates for part in parts),
        identical_ids=sum(part.identical_ids for part in parts),
        large_ties=sum(part.large_ties for part in parts),
        golds_without_key=truth.keyless,
        without_key={query: count for part in parts for query, count in part.without_key.items()},
    )
