"""label_agreement(): compare the labels of models with those of people, and the values that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from karat.analysis.label_agreement import (
    LabelAgreement,
    PeopleAgreement,
    TaskAgreement,
    agreement_by_task,
    agreement_of_people,
)
from karat.analysis.value_agreement import ValueAgreement, value_agreement
from karat.errors import KaratError, Message, Parameter, enumeration, plural, require, shown
from karat.evaluation import evaluate_runs
from karat.evaluation.corrected import examples_left_out
from karat.evaluation.nothing_in_common import no_people, nothing_in_common
from karat.evaluation.reading import ReadingOptions, check_reading, read_judgments
from karat.evaluation.verdicts import evaluate_verdicts
from karat.grounding.labels.counting import Status, SubjectKey, is_person, label_status
from karat.grounding.labels.missing import rubric_measures
from karat.grounding.labels.votes import ChosenLabels, chosen_labels
from karat.grounding.verdict_file.reading import VerdictRecords, read_verdict_records
from karat.grounding.verdict_file.records import example_queries
from karat.grounding.verdict_file.tasks import BUILT_IN
from karat.matching.matchers import Same
from karat.reading.columns import GivenNames
from karat.reading.pairs.any_source import Truth
from karat.reading.pairs.objects import rereadable
from karat.reading.pairs.paths import named_runs
from karat.registry import Subject
from karat.registry.names import format_value
from karat.registry.selection import DEFAULT_MEASURES, Measures, Selection, of_subject, select_measures
from karat.scores import Scores


def label_agreement(
    verdicts: Any,
    truth: Any = None,
    runs: Any = None,
    measures: Measures | None = None,
    *,
    truth_columns: GivenNames | None = None,
    run_columns: GivenNames | None = None,
    truth_format: str | None = None,
    run_format: str | None = None,
    split: str | None = None,
) -> LabelAgreement:
    """How far the labels of each model in verdict files agree with those of people about the same things.

    People are `human` and `human:...` in the files, by majority; for documents, also the grades of `truth`, which must
    be 0, 1, 2 or 3. Queries from which examples for a model were chosen are left out. With `runs`, the means of the
    measures are computed by both: over the queries of which the model graded all that people judged, or all that they
    judged beyond the ground truth; with labels of answers, over the queries that both labelled. The other options are
    those of `evaluate_runs`.

    >>> row = {"query": "q1", "type": "document", "task": "relevance", "by": "a-model"}
    >>> labels = [{**row, "item": "d1", "label": 2}, {**row, "item": "d2", "label": 1}]
    >>> agreement = label_agreement(labels, {"q1": {"d1": 2, "d2": 0}})
    >>> agreement.tasks[0].equal, agreement.tasks[0].weighted_kappa.value
    (0.5, 0.6666666666666667)
    """
    inputs = ReadingOptions(truth_columns, run_columns, truth_format, run_format, split)
    check_reading(inputs, None)
    require(truth is not None or runs is None, "runs need ground truth", ["Add ", Parameter("truth"), "."])
    records = read_verdict_records(verdicts)
    rubrics = rubric_measures(records.rubrics)
    subjects: tuple[Subject, ...] = ("documents", "verdicts")
    selected = None if measures is None else select_measures(measures, None, subjects, rubrics)
    of_documents: Measures = DEFAULT_MEASURES if selected is None else [*of_subject(selected, "documents")]
    what = "measures of documents need runs"
    require(runs is not None or selected is None or not of_documents, what, ["Add ", Parameter("runs"), "."])
    judgments = None if truth is None else read_judgments(truth, inputs, Same())
    by_name = {} if runs is None else {name: rereadable(run, name) for name, run in named_runs(runs).items()}
    judged = _Judges(records, judgments)
    tasks: list[TaskAgreement] = []
    values: list[ValueAgreement] = []
    notes = list(records.notes)
    for model in judged.models:
        common_tasks = judged.tasks(model)
        notes += judged.notes(model) or ([] if common_tasks else [f"{model} labelled nothing that people did"])
        tasks += common_tasks
        if judgments is not None:
            notes += _note_on_two_grades(judgments, common_tasks)
        if judgments is not None and by_name and of_documents:
            overlap = _overlap(judgments, model, judged.of_model(model, True), judged.of_people(True))
            notes += overlap.notes
            if overlap.people:
                options: Any = {"run_columns": run_columns, "run_format": run_format}
                values += _values_of_runs(model, overlap, by_name, of_documents, options)
        of_answers, why_none = _values_of_answers(model, records, judged.systems(model), selected)
        values += of_answers
        notes += why_none
    if not tasks:
        raise nothing_in_common(records)
    return LabelAgreement(tuple(tasks), tuple(values), tuple(notes), tuple(judged.among_people()))


@dataclass(frozen=True)
class _Overlap:
    """The grades of the same documents by people and by a model, for queries of which both judged all."""

    people: dict[str, dict[str, float]]
    model: dict[str, dict[str, float]]
    notes: tuple[str, ...]


class _Judges:
    """The labels of people and of models."""

    def __init__(self, records: VerdictRecords, truth: Truth | None) -> None:
        self._records, self._truth = records, truth
        self._status: Sequence[Status] = label_status(records)
        authors = dict.fromkeys(records.labels.by)
        self.models = [author for author in authors if not is_person(author)]
        self._people = {author for author in authors if is_person(author)}
        hint: Message = "The labels of people are by human, or human: and a name; all other authors are models."
        require(self.models, "no label is by a model", hint, place=records.name)
        if not self._people and truth is None:
            raise no_people(records)

    def tasks(self, model: str) -> list[TaskAgreement]:
        """The agreement of a model with people on each task, on documents first."""
        tasks = []
        for of_documents in (True, False):
            people, by_model = self.of_people(of_documents), self.of_model(model, of_documents)
            if of_documents and self._truth is not None:
                graded = _grades(self._truth, [*by_model.labels, *sorted(by_model.failed)])
                people = people._replace(labels={**people.labels, **graded}, tied=people.tied - graded.keys())
            tasks += agreement_by_task(model, people, by_model, self._records.tasks, of_documents=of_documents)
        return tasks

    def among_people(self) -> Iterator[PeopleAgreement]:
        """The agreement of several people with each other on each task, on documents first."""
        for of_documents in (True, False):
            by_person = [self.labels({name}, of_documents).labels for name in sorted(self._people)]
            yield from agreement_of_people(by_person, self._records.tasks, of_documents=of_documents)

    def systems(self, model: str) -> list[str | None]:
        """The systems about whose answers people and a model labelled the same things; None is one without a name."""
        people, by_model = self.of_people(of_documents=False), self.of_model(model, of_documents=False)
        common = {subject.system for subject in by_model.labels if subject in people.labels}
        named = [each for each in self._records.systems if None in common or each in common]
        return [*named] or [None for _ in common]

    def of_people(self, of_documents: bool) -> ChosenLabels:
        """The labels of people in the files, by majority."""
        return self.labels(self._people, of_documents)

    def of_model(self, model: str, of_documents: bool) -> ChosenLabels:
        """The labels of a model that can be compared with those of people: not those of queries of examples."""
        return self.labels({model}, of_documents).without_queries(example_queries(self._records.calls, model))

    def notes(self, model: str) -> list[str]:
        """How many of the queries that a model labelled are left out, because it was shown examples from them."""
        by_model = np.flatnonzero(self._records.labels.by.where(lambda author: author == model))
        queries = {*self._records.labels.query.take(by_model)} & example_queries(self._records.calls, model)
        return [examples_left_out(len(queries), model)] if queries else []

    def labels(self, authors: set[str], of_documents: bool) -> ChosenLabels:
        """One label for each subject by these authors, who are people or one model."""
        return chosen_labels(self._records, authors, self._status, of_documents=of_documents)


def _grades(truth: Truth, subjects: Sequence[SubjectKey]) -> dict[SubjectKey, str]:
    """The grades of documents in the ground truth, as labels."""
    by_query: dict[str, dict[str, int]] = {}
    labels = {}
    for subject in subjects:
        if subject.query in truth.positions and subject.query not in by_query:
            by_query[subject.query] = truth.index(truth.positions[subject.query])
        row = by_query.get(subject.query, {}).get(subject.item)
        grade = -1.0 if row is None else float(truth.grades[row])
        if grade >= 0:
            labels[subject] = format_value(grade)
            if labels[subject] not in BUILT_IN["relevance"].scale:
                what = f"document {shown(subject.item)} of query {shown(subject.query)} has the grade {labels[subject]}"
                hint = "Agreement needs the same scale: map the grades to 0, 1, 2 and 3."
                raise KaratError(f"{what}, and labels of relevance are 0 to 3", place="the ground truth", hint=hint)
    return labels


def _note_on_two_grades(truth: Truth, tasks: Sequence[TaskAgreement]) -> list[str]:
    """A note if ground truth only says whether a document is relevant, and the model also says how much."""
    if truth.grades.max(initial=0) > 1:
        return []
    graded = [each.by for each in tasks if each.of_documents and any(sum(row[2:]) for row in each.confusion)]
    return [f"the ground truth has no grade above 1, so a 2 or 3 by {by} is never equal" for by in graded]


def _overlap(truth: Truth, model: str, by_model: ChosenLabels, by_people: ChosenLabels) -> _Overlap:
    """The documents of queries of which a model graded all that people judged, in the ground truth and in the files.

    Or at least all that they graded in the files, and nothing else: both have the grades of the ground truth then.
    """
    of_model, of_people = _by_query(by_model), _by_query(by_people)
    people, same, partly = {}, {}, 0
    for query in sorted(of_model.keys() & truth.positions.keys()):
        rows, graded = truth.index(truth.positions[query]), of_model[query]
        judged = {doc: float(truth.grades[row]) for doc, row in rows.items() if truth.grades[row] >= 0}
        in_files = {doc: grade for doc, grade in of_people.get(query, {}).items() if doc not in judged}
        both = {**judged, **in_files}
        if both and both.keys() <= graded.keys():
            people[query], same[query] = both, {doc: graded[doc] for doc in both}
        elif in_files and in_files.keys() == graded.keys() - judged.keys():
            people[query], same[query] = both, {**judged, **{doc: graded[doc] for doc in in_files}}
        elif both.keys() & graded.keys():
            partly += 1
    notes = []
    if partly:
        queries = plural(partly, "query")
        notes.append(f"no values for {queries} of which {model} graded only some of the judged documents")
    if not people:
        notes.append(f"{model} graded all judged documents of no query, so values of measures cannot be compared")
    return _Overlap(people, same, tuple(notes))


def _by_query(labels: ChosenLabels) -> dict[str, dict[str, float]]:
    """The grades of documents by query."""
    grades: dict[str, dict[str, float]] = {}
    for subject, label in labels.labels.items():
        grades.setdefault(subject.query, {})[subject.item] = float(label)
    return grades


def _values_of_runs(
    model: str, overlap: _Overlap, runs: Mapping[str, Any], measures: Measures, options: Any
) -> Iterator[ValueAgreement]:
    """The means of measures for each run, by people and by a model."""
    people, by_model = (evaluate_runs(truth, runs, measures, **options) for truth in (overlap.people, overlap.model))
    for measure in next(iter(people.values())).measures:
        for system in runs:
            yield from _value(model, measure, system, people[system], by_model[system])


def _values_of_answers(
    model: str, records: VerdictRecords, systems: Sequence[str | None], measures: Selection | None
) -> tuple[list[ValueAgreement], list[str]]:
    """The means of measures of verdicts for each system, by people and by a model; and why there are none."""
    asked = None if measures is None else [*of_subject(measures, "verdicts")]
    pairs: dict[str | None, tuple[Scores, Scores]] = {}
    errors: dict[str | None, KaratError] = {}
    for system in systems if asked is None or asked else ():
        try:
            people, by_model = (
                evaluate_verdicts(records, asked, system=system, author=author, unknown="skip")
                for author in ("human", model)
            )
            pairs[system] = people, by_model
        except KaratError as error:
            errors[system] = error
    if asked and errors and not pairs:
        raise next(iter(errors.values()))
    shown_queries = example_queries(records.calls, model)
    names = dict.fromkeys(name for people, by_model in pairs.values() for name in people.measures if name in by_model)
    values = [
        value
        for name in names
        for system, (people, by_model) in pairs.items()
        if name in people and name in by_model
        for value in _value(model, name, system or "", people, by_model, shown_queries)
    ]
    reasons = {system: error.what for system, error in errors.items()}
    for system, (people, by_model) in pairs.items():
        if not any(name in by_model for name in people.measures):
            of_people, of_model = (enumeration(scores.measures, "and") for scores in (people, by_model))
            reasons[system] = f"the labels of people suffice for {of_people}, those of {model} for {of_model}"
    return values, [
        f"no values of measures{f' for {system}' if system else ''}: {why}" for system, why in reasons.items()
    ]


def _value(
    model: str, measure: str, system: str, people: Scores, by_model: Scores, left_out: Set[str] = frozenset()
) -> Iterator[ValueAgreement]:
    """The means of a measure over the queries that have a value by both; nothing if there are none."""
    of_model = dict(zip(by_model.queries, by_model.column(measure).tolist(), strict=True))
    values = [np.nan if query in left_out else of_model.get(query, np.nan) for query in people.queries]
    pairs = np.column_stack([people.column(measure), np.array(values, np.float64)])
    known = ~np.isnan(pairs).any(axis=1)
    if known.any():
        queries = tuple(people.queries[row] for row in np.flatnonzero(known).tolist())
        means = (Scores(queries, {measure: column[known]}).combined(measure) for column in pairs.T)
        first, second = (mean for mean in means if mean is not None)
        people_values, model_values = pairs[known].T
        yield value_agreement(model, measure, system, queries, people_values, model_values, (first, second))
