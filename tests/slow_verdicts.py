"""Measures of verdicts as their papers define them: loops over the records of one query, without any array.

A label that is missing is tried with every value of its scale, so `possible_values` returns all values that a measure
could have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

SCALES: dict[str, dict[str, float]] = {
    "support": {"contradicts": -0.0, "none": 0.0, "partial": 0.5, "full": 1},
    "relevance": {"0": 0, "1": 1, "2": 2, "3": 3},
    "correctness": {"incorrect": 0, "partial": 0.5, "correct": 1},
    "answer_relevance": {"no": 0, "partly": 0.5, "fully": 1},
    "abstention": {"answered": 0, "refused": 1},
    "tone": {"rude": 0, "neutral": 0.25, "polite": 1},
}
"""what measures read; the scale of tone is -1, 0 and 3 in records, and -0.0 tells a contradiction from `none`"""

Key = tuple[str, str, Any]


class MissingLabelError(Exception):
    """A label that a measure needs, by task, item and what it is against."""


class UnlistedItemsError(Exception):
    """It is not known which items of a set there are."""


@dataclass(frozen=True)
class SlowQuery:
    """The items of a query by set, where they are known, its labels, and which of the missing ones failed."""

    sets: Mapping[str, Sequence[Mapping[str, Any]]]
    labels: Mapping[Key, float]
    failed: frozenset[Key] = frozenset()

    def items(self, name: str) -> Sequence[Mapping[str, Any]]:
        if name not in self.sets:
            raise UnlistedItemsError(name)
        return self.sets[name]

    def is_empty(self, name: str) -> bool:
        return name in self.sets and not self.sets[name]

    def label(self, task: str, item: str, against: Any = None) -> float:
        key = task, item, against
        if key not in self.labels:
            raise MissingLabelError(key)
        return self.labels[key]

    def support(self, item: Mapping[str, Any], against: Any) -> float:
        return self.label("support", item["id"], against)

    def by_passage(self, item: Mapping[str, Any], passage: Mapping[str, Any]) -> float:
        return self.support(item, frozenset([passage["id"]]))

    def by_context(self, item: Mapping[str, Any]) -> float:
        """The label against all passages; without it, the highest against a single one.

        If it failed, it is unknown, but not lower than a known label against a single passage.
        """
        key = "support", item["id"], "context"
        if key in self.failed and not self.is_empty("passages"):
            single = (frozenset([passage["id"]]) for passage in self.sets.get("passages", ()))
            known = [self.labels.get(("support", item["id"], passage), 0) for passage in single]
            return 1 if 1 in known else max(self.support(item, "context"), *known, 0)
        if key in self.labels or "passages" not in self.sets:
            return self.support(item, "context")
        return max((self.by_passage(item, passage) for passage in self.items("passages")), default=0)

    def cited(self, sentence: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """The passages that a sentence cites, each once, and what it cites that is no passage."""
        distinct = list(dict.fromkeys(sentence.get("cites", [])))
        if not distinct:
            return [], []
        passages = [passage["id"] for passage in self.items("passages")]
        return [each for each in distinct if each in passages], [each for each in distinct if each not in passages]

    def by_all_cited(self, sentence: Mapping[str, Any]) -> float:
        cited, _ = self.cited(sentence)
        return self.support(sentence, frozenset(cited)) if cited else 0


def faithfulness(query: SlowQuery, partial: float = 0, unit: str = "claims") -> float | None:
    return _mean(_credit(query.by_context(item), partial) for item in query.items(unit))


def contradiction(query: SlowQuery, unit: str = "claims") -> float | None:
    return _mean(float(_is_contradicted(query, item)) for item in query.items(unit))


def _is_contradicted(query: SlowQuery, item: Mapping[str, Any]) -> bool:
    """Whether the label against all passages says so; without it, whether one passage does and none supports it."""
    key = "support", item["id"], "context"
    if key in query.failed and not query.is_empty("passages"):
        single = (frozenset([passage["id"]]) for passage in query.sets.get("passages", ()))
        is_supported = any(query.labels.get(("support", item["id"], passage), 0) > 0 for passage in single)
        return not is_supported and _is_contradiction(query.support(item, "context"))
    if key in query.labels or "passages" not in query.sets:
        return _is_contradiction(query.support(item, "context"))
    labels = [query.by_passage(item, passage) for passage in query.items("passages")]
    return max(labels, default=0) == 0 and any(map(_is_contradiction, labels))


def _is_contradiction(label: float) -> bool:
    return label == 0 and math.copysign(1, label) < 0


def context_relevance(query: SlowQuery, rel: float = 2) -> float | None:
    relevant = _relevant(query, rel)
    return float(any(relevant)) if relevant else None


def context_precision(query: SlowQuery, rel: float = 2) -> float | None:
    relevant = _relevant(query, rel)
    precisions = [sum(relevant[: at + 1]) / (at + 1) for at in range(len(relevant)) if relevant[at]]
    return None if not relevant else sum(precisions) / len(precisions) if precisions else 0.0


def context_recall(query: SlowQuery, partial: float = 0) -> float | None:
    return _mean(_credit(query.by_context(item), partial) for item in query.items("gold_claims"))


def nugget_recall(query: SlowQuery, kind: str = "all", partial: float = 0) -> float | None:
    okay = {"all": 1.0, "vital": 0.0, "weighted": 0.5}[kind]
    found = whole = 0.0
    for nugget in query.items("nuggets"):
        weight = 1.0 if nugget.get("importance") == "vital" else okay
        if weight:
            found += weight * _credit(query.support(nugget, "answer"), partial)
            whole += weight
    return found / whole if whole else None


def nugget_coverage(query: SlowQuery, k: int | None = None) -> float | None:
    nuggets = query.items("nuggets")
    if not nuggets:
        return None
    top = query.items("passages")[:k]
    return _mean(float(any(query.by_passage(nugget, passage) == 1 for passage in top)) for nugget in nuggets)


def citation_recall(query: SlowQuery) -> float | None:
    return _mean(float(query.by_all_cited(sentence) == 1) for sentence in query.items("sentences"))


def citation_precision(query: SlowQuery) -> float | None:
    needed: list[float] = []
    for sentence in query.items("sentences"):
        cited, dangling = query.cited(sentence)
        needed += [0.0 for _ in dangling]
        needed += [float(_is_needed(query, sentence, cited, passage)) for passage in cited]
    return None if not query.items("sentences") else _mean(needed) or 0.0


def _is_needed(query: SlowQuery, sentence: Mapping[str, Any], cited: list[str], passage: str) -> bool:
    if query.by_all_cited(sentence) < 1:
        return False
    others = frozenset(cited) - {passage}
    if not others or query.support(sentence, frozenset([passage])) == 1:
        return True
    return query.support(sentence, others) < 1


def citation_f1(query: SlowQuery) -> float | None:
    return _harmonic_mean(citation_precision(query), citation_recall(query))


def citation_valid(query: SlowQuery) -> float | None:
    if any(sentence.get("cites") for sentence in query.items("sentences")):
        query.items("passages")
    counts = [tuple(map(len, query.cited(sentence))) for sentence in query.items("sentences")]
    valid, dangling = (sum(count[at] for count in counts) for at in (0, 1))
    return valid / (valid + dangling) if valid + dangling else None


def support_precision(query: SlowQuery) -> float | None:
    values: list[float] = []
    for sentence in query.items("sentences"):
        cited, dangling = query.cited(sentence)
        values += [0.0] * len(dangling) + [query.support(sentence, frozenset([passage])) for passage in cited]
    return None if not query.items("sentences") else _mean(values) or 0.0


def support_recall(query: SlowQuery) -> float | None:
    return _mean(
        max((query.support(sentence, frozenset([passage])) for passage in query.cited(sentence)[0]), default=0)
        for sentence in query.items("sentences")
    )


def claim_precision(query: SlowQuery) -> float | None:
    return _mean(float(_is_right(query, claim)) for claim in query.items("claims"))


def claim_recall(query: SlowQuery) -> float | None:
    return _mean(float(query.support(claim, "answer") == 1) for claim in query.items("gold_claims"))


def claim_f1(query: SlowQuery) -> float | None:
    if query.is_empty("gold_claims"):
        return None
    query.items("gold_claims")
    return 0.0 if query.is_empty("claims") else _harmonic_mean(claim_precision(query), claim_recall(query))


def context_utilization(query: SlowQuery) -> float | None:
    offered = [claim for claim in query.items("gold_claims") if query.by_context(claim) == 1]
    return _mean(float(query.support(claim, "answer") == 1) for claim in offered)


def noise_sensitivity(query: SlowQuery, passages: str = "relevant") -> float | None:
    return _mean(float(_is_misled(query, claim, passages)) for claim in query.items("claims"))


def _is_misled(query: SlowQuery, claim: Mapping[str, Any], passages: str) -> bool:
    if _is_right(query, claim):
        return False
    sources = [passage for passage in query.items("passages") if query.by_passage(claim, passage) == 1]
    relevant = [any(query.by_passage(gold, each) == 1 for gold in query.items("gold_claims")) for each in sources]
    return any(relevant) if passages == "relevant" else bool(sources) and not any(relevant)


def hallucination(query: SlowQuery) -> float | None:
    return _mean(float(not _is_right(query, claim) and query.by_context(claim) < 1) for claim in query.items("claims"))


def self_knowledge(query: SlowQuery) -> float | None:
    return _mean(float(_is_right(query, claim) and query.by_context(claim) < 1) for claim in query.items("claims"))


def correctness(query: SlowQuery, task: str = "correctness") -> float | None:
    return query.label(task, "answer")


def abstention(query: SlowQuery, questions: str = "all") -> float | None:
    unanswerable = query.label("abstention", "gold")
    if questions != "all" and unanswerable != (questions == "unanswerable"):
        return None
    return float(query.label("abstention", "answer") == unanswerable)


MEASURES: dict[str, Callable[[SlowQuery], float | None]] = {
    "Faithfulness": faithfulness,
    "Faithfulness(partial=0.5)": lambda query: faithfulness(query, 0.5),
    "Faithfulness(partial=1)": lambda query: faithfulness(query, 1),
    "Faithfulness(unit=sentences)": lambda query: faithfulness(query, 0, "sentences"),
    "Contradiction": contradiction,
    "Contradiction(unit=sentences)": lambda query: contradiction(query, "sentences"),
    "ContextRelevance": context_relevance,
    "ContextRelevance(rel=1)": lambda query: context_relevance(query, 1),
    "ContextPrecision": context_precision,
    "ContextPrecision(rel=3)": lambda query: context_precision(query, 3),
    "ContextRecall": context_recall,
    "ContextRecall(partial=0.5)": lambda query: context_recall(query, 0.5),
    "NuggetRecall": nugget_recall,
    "NuggetRecall(partial=0.5)": lambda query: nugget_recall(query, "all", 0.5),
    "NuggetRecall(kind=vital)": lambda query: nugget_recall(query, "vital"),
    "NuggetRecall(kind=vital, partial=0.5)": lambda query: nugget_recall(query, "vital", 0.5),
    "NuggetRecall(kind=weighted)": lambda query: nugget_recall(query, "weighted"),
    "NuggetRecall(kind=weighted, partial=0.5)": lambda query: nugget_recall(query, "weighted", 0.5),
    "NuggetCoverage": nugget_coverage,
    "NuggetCoverage@1": lambda query: nugget_coverage(query, 1),
    "NuggetCoverage@2": lambda query: nugget_coverage(query, 2),
    "CitationRecall": citation_recall,
    "CitationPrecision": citation_precision,
    "CitationF1": citation_f1,
    "CitationValid": citation_valid,
    "SupportPrecision": support_precision,
    "SupportRecall": support_recall,
    "ClaimPrecision": claim_precision,
    "ClaimRecall": claim_recall,
    "ClaimF1": claim_f1,
    "ContextUtilization": context_utilization,
    "NoiseSensitivity": noise_sensitivity,
    "NoiseSensitivity(passages=irrelevant)": lambda query: noise_sensitivity(query, "irrelevant"),
    "Hallucination": hallucination,
    "SelfKnowledge": self_knowledge,
    "Correctness": correctness,
    "Correctness(task=tone)": lambda query: correctness(query, "tone"),
    "AnswerRelevance": lambda query: correctness(query, "answer_relevance"),
    "Abstention": abstention,
    "Abstention(questions=answerable)": lambda query: abstention(query, "answerable"),
    "Abstention(questions=unanswerable)": lambda query: abstention(query, "unanswerable"),
}


def possible_values(measure: Callable[[SlowQuery], float | None], query: SlowQuery) -> Iterator[float | None]:
    """The value for each way to fill in the labels that are missing and needed; UnlistedItemsError if items are."""
    try:
        yield measure(query)
    except MissingLabelError as missing:
        (key,) = missing.args
        for value in SCALES[key[0]].values():
            yield from possible_values(measure, replace(query, labels={**query.labels, key: value}))


def mean_of_samples(values: Sequence[float | None]) -> float | None:
    """The mean over the samples in which a measure is defined; None if it is undefined in more than half of them."""
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if 2 * len(defined) >= len(values) else None


def _relevant(query: SlowQuery, rel: float) -> list[bool]:
    return [query.label("relevance", passage["id"]) >= rel for passage in query.items("passages")]


def _is_right(query: SlowQuery, claim: Mapping[str, Any]) -> bool:
    return query.support(claim, "gold") == 1


def _credit(support: float, partial: float) -> float:
    return partial if support == 0.5 else support


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _harmonic_mean(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return None
    return 2 * one * other / (one + other) if one + other else 0.0
