"""Claims of the answer and of the gold answer, held against each other and against the passages."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from karat.data.judged import Floats
from karat.data.verdicts import Relation, Verdicts, both, harmonic_mean, known_share
from karat.registry import Help, LabelRelation, Measure, register

Passages = Annotated[
    Literal["relevant", "irrelevant"],
    Help("which passages mislead: relevant ones, which support a claim of the gold answer, or others"),
]

_RAGCHECKER = "Ru et al. (2024), RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation"

_RIGHT = Relation("support", "claims", "gold")
_IN_CONTEXT = Relation("support", "claims", "context")
_BY_PASSAGE = Relation("support", "claims", "passage")
_GOLD_IN_ANSWER = Relation("support", "gold_claims", "answer")
_GOLD_IN_CONTEXT = Relation("support", "gold_claims", "context")
_GOLD_BY_PASSAGE = Relation("support", "gold_claims", "passage")


def _full(verdicts: Verdicts, relation: Relation) -> Floats:
    """For each item, 1 if it is supported in full, else 0."""
    return verdicts.relation(relation).at_least(1).value


def _share_of_claims(verdicts: Verdicts, values: Floats) -> Floats:
    return verdicts.relation(_RIGHT).with_values(values).mean()


@register(
    formula="ClaimPrecision = claims of the answer that the gold answer supports / claims of the answer",
    reference=_RAGCHECKER,
    takes="verdicts",
    aliases=("claim_precision",),
    labels=lambda _: {_RIGHT: 1},
)
def ClaimPrecision(verdicts: Verdicts) -> Floats:
    """Claim precision: the share of the answer's claims that are right, according to the gold answer.

    Null for an answer without claims.

    >>> row = {"query": "q", "type": "claim", "task": "support", "against": "gold"}
    >>> labels = [{**row, "item": "c1", "label": "full"}, {**row, "item": "c2", "label": "none"}]
    >>> evaluate_verdicts(labels, "ClaimPrecision")["ClaimPrecision"]
    0.5
    """
    return verdicts.relation(_RIGHT).at_least(1).mean()


@register(
    formula="ClaimRecall = claims of the gold answer that the answer supports / claims of the gold answer",
    reference=_RAGCHECKER,
    takes="verdicts",
    aliases=("claim_recall",),
    labels=lambda _: {_GOLD_IN_ANSWER: 1},
)
def ClaimRecall(verdicts: Verdicts) -> Floats:
    """Claim recall: the share of the gold answer's claims that the answer contains.

    Null for a gold answer without claims. What RAGChecker calls claim recall is `ContextRecall`.

    >>> row = {"query": "q", "type": "claim", "of": "gold", "task": "support", "against": "answer"}
    >>> labels = [{**row, "item": "g1", "label": "full"}, {**row, "item": "g2", "label": "none"}]
    >>> evaluate_verdicts(labels, "ClaimRecall")["ClaimRecall"]
    0.5
    """
    return verdicts.relation(_GOLD_IN_ANSWER).at_least(1).mean()


@register(
    formula="ClaimF1 = 2 · precision · recall / (precision + recall), of ClaimPrecision and ClaimRecall",
    reference=_RAGCHECKER,
    takes="verdicts",
    aliases=("claim_f1",),
    labels=lambda _: {_GOLD_IN_ANSWER: 1, _RIGHT: 1},
)
def ClaimF1(verdicts: Verdicts) -> Floats:
    """Claim F1: the harmonic mean of claim precision and claim recall.

    0 for an answer without claims, null for a gold answer without claims.

    >>> row = {"query": "q", "type": "claim", "task": "support"}
    >>> labels = [{**row, "item": "c1", "against": "gold", "label": "full"}]
    >>> labels += [{**row, "item": "g1", "of": "gold", "against": "answer", "label": "full"}]
    >>> labels += [{**row, "item": "g2", "of": "gold", "against": "answer", "label": "none"}]
    >>> evaluate_verdicts(labels, "ClaimF1")["ClaimF1"]
    0.6666666666666666
    """
    precision, recall = ClaimPrecision.compute(verdicts), ClaimRecall.compute(verdicts)
    return harmonic_mean(np.where(verdicts.has_none("claims"), 0.0, precision), recall)


@register(
    formula="ContextUtilization = claims of the gold answer in the passages and in the answer / those in the passages",
    reference=_RAGCHECKER,
    takes="verdicts",
    aliases=("context_utilization",),
    labels=lambda _: {_GOLD_IN_CONTEXT: 0, _GOLD_IN_ANSWER: 1},
)
def ContextUtilization(verdicts: Verdicts) -> Floats:
    """Context utilization: of what the passages offer of the gold answer, the share that the answer uses.

    Null if the passages support no claim of the gold answer.

    >>> row = {"query": "q", "type": "claim", "of": "gold", "task": "support"}
    >>> labels = [{**row, "item": item, "against": "context", "label": "full"} for item in ("g1", "g2")]
    >>> labels += [{**row, "item": "g1", "against": "answer", "label": "full"}]
    >>> labels += [{**row, "item": "g2", "against": "answer", "label": "none"}]
    >>> evaluate_verdicts(labels, "ContextUtilization")["ContextUtilization"]
    0.5
    """
    offered = verdicts.relation(_GOLD_IN_CONTEXT).at_least(1)
    used = offered.with_values(both(offered.value, _full(verdicts, _GOLD_IN_ANSWER)))
    return known_share(used.sum(), offered.sum())


def _noise_labels(measure: Measure) -> dict[LabelRelation, int]:
    if measure.get("passages") == "relevant":
        return {_RIGHT: -1, _BY_PASSAGE: 1, _GOLD_BY_PASSAGE: 1}
    # Support by a relevant passage excuses an irrelevant one.
    return {_RIGHT: -1, _BY_PASSAGE: 0, _GOLD_BY_PASSAGE: -1}


@register(
    formula="NoiseSensitivity = wrong claims that a relevant passage supports / claims; for passages=irrelevant, wrong"
    " claims that an irrelevant passage supports, and no relevant one",
    reference=_RAGCHECKER,
    takes="verdicts",
    higher_is_better=False,
    aliases=("noise_sensitivity",),
    labels=_noise_labels,
)
def NoiseSensitivity(verdicts: Verdicts, *, passages: Passages = "relevant") -> Floats:
    """Noise sensitivity: the share of the answer's claims that are wrong and come from the passages.

    A passage is relevant if it supports a claim of the gold answer. Lower is better; null for an answer without claims.

    >>> labels = [{"query": "q", "id": "p1", "type": "passage", "rank": 1}]
    >>> row = {"query": "q", "type": "claim", "task": "support"}
    >>> labels += [{**row, "item": "c1", "against": "gold", "label": "none"}]
    >>> labels += [{**row, "item": "c1", "against": ["p1"], "label": "full"}]
    >>> labels += [{**row, "item": "g1", "of": "gold", "against": ["p1"], "label": "none"}]
    >>> evaluate_verdicts(labels, ["NoiseSensitivity", "NoiseSensitivity(passages=irrelevant)"]).means
    {'NoiseSensitivity': 0.0, 'NoiseSensitivity(passages=irrelevant)': 1.0}
    """
    pairs = verdicts.pairs("support", "claims").full()
    relevant = verdicts.supporting_passages("gold_claims")[pairs.passage]
    by_relevant = pairs.with_values(both(pairs.value, relevant)).best().value
    by_other = pairs.with_values(both(pairs.value, 1 - relevant)).best().value
    misled = by_relevant if passages == "relevant" else both(by_other, 1 - by_relevant)
    return _share_of_claims(verdicts, both(misled, 1 - _full(verdicts, _RIGHT)))


@register(
    formula="Hallucination = wrong claims that no passage supports / claims",
    reference=_RAGCHECKER,
    takes="verdicts",
    higher_is_better=False,
    aliases=("hallucination",),
    labels=lambda _: {_RIGHT: -1, _IN_CONTEXT: -1},
)
def Hallucination(verdicts: Verdicts) -> Floats:
    """Hallucination: the share of the answer's claims that are wrong and in no passage.

    Lower is better; null for an answer without claims.

    >>> row = {"query": "q", "type": "claim", "task": "support"}
    >>> labels = [{**row, "item": "c1", "against": "gold", "label": "none"}]
    >>> labels += [{**row, "item": "c1", "against": "context", "label": "none"}]
    >>> evaluate_verdicts(labels, "Hallucination")["Hallucination"]
    1.0
    """
    wrong, unsupported = 1 - _full(verdicts, _RIGHT), 1 - _full(verdicts, _IN_CONTEXT)
    return _share_of_claims(verdicts, both(wrong, unsupported))


@register(
    formula="SelfKnowledge = right claims that no passage supports / claims",
    reference=_RAGCHECKER,
    takes="verdicts",
    higher_is_better=False,
    aliases=("self_knowledge",),
    labels=lambda _: {_RIGHT: 1, _IN_CONTEXT: -1},
)
def SelfKnowledge(verdicts: Verdicts) -> Floats:
    """Self-knowledge: the share of the answer's claims that are right although no passage supports them.

    Lower is better if the answer is to rest on the passages; null for an answer without claims.

    >>> row = {"query": "q", "type": "claim", "task": "support"}
    >>> labels = [{**row, "item": "c1", "against": "gold", "label": "full"}]
    >>> labels += [{**row, "item": "c1", "against": "context", "label": "none"}]
    >>> evaluate_verdicts(labels, "SelfKnowledge")["SelfKnowledge"]
    1.0
    """
    return _share_of_claims(verdicts, both(_full(verdicts, _RIGHT), 1 - _full(verdicts, _IN_CONTEXT)))
