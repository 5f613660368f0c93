"""Measures of all retrieved documents as a set, ignoring their order."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.data.judged import Floats, Judged, share
from karat.measures.documents.declarations import TREC_EVAL, Beta, K, Rel, monotone, monotone_above_cutoff
from karat.measures.documents.recall import F, R
from karat.registry import Help, register

Worth = Annotated[float, Help("what each document of this kind is worth", low=-1e15, high=1e15)]


@register(
    formula="SetP@k = relevant retrieved / retrieved, or / min(retrieved, R) with relative=true, of the top k",
    reference=f"{TREC_EVAL}; with a cut-off, as with its option -M",
    aliases=("set_P", "precision", "set_relative_P(relative=true)", "SetRelP(relative=true)"),
    unjudged=lambda measure: monotone_above_cutoff(measure) if measure.get("relative") else monotone(measure),
)
def SetP(
    judged: Judged,
    *,
    k: K | None = None,
    rel: Rel = 1,
    relative: Annotated[bool, Help("whether to divide by the highest set precision possible")] = False,
) -> Floats:
    """Set precision: the share of the retrieved documents that are relevant.

    With a cut-off, only the top k are retrieved documents. Unlike P@k, ranks that a shorter list leaves empty are not
    counted.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "y", "z"]}, ["SetP"])["SetP"]
    0.25
    """
    if relative:
        return share(judged.by_gold.graded(rel).top(k).count(), np.minimum(judged.depth(k), judged.relevant(rel)))
    return share(judged.by_rank.graded(rel).top(k).count(), judged.depth(k))


@register(
    formula="SetR@k = relevant retrieved / R, of the top k",
    reference=f"{TREC_EVAL}; with a cut-off, as with its option -M",
    aliases=("set_recall",),
    unjudged=monotone_above_cutoff,
)
def SetR(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """Set recall: the share of the relevant documents that are retrieved, the same as R.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "y", "z"]}, ["SetR"])["SetR"]
    0.5
    """
    return R(k=k, rel=rel).compute(judged)


@register(
    formula="SetF = (1 + β²)·SetP·SetR / (β²·SetP + SetR)",
    reference=TREC_EVAL,
    aliases=("set_F",),
    unjudged=monotone,
)
def SetF(judged: Judged, *, beta: Beta = 1, rel: Rel = 1) -> Floats:
    """Set F-measure: the weighted harmonic mean of set precision and set recall.

    trec_eval's set_F.x and ir_measures' SetF(beta=x) use x in place of β²: write beta=√x to get their value.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]}, ["SetF"])["SetF"]
    0.5
    """
    return F(beta=beta, rel=rel).compute(judged)


@register(
    formula="SetAP = (relevant retrieved)² / (retrieved · R)",
    reference=TREC_EVAL,
    aliases=("set_map",),
    unjudged=monotone,
)
def SetAP(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Set average precision: set precision times set recall, with repeated documents counted once.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "y", "z"]}, ["SetAP"])["SetAP"]
    0.125
    """
    relevant = judged.by_gold.graded(rel).count()
    return share(relevant * relevant, judged.retrieved * judged.relevant(rel))


@register(
    formula="Utility = rel_ret·a + nonrel_ret·b + rel_not_ret·c + nonrel_not_ret·d, a relevant documents retrieved,"
    " b others retrieved, c = R − a, d = collection − a − b − c",
    reference=f"{TREC_EVAL}; its option -N is the size of the collection",
    bounds=(float("-inf"), float("inf")),
    aliases=("utility",),
)
def Utility(
    judged: Judged,
    *,
    rel: Rel = 1,
    rel_ret: Worth = 1,
    nonrel_ret: Worth = -1,
    rel_not_ret: Worth = 0,
    nonrel_not_ret: Worth = 0,
    collection: Annotated[int, Help("the number of documents in the collection", low=0, high=2**53)] = 0,
) -> Floats:
    """What the retrieved set is worth to a user, for whom each document has a worth. By default, it is found − other.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "y"]}, ["Utility"])["Utility"]
    -1.0
    """
    found, retrieved, relevant = judged.by_gold.graded(rel).count(), judged.retrieved, judged.relevant(rel)
    worth: Floats = rel_ret * found + nonrel_ret * (retrieved - found) + rel_not_ret * (relevant - found)
    return worth + nonrel_not_ret * (collection + found - retrieved - relevant)
