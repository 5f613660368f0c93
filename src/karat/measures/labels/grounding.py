"""Groundedness: whether an answer rests on the passages that were given to the system, and whether these were right."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from karat.data.judged import Floats
from karat.data.verdicts import Relation, Verdicts
from karat.measures.documents.average import AP
from karat.measures.documents.declarations import Rel
from karat.registry import Help, LabelRelation, Measure, register

Partial = Annotated[float, Help("how much partial support counts", low=0, high=1)]
Unit = Annotated[Literal["claims", "sentences"], Help("what is counted: the claims of the answer, or its sentences")]

_ES = "Es et al. (2024), RAGAs: Automated Evaluation of Retrieval Augmented Generation, EACL"
_HAYSTACK = "Haystack, ContextRelevanceEvaluator"
RELEVANCE = Relation("relevance", "passages", "question")
_ANSWERS = 2
"""the lowest grade of a passage that contains something that answers the question; 1 is only on the topic"""


def _support_of_units(measure: Measure) -> dict[LabelRelation, int]:
    return {Relation("support", "sentences" if measure.get("unit") == "sentences" else "claims", "context"): 1}


@register(
    formula="Faithfulness = Σ support(c) / n over the n claims c of the answer; support is 1, `partial` or 0",
    reference=_ES,
    takes="verdicts",
    aliases=("faithfulness", "groundedness"),
    labels=_support_of_units,
)
def Faithfulness(verdicts: Verdicts, *, partial: Partial = 0, unit: Unit = "claims") -> Floats:
    """Faithfulness: the share of the answer's claims that the passages support.

    Null for an answer without claims.

    >>> row = {"query": "q", "type": "claim", "task": "support", "against": "context"}
    >>> labels = [{**row, "item": "c1", "label": "full"}, {**row, "item": "c2", "label": "none"}]
    >>> evaluate_verdicts(labels, "Faithfulness")["Faithfulness"]
    0.5
    """
    return verdicts.support(unit, "context").with_partial(partial).mean()


@register(
    formula="Contradiction = claims c of the answer that the passages contradict / n, the number of its claims",
    reference="Hu et al. (2024), RefChecker: Reference-based Fine-grained Hallucination Checker and Benchmark",
    takes="verdicts",
    higher_is_better=False,
    aliases=("contradiction",),
    labels=lambda measure: dict.fromkeys(_support_of_units(measure), -1),
)
def Contradiction(verdicts: Verdicts, *, unit: Unit = "claims") -> Floats:
    """Contradiction: the share of the answer's claims that the passages contradict.

    What the passages neither support nor contradict is not counted here: Faithfulness + Contradiction is at most 1. Of
    labels against single passages, one `contradicts` is enough, unless another passage supports the claim in full or in
    part. Lower is better; null for an answer without claims.

    >>> row = {"query": "q", "type": "claim", "task": "support", "against": "context"}
    >>> labels = [{**row, "item": "c1", "label": "contradicts"}, {**row, "item": "c2", "label": "none"}]
    >>> evaluate_verdicts(labels, ["Contradiction", "Faithfulness"]).means
    {'Contradiction': 0.5, 'Faithfulness': 0.0}
    """
    return verdicts.contradiction(unit).mean()


@register(
    formula="ContextRelevance = 1 if any passage has a grade of at least `rel`, else 0",
    reference=_HAYSTACK,
    takes="verdicts",
    aliases=("context_relevance",),
    labels=lambda _: {RELEVANCE: 1},
)
def ContextRelevance(verdicts: Verdicts, *, rel: Rel = _ANSWERS) -> Floats:
    """Context relevance: whether any passage contains anything that answers the question.

    That is a grade of 2 or 3; with `rel=1`, a passage that is only on the topic is enough. Null without passages.

    >>> row = {"query": "q", "type": "passage", "task": "relevance", "against": "question"}
    >>> labels = [{**row, "item": "p1", "rank": 1, "label": 0}, {**row, "item": "p2", "rank": 2, "label": 2}]
    >>> evaluate_verdicts(labels, "ContextRelevance")["ContextRelevance"]
    1.0
    """
    return verdicts.relevance.at_least(rel).highest()


@register(
    formula="ContextPrecision = AP(norm=found) of the passages by rank; those with a grade of at least `rel` are"
    " relevant",
    reference=_ES,
    takes="verdicts",
    aliases=("context_precision",),
    labels=lambda _: {RELEVANCE: 0},
)
def ContextPrecision(verdicts: Verdicts, *, rel: Rel = _ANSWERS) -> Floats:
    """Context precision: how high the relevant passages are ranked among those given to the system.

    A passage is relevant if it contains something that answers the question, which is a grade of 2 or 3; with `rel=1`,
    also if it is only on the topic. 0 if no passage is relevant, null without passages.

    >>> row = {"query": "q", "type": "passage", "task": "relevance", "against": "question"}
    >>> labels = [{**row, "item": "p1", "rank": 1, "label": 0}, {**row, "item": "p2", "rank": 2, "label": 2}]
    >>> evaluate_verdicts(labels, "ContextPrecision")["ContextPrecision"]
    0.5
    """
    relevant = verdicts.relevance.at_least(rel)
    values = AP(norm="found").compute(verdicts.ranking(relevant))
    return np.where(np.isnan(relevant.mean()), np.nan, values)


@register(
    formula="ContextRecall = Σ support(c) / n over the n claims c of the gold answer",
    reference=_ES,
    takes="verdicts",
    aliases=("context_recall",),
    labels=lambda _: {Relation("support", "gold_claims", "context"): 1},
)
def ContextRecall(verdicts: Verdicts, *, partial: Partial = 0) -> Floats:
    """Context recall: the share of the gold answer's claims that the passages support.

    Null for a gold answer without claims. RAGChecker calls it claim recall.

    >>> row = {"query": "q", "type": "claim", "of": "gold", "task": "support", "against": "context"}
    >>> labels = [{**row, "item": "g1", "label": "full"}, {**row, "item": "g2", "label": "none"}]
    >>> evaluate_verdicts(labels, "ContextRecall")["ContextRecall"]
    0.5
    """
    return verdicts.support("gold_claims", "context").with_partial(partial).mean()
