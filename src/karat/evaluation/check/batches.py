"""A run, read once: its judged documents are ranked under several orders of ties, and checks see all its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from karat.data.judged import Judged
from karat.errors import KaratError
from karat.evaluation.check.many_findings import Found
from karat.matching.joiner import Joiner
from karat.matching.matcher import Matcher
from karat.options import Ties
from karat.ranking import BatchRanker, Observations, RankedBatch, RankingRules, assemble
from karat.reading.bytes.threads import in_threads
from karat.reading.pairs.containers import Batch, Run, Truth
from karat.reading.pairs.places import Pair

_Loads: TypeAlias = tuple[Callable[[], Batch], Callable[[], Batch] | None]
ORDERS: tuple[Ties, ...] = ("trec", "best", "worst")


class SeenBatch(NamedTuple):
    """Some queries of a run with all their documents, and the ranks of those that are judged."""

    batch: Batch
    """without documents that are listed twice"""
    ranked: Mapping[Ties, RankedBatch]
    source: Batch
    """as it was read"""
    by_rank: Batch | None = None
    """the documents with minus their ranks as scores, if the run has ranks beside its scores"""


class RunCheck(Protocol):
    """Something that is found out about one run while it is read."""

    def see(self, seen: SeenBatch) -> None:
        """Remember what matters about some queries; each query is seen once."""

    def findings(self) -> Iterable[Found]:
        """What was found, once all queries were seen."""


@dataclass(frozen=True, eq=False)
class RankedRun:
    """A run whose judged documents are ranked under each order of ties."""

    judged: Mapping[Ties, Judged]
    observations: Observations
    duplicates: Sequence[Pair] = ()
    """the first documents that are listed again, with their queries"""
    checks: Sequence[RunCheck] = ()
    """which have seen the whole run"""


def rank_and_see(
    truth: Truth,
    run: Run,
    match: Matcher,
    new_checks: Callable[[], Sequence[RunCheck]],
    rules: RankingRules,
    ranks: Run | None = None,
) -> RankedRun:
    """Rank the judged documents of a run, and show each batch to the checks.

    If the rows of a query turn out to be in several batches, all starts again with new checks, and with the rows of
    each query together.
    """
    joiner = Joiner(truth, match)
    ranker = BatchRanker(truth, rules, joiner)
    checks = new_checks()
    parts = _see_all(_batches(ranker, run, ranks, grouped=False), checks)
    if parts is None:
        checks = new_checks()
        parts = _see_all(_batches(ranker, run, ranks, grouped=True), checks) or []
    if not any(part["trec"].queries for part in parts) and (error := run.empty_error()):
        raise error
    assembled = {ties: assemble(truth, [part[ties] for part in parts]) for ties in ORDERS}
    observations = assembled["trec"][1]
    observations.slow_queries = [truth.queries[query] for query in sorted(joiner.slow_queries)]
    duplicates = dict.fromkeys(pair for part in parts for pair in part["trec"].duplicate_pairs)
    judged = {ties: of_order for ties, (of_order, _) in assembled.items()}
    return RankedRun(judged, observations, [*duplicates], checks)


def _see_all(batches: Iterator[SeenBatch], checks: Sequence[RunCheck]) -> list[Mapping[Ties, RankedBatch]] | None:
    """The ranks in all batches, each of which the checks see; None if a query is in two of them."""
    known: set[str] = set()
    parts: list[Mapping[Ties, RankedBatch]] = []
    for seen in batches:
        queries, before = seen.ranked["trec"].queries, len(known)
        known.update(queries)
        if len(known) - before < len(queries):
            return None
        for check in checks:
            check.see(seen)
        parts.append(seen.ranked)
    return parts


def _batches(ranker: BatchRanker, run: Run, ranks: Run | None, *, grouped: bool) -> Iterator[SeenBatch]:
    loads = run.grouped_batches() if grouped else run.batches()
    if ranks is None:
        return in_threads(partial(_seen, ranker, load) for load in loads)
    by_rank = ranks.grouped_batches() if grouped else ranks.batches()
    return in_threads(partial(_seen, ranker, load, load_ranks) for load, load_ranks in _side_by_side(loads, by_rank))


def _side_by_side(loads: Iterator[Callable[[], Batch]], by_rank: Iterator[Callable[[], Batch]]) -> Iterator[_Loads]:
    """The batches of a run, and those of the same rows by rank, as long as these can be read."""
    for load in loads:
        try:
            load_ranks = next(by_rank, None)
        except KaratError:
            by_rank, load_ranks = iter(()), None
        yield load, load_ranks


def _seen(
    ranker: BatchRanker,
    load: Callable[[], Batch],
    load_ranks: Callable[[], Batch] | None = None,
) -> SeenBatch:
    source = load()
    batch, parts = ranker.rank_in_orders(source, ORDERS)
    try:
        by_rank = load_ranks and load_ranks()
    except KaratError:  # these are not ranks; and what is wrong with scores is found when they are read
        by_rank = None
    return SeenBatch(batch, dict(zip(ORDERS, parts, strict=True)), source, by_rank)
