"""Recall and related measures: how many of the relevant documents are retrieved."""

from __future__ import annotations

from karat.data.judged import Floats, Judged, share
from karat.measures.documents.declarations import Beta, K, Rel, monotone, monotone_above_cutoff
from karat.registry import register

# With this weight F is the recall in all digits; the square of a huge beta would be infinite.
_LARGEST_WEIGHT = 1e300


@register(
    formula="R@k = distinct relevant documents in the top k / R, R the number of relevant documents",
    reference="van Rijsbergen (1979), Information Retrieval, 2nd ed., chapter 7",
    aliases=("recall", "Recall", "recall_", "recall_multi_hit"),
    unjudged=monotone_above_cutoff,
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
    aliases=(
        "success",
        "success_",
        "hit_rate",
        "hit_rate_",
        "HitRate",
        "hit_ratio",
        "top_k_accuracy",
        "top_k_acc",
        "accuracy",
        "acc",
        "cv_recall",
        "recall_single_hit",
    ),
    unjudged=monotone,
)
def Success(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """Success: whether any relevant document is in the top k. Also known as hit rate and single-hit recall.

    >>> evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["x"]}, ["Success@2"])["Success@2"]
    0.5
    """
    return (judged.found(k, rel) > 0).astype(float)


@register(
    formula="RecallAll@k = 1 if every relevant document is in the top k, else 0",
    reference="the strict form of recall; 0 if there are no relevant documents",
    aliases=("recall_all", "Recall_all"),
    unjudged=monotone_above_cutoff,
)
def RecallAll(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """Complete recall: whether every relevant document is in the top k, as multi-hop questions require.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "b", "x"]}, ["RecallAll@2"])["RecallAll@2"]
    1.0
    """
    relevant = judged.relevant(rel)
    everything: Floats = ((relevant > 0) & (judged.found(k, rel) == relevant)).astype(float)
    return everything


@register(
    formula="F@k = (1 + β²)·P·R / (β²·P + R), P = P@k and R = R@k; without a cut-off, of all retrieved documents",
    reference="van Rijsbergen (1979), Information Retrieval, 2nd ed., chapter 7",
    aliases=("f1", "F1", "f1_"),
    unjudged=monotone_above_cutoff,
)
def F(judged: Judged, *, k: K | None = None, beta: Beta = 1, rel: Rel = 1) -> Floats:
    """F-measure: the weighted harmonic mean of precision and recall.

    trec_eval's set_F.x and ir_measures' SetF(beta=x) use x in place of β²: write beta=√x to get their value.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["F@2"])["F@2"]
    0.5
    """
    whole = judged.retrieved if k is None else k
    precision = share(judged.by_rank.graded(rel).count(k), whole)
    recall = share(judged.found(k, rel), judged.relevant(rel))
    # Of a number of few digits, beta may be the square root: then this is the number, and not only close to it.
    weight = float(f"{min(beta * beta, _LARGEST_WEIGHT):.15g}")
    return share((1 + weight) * precision * recall, weight * precision + recall)
