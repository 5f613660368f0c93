"""Counts of documents and queries, and how many of the retrieved documents are judged."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.data.judged import Floats, Judged, Pool, share
from karat.measures.documents.declarations import TREC_EVAL, K, Rel, monotone
from karat.registry import Help, register

_COUNT = (0.0, float("inf"))


@register(
    name="Judged",
    formula="Judged@k = judged in the top k / min(k, retrieved)",
    reference="a measure of how complete the judgments are; a negative grade is not a judgment",
    aliases=("judged",),
)
def JudgedShare(judged: Judged, *, k: K | None = None) -> Floats:
    """The share of documents in the top k that are judged, which shows how far other measures can be trusted.

    >>> evaluate({"q": {"a": 1, "x": 0}}, {"q": ["a", "x", "y", "z"]}, ["Judged@10"])["Judged@10"]
    0.5
    """
    return share(judged.by_rank.graded(0).count(k), judged.depth(k))


@register(
    name="Unjudged",
    formula="Unjudged@k = unjudged in the top k / k",
    reference=TREC_EVAL,
    higher_is_better=False,
    aliases=("unjudged", "unj_"),
)
def UnjudgedShare(judged: Judged, *, k: K) -> Floats:
    """The share of documents in the top k that are unjudged.

    Ranks that a shorter list leaves empty do not count as unjudged.

    >>> evaluate({"q": {"a": 1}}, {"q": ["a", "x", "y", "z"]}, ["Unjudged@4"])["Unjudged@4"]
    0.75
    """
    return (judged.depth(k) - judged.by_rank.graded(0).count(k)) / k


@register(
    formula="Hole@k = documents in the top k that no query judges / k",
    reference="Thakur et al. (2021), BEIR, NeurIPS Datasets and Benchmarks",
    higher_is_better=False,
    takes="pool",
    aliases=("hole", "hole_"),
)
def Hole(pool: Pool, *, k: K) -> Floats:
    """The share of documents in the top k that no query judges, whatever their grades.

    Unlike Unjudged@k, a document counts as judged if any query of the ground truth judges it. Documents are compared
    by id, or by another field as it is.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a", "b", "x", "y"], "r": ["b"]}, ["Hole@4"])["Hole@4"]
    0.25
    """
    return (pool.depth(k) - pool.by_rank.top(k).count()) / k


@register(
    formula="NumRet = retrieved documents",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    aliases=("num_ret",),
    unjudged=monotone,
)
def NumRet(
    judged: Judged, *, rel: Annotated[float, Help("count only documents with at least this grade")] | None = None
) -> Floats:
    """The number of retrieved documents, summed over all queries.

    >>> evaluate({"q": {"a": 1}}, {"q": ["a", "x"]}, ["NumRet"])["NumRet"]
    2.0
    """
    return (judged.retrieved if rel is None else judged.by_rank.graded(rel).count()).astype(float)


@register(
    formula="NumRel = R, the number of relevant documents",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    aliases=("num_rel",),
    unjudged=monotone,
)
def NumRel(judged: Judged, *, rel: Rel = 1) -> Floats:
    """The number of relevant documents in the ground truth, summed over all queries.

    >>> evaluate({"q": {"a": 1, "b": 0}}, {"q": ["a", "x"]}, ["NumRel"])["NumRel"]
    1.0
    """
    return judged.relevant(rel).astype(float)


@register(
    formula="NumRelRet@k = distinct relevant documents in the top k",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    aliases=("num_rel_ret",),
    unjudged=monotone,
)
def NumRelRet(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """The number of relevant documents in the top k, each counted once, summed over all queries.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]}, ["NumRelRet"])["NumRelRet"]
    1.0
    """
    return judged.found(k, rel).astype(float)


@register(
    formula="NumNonrelRet = distinct retrieved documents that were judged not relevant",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    higher_is_better=False,
    aliases=("num_nonrel_judged_ret",),
)
def NumNonrelRet(judged: Judged, *, rel: Rel = 1) -> Floats:
    """The number of retrieved documents that were judged not relevant, summed over all queries.

    A negative grade is not a judgment.

    >>> evaluate({"q": {"a": 1, "x": 0}}, {"q": ["a", "x", "y"]}, ["NumNonrelRet"])["NumNonrelRet"]
    1.0
    """
    return (judged.found(None, 0) - judged.found(None, max(rel, 0))).astype(float)


@register(
    formula="Hits@k = distinct relevant documents in the top k",
    reference="Bassani (2022), ranx: A Blazing-Fast Python Library for Ranking Evaluation, ECIR",
    bounds=_COUNT,
    aliases=("hits", "hits_"),
    unjudged=monotone,
)
def Hits(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """The number of relevant documents in the top k, each counted once: NumRelRet averaged over queries, not summed.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x"]}, ["Hits@10"])["Hits@10"]
    0.5
    """
    return NumRelRet(k=k, rel=rel).compute(judged)


@register(
    formula="NumQ = evaluated queries",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    aliases=("num_q",),
    unjudged=monotone,
)
def NumQ(judged: Judged) -> Floats:
    """The number of evaluated queries.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"]}, ["NumQ"])["NumQ"]
    2.0
    """
    return np.ones(len(judged.queries))
