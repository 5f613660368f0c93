"""Interpolated precision: the highest precision at any rank with at least some recall."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.data.judged import Floats, Ints, Judged
from karat.measures.documents.settings import Rel
from karat.measures.documents.unjudged import normalized
from karat.registry import Help, register


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
