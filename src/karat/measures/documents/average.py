"""Average precision, and its variants for incomplete judgments: how high the relevant documents are ranked."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from karat.data.judged import Floats, Ints, Judged, share
from karat.measures.documents.declarations import TREC_EVAL, Credit, K, Rel, normalized
from karat.registry import Help, Measure, register

# trec_eval adds it so that a sample without judged documents does not divide by zero.
_EPSILON = 0.00001

Norm = Annotated[
    Literal["relevant", "found", "min"],
    Help("what the sum is divided by: the number of relevant documents, the number found, or min(relevant, k)"),
]


def _rank_credit_needs_found(measure: Measure) -> str | None:
    if measure.get("credit") == "rank" and measure.get("norm") != "found":
        return "credit=rank counts repeated documents and therefore needs norm=found"
    return None


def _divided_by(
    judged: Judged, *, k: int | None = None, rel: float = 1, norm: str = "relevant", credit: Credit = "gold"
) -> Ints:
    """What the sum of precisions is divided by."""
    if norm == "found":
        return judged.view(credit).graded(rel).count(k)
    relevant = judged.relevant(rel)
    return np.minimum(relevant, k) if norm == "min" and k is not None else relevant


@register(
    formula="AP = (1/R) Σ P@i over the ranks i of relevant documents, R the number of relevant documents",
    reference="Buckley and Voorhees (2000), Evaluating Evaluation Measure Stability, SIGIR",
    aliases=("map", "MAP", "ap", "map_cut@k", "map_cut_", "average_precision"),
    conflict=_rank_credit_needs_found,
    unjudged=normalized,
    normalizer=_divided_by,
)
def AP(judged: Judged, *, k: K | None = None, rel: Rel = 1, norm: Norm = "relevant", credit: Credit = "gold") -> Floats:
    """Average precision: the mean of the precision at the rank of each relevant document, 0 for those not found.

    `AP(norm=found, credit=rank)` is Haystack's convention: it divides by the number of relevant documents found, and a
    repeated document counts each time.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["AP"])["AP"]
    0.8333333333333333
    """
    hits = judged.view(credit).graded(rel)
    return share(hits.sum(hits.precision(), k), _divided_by(judged, k=k, rel=rel, norm=norm, credit=credit))


@register(
    formula="GMAP = exp of the mean of ln max(AP, 0.00001)",
    reference="Robertson (2006), On GMAP: and Other Transformations, CIKM",
    combine="geometric",
    aliases=("gm_map",),
    unjudged=normalized,
    normalizer=_divided_by,
)
def GMAP(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """Geometric mean of average precision, which gives hard queries more weight. For a single query it is AP.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["w", "x", "y", "b"]}, ["GMAP"])["GMAP"]
    0.5
    """
    return AP(k=k, rel=rel).compute(judged)


@register(
    formula="Bpref = (1/R) Σ (1 − min(n, R) / min(N, R)) over the retrieved relevant documents,"
    " N the number of judged non-relevant documents, n the number of those ranked above",
    reference="Buckley and Voorhees (2004), Retrieval Evaluation with Incomplete Information, SIGIR",
    aliases=("bpref", "BPref"),
)
def Bpref(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Binary preference: how often relevant documents are ranked above judged non-relevant ones.

    Unjudged documents have no effect, so it stays stable if judgments are incomplete.

    >>> evaluate({"q": {"a": 1, "b": 1, "x": 0, "y": 0}}, {"q": ["a", "x", "b"]}, ["Bpref"])["Bpref"]
    0.75
    """
    hits = judged.by_gold
    relevant, nonrelevant = judged.relevant(rel), judged.nonrelevant(rel)
    is_relevant = hits.grade >= rel
    nonrelevant_above = hits.above((hits.grade >= 0) & ~is_relevant)
    most = np.minimum(relevant, nonrelevant)[hits.query]
    preference = 1 - share(np.minimum(nonrelevant_above, relevant[hits.query]), most)
    return share(hits.sum(np.where(is_relevant, preference, 0.0)), relevant)


@register(
    formula="GMBpref = exp of the mean of ln max(Bpref, 0.00001)",
    reference=TREC_EVAL,
    combine="geometric",
    aliases=("gm_bpref",),
)
def GMBpref(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Geometric mean of Bpref, which gives hard queries more weight. For a single query it is Bpref.

    >>> evaluate({"q": {"a": 1, "x": 0}, "r": {"b": 1, "x": 0}}, {"q": ["a"], "r": ["b"]}, ["GMBpref"])["GMBpref"]
    1.0
    """
    return Bpref(rel=rel).compute(judged)


@register(
    formula="infAP = (1/R) Σ (1/i + (pooled above / i) · (relevant above + ε) / (judged above + 2ε))"
    " over the ranks i of relevant documents, ε = 0.00001",
    reference="Yilmaz and Aslam (2006), Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM",
    aliases=("infap",),
)
def infAP(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Inferred average precision: AP estimated from judgments of a sample of the pooled documents.

    A negative grade marks a document that is in the pool but was not judged.

    >>> evaluate({"q": {"a": 1, "x": 0, "b": 1}}, {"q": ["a", "x", "b"]}, ["infAP"])["infAP"]
    0.8333333333333333
    """
    hits = judged.by_gold
    is_relevant = hits.grade >= rel
    # With rel <= 0, documents with a negative grade are relevant, and therefore also judged.
    is_judged = is_relevant | (hits.grade >= 0)
    above = hits.rank - 1
    # In trec_eval's order of operations, so that the values agree to the last bit.
    pooled = (above / hits.rank) * share(hits.place() - 1, above)
    relevant = (hits.above(is_relevant) + _EPSILON) / (hits.above(is_judged) + 2 * _EPSILON)
    return share(hits.sum(np.where(is_relevant, 1 / hits.rank + pooled * relevant, 0.0)), judged.relevant(rel))


@register(
    formula="YAAP = ln((1 + s) / (1 + R − s)), s the sum of P@i over the ranks i of relevant documents",
    reference="Robertson (2012), On Smoothing Average Precision, ECIR",
    bounds=(float("-inf"), float("inf")),
    aliases=("yaap",),
)
def YAAP(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Yet another average precision: the logarithm of smoothed odds, whose mean over queries is less skewed.

    For a single query, it orders rankings as AP does.

    >>> evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["YAAP"])["YAAP"]
    0.0
    """
    hits = judged.by_gold.graded(rel)
    total = hits.sum(hits.precision())
    missed = np.maximum(0, judged.relevant(rel) - total)  # below 0 if one rank has several relevant documents
    odds: Floats = np.log((1 + total) / (1 + missed))
    return odds
