"""Recall and its kin: how much of what is relevant came back."""

from __future__ import annotations

from karat.judged import Floats, Judged, share
from karat.measures.settings import Beta, K, Rel, monotone, normalised_by_a_cutoff
from karat.registry import register


@register(
    formula="R@k = different relevant documents in the top k / R",
    reference="van Rijsbergen (1979), Information Retrieval, 2nd ed., chapter 7",
    aliases=("recall", "Recall", "recall_"),
    unjudged=normalised_by_a_cutoff,
)
def R(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """Recall: the share of the relevant documents that are in the top k.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]}, ["R"])["R"]
    0.5
    """
    return share(judged.found(k, rel), judged.relevant(rel))


@register(
    formula="Success@k = 1 if any relevant document is in the top k, else 0",
    reference="Buckley and Voorhees (2005), Retrieval System Evaluation, in: TREC, MIT Press, chapter 3",
    aliases=("success", "success_", "hit_rate", "hit_rate_", "top_k_accuracy", "top_k_acc", "accuracy", "acc"),
    unjudged=monotone,
)
def Success(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """Success: whether the top k hold anything relevant. Also known as hit rate and single-hit recall.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["x"]}, ["Success@2"])["Success@2"]
    0.5
    """
    return (judged.found(k, rel) > 0).astype(float)


@register(
    formula="RecallAll@k = 1 if every relevant document is in the top k, else 0",
    reference="the strict form of recall; 0 where there is nothing to find",
    aliases=("recall_all", "Recall_all"),
    unjudged=normalised_by_a_cutoff,
)
def RecallAll(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """All or nothing: whether the top k hold every relevant document, as multi-hop questions need it.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "b", "x"]}, ["RecallAll@2"])["RecallAll@2"]
    1.0
    """
    relevant = judged.relevant(rel)
    everything: Floats = ((relevant > 0) & (judged.found(k, rel) == relevant)).astype(float)
    return everything


@register(
    formula="F = (1 + β²)·P·R / (β²·P + R), precision over k (over all retrieved without a cut-off)",
    reference="van Rijsbergen (1979), Information Retrieval, 2nd ed., chapter 7",
    aliases=("f1", "F1", "f1_"),
    unjudged=normalised_by_a_cutoff,
)
def F(judged: Judged, *, k: K | None = None, beta: Beta = 1, rel: Rel = 1) -> Floats:
    """F-measure: the weighted harmonic mean of precision and recall.

    trec_eval's set_F.x and ir_measures' SetF(beta=x) put x where the definition has β²: their x is beta=√x here.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["F@2"])["F@2"]
    0.5
    """
    whole = judged.retrieved if k is None else k
    precision = share(judged.by_rank.graded(rel).top(k).count(), whole)
    recall = share(judged.found(k, rel), judged.relevant(rel))
    weight = beta * beta
    return share((1 + weight) * precision * recall, weight * precision + recall)
