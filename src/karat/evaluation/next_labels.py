"""Which labels people should give next: those that would narrow what a measure could be the most.

A query that lacks labels of people has a lowest and a highest possible value. Once all its labels are given, it has
one, so its width is what they gain, shared by the labels that it lacks. These queries are chosen because they need
labels, so they say nothing about the others: their labels never correct the mean of a model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from karat.data.judged import Floats
from karat.errors import KaratError, Parameter, enumeration, require
from karat.errors.arguments import as_count
from karat.evaluation.label_scores import LabelScores
from karat.grounding.labels.counting import SubjectKey, is_person, label_status, subjects_of
from karat.grounding.labels.missing import labelled_samples, readable_measure
from karat.grounding.labels.selection import select
from karat.grounding.labels.votes import chosen_labels
from karat.grounding.responses.responses import Response
from karat.grounding.sheets.sheet_rows import SheetLabel, labels_of_sheet
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.registry import Measure
from karat.registry.selection import Measures, Selection, select_measures


@dataclass(frozen=True)
class NextLabels:
    """The labels to give next: by query, those that it lacks, the query that gains most first."""

    wanted: Mapping[str, Collection[SheetLabel]]
    gains: Mapping[str, float]
    """how much narrower the sum of the measures' ranges becomes with each label of a query"""
    complete: int = 0
    """queries that have all labels already"""


def next_labels(
    recipe: str,
    responses: Sequence[Response],
    records: VerdictRecords | None,
    number: object,
    measures: Measures | None = None,
) -> NextLabels:
    """So many labels of a recipe that people have not given yet, those that gain most first.

    What they narrow is the sum of the possible ranges of these measures; without any, of all that the labels are for.
    """
    count = as_count(number, 1)
    if count is None:
        raise KaratError([Parameter("number", number), " is not a number of labels"])
    records = records or VerdictRecords()
    labels, suffices_for = labels_of_sheet(recipe, responses, [*records.items.values()], records.tasks)
    given = _given(records)
    lacking = {query: [each for each in wanted if each.subject not in given] for query, wanted in labels.items()}
    widths = _widths(_narrowed(measures, suffices_for, recipe), records, responses)
    gains = {query: widths[query] / len(wanted) for query, wanted in lacking.items() if wanted}
    chosen: dict[str, Collection[SheetLabel]] = {}
    for query in sorted(gains, key=lambda each: (-gains[each], each)):
        if count > 0 and gains[query] > 0:
            chosen[query] = lacking[query][:count]
            count -= len(chosen[query])
    if not chosen:
        what = "people have given all labels that could change a measure"
        raise KaratError(what, hint="Nothing is left to label for this task.")
    complete = sum(not wanted for wanted in lacking.values())
    return NextLabels(chosen, {query: gains[query] for query in chosen}, complete)


def _narrowed(asked: Measures | None, suffices_for: Sequence[str], recipe: str) -> Selection:
    """The measures whose ranges the labels of a recipe are to narrow."""
    possible = select_measures(suffices_for, subjects=("verdicts",))
    if asked is None:
        return possible
    selected = select_measures(asked, subjects=("verdicts",))
    definitions = [measure.definition for measure in possible]
    for measure in selected:
        what = f"labels of the task {recipe} do not suffice for {measure}"
        require(measure.definition in definitions, what, f"They are for {enumeration(suffices_for, 'and')}.")
    return selected


def _given(records: VerdictRecords) -> set[SubjectKey]:
    """What people have labelled, about the texts as they are, and are not divided about."""
    labels, status = records.labels, label_status(records)
    by_people = labels.by.where(is_person) & ~labels.have_failed(np.arange(len(labels)))
    rows = np.array([row for row in np.flatnonzero(by_people).tolist() if status[row] == "counts"], np.int64)
    people = {name for name in labels.by.counts() if is_person(name)}
    tied = chosen_labels(records, people, status, of_documents=False).tied
    return {_sorted(subject) for subject in subjects_of(labels, rows) if subject not in tied}


def _sorted(subject: SubjectKey) -> SubjectKey:
    """A subject whose passages have one order."""
    against = subject.against
    return subject._replace(against=tuple(sorted(against)) if isinstance(against, tuple) else against)


def _widths(measures: Selection, records: VerdictRecords, responses: Sequence[Response]) -> dict[str, float]:
    """How far the possible values of each query are apart, by the labels of people: the sum over the measures."""
    queries = [response.query for response in responses]
    widths = np.zeros(len(queries))
    by_people = any(map(is_person, records.labels.by.counts()))
    selected = select(records, responses[0].system, "human", responses) if by_people else None
    for measure in measures:
        known: Floats | None = None
        if selected is not None and readable_measure(measure, selected.facts) == measure:
            known = _widths_of(measure, LabelScores.of(selected, {measure: labelled_samples(measure, selected.facts)}))
        low, high = measure.definition.bounds
        widths += 1.0 if known is None else known / (high - low)
    return dict(zip(queries, widths.tolist(), strict=True))


def _widths_of(measure: Measure, scored: LabelScores) -> Floats:
    """The width of each query; 0 if it has a value, or nothing to judge."""
    bounds = scored.bounds.get(str(measure))
    return np.zeros(len(scored.queries)) if bounds is None else np.nan_to_num(bounds.high - bounds.low)
