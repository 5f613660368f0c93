"""How much there is, and how much of it was ever judged."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.judged import Floats, Judged, share
from karat.measures.settings import TREC_EVAL, K, Rel, monotone
from karat.registry import Help, register

_COUNT = (0.0, float("inf"))


@register(
    name="Judged",
    formula="Judged@k = judged in the top k / min(k, retrieved)",
    reference="the share of what is seen that somebody judged; a negative grade is not a judgment",
    aliases=("judged",),
)
def JudgedShare(judged: Judged, *, k: K | None = None) -> Floats:
    """The share of the top k that was judged: how far the other numbers can be trusted.

    >>> evaluate({"q": {"a": 1, "x": 0}}, {"q": ["a", "x", "y", "z"]}, ["Judged@10"])["Judged@10"]
    0.5
    """
    return share(judged.by_rank.graded(0).top(k).count(), judged.depth(k))


@register(
    name="Unjudged",
    formula="Unjudged@k = retrieved in the top k but not judged / k",
    reference=f"{TREC_EVAL}; BEIR's hole@k is the same but counts a document judged for any query as judged",
    higher_is_better=False,
    aliases=("unjudged", "unj_", "hole", "Hole", "hole_"),
)
def UnjudgedShare(judged: Judged, *, k: K) -> Floats:
    """The share of the top k that nobody judged, over k.

    >>> evaluate({"q": {"a": 1}}, {"q": ["a", "x", "y", "z"]}, ["Unjudged@4"])["Unjudged@4"]
    0.75
    """
    return (judged.depth(k) - judged.by_rank.graded(0).top(k).count()) / k


@register(
    formula="NumRet = retrieved documents",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    aliases=("num_ret",),
    unjudged=monotone,
)
def NumRet(
    judged: Judged, *, rel: Annotated[float, Help("count only documents of at least this grade")] | None = None
) -> Floats:
    """How many documents were retrieved; summed over queries.

    >>> evaluate({"q": {"a": 1}}, {"q": ["a", "x"]}, ["NumRet"])["NumRet"]
    2.0
    """
    return (judged.retrieved if rel is None else judged.by_rank.graded(rel).count()).astype(float)


@register(
    formula="NumRel = R",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    aliases=("num_rel",),
    unjudged=monotone,
)
def NumRel(judged: Judged, *, rel: Rel = 1) -> Floats:
    """How many relevant documents there are; summed over queries.

    >>> evaluate({"q": {"a": 1, "b": 0}}, {"q": ["a", "x"]}, ["NumRel"])["NumRel"]
    1.0
    """
    return judged.relevant(rel).astype(float)


@register(
    formula="NumRelRet@k = different relevant documents in the top k",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    aliases=("num_rel_ret",),
    unjudged=monotone,
)
def NumRelRet(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """How many relevant documents were retrieved, each counted once; summed over queries.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]}, ["NumRelRet"])["NumRelRet"]
    1.0
    """
    return judged.found(k, rel).astype(float)


@register(
    formula="Hits@k = different relevant documents in the top k, averaged over queries",
    reference="Bassani (2022), ranx: A Blazing-Fast Python Library for Ranking Evaluation, ECIR",
    bounds=_COUNT,
    aliases=("hits", "hits_"),
    unjudged=monotone,
)
def Hits(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """How many relevant documents a query finds; NumRelRet as a mean instead of a sum.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x"]}, ["Hits@10"])["Hits@10"]
    0.5
    """
    return NumRelRet(k=k, rel=rel).compute(judged)


@register(
    formula="NumQ = queries evaluated",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    aliases=("num_q",),
    unjudged=monotone,
)
def NumQ(judged: Judged) -> Floats:
    """How many queries were evaluated.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"]}, ["NumQ"])["NumQ"]
    2.0
    """
    return np.ones(len(judged.queries))
