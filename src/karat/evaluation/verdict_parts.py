"""Verdicts in parts: records that are evaluated in several places, with the scores of all of them together.

What depends on all records is decided between three passes over the parts: first which system and whose labels count,
then which samples and measures there are, and which labels were not used. The third pass computes the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from karat.evaluation.label_scores import LabelScores, Limits
from karat.evaluation.verdicts import label_digests, scores_of_verdicts, unscored
from karat.grounding.labels.counting import check_order_does_not_matter, choose_authors
from karat.grounding.labels.facts import FailedLabels, LabelCensus, LabelFacts
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
from karat.registry.selection import Measures, select_measures
from karat.scores import Scores

Result = TypeVar("Result")
PortableMeasure = Callable[[], Measure]
"""a function that returns a measure, also in another process"""


class RunInParts(Protocol):
    """Calls a function with the records of each part, and returns what it returns for each.

    There is at least one part. All records of a query are in the same one.
    """

    def __call__(self, work: Callable[[Any], Result], /) -> list[Result]: ...


@dataclass(frozen=True)
class SharedRecords:
    """The records that are about no query: rubrics and calls, which all parts need; and how the others are read."""

    name: str
    """the place of all records, for messages"""
    has_order: bool
    """whether the records of a part are in order"""
    tasks: tuple[Task, ...] = ()
    calls: tuple[Call, ...] = ()
    is_empty: bool = True
    notes: tuple[str, ...] = ()
    """what was odd about them"""

    def reading(self, source: Any) -> Self:
        """The same, with the tasks and calls in a source of records without a query."""
        read = read_part_of_verdicts(source, self.name)
        return replace(
            self,
            tasks=tuple(read.tasks[name] for name in sorted(read.rubrics)),
            calls=tuple(call._replace(reply_start=None) for call in read.calls),
            is_empty=read.is_empty,
            notes=tuple(read.notes),
        )

    def read(self, source: Any) -> VerdictRecords:
        """The records of a part."""
        return read_part_of_verdicts(source, self.name, self.tasks, self.calls)


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
) -> Scores:
    """The scores of all parts, as `evaluate_verdicts` computes them, with the queries in the order of their ids."""
    place, rubrics = shared.name, rubric_measures(task.name for task in shared.tasks)
    listed = None if measures is None else select_measures(measures, subjects=("verdicts",), rubrics=rubrics)
    surveys = run(partial(_survey, replace(shared, calls=())))
    if shared.is_empty and all(each.is_empty for each in surveys):
        raise no_verdicts(place)
    census = LabelCensus.merged(each.census for each in surveys)
    system = choose_system(census.systems, system, place)
    choice = _Choice(system, choose_authors(census.authors(system), author, place))
    failed_calls = frozenset().union(*(each.failed_calls for each in surveys))
    shared = replace(shared, calls=tuple(call for call in shared.calls if call.key in failed_calls))

    of_parts = run(partial(_facts, shared, choice))
    facts = LabelFacts.merged(facts for facts, _ in of_parts)
    failed = FailedLabels.merged(failed for _, failed in of_parts)
    if listed is None:
        listed = select_measures(labelled_measures(facts, lambda: failed, place), subjects=("verdicts",))
    listed = readable_measures(facts, lambda: failed, listed, place)

    samples = [(portable(measure), labelled_samples(measure, facts)) for measure in listed]
    compute = partial(_values, shared, choice, tuple(facts.relations), samples)
    computed = run(partial(compute, None))
    scored = LabelScores.merged(each for each, _ in computed)
    if scored.limits and len(computed) > 1:  # a part can try combinations that all parts together cannot
        computed = run(partial(compute, scored.limits))
        scored = LabelScores.merged(each for each, _ in computed)
    digests = {query: digest for _, each in computed for query, digest in each.items()}
    notes = (*shared.notes, *notes_on_labels(facts, listed))
    scores = scores_of_verdicts(scored, notes, choice.authors, digests, listed, unknown, name, place)
    return scores if measures is not None else replace(scores, findings=(*scores.findings, *unscored(failed)))


class _Choice(NamedTuple):
    """Which labels count."""

    system: str | None
    authors: tuple[str, ...]


class _Survey(NamedTuple):
    """What is in a part."""

    census: LabelCensus
    failed_calls: frozenset[str]
    """the calls of labels that failed"""
    is_empty: bool


def _survey(shared: SharedRecords, source: Any) -> _Survey:
    records = shared.read(source)
    if not shared.has_order:
        check_order_does_not_matter(records_in(source), shared.name)
    labels = records.labels
    failed = np.flatnonzero(labels.have_failed(np.arange(len(labels))))
    calls = frozenset(call for call in labels.call.take(failed) if call is not None)
    return _Survey(LabelCensus.of(records), calls, records.is_empty)


def _facts(shared: SharedRecords, choice: _Choice, source: Any) -> tuple[LabelFacts, FailedLabels]:
    selected = select_labels(shared.read(source), *choice)
    return selected.facts, selected.failures


def _values(
    shared: SharedRecords,
    choice: _Choice,
    numbers: Sequence[int],
    samples: Sequence[tuple[PortableMeasure, Sequence[int]]],
    limits: Limits | None,
    source: Any,
) -> tuple[LabelScores, Mapping[str, str]]:
    selected = select_labels(shared.read(source), *choice, numbers=numbers)
    measures = {measure(): numbers for measure, numbers in samples}
    return LabelScores.of(selected, measures, limits), label_digests(selected)
