"""The ranks of judged documents: the number of documents above them, and the order of equal scores.

trec_eval's order is score descending, then document id descending. Only judged documents need a rank, so queries that
are in order already are not sorted, and ids are compared only if a judged document is in a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from karat.data.judged import Floats, Ints, distinct, ranges, stretches
from karat.options import Ties
from karat.reading.pairs.columns import LARGEST_WHOLE
from karat.reading.pairs.containers import ScoredMappings, ScoredRows

# If comparing the scores of a query's judged documents with all its scores takes fewer steps than this, the query is
# compared together with others; otherwise its scores are sorted.
_FEW_STEPS = 2048
_STEPS_AT_ONCE = 1 << 22
_DOCUMENTS_AT_ONCE = 1 << 10


def order_of_ties(docs: Sequence[str], bounds: Ints, grades: Floats, ties: Ties) -> Ints:
    """The order of documents, by their positions; those from one bound to the next have equal scores.

    `grades` are those of judged documents, and 0 for documents that are not judged.
    """
    order = np.arange(len(docs))
    if ties == "input":
        return order
    # Python compares strings by code point, which is the order of strcmp on their UTF-8 bytes.
    tied = np.flatnonzero(np.diff(bounds) > 1)
    for start, stop in zip(bounds[tied].tolist(), bounds[tied + 1].tolist(), strict=True):
        order[start:stop] = sorted(range(start, stop), key=docs.__getitem__, reverse=True)
    if ties == "trec":
        return order
    grade = np.maximum(grades, 0)[order]
    tie = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return order[np.lexsort((-grade if ties == "best" else grade, tie))]


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
    batch: ScoredMappings, segment: Ints, score: Floats, docs: Sequence[str], grade: Floats, ties: Ties
) -> Ints:
    """The ranks of judged documents in mappings, from their queries and scores."""
    above, equal = _count(batch.scores, batch.offsets, segment, score)

    def names(rows: Ints) -> list[str]:
        queries = np.searchsorted(batch.offsets, rows, side="right") - 1
        tied: list[str] = []
        for start, stop in pairwise(stretches(queries).tolist()):
            query = queries[start]
            retrieved = list(batch.docs[query])
            tied += map(retrieved.__getitem__, (rows[start:stop] - batch.offsets[query]).tolist())
        return tied

    unsorted = np.arange(len(batch.docs))
    return above + 1 + _tied_before(batch, segment, above, equal, unsorted, names, docs, grade, ties)


def ranks_in_table(table: ScoredRows, rows: Ints, docs: Sequence[str], grade: Floats, ties: Ties) -> Ints:
    """The ranks of judged documents in a table, from their rows."""
    scores, offsets = table.scores, table.offsets
    segment, score = table.segments(rows), scores[rows]
    above, equal = _count_in_sorted(scores, offsets, rows, segment)
    unsorted = _unsorted(table)
    if len(unsorted):
        hits = np.flatnonzero(np.isin(segment, unsorted))
        above[hits], equal[hits] = _count(scores, offsets, segment[hits], score[hits])

    def names(rows: Ints) -> list[str]:
        from karat.reading.pairs import arrays

        return list(table.docs.take(arrays.row_indices(rows)).to_pylist())

    return above + 1 + _tied_before(table, segment, above, equal, unsorted, names, docs, grade, ties)


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


def _count_in_sorted(scores: Floats, offsets: Ints, rows: Ints, segment: Ints) -> tuple[Ints, Ints]:
    """How many rows are above each row, and how many are tied with it, in queries sorted by descending score."""
    starts = tie_starts(scores, offsets)
    at = np.searchsorted(starts, rows, side="right")
    first, beyond = starts[at - 1], starts[np.minimum(at, len(starts) - 1)]
    return first - offsets[segment], beyond - first


def _count(scores: Floats, offsets: Ints, segment: Ints, score: Floats) -> tuple[Ints, Ints]:
    """How many scores of its query are above each score, and how many equal it, in queries of any order."""
    above, equal = np.zeros(len(segment), np.int64), np.zeros(len(segment), np.int64)
    if not len(segment):
        return above, equal
    size = offsets[segment + 1] - offsets[segment]
    is_few = size * np.bincount(segment)[segment] < _FEW_STEPS
    few, many = is_few.nonzero()[0], (~is_few).nonzero()[0]
    parts = int(size[few].sum()) // _STEPS_AT_ONCE + 1
    for start, stop in pairwise(len(few) * part // parts for part in range(parts + 1)):
        if start < stop:
            hits = few[start:stop]
            above[hits], equal[hits] = _count_at_once(scores, offsets[segment[hits]], size[hits], score[hits])
    if len(many):
        above[many], equal[many] = _count_in_each(scores, offsets, segment[many], score[many])
    return above, equal


def _count_in_each(scores: Floats, offsets: Ints, segment: Ints, score: Floats) -> tuple[Ints, Ints]:
    """The same, sorting the scores of each query."""
    queries = distinct(segment)
    sizes = offsets[queries + 1] - offsets[queries]
    beyond = sizes.cumsum()
    # Complex numbers are ordered by their real parts, then by their imaginary parts.
    keys = np.empty(beyond[-1], np.complex128)
    keys.real = queries.repeat(sizes)
    ascending = scores[ranges(offsets[queries], sizes)]
    for start, stop in pairwise([0, *beyond.tolist()]):
        ascending[start:stop].sort()
    keys.imag = ascending
    wanted = np.empty(len(segment), np.complex128)
    wanted.real, wanted.imag = segment, score
    up_to = keys.searchsorted(wanted, "right")
    return beyond[queries.searchsorted(segment)] - up_to, up_to - keys.searchsorted(wanted, "left")


def _count_at_once(scores: Floats, starts: Ints, sizes: Ints, score: Floats) -> tuple[Ints, Ints]:
    """The same for several queries at once, comparing each score with all scores of its query."""
    if (sizes == sizes[0]).all():  # as usual
        rows, column = np.lib.stride_tricks.sliding_window_view(scores, sizes[0])[starts], score[:, None]
        return np.count_nonzero(rows > column, axis=1), np.count_nonzero(rows == column, axis=1)
    theirs, own = scores[ranges(starts, sizes)], score.repeat(sizes)
    bounds = sizes.cumsum() - sizes
    return np.add.reduceat(theirs > own, bounds, dtype=np.int64), np.add.reduceat(theirs == own, bounds, dtype=np.int64)


def _tied_before(
    batch: ScoredMappings | ScoredRows,
    segment: Ints,
    above: Ints,
    equal: Ints,
    unsorted: Ints,
    names: Callable[[Ints], list[str]],
    docs: Sequence[str],
    grade: Floats,
    ties: Ties,
) -> Ints:
    """How many of the documents tied with each judged document are ranked before it.

    `above` and `equal` count the documents above a judged document and those with its score, `docs` and `grade` are its
    id and grade. The queries in `unsorted` may have their scores in any order. `names` returns the ids in rows.
    """
    before = np.zeros(len(segment), np.int64)
    hits = (equal > 1).nonzero()[0]
    if not len(hits):
        return before
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
    tied = names(_rows_by_score(batch, with_ties[is_unsorted[with_ties]])[rows])

    where: list[int] = []
    # A query with many ties is divided, so that each dict fits into the processor's cache.
    parts = stretches(segment[one_hit] * len(tied) + bounds[:-1] // _DOCUMENTS_AT_ONCE)
    for (start, stop), (from_hit, to_hit) in zip(
        pairwise(bounds[parts].tolist()), pairwise(hit_bounds[parts].tolist()), strict=True
    ):
        index = dict(zip(tied[start:stop], range(start, stop), strict=True))
        where += map(index.__getitem__, map(docs.__getitem__, hits[from_hit:to_hit].tolist()))
    grades = np.zeros(len(tied))
    np.maximum.at(grades, where, grade[hits])
    order = order_of_ties(tied, bounds, grades, ties)
    place = np.empty(len(tied), np.int64)
    place[order] = np.arange(len(tied)) - bounds[tie]
    before[hits] = place[where]
    return before


def _unsorted(batch: ScoredMappings | ScoredRows) -> Ints:
    """The queries whose scores are not in descending order."""
    rises = np.flatnonzero(batch.scores[1:] > batch.scores[:-1]) + 1
    # The score may rise from the last row of a query to the first row of the next one.
    rising = np.searchsorted(batch.offsets, rises[~np.isin(rises, batch.offsets)], side="right") - 1
    return rising[stretches(rising)[:-1]]


def _rows_by_score(batch: ScoredMappings | ScoredRows, unsorted: Ints) -> Ints:
    """All rows, those of unsorted queries by descending score; documents with equal scores keep their order."""
    rows = np.arange(len(batch.scores))
    for start, stop in zip(batch.offsets[unsorted].tolist(), batch.offsets[unsorted + 1].tolist(), strict=True):
        rows[start:stop] = start + np.argsort(-batch.scores[start:stop], kind="stable")
    return rows
