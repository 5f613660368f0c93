"""Precision: how many of the retrieved documents are relevant, in the top ranks or where some recall is reached."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.data.judged import Floats, Ints, Judged, share
from karat.measures.documents.declarations import TREC_EVAL, K, Rel, monotone, monotone_above_cutoff, normalized
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
    return judged.by_rank.graded(rel).count(k) / k


@register(
    formula="Rprec = relevant in the top R / R, R the number of relevant documents",
    reference="Buckley and Voorhees (2005), Retrieval System Evaluation, in: TREC, MIT Press, chapter 3",
    aliases=("RPrec", "rprec", "r-precision", "r_precision", "R-precision", "R_precision"),
    unjudged=normalized,
    normalizer=lambda judged, rel=1: judged.relevant(rel),
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


def _needed(recall: float, relevant: Ints) -> Ints:
    wanted = recall * relevant
    # Halves are rounded up, as lround does; NumPy's rint rounds them to even.
    needed: Ints = (np.floor(wanted) + (wanted - np.floor(wanted) >= 0.5)).astype(np.int64)
    return needed
