"""Precision: how many of the retrieved documents are relevant."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.judged import Bools, Floats, Ints, Judged, share
from karat.measures.settings import TREC_EVAL, K, Rel
from karat.measures.unjudged import Gradings, monotone, monotone_above_cutoff, normalized
from karat.registry import Help, register


@register(
    formula="P@k = relevant in the top k / k",
    reference="van Rijsbergen (1979), Information Retrieval, 2nd ed., chapter 7",
    aliases=("precision@k", "Precision", "Prec", "p", "P_", "precision_"),
    unjudged=monotone,
)
def P(judged: Judged, *, k: K, rel: Rel = 1) -> Floats:
    """Precision: the share of the top k documents that are relevant.

    Ranks that a shorter list leaves empty count as not relevant.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["P@2"])["P@2"]
    0.5
    """
    return judged.by_rank.graded(rel).top(k).count() / k


def _r_precisions(gradings: Gradings, *, rel: float = 1) -> Floats:
    """Rprec of each grading."""
    relevant = gradings.judged.relevant(rel)[:, None] + gradings.relevant
    last = np.clip(relevant, 1, len(gradings.rank)) - 1
    found = np.cumsum(gradings.marked(gradings.judged.by_rank.graded(rel)), axis=1)
    unjudged = np.cumsum(gradings.unjudged, axis=1)
    at_last = np.take_along_axis(unjudged, last, axis=1)
    above: Ints = unjudged - gradings.unjudged
    new = np.minimum(at_last, gradings.relevant) if gradings.topmost else np.maximum(at_last - above, 0)
    return share(np.take_along_axis(found, last, axis=1) + new, relevant)


@register(
    formula="Rprec = relevant in the top R / R, R the number of relevant documents",
    reference="Buckley and Voorhees (2005), Retrieval System Evaluation, in: TREC, MIT Press, chapter 3",
    aliases=("RPrec", "rprec", "r-precision", "r_precision", "R-precision", "R_precision"),
    unjudged=normalized,
    estimate=_r_precisions,
)
def Rprec(judged: Judged, *, rel: Rel = 1) -> Floats:
    """R-precision: precision at rank R, the number of relevant documents.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["Rprec"])["Rprec"]
    0.5
    """
    relevant = judged.relevant(rel)
    hits = judged.by_rank.graded(rel)
    return share(hits.where(hits.rank <= relevant[hits.query]).count(), relevant)


@register(
    formula="relative_P@k = relevant in the top k / min(k, R)",
    reference=f"{TREC_EVAL}; as R_cap@k: Thakur et al. (2021), BEIR, NeurIPS Datasets and Benchmarks",
    aliases=("relative_P_", "R_cap", "R_cap_", "r_cap", "recall_cap", "Recall_cap"),
    unjudged=monotone_above_cutoff,
)
def relative_P(judged: Judged, *, k: K, rel: Rel = 1) -> Floats:
    """Relative precision: precision at k divided by the highest precision possible at k.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]}, ["relative_P@10"])["relative_P@10"]
    0.5
    """
    return share(judged.by_gold.graded(rel).top(k).count(), np.minimum(judged.relevant(rel), k))


def _interpolated_precisions(gradings: Gradings, *, recall: float, rel: float = 1) -> Floats:
    """Of the topmost documents: P@i at each rank i, where it counts; the highest of them is the highest IPrec.

    Of the lowest documents: IPrec where it may be lower than with one relevant document less, elsewhere infinity. That
    is where more documents are needed and the one that was the last of them is a judged one above all the others.
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
    for query in np.flatnonzero(falls.any(axis=1)).tolist():
        columns = np.flatnonzero(falls[query])
        values[query, columns] = _of_lowest(found[query], gradings.unjudged[query], columns, needed[query, columns])
    return values


def _of_lowest(found: Bools, unjudged: Bools, starts: Ints, needed: Ints) -> Floats:
    """IPrec of one query if the unjudged documents at a column and below it are relevant, for some columns.

    A relevant document at rank i, with `place` relevant or unjudged documents down to it, has the precision
    (place − unjudged above the start) / i. The further down the start, the further down is the highest of these, so
    the start in the middle limits where it is for all others.
    """
    rank = np.flatnonzero(found | unjudged) + 1
    place = np.arange(1, len(rank) + 1)
    above: Ints = (np.cumsum(unjudged) - unjudged)[starts]
    first = np.maximum(np.searchsorted(rank, starts + 1), needed + above - 1)
    values = np.zeros(len(starts))
    parts = [(0, len(starts), 0, len(rank) - 1)]
    while parts:
        start, stop, left, right = parts.pop()
        middle = (start + stop) // 2
        low = max(left, int(first[middle]))
        if low <= right:
            precision = (place[low : right + 1] - above[middle]) / rank[low : right + 1]
            best = low + int(np.argmax(precision))
            values[middle] = precision[best - low]
        else:
            best = right
        parts += [(start, middle, left, best)] if start < middle else []
        parts += [(middle + 1, stop, best, right)] if middle + 1 < stop else []
    # The judged documents above the start: from the last that is needed; the further down, the more of them.
    known = np.flatnonzero(found) + 1
    precision = np.arange(1, len(known) + 1) / known
    highest, low, high = 0.0, 0, 0
    for at, (least, end) in enumerate(
        zip((needed - 1).tolist(), np.searchsorted(known, starts, "right").tolist(), strict=True)
    ):
        if least < end:
            low, high = (low, high) if high else (least, least)
            highest = max(highest, precision[least:low].max(initial=0.0), precision[high:end].max(initial=0.0))
            low, high = least, end
            values[at] = max(values[at], highest)
    return values


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
    place = hits.place()
    reached = place >= _needed(recall, judged.relevant(rel))[hits.query]
    best = np.zeros(hits.n)
    np.maximum.at(best, hits.query[reached], place[reached] / hits.rank[reached])
    return best
