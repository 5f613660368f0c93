"""Facts about labels: what checks and notes need to know, for any part of the queries.

The facts of several parts can be merged. So a part can be evaluated anywhere, and what is said is about all labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Self

from karat.errors import plural
from karat.judged import distinct
from karat.labels.reading import VerdictRecords
from karat.verdicts import AGAINST, SETS, Verdicts


class LabelKind(NamedTuple):
    """What labels are about: the task, the set of their items, and what these were compared with."""

    task: str
    items: str
    against: str


def kinds_of(verdicts: Verdicts) -> frozenset[LabelKind]:
    """The kinds of labels that there are."""
    codes = verdicts.label_task * len(SETS) + verdicts.item_set[verdicts.label_item]
    found = []
    for code in distinct(codes * len(AGAINST) + verdicts.label_against).tolist():
        (task, items), against = divmod(code // len(AGAINST), len(SETS)), code % len(AGAINST)
        found.append(LabelKind(verdicts.tasks[task], SETS[items], AGAINST[against]))
    return frozenset(found)


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
        several = list(parts)
        counts: Counter[tuple[str | None, str, bool]] = Counter()
        for part in several:
            counts.update(part.labels)
        return cls(counts, frozenset(chain.from_iterable(part.named for part in several)))

    @property
    def systems(self) -> list[str]:
        """The systems that labels or items name."""
        return sorted({*self.named, *(system for system, _, _ in self.labels if system is not None)})

    def authors(self, system: str | None) -> dict[str, int]:
        """How many labels of answers each author gave to a system, or to all systems."""
        found: Counter[str] = Counter()
        for (of_system, author, about_document), count in self.labels.items():
            if of_system in (None, system) and not about_document:
                found[author] += count
        return dict(found)


@dataclass(frozen=True)
class LabelNotes:
    """What was odd about labels: how many were not used or replaced, and why."""

    reading: tuple[str, ...] = ()
    """notes on how the records were read"""
    of_documents: int = 0
    of_removed: int = 0
    of_results: tuple[str, ...] = ()
    """notes on how results differ from what was labelled"""
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
        several = list(parts)
        return cls(
            tuple(dict.fromkeys(chain.from_iterable(part.reading for part in several))),
            sum(part.of_documents for part in several),
            sum(part.of_removed for part in several),
            tuple(dict.fromkeys(chain.from_iterable(part.of_results for part in several))),
            sum(part.replaced for part in several),
            sum(part.outdated for part in several),
            sum(part.not_cited for part in several),
            sum(part.not_given for part in several),
            sum(part.without_digest for part in several),
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The notes as sentences."""
        counted = {
            "of documents not used: grades for runs, not about answers": self.of_documents,
            "not used: about items that were removed": self.of_removed,
            "replaced by a later one of the same author": self.replaced,
            "not used: the text has changed since": self.outdated,
            "not used: about passages or sentences that the results do not have": self.not_given,
            "not used: about passages that the sentence does not cite together": self.not_cited,
        }
        documents, removed, *others = [
            [f"{plural(count, 'label')} {what}"] if count else [] for what, count in counted.items()
        ]
        if self.without_digest:
            have, they_are = ("has", "it is") if self.without_digest == 1 else ("have", "they are")
            number = plural(self.without_digest, "label")
            others.append([f"{number} {have} no digests of texts, so {they_are} taken to be about these results"])
        return (*self.reading, *documents, *removed, *self.of_results, *chain.from_iterable(others))


@dataclass(frozen=True)
class LabelFacts:
    """Facts about the labels of a system by the chosen authors, for some of the queries."""

    kinds: Mapping[int, frozenset[LabelKind]] = field(default_factory=lambda: {0: frozenset()})
    """for each sample, the kinds of its labels"""
    has_citations: bool = False
    has_documents: bool = False
    """whether there are documents of the collection, whose labels measures of answers do not read"""
    rubrics: frozenset[str] = frozenset()
    notes: LabelNotes = field(default_factory=LabelNotes)

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The facts about the labels of all parts, each of which has other queries."""
        several = list(parts)
        kinds: dict[int, frozenset[LabelKind]] = {}
        for part in several:
            for sample, found in part.kinds.items():
                # A part without labels has a sample without labels, which the others may not have.
                if found:
                    kinds[sample] = kinds.get(sample, frozenset()) | found
        return cls(
            dict(sorted(kinds.items())) or {0: frozenset()},
            any(part.has_citations for part in several),
            any(part.has_documents for part in several),
            frozenset(chain.from_iterable(part.rubrics for part in several)),
            LabelNotes.merged(part.notes for part in several),
        )
