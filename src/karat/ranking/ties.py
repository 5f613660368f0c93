"""The ranks of judged documents: the number of documents above them, and the order of equal scores.

trec_eval's order is score descending, then document id descending. Only judged documents need a rank, so queries that
are in order already are not sorted, and ids are compared only if a judged document is in a tie. For its measures of
preferences, ids are in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from karat.data.judged import Floats, Ints, distinct, stretches
from karat.matching.joiner import IdsOfHits
from karat.options import Ties
from karat.reading.pairs.columns import LARGEST_WHOLE
from karat.reading.pairs.containers import ScoredMappings, ScoredRows

TieOrder = Ties | Literal["ascending"]
"""the order of documents with equal scores; `ascending` is that of trec_eval's preferences: by id, from the lowest"""

_DOCUMENTS_AT_ONCE = 1 << 10


def in_order_of_ties(docs: list[str], bounds: Ints, grades: Callable[[list[str]], Floats], ties: TieOrder) -> list[str]:
    """Documents in order; those from one bound to the next have equal scores.

    `grades` returns the grades of documents by position, 0 if a document is not judged. It is called with the documents
    in another order, each within its tie.
    """
    if ties == "input":
        return docs
    ordered = docs.copy()
    tied = np.flatnonzero(np.diff(bounds) > 1)
    for start, stop in zip(bounds[tied].tolist(), bounds[tied + 1].tolist(), strict=True):
        # Python compares strings by code point, which is the order of strcmp on their UTF-8 bytes.
        ordered[start:stop] = sorted(docs[start:stop], reverse=ties != "ascending")
    if ties in ("trec", "ascending"):
        return ordered
    grade = np.maximum(grades(ordered), 0)
    tie = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    order = np.lexsort((-grade if ties == "best" else grade, tie))
    return [ordered[at] for at in order.tolist()]


def tie_starts(scores: Floats, offsets: Ints) -> Ints:
    """Where each stretch of equal scores of a query begins, in queries that are sorted; at the end, their number."""
    changes = np.ones(len(scores) + 1, bool)
    changes[1:-1] = scores[1:] != scores[:-1]
    changes[offsets] = True
    return np.flatnonzero(changes)


def rows_by_score(batch: ScoredMappings | ScoredRows) -> Ints:
    """All rows, those of each query by descending score; documents with equal scores keep their order."""
    return _rows_by_score(batch, _unsorted(batch))


def ranks_by_score(
    batch: ScoredMappings | ScoredRows,
    segment: Ints,
    score: Floats,
    ids: IdsOfHits,
    grade: Floats,
    orders: Sequence[TieOrder],
) -> list[Ints]:
    """The ranks of judged documents under each order of ties, from their queries, scores, ids and grades."""
    has_hits = np.zeros(len(batch.queries), bool)
    has_hits[segment] = True
    unsorted = _unsorted(batch)
    unsorted = unsorted[has_hits[unsorted]]
    above, equal = _count(batch, unsorted, segment, score)
    return _ranks(batch, segment, above, equal, unsorted, ids, grade, orders)


def ties_of_large_scores(batch: ScoredMappings | ScoredRows, positions: Ints) -> int:
    """How many documents of judged queries are tied at a score that may stand for several whole numbers.

    Whether they were different numbers is not known: scores are doubles as soon as they are read.
    """
    scores = batch.scores
    if not len(scores) or (scores.max() < LARGEST_WHOLE and scores.min() > -LARGEST_WHOLE):
        return 0
    segment = np.repeat(np.arange(len(batch.queries)), np.diff(batch.offsets))
    rows = np.flatnonzero((np.abs(scores) >= LARGEST_WHOLE) & np.isfinite(scores) & (positions >= 0)[segment])
    rows = rows[np.lexsort((scores[rows], segment[rows]))]
    same = (scores[rows][1:] == scores[rows][:-1]) & (segment[rows][1:] == segment[rows][:-1])
    return int((np.append(same, False) | np.append(False, same)).sum())


def _count(batch: ScoredMappings | ScoredRows, unsorted: Ints, segment: Ints, score: Floats) -> tuple[Ints, Ints]:
    """How many scores of its query are above each score, which is one of them, and how many equal it."""
    ascending = _negative_scores(batch, unsorted)
    start, last = batch.offsets[segment], batch.offsets[segment + 1] - 1
    first = _search(ascending, start, last, -score, np.less)
    equal = np.ones(len(segment), np.int64)
    tied = (ascending[np.minimum(first + 1, last)] == -score).nonzero()[0]
    equal[tied] = _search(ascending, first[tied], last[tied], -score[tied], np.less_equal) - first[tied]
    return first - start, equal


def _negative_scores(batch: ScoredMappings | ScoredRows, unsorted: Ints) -> Floats:
    """The scores with the opposite sign, ascending in each query; `unsorted` are those that have to be sorted."""
    negative, sizes = -batch.scores, np.diff(batch.offsets)
    if len(unsorted) and (sizes == sizes[0]).all():  # as usual
        by_query = negative.reshape(len(sizes), sizes[0])
        by_query[unsorted] = np.sort(by_query[unsorted], axis=1)
    else:
        for start, stop in zip(batch.offsets[unsorted].tolist(), batch.offsets[unsorted + 1].tolist(), strict=True):
            negative[start:stop].sort()
    return negative


def _search(ascending: Floats, first: Ints, last: Ints, wanted: Floats, is_before: np.ufunc) -> Ints:
    """The position from `first` to `last` of the first value that is not before the wanted one, or `last` + 1.

    This is np.searchsorted in a range for each value, in all ranges at once.
    """
    before = first - 1
    for bit in reversed(range(int((last - first).max(initial=-1) + 1).bit_length())):
        before += is_before(ascending[np.minimum(before + (1 << bit), last)], wanted) * (1 << bit)
    return np.minimum(before, last) + 1


def _ranks(
    batch: ScoredMappings | ScoredRows,
    segment: Ints,
    above: Ints,
    equal: Ints,
    unsorted: Ints,
    ids: IdsOfHits,
    grade: Floats,
    orders: Sequence[TieOrder],
) -> list[Ints]:
    """The rank of each judged document under each order: after those above it, and some of those tied with it.

    `above` and `equal` count the documents above a judged document and those with its score. The queries in `unsorted`
    may have their scores in any order.
    """
    ranks = [above + 1 for _ in orders]
    hits = (equal > 1).nonzero()[0]
    if not len(hits):
        return ranks
    # In rows sorted by score, the documents of a tie are together, and the first of them has this position.
    first = batch.offsets[segment[hits]] + above[hits]
    by_tie = np.argsort(first, kind="stable")
    hits, first = hits[by_tie], first[by_tie]
    hit_bounds = stretches(first)
    one_hit = hits[hit_bounds[:-1]]
    bounds = np.concatenate(([0], np.cumsum(equal[one_hit])))
    tie = np.repeat(np.arange(len(one_hit)), equal[one_hit])
    rows = np.arange(len(tie)) + (first[hit_bounds[:-1]] - bounds[:-1])[tie]
    is_unsorted = np.zeros(len(batch.offsets) - 1, bool)
    is_unsorted[unsorted] = True
    with_ties = distinct(segment[hits])
    tied = batch.ids(_rows_by_score(batch, with_ties[is_unsorted[with_ties]])[rows])

    docs = ids(hits)
    # A query with many ties is divided, so that each dict fits into the processor's cache.
    parts = stretches(segment[one_hit] * len(tied) + bounds[:-1] // _DOCUMENTS_AT_ONCE)
    part_bounds = [*zip(pairwise(bounds[parts].tolist()), pairwise(hit_bounds[parts].tolist()), strict=True)]

    def positions(tied: list[str]) -> list[int]:
        """Where the judged documents are."""
        where: list[int] = []
        for (start, stop), (from_hit, to_hit) in part_bounds:
            index = dict(zip(tied[start:stop], range(start, stop), strict=True))
            where += map(index.__getitem__, docs[from_hit:to_hit])
        return where

    def grades(tied: list[str]) -> Floats:
        of_tied = np.zeros(len(tied))
        np.maximum.at(of_tied, positions(tied), grade[hits])
        return of_tied

    for rank, ties in zip(ranks, orders, strict=True):
        where = np.array(positions(in_order_of_ties(tied, bounds, grades, ties)))
        rank[hits] += where - bounds[tie[where]]
    return ranks


def _unsorted(batch: ScoredMappings | ScoredRows) -> Ints:
    """The queries whose scores are not in descending order."""
    rises = np.zeros(len(batch.scores) + 1, bool)
    rises[1:-1] = batch.scores[1:] > batch.scores[:-1]
    rises[batch.offsets] = False  # the score may rise from the last row of a query to the first row of the next one
    return np.flatnonzero(np.logical_or.reduceat(rises, batch.offsets[:-1]))


def _rows_by_score(batch: ScoredMappings | ScoredRows, unsorted: Ints) -> Ints:
    """All rows, those of unsorted queries by descending score; documents with equal scores keep their order."""
    rows, negative = np.arange(len(batch.scores)), -batch.scores
    for start, stop in zip(batch.offsets[unsorted].tolist(), batch.offsets[unsorted + 1].tolist(), strict=True):
        rows[start:stop] = negative[start:stop].argsort(kind="stable")
        rows[start:stop] += start
    return rows
