"""Precision: how many of the retrieved documents are relevant, in the top ranks or where some recall is reached."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from karat.data.judged import Floats, Ints, Judged, share
from karat.measures.documents.declarations import TREC_EVAL, K, Rel, monotone, monotone_above_cutoff, normalized
from karat.registry import Help, register
from karat.registry.names import Numbers

Rounding = Annotated[
    Literal["nearest", "trec_eval_9"],
    Help("how r·R becomes a number of documents: lround(r·R) as in trec_eval 10, or trunc(r·R + 0.9) as in 9"),
]
_ELEVEN_POINTS = tuple(point / 10 for point in range(11))


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
    return judged.by_rank.graded(rel).count(k) / k


def _multiple(judged: Judged, *, rel: float = 1, mult: float = 1) -> Ints:
    """The rank at a multiple of R, rounded up as in trec_eval, unless it is less than 0.1 above a whole number."""
    rank: Ints = (mult * judged.relevant(rel) + 0.9).astype(np.int64)
    return rank


@register(
    formula="Rprec = relevant in the top R / R, R the number of relevant documents; mult: at rank trunc(mult·R + 0.9)",
    reference="Buckley and Voorhees (2005), Retrieval System Evaluation, in: TREC, MIT Press, chapter 3",
    aliases=("RPrec", "rprec", "r-precision", "r_precision", "R-precision", "R_precision", "Rprec_mult_(mult=?)"),
    unjudged=lambda measure: normalized(measure) if measure.get("mult") == 1 else None,
    normalizer=_multiple,
)
def Rprec(
    judged: Judged,
    *,
    rel: Rel = 1,
    mult: Annotated[float, Help("the rank as a multiple of R", low=0, high=1e9)] = 1,
) -> Floats:
    """R-precision: precision at rank R, the number of relevant documents, or at a multiple of R.

    With mult=0 it is 0.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["Rprec"])["Rprec"]
    0.5
    """
    rank = _multiple(judged, rel=rel, mult=mult)
    hits = judged.by_rank.graded(rel)
    return share(hits.where(hits.rank <= rank[hits.query]).count(), rank)


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
    return share(judged.by_gold.graded(rel).count(k), np.minimum(judged.relevant(rel), k))


@register(
    at="recall",
    formula="IPrec@r = the highest P@i over the ranks i with at least lround(r·R) relevant documents found; 0 if none",
    reference="Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, 8.4; as in trec_eval 10",
    aliases=("iprec", "iprec_at_recall@r", "iprec_at_recall_", "interpolated_precision_at_recall"),
    example_at="0.1",
    unjudged=normalized,
)
def IPrec(
    judged: Judged,
    *,
    recall: Annotated[float, Help("the recall to reach", low=0, high=1)],
    rel: Rel = 1,
    rounding: Rounding = "nearest",
) -> Floats:
    """Interpolated precision: the highest precision at any rank with at least this recall.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["x", "a", "b"]}, ["IPrec@0.5"])["IPrec@0.5"]
    0.6666666666666666
    """
    hits = judged.by_gold.graded(rel)
    reached = hits.place() >= _needed(recall, judged.relevant(rel), rounding)[hits.query]
    best = np.zeros(hits.n)
    np.maximum.at(best, hits.query[reached], hits.precision()[reached])
    return best


def _needed(recall: float, relevant: Ints, rounding: str) -> Ints:
    wanted = recall * relevant
    # Halves are rounded up, as lround does; NumPy's rint rounds them to even.
    nearest = np.floor(wanted) + (wanted - np.floor(wanted) >= 0.5)
    needed: Ints = (nearest if rounding == "nearest" else wanted + 0.9).astype(np.int64)
    return needed


@register(
    formula="IPrecAvg = the mean of IPrec@r over the recall points r",
    reference=f"Salton and McGill (1983), Introduction to Modern Information Retrieval; {TREC_EVAL}",
    aliases=("11pt_avg",),
)
def IPrecAvg(
    judged: Judged,
    *,
    points: Annotated[Numbers, Help("the recall points", low=0, high=1)] = _ELEVEN_POINTS,
    rel: Rel = 1,
    rounding: Rounding = "nearest",
) -> Floats:
    """Mean interpolated precision at recall points: eleven-point average precision, if none are given.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["x", "a", "y", "b"]}, ["IPrecAvg"])["IPrecAvg"]
    0.5
    """
    # From the highest recall down, as trec_eval adds them up.
    values = (IPrec(recall=point, rel=rel, rounding=rounding).compute(judged) for point in reversed(points))
    total: Floats = sum(values, np.zeros(len(judged.queries)))
    return total / len(points)
