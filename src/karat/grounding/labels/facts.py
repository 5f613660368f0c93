"""Facts about labels: what checks and notes need to know, for any part of the queries; and which labels failed.

The facts of several parts can be merged. So a part can be evaluated anywhere, and what is said is about all labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, NamedTuple, Self

from karat.data.judged import distinct
from karat.data.verdicts import AGAINST, SETS, Relation, Verdicts
from karat.errors import enumeration, first_few, plural, printable
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import Call, answered_calls

_EXTRACTED = {"answer": "claims", "gold": "gold_claims", "question": "nuggets"}
"""the items that are extracted from an implied item"""


def labelled_relations(verdicts: Verdicts) -> frozenset[Relation]:
    """The relations that have a label, whatever its value."""
    codes = verdicts.label_task * len(SETS) + verdicts.item_set[verdicts.label_item]
    relations = []
    for code in distinct(codes * len(AGAINST) + verdicts.label_against).tolist():
        (task, items), against = divmod(code // len(AGAINST), len(SETS)), code % len(AGAINST)
        relations.append(Relation(verdicts.tasks[task], SETS[items], AGAINST[against]))
    return frozenset(relations)


@dataclass(frozen=True)
class LabelCensus:
    """Who labelled which system: the number of labels by system, author, and whether they are about documents."""

    labels: Mapping[tuple[str | None, str, bool], int] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    """systems that have items"""

    @classmethod
    def of(cls, records: VerdictRecords) -> Self:
        """Count the labels of records."""
        labels = records.labels
        about = records.about_documents().tolist() if records.documents else [False] * len(labels)
        counts = Counter(zip(labels.system, labels.by, about, strict=True))
        return cls(counts, frozenset(system for _, system, _ in records.items if system is not None))

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The labels of all parts."""
        parts = list(parts)
        counts: Counter[tuple[str | None, str, bool]] = Counter()
        for part in parts:
            counts.update(part.labels)
        return cls(counts, frozenset(chain.from_iterable(part.named for part in parts)))

    @property
    def systems(self) -> list[str]:
        """The systems that labels or items name."""
        return sorted({*self.named, *(system for system, _, _ in self.labels if system is not None)})

    def authors(self, system: str | None) -> dict[str, int]:
        """How many labels of answers each author gave to a system, or to all systems."""
        counts: Counter[str] = Counter()
        for (of_system, author, about_document), count in self.labels.items():
            if of_system in (None, system) and not about_document:
                counts[author] += count
        return dict(counts)


@dataclass(frozen=True, kw_only=True)
class LabelNotes:
    """What was odd about labels: how many were not used or replaced, and why."""

    reading: tuple[str, ...] = ()
    """notes on how the records were read"""
    of_documents: int = 0
    of_removed: int = 0
    unevaluated: frozenset[str] = frozenset()
    """queries that have labels, but are not among the results"""
    of_gone: int = 0
    """labels of claims and nuggets that are from another answer than the one that is evaluated"""
    queries_of_gone: frozenset[str] = frozenset()
    replaced: int = 0
    outdated: int = 0
    not_cited: int = 0
    not_given: int = 0
    """labels about passages or sentences that the results do not have"""
    without_digest: int = 0
    """labels that do not say which texts of the results they were given for"""

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The notes on the labels of all parts, which were read in the same way."""
        parts, names = list(parts), [field.name for field in fields(cls) if field.default == 0]
        counts: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in names}
        return cls(
            reading=tuple(dict.fromkeys(chain.from_iterable(part.reading for part in parts))),
            unevaluated=frozenset(chain.from_iterable(part.unevaluated for part in parts)),
            queries_of_gone=frozenset(chain.from_iterable(part.queries_of_gone for part in parts)),
            **counts,
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The notes as sentences."""
        return tuple(chain.from_iterable(notes for notes, _ in self._notes_by_reason))

    @property
    def unused(self) -> tuple[str, ...]:
        """Those that say why labels are not used."""
        return tuple(chain.from_iterable(notes for notes, is_unused in self._notes_by_reason if is_unused))

    @property
    def _notes_by_reason(self) -> list[tuple[Sequence[str], bool]]:
        """The notes of each kind, and whether they say why labels are not used."""
        queries = sorted(self.unevaluated)
        some = enumeration(queries, "and") if len(queries) <= 3 else f"{queries[0]}, …"
        unevaluated = f"{plural(len(queries), 'query')} with verdicts not evaluated: {some}"
        gone = f"not used: about answers that have changed since ({first_few(sorted(self.queries_of_gone))})"
        have, they_are = ("has", "it is") if self.without_digest == 1 else ("have", "they are")
        trusted = f"{have} no digests of texts, so {they_are} taken to be about these results"
        return [
            (self.reading, False),
            (_count_note(self.of_documents, "of documents not used: grades for runs, not about answers"), True),
            (_count_note(self.of_removed, "not used: about items that were removed"), True),
            ([unevaluated] if queries else (), False),
            (_count_note(self.of_gone, gone), True),
            (_count_note(self.replaced, "replaced by a later one of the same author"), False),
            (_count_note(self.outdated, "not used: the text has changed since"), True),
            (_count_note(self.not_given, "not used: about passages or sentences that the results do not have"), True),
            (_count_note(self.not_cited, "not used: about passages that the sentence does not cite together"), True),
            (_count_note(self.without_digest, trusted), False),
        ]


def _count_note(labels: int, what: str) -> list[str]:
    """A note on so many labels, if there are any."""
    return [f"{plural(labels, 'label')} {what}"] if labels else []


@dataclass(frozen=True)
class LabelFacts:
    """Facts about the labels of a system by the chosen authors, for some of the queries."""

    relations: Mapping[int, frozenset[Relation]] = field(default_factory=lambda: {0: frozenset()})
    """for each sample, the relations that have labels"""
    has_citations: bool = False
    has_documents: bool = False
    """whether there are documents of the collection, whose labels measures of answers do not read"""
    has_contradictions: bool = False
    """whether any label by the chosen authors is `contradicts`, of any system"""
    rubrics: frozenset[str] = frozenset()
    notes: LabelNotes = field(default_factory=LabelNotes)

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The facts about the labels of all parts, each of which has other queries."""
        parts = list(parts)
        relations: dict[int, frozenset[Relation]] = {}
        for part in parts:
            for sample, of_sample in part.relations.items():
                # A part without labels has a sample without labels, which the others may not have.
                if of_sample:
                    relations[sample] = relations.get(sample, frozenset()) | of_sample
        return cls(
            dict(sorted(relations.items())) or {0: frozenset()},
            any(part.has_citations for part in parts),
            any(part.has_documents for part in parts),
            any(part.has_contradictions for part in parts),
            frozenset(chain.from_iterable(part.rubrics for part in parts)),
            LabelNotes.merged(part.notes for part in parts),
        )


@dataclass(frozen=True)
class FailureCount:
    """How many labels failed, or for how many queries, and the errors of their calls."""

    number: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The most frequent error, as the end of a sentence; of equally frequent ones, the first by its text."""
        often = min(self.errors, key=lambda error: (-self.errors[error], error), default="")
        return f", most often with this error: {printable(often)}".removesuffix(".") if often else ""


class FailedLabel(NamedTuple):
    """A label that failed: what it is about, and the key of its call."""

    query: str
    item: str
    task: str
    call: str | None


@dataclass(frozen=True)
class FailedLabels:
    """The labels that failed, and the sets of items that could not be extracted for some queries."""

    labels: FailureCount = field(default_factory=FailureCount)
    extractions: Mapping[str, FailureCount] = field(default_factory=dict)
    """by the set of items: for how many queries"""
    known_sets: frozenset[str] = frozenset()
    """the sets of items of which there are some"""

    @classmethod
    def of(cls, labels: Sequence[FailedLabel], calls: Iterable[Call], known: frozenset[str]) -> Self:
        """Count labels that failed, without those whose call was answered in another try.

        `known` are the sets of items of which there are some.
        """
        keys = frozenset(label.call for label in labels if label.call is not None)
        own = [call for call in calls if call.key in keys] if keys else []
        answered = answered_calls(own)
        labels = [label for label in labels if label.call not in answered]
        errors = {call.key: call.error for call in own if call.state == "failed" and call.error}

        def failures(number: int, labels: Sequence[FailedLabel]) -> FailureCount:
            of_labels = (errors.get(label.call or "") for label in labels)
            return FailureCount(number, Counter(error for error in of_labels if error))

        extractions = {}
        for name, items in _EXTRACTED.items():
            lists = [label for label in labels if label.item == name and label.task == "support"]
            if lists:
                extractions[items] = failures(len({label.query for label in lists}), lists)
        return cls(failures(len(labels), labels), extractions, known)

    @property
    def never_extracted(self) -> dict[str, FailureCount]:
        """The sets of items that could not be extracted for any query, so that no measure reads them."""
        return {items: failures for items, failures in self.extractions.items() if items not in self.known_sets}

    def __str__(self) -> str:
        """How many labels failed, as a sentence; empty if none did."""
        return f"{plural(self.labels.number, 'label')} failed{self.labels.reason}. " if self.labels.number else ""
