"""Interpolated precision: the highest precision at any rank with at least some recall."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.judged import Bools, Floats, Ints, Judged, ranges
from karat.measures.settings import Rel
from karat.measures.unjudged import Gradings, normalized
from karat.registry import Help, register


def _interpolated_precisions(gradings: Gradings, *, recall: float, rel: float = 1) -> Floats:
    """Of the topmost documents: P@i at each rank i, where it counts; the highest of them is the highest IPrec.

    Of the lowest documents: IPrec where it may be lower than with one fewer of them, elsewhere infinity. It may be
    lower where one more document is needed and the last one needed before is a judged one above all of them.
    """
    found = gradings.marked(gradings.judged.by_gold.graded(rel))
    relevant = gradings.judged.relevant(rel)[:, None] + gradings.relevant
    needed = _needed(recall, relevant)
    if gradings.topmost:
        place = np.cumsum(found | gradings.unjudged, axis=1)
        counts = (found | gradings.unjudged) & (place >= needed)
        return np.where(counts, place / gradings.rank, 0.0)
    before = _needed(recall, relevant - 1)
    falls = gradings.unjudged & (before > 0) & (needed > before) & (np.cumsum(found, axis=1) >= before)
    values = np.full(falls.shape, np.inf)
    query, column = np.nonzero(falls)
    values[falls] = _of_lowest(found, gradings.unjudged, query, column, needed[falls])
    return values


def _of_lowest(found: Bools, unjudged: Bools, query: Ints, start: Ints, needed: Ints) -> Floats:
    """IPrec if the unjudged documents of a query from a column down are relevant, for some queries and columns.

    P@i of the judged documents alone is a lower bound, which is reached above the column. Below it, P@i =
    (place − unjudged documents above the column) / i, with `place` judged relevant and unjudged documents down to i.
    The lower the column, the lower is the rank i with the highest of these; so a column in the middle limits where it
    can be for the columns above and below.
    """
    rank = np.arange(1, found.shape[1] + 1)
    known: Ints = np.cumsum(found, axis=1, dtype=np.int64)
    place: Ints = np.cumsum(found | unjudged, axis=1, dtype=np.int64)
    highest = np.maximum.accumulate((found * known / rank)[:, ::-1], axis=1)[:, ::-1]
    values: Floats = np.pad(highest, ((0, 0), (0, 1)))[query, _first_column(known, query, needed)]
    above: Ints = (np.cumsum(unjudged, axis=1) - unjudged)[query, start]
    first = _first_column(place, query, needed + above)
    begin = np.flatnonzero(np.r_[True, query[1:] != query[:-1]][: len(query)])
    end, left, right = np.r_[begin[1:], len(query)], np.zeros_like(begin), np.full_like(begin, len(rank) - 1)
    # From column start[begin] to before start[end], the highest P@i is between the columns `left` and `right`.
    while len(begin):
        middle = (begin + end) // 2
        low = np.minimum(np.maximum(left, first[middle]), right)
        column = ranges(low, right - low + 1)
        at = np.repeat(middle, right - low + 1)
        precision = np.where(column >= first[at], (place[query[at], column] - above[at]) / rank[column], 0.0)
        parts = np.cumsum(right - low + 1) - (right - low + 1)
        best = np.maximum.reduceat(precision, parts)
        values[middle] = np.maximum(values[middle], best)
        is_best = np.flatnonzero(precision == np.repeat(best, right - low + 1))
        split = column[is_best[np.searchsorted(is_best, parts)]]
        begin, end = np.r_[begin, middle + 1], np.r_[middle, end]
        left, right = np.r_[left, split], np.r_[split, right]
        some = begin < end
        begin, end, left, right = begin[some], end[some], left[some], right[some]
    return values


def _first_column(counts: Ints, query: Ints, number: Ints) -> Ints:
    """The first column at which the growing counts of a query reach a number; one past the last if they do not."""
    rows, columns = counts.shape
    apart = columns + int(number.max(initial=0)) + 1
    keys = (counts + apart * np.arange(rows)[:, None]).ravel()
    found: Ints = np.searchsorted(keys, number + apart * query) - columns * query
    return found


def _needed(recall: float, relevant: Ints) -> Ints:
    wanted = recall * relevant
    # Halves are rounded up, as lround does; NumPy's rint rounds them to even.
    needed: Ints = (np.floor(wanted) + (wanted - np.floor(wanted) >= 0.5)).astype(np.int64)
    return needed


@register(
    at="recall",
    formula="IPrec@r = the highest P@i over the ranks i with at least lround(r·R) relevant documents found; 0 if none",
    reference="Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, 8.4; as in trec_eval 10",
    aliases=("iprec", "iprec_at_recall@r", "iprec_at_recall_", "interpolated_precision_at_recall"),
    example_at="0.1",
    unjudged=normalized,
    estimate=_interpolated_precisions,
)
def IPrec(
    judged: Judged, *, recall: Annotated[float, Help("the recall to reach", low=0, high=1)], rel: Rel = 1
) -> Floats:
    """Interpolated precision: the highest precision at any rank with at least this recall.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["x", "a", "b"]}, ["IPrec@0.5"])["IPrec@0.5"]
    0.6666666666666666
    """
    hits = judged.by_gold.graded(rel)
    reached = hits.place() >= _needed(recall, judged.relevant(rel))[hits.query]
    best = np.zeros(hits.n)
    np.maximum.at(best, hits.query[reached], hits.precision()[reached])
    return best
