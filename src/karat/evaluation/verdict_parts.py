"""Verdicts in parts: records that are evaluated in several places, with the scores of all of them together.

What depends on all records is which system and whose labels count, and then which samples and measures there are. A
part decides it by its own records and by those that are known already, which usually leads to the decision of all parts
together. Only parts that have decided otherwise are evaluated again. So each record is usually read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from karat.errors import KaratError
from karat.evaluation.label_scores import LabelScores, Limits
from karat.evaluation.verdicts import label_digests, scores_of_verdicts, unscored
from karat.grounding.labels.counting import check_order_does_not_matter, choose_authors
from karat.grounding.labels.facts import FailedLabel, FailedLabels, LabelCensus, LabelFacts, LabelNotes
from karat.grounding.labels.missing import (
    labelled_measures,
    labelled_samples,
    notes_on_labels,
    readable_measures,
    rubric_measures,
)
from karat.grounding.labels.selection import choose_system, select_labels
from karat.grounding.verdict_file.reading import VerdictRecords, no_verdicts, read_part_of_verdicts, records_in
from karat.grounding.verdict_file.records import Call
from karat.grounding.verdict_file.tasks import Task
from karat.options import Unknown
from karat.registry import Measure
from karat.registry.selection import Measures, Selection, select_measures
from karat.scores import Scores

Result = TypeVar("Result")
PortableMeasure = Callable[[], Measure]
"""a function that returns a measure, also in another process"""


class RunInParts(Protocol):
    """Calls a function with the records of each part, and returns what it returns for each.

    There is at least one part. All records of a query are in the same one. If only some parts are wanted, by their
    numbers, the results of the others are left out.
    """

    def __call__(self, work: Callable[[Any], Result], wanted: Sequence[int] | None = None, /) -> Iterable[Result]: ...


@dataclass(frozen=True)
class SharedRecords:
    """The records that are about no query: rubrics, which all parts need, and calls; and how the others are read."""

    name: str
    """the place of all records, for messages"""
    has_order: bool
    """whether the records of a part are in order"""
    in_file_order: bool = False
    """whether the scores are in the order of the queries in the files, rather than of their ids"""
    tasks: tuple[Task, ...] = ()
    calls: Iterable[Call] = ()
    is_empty: bool = True
    notes: tuple[str, ...] = ()
    """what was odd about them"""

    def reading(self, source: Any) -> Self:
        """The same, with the tasks and calls in a source of records without a query."""
        read = read_part_of_verdicts(source, self.name, self.tasks)
        return replace(
            self,
            tasks=tuple(read.tasks[name] for name in sorted(read.rubrics)),
            calls=tuple(call._replace(reply_start=None) for call in read.calls),
            is_empty=self.is_empty and read.is_empty,
            notes=tuple(dict.fromkeys((*self.notes, *read.notes))),
        )

    def read(self, source: Any) -> VerdictRecords:
        """The records of a part."""
        return read_part_of_verdicts(source, self.name, self.tasks)


def evaluate_parts(
    run: RunInParts,
    shared: SharedRecords,
    measures: Measures | None,
    *,
    system: str | None,
    author: str | None,
    unknown: Unknown,
    name: str,
    portable: Callable[[Measure], PortableMeasure],
) -> tuple[Scores, LabelChoice]:
    """The scores of all parts, as `evaluate_verdicts` computes them; and which labels count."""
    place, rubrics = shared.name, rubric_measures(task.name for task in shared.tasks)
    listed = None if measures is None else select_measures(measures, subjects=("verdicts",), rubrics=rubrics)
    asked = None if listed is None else tuple((portable(measure), tuple(names)) for measure, names in listed.items())
    question = _Question(replace(shared, calls=()), asked, system, author)
    parts = _first_results(run, question)
    if shared.is_empty and all(part.is_empty for part in parts):
        raise no_verdicts(place)
    census = LabelCensus.merged(part.census for part in parts)
    choice = question.choice(census)
    known = _Known(census, choice=choice)
    _evaluate_again(run, parts, [part.choice != choice for part in parts], question, known)

    facts = LabelFacts.merged(part.facts for part in parts)
    failed_labels = list(chain.from_iterable(part.failed for part in parts))
    known_sets = frozenset(chain.from_iterable(part.known_sets for part in parts))

    def failed() -> FailedLabels:
        return FailedLabels.of(failed_labels, shared.calls, known_sets)

    listed = question.readable(facts, failed)
    plan, known = _Plan.of(listed, facts), known._replace(facts=_without_notes(facts), has_all_facts=True)
    _evaluate_again(run, parts, [part.plan != plan for part in parts], question, known)
    scored = LabelScores.merged(part.scores for part in parts)
    if scored.limits and len(parts) > 1:  # a part can try combinations that all parts together cannot
        known = known._replace(limits=scored.limits)
        _evaluate_again(run, parts, [True] * len(parts), question, known)
    order = list(chain.from_iterable(part.order for part in parts))
    scored = LabelScores.merged((part.scores for part in parts), order)
    digests = {query: digest for part in parts for query, digest in part.digests.items()}
    notes = (*shared.notes, *notes_on_labels(facts, listed))
    scores = scores_of_verdicts(scored, notes, choice.authors, digests, listed, unknown, name, place)
    more = () if measures is not None else unscored(failed())
    return replace(scores, findings=(*scores.findings, *more)), choice


class LabelChoice(NamedTuple):
    """Which labels count."""

    system: str | None
    authors: tuple[str, ...]


class _Plan(NamedTuple):
    """What is computed: the samples, and the names of measures with the samples that have labels for them."""

    numbers: tuple[int, ...]
    measures: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, measures: Selection, facts: LabelFacts) -> Self:
        samples = ((str(measure), tuple(labelled_samples(measure, facts))) for measure in measures)
        return cls(tuple(facts.relations), tuple(samples))


@dataclass(frozen=True)
class _Question:
    """What an evaluation was asked for."""

    shared: SharedRecords
    measures: tuple[tuple[PortableMeasure, tuple[str, ...]], ...] | None
    """with the names by which they were asked for"""
    system: str | None
    author: str | None

    def choice(self, census: LabelCensus) -> LabelChoice:
        """Which labels count."""
        system = choose_system(census.systems, self.system, self.shared.name)
        return LabelChoice(system, choose_authors(census.authors(system), self.author, self.shared.name))

    def readable(self, facts: LabelFacts, failed: Callable[[], FailedLabels] = FailedLabels) -> Selection:
        """The measures to compute, by the facts about labels."""
        place = self.shared.name
        if self.measures is None:
            listed = select_measures(labelled_measures(facts, failed, place), subjects=("verdicts",))
        else:
            listed = {measure(): names for measure, names in self.measures}
        return readable_measures(facts, failed, listed, place)


class _Known(NamedTuple):
    """What is known about other parts, or about all of them."""

    census: LabelCensus = LabelCensus()
    facts: LabelFacts = LabelFacts()
    choice: LabelChoice | None = None
    """if it was made for all parts"""
    has_all_facts: bool = False
    limits: Limits | None = None


@dataclass(frozen=True, eq=False)
class _PartResult:
    """What is in a part and, as far as it could be decided, its scores."""

    census: LabelCensus
    is_empty: bool
    choice: LabelChoice | None = None
    facts: LabelFacts = field(default_factory=LabelFacts)
    failed: Sequence[FailedLabel] = ()
    known_sets: frozenset[str] = frozenset()
    plan: _Plan | None = None
    scores: LabelScores = field(default_factory=lambda: LabelScores((), {}))
    order: Sequence[Any] = ()
    digests: Mapping[str, str] = field(default_factory=dict)


class _Guess:
    """What is known so far. It is passed to the parts, which learn from others if they are evaluated one by one."""

    known = _Known()

    def add(self, part: _PartResult) -> None:
        census, facts = (self.known.census, part.census), (self.known.facts, part.facts)
        self.known = _Known(LabelCensus.merged(census), _without_notes(LabelFacts.merged(facts)))


def _first_results(run: RunInParts, question: _Question) -> list[_PartResult]:
    guess, parts = _Guess(), []
    for part in run(partial(_guessed, question, guess)):
        guess.add(part)
        parts.append(part)
    return parts


def _evaluate_again(
    run: RunInParts, parts: list[_PartResult], are_wrong: Sequence[bool], question: _Question, known: _Known
) -> None:
    """Replace the results of parts that have decided otherwise than all parts together."""
    wanted = [at for at, is_wrong in enumerate(are_wrong) if is_wrong]
    if wanted:
        for at, part in zip(wanted, run(partial(_evaluate_part, question, known), wanted), strict=True):
            parts[at] = part


def _without_notes(facts: LabelFacts) -> LabelFacts:
    return replace(facts, notes=LabelNotes())


def _guessed(question: _Question, guess: _Guess, source: Any) -> _PartResult:
    return _evaluate_part(question, guess.known, source)


def _evaluate_part(question: _Question, known: _Known, source: Any) -> _PartResult:
    """The scores of a part. An error that follows from a decision counts only if that is one of all parts."""
    records = question.shared.read(source)
    if not question.shared.has_order:
        check_order_does_not_matter(records_in(source), question.shared.name)
    part = _PartResult(LabelCensus.of(records), records.is_empty)
    try:
        choice = known.choice or question.choice(LabelCensus.merged([known.census, part.census]))
        selected = select_labels(records, *choice)
    except KaratError:
        if known.choice is not None:
            raise
        return part
    own, failed = selected.facts, selected.failed_labels
    part = replace(part, choice=choice, facts=own, failed=failed, known_sets=selected.known_sets)
    facts = known.facts if known.has_all_facts else LabelFacts.merged([known.facts, own])
    try:
        measures = question.readable(facts)
        plan = _Plan.of(measures, facts)
        if plan.numbers != tuple(own.relations):
            selected = select_labels(records, *choice, numbers=plan.numbers)
        samples = {measure: numbers for measure, (_, numbers) in zip(measures, plan.measures, strict=True)}
        scores = LabelScores.of(selected, samples, known.limits)
    except KaratError:
        if known.has_all_facts:
            raise
        return part
    order = selected.file_order() if question.shared.in_file_order else ()
    return replace(part, plan=plan, scores=scores, order=order, digests=label_digests(selected))
