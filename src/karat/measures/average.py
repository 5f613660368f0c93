"""Average precision and its relatives for incomplete judgments: how high all the relevant documents stand."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from karat.judged import Floats, Judged, share
from karat.measures.settings import Credit, K, Rel, normalised
from karat.registry import Help, Measure, register

# What trec_eval adds so that a sample without judged documents does not divide by zero.
_EPSILON = 0.00001

Norm = Annotated[
    Literal["relevant", "found", "min"],
    Help("what the sum is divided by: all relevant documents, those found, or min(relevant, k)"),
]


def _repeats_need_found(measure: Measure) -> str | None:
    if measure.get("credit") == "rank" and measure.get("norm") != "found":
        return "credit=rank counts repeated documents, which only norm=found can divide by"
    return None


@register(
    formula="AP = (1/R) Σ P@i over the ranks i that hold a relevant document",
    reference="Buckley and Voorhees (2000), Evaluating Evaluation Measure Stability, SIGIR",
    aliases=("map", "MAP", "ap", "map_cut", "map_cut_", "average_precision"),
    forbids=_repeats_need_found,
    unjudged=normalised,
)
def AP(judged: Judged, *, k: K | None = None, rel: Rel = 1, norm: Norm = "relevant", credit: Credit = "gold") -> Floats:
    """Average precision: the mean of the precisions at each relevant document; one never found adds 0.

    `AP(norm=found, credit=rank)` is the convention of Haystack's specification: it divides by what was found,
    and a repeated document counts each time.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["AP"])["AP"]
    0.8333333333333333
    """
    hits = judged.view(credit).graded(rel).top(k)
    total = hits.sum(hits.place() / hits.rank)
    if norm == "found":
        return share(total, hits.count())
    relevant = judged.relevant(rel)
    return share(total, np.minimum(relevant, k) if norm == "min" and k is not None else relevant)


@register(
    formula="GMAP = exp of the mean of ln max(AP, 0.00001)",
    reference="Robertson (2006), On GMAP: and Other Transformations, CIKM",
    combine="geometric",
    aliases=("gm_map",),
    unjudged=normalised,
)
def GMAP(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """Geometric mean of average precision: hard queries weigh as much as easy ones. Per query it is AP.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["w", "x", "y", "b"]}, ["GMAP"])["GMAP"]
    0.5
    """
    return AP(k=k, rel=rel).compute(judged)


@register(
    formula="Bpref = (1/R) Σ over retrieved relevant of 1 − min(N above it, R) / min(N, R), N judged non-relevant",
    reference="Buckley and Voorhees (2004), Retrieval Evaluation with Incomplete Information, SIGIR",
    aliases=("bpref", "BPref"),
)
def Bpref(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Binary preference: how often relevant documents stand above judged non-relevant ones.

    Unjudged documents have no effect, which makes it steady when judgments are few.

    >>> evaluate({"q": {"a": 1, "b": 1, "x": 0, "y": 0}}, {"q": ["a", "x", "b"]}, ["Bpref"])["Bpref"]
    0.75
    """
    hits = judged.by_gold
    relevant, nonrelevant = judged.relevant(rel), judged.nonrelevant(rel)
    is_relevant = hits.grade >= rel
    wrong_above = hits.above((hits.grade >= 0) & ~is_relevant)
    ceiling = np.minimum(relevant, nonrelevant)[hits.query]
    worth = 1 - share(np.minimum(wrong_above, relevant[hits.query]), ceiling)
    return share(hits.sum(np.where(is_relevant, worth, 0.0)), relevant)


@register(
    formula="infAP = (1/R) Σ over retrieved relevant at rank j+1 of 1/(j+1) + j/(j+1) · (pooled above / j)"
    " · (relevant above + ε) / (judged above + 2ε), ε = 0.00001",
    reference="Yilmaz and Aslam (2006), Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM",
    aliases=("infap",),
)
def infAP(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Inferred average precision: AP estimated from a pool of which only a sample was judged.

    A negative grade says: in the pool, but not in the sample that was judged.

    >>> evaluate({"q": {"a": 1, "x": 0, "b": 1}}, {"q": ["a", "x", "b"]}, ["infAP"])["infAP"]
    0.8333333333333333
    """
    hits = judged.by_gold
    is_relevant, is_judged = hits.grade >= rel, hits.grade >= 0
    # A threshold of 0 or below makes a negative grade relevant, and then it is judged as well.
    is_judged = is_judged | is_relevant
    relevant_above, judged_above = hits.above(is_relevant), hits.above(is_judged)
    pooled_above = hits.above(np.ones(len(hits.rank), bool))
    above = hits.rank - 1
    expected = 1 / hits.rank + (above / hits.rank) * share(pooled_above, above) * (
        (relevant_above + _EPSILON) / (judged_above + 2 * _EPSILON)
    )
    return share(hits.sum(np.where(is_relevant, expected, 0.0)), judged.relevant(rel))
