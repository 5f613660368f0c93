"""Citations: whether the passages that an answer cites support what it says."""

from __future__ import annotations

from karat.data.judged import Floats
from karat.data.verdicts import Citations, Relation, Verdicts, both, either, harmonic_mean
from karat.registry import register

_ALCE = "Gao et al. (2023), Enabling Large Language Models to Generate Text with Citations, EMNLP"
_SUPPORT = "Thakur et al. (2025), Support Evaluation for the TREC 2024 RAG Track, SIGIR"

_TOGETHER = Relation("support", "sentences", "cited")
_ALONE = Relation("support", "sentences", "passage")
_OTHERS = Relation("support", "sentences", "others")


def _needed_citations(citations: Citations) -> Floats:
    """For each citation, 1 if the sentence is supported, and not by the other passages alone."""
    alone, others = citations.alone.at_least(1).value, citations.others.at_least(1).value
    supported = citations.together.at_least(1).value[citations.sentence]
    return both(citations.valid.value, both(supported, either(alone, 1 - others)))


@register(
    formula="CitationRecall = sentences supported by the passages they cite together / sentences",
    reference=_ALCE,
    takes="verdicts",
    aliases=("citation_recall",),
    labels=lambda _: {_TOGETHER: 1, _ALONE: 1},
)
def CitationRecall(verdicts: Verdicts) -> Floats:
    """Citation recall: the share of the answer's sentences that are supported in full by what they cite.

    A sentence that cites nothing is not supported. Null for an answer without sentences.

    >>> labels = [{"query": "q", "id": "s1", "type": "sentence", "cites": ["p1"]}, {"query": "q", "id": "p1",
    ...     "type": "passage", "rank": 1}, {"query": "q", "id": "s2", "type": "sentence"}]
    >>> labels += [{"query": "q", "task": "support", "item": "s1", "against": ["p1"], "label": "full"}]
    >>> evaluate_verdicts(labels, "CitationRecall")["CitationRecall"]
    0.5
    """
    return verdicts.citations.together.at_least(1).mean()


@register(
    formula="CitationPrecision = citations that are needed / citations; c of the cited C is needed if C supports the"
    " sentence, and c supports it alone or C without c does not",
    reference=_ALCE,
    takes="verdicts",
    aliases=("citation_precision",),
    labels=lambda _: {_TOGETHER: 1, _ALONE: 0, _OTHERS: -1},
)
def CitationPrecision(verdicts: Verdicts) -> Floats:
    """Citation precision: the share of the citations that contribute to the support of their sentence.

    A citation that points to no passage is not needed. 0 if no sentence cites anything, null for an answer without
    sentences.

    >>> labels = [{"query": "q", "id": "s1", "type": "sentence", "cites": ["p1", "p2"]}]
    >>> labels += [{"query": "q", "id": id, "type": "passage", "rank": rank} for id, rank in (("p1", 1), ("p2", 2))]
    >>> row = {"query": "q", "task": "support", "item": "s1"}
    >>> labels += [{**row, "against": ["p1", "p2"], "label": "full"}]
    >>> labels += [{**row, "against": ["p1"], "label": "full"}, {**row, "against": ["p2"], "label": "none"}]
    >>> evaluate_verdicts(labels, "CitationPrecision")["CitationPrecision"]
    0.5
    """
    citations = verdicts.citations
    return citations.per_citation(_needed_citations(citations))


@register(
    formula="CitationF1 = 2 · precision · recall / (precision + recall), of CitationPrecision and CitationRecall",
    reference=_ALCE,
    takes="verdicts",
    aliases=("citation_f1",),
    labels=lambda _: {_TOGETHER: 1, _ALONE: 0, _OTHERS: -1},
)
def CitationF1(verdicts: Verdicts) -> Floats:
    """Citation F1: the harmonic mean of citation precision and citation recall.

    >>> labels = [{"query": "q", "id": "s1", "type": "sentence", "cites": ["p1"]}, {"query": "q", "id": "p1",
    ...     "type": "passage", "rank": 1}, {"query": "q", "id": "s2", "type": "sentence"}]
    >>> labels += [{"query": "q", "task": "support", "item": "s1", "against": ["p1"], "label": "full"}]
    >>> evaluate_verdicts(labels, "CitationF1")["CitationF1"]
    0.6666666666666666
    """
    return harmonic_mean(CitationPrecision.compute(verdicts), CitationRecall.compute(verdicts))


@register(
    formula="CitationValid = citations that point to a passage / citations",
    reference="the share of citations that can be followed",
    takes="verdicts",
    aliases=("citation_valid",),
    labels=lambda _: {},
)
def CitationValid(verdicts: Verdicts) -> Floats:
    """Valid citations: the share of the citations that point to a passage that was given to the system.

    It needs no labels, only the sentences, what they cite, and the passages. Null for an answer without citations.

    >>> labels = [{"query": "q", "id": "s1", "type": "sentence", "cites": ["p1", "[7]"]}]
    >>> labels += [{"query": "q", "id": "p1", "type": "passage", "rank": 1}]
    >>> evaluate_verdicts(labels, "CitationValid")["CitationValid"]
    0.5
    """
    return verdicts.citations.valid.mean()


@register(
    formula="SupportPrecision = Σ support(s, c) / citations over the sentences s and their citations c; support is 1, ½"
    " or 0",
    reference=_SUPPORT,
    takes="verdicts",
    aliases=("support_precision",),
    labels=lambda _: {_ALONE: 1},
)
def SupportPrecision(verdicts: Verdicts) -> Floats:
    """Support precision: how far citations support their sentences, on average; partial support counts half.

    0 if no sentence cites anything, null for an answer without sentences.

    >>> labels = [{"query": "q", "id": "s1", "type": "sentence", "cites": ["p1", "p2"]}]
    >>> labels += [{"query": "q", "id": id, "type": "passage", "rank": rank} for id, rank in (("p1", 1), ("p2", 2))]
    >>> row = {"query": "q", "task": "support", "item": "s1"}
    >>> labels += [{**row, "against": ["p1"], "label": "full"}, {**row, "against": ["p2"], "label": "partial"}]
    >>> evaluate_verdicts(labels, "SupportPrecision")["SupportPrecision"]
    0.75
    """
    return verdicts.citations.per_citation(verdicts.citations.alone.value)


@register(
    formula="SupportRecall = Σ support(s) / sentences; support(s) is that of the citation that supports s most",
    reference=_SUPPORT,
    takes="verdicts",
    aliases=("support_recall",),
    labels=lambda _: {_ALONE: 1},
)
def SupportRecall(verdicts: Verdicts) -> Floats:
    """Support recall: how far the answer's sentences are supported by a citation, on average.

    A sentence that cites nothing is not supported. Null for an answer without sentences.

    >>> labels = [{"query": "q", "id": "s1", "type": "sentence", "cites": ["p1"]}, {"query": "q", "id": "p1",
    ...     "type": "passage", "rank": 1}, {"query": "q", "id": "s2", "type": "sentence"}]
    >>> labels += [{"query": "q", "task": "support", "item": "s1", "against": ["p1"], "label": "partial"}]
    >>> evaluate_verdicts(labels, "SupportRecall")["SupportRecall"]
    0.25
    """
    return verdicts.citations.best.mean()
