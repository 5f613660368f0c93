"""Predicted answers in parts: ranges of files, which are read in several places, and the scores of all of them.

No engine is known here. `read_range` is a plain function of a range of a file; its results can be sent and merged.
Whoever has a way to call it for many ranges gets the scores in three steps:

1. `read_range` for each range. Which fields are read depends on all records: each range chooses as if it had them all.
2. `AnswerReports.choice` is the choice of all records. The ranges that chose otherwise are read again with it.
3. `AnswerReports.check` raises the error of the whole file, if there is one, such as a question in two ranges.
   `rest` has the questions of the ground truth that are in no range.

`scores_of_parts` then makes the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, Self

from karat.data.judged import Floats
from karat.errors import KaratError, Place, as_place
from karat.evaluation.answers import ComparedAnswers, check_answer_facts, scores_of_answers
from karat.evaluation.facts import AnswerFacts
from karat.options import Missing
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format
from karat.reading.bytes.opened_ranges import opened_range, place_in_whole_file
from karat.reading.columns import Choice
from karat.reading.records.answer_fields import AnswerFields, SeenFields
from karat.reading.records.answer_rows import read_answer_rows
from karat.reading.records.answers import add_predicted_answers, check_predicted_answers, repeated_question
from karat.reading.records.record_ranges import RecordRanges
from karat.registry.selection import Selection
from karat.scores import Finding, Scores

Golds = Mapping[str, Sequence[str] | None]
"""the gold answers of questions, None if they are unknown"""

GoldsOf = Callable[[Container[str] | None], Golds]
"""the gold answers of some questions, among others, or of all"""


class AnswerPlan(NamedTuple):
    """What is computed, and how predicted answers in files are read."""

    measures: Selection
    missing: Missing
    fields: Mapping[str, str] | None = None
    """the names that the caller gave, by field"""
    form: Format = "jsonl"
    """of parts of files"""


@dataclass(frozen=True)
class PartOfAnswers:
    """The values of a part of the questions, the digests of their gold answers, and facts."""

    queries: tuple[str, ...]
    values: Mapping[str, Floats]
    digests: Sequence[str]
    facts: AnswerFacts

    @classmethod
    def of(cls, golds: Golds, predicted: Mapping[str, str | None], measures: Selection, missing: Missing) -> Self:
        """The answers to some questions, with all that is known about these."""
        compared = ComparedAnswers.of(golds, predicted, missing)
        queries, digests = compared.answers.queries, compared.digests()
        return cls(queries, compared.values(measures), [digests[query] for query in queries], compared.facts)


class AnswerReport(NamedTuple):
    """What has to be known of a range before all ranges are put together."""

    questions: tuple[str, ...] = ()
    """in the order of their rows; if there is an error about a row, up to this"""
    seen: SeenFields | None = None
    """of the records, if there are any"""
    choice: Choice | None = None
    """the fields that were read"""
    notes: tuple[str, ...] = ()
    """on the source, besides those on the choice"""
    error: KaratError | None = None
    """the first error about a row"""


class RangeOfAnswers(NamedTuple):
    """The result of a range; none if its fields were not found, or if there is an error."""

    part: PartOfAnswers | None
    report: AnswerReport


def read_range(golds_of: GoldsOf, at: FileRange, plan: AnswerPlan, choice: Choice | None = None) -> RangeOfAnswers:
    """Read and compare the answers in a range, in fields that it chooses, unless the choice of all ranges is known.

    An error about data that cannot be read at all is raised.
    """
    fields = AnswerFields("answer", plan.fields, InputFile(at.path).name, choice=choice)
    predicted: dict[str, str | None] = {}
    error = None
    try:
        with opened_range(at) as file:
            add_predicted_answers(predicted, file, fields, lambda: tuple(golds_of(None)), _known_form(at, plan.form))
    except KaratError as of_row:
        if fields.seen is None:
            raise
        if fields.choice is None:  # the records of other ranges may have them
            return RangeOfAnswers(None, AnswerReport(seen=fields.seen))
        error = of_row
    on_choice = () if fields.choice is None else fields.choice.note(fields.source)
    notes = tuple(note for note in fields.notes if note not in on_choice)
    report = AnswerReport(tuple(predicted), fields.seen, fields.choice, notes, error)
    if error is not None:
        return RangeOfAnswers(None, report)
    golds = golds_of(predicted)
    known = {query: golds[query] for query in predicted if query in golds}
    return RangeOfAnswers(PartOfAnswers.of(known, predicted, plan.measures, plan.missing), report)


def rest(golds: Golds, reports: Sequence[AnswerReport], plan: AnswerPlan) -> PartOfAnswers:
    """The questions of the ground truth that no range has."""
    done = set(chain.from_iterable(report.questions for report in reports))
    others = {query: texts for query, texts in golds.items() if query not in done}
    return PartOfAnswers.of(others, {}, plan.measures, plan.missing)


@dataclass(frozen=True)
class AnswerReports:
    """The reports of all ranges, in their order, and what follows from them together."""

    planned: RecordRanges
    fields: Mapping[str, str] | None
    reports: Sequence[AnswerReport]

    def choice(self) -> Choice | None:
        """The fields to read, by the records of all ranges; None without records. An error if a field is missing."""
        seen = {at: report.seen for at, report in enumerate(self.reports) if report.seen is not None}
        if not seen:
            return None
        fields = AnswerFields("answer", self.fields, self.planned.name)
        merged = SeenFields.merged(seen.values())
        try:
            return fields.choose(merged)
        except KaratError:
            place = place_in_whole_file(self.planned.ranges[min(seen)], as_place(merged.place))
            return fields.choose(merged._replace(place=place))

    def others(self, choice: Choice | None) -> list[int]:
        """The numbers of the ranges whose records were not read in the fields of a choice."""
        return [
            at
            for at, report in enumerate(self.reports)
            if choice and report.seen and (report.choice is None or report.choice.columns != choice.columns)
        ]

    def notes(self, choice: Choice | None) -> tuple[str, ...]:
        """The notes on all ranges."""
        on_ranges = dict.fromkeys(chain.from_iterable(report.notes for report in self.reports))
        return (*on_ranges, *(() if choice is None else choice.note(self.planned.name)))

    def check(self, golds: Golds, choice: Choice | None) -> None:
        """Raise the error about the first wrong row, or about all questions."""
        range_of: dict[str, int] = {}
        for number, report in enumerate(self.reports):
            repeated = next((query for query in report.questions if query in range_of), None)
            if repeated is not None:
                raise self._repeated(repeated, (range_of[repeated], number), golds, choice)
            if report.error is not None:
                raise report.error
            range_of |= dict.fromkeys(report.questions, number)
        check_predicted_answers(range_of, self.planned.name)

    def _repeated(self, query: str, numbers: tuple[int, int], golds: Golds, choice: Choice | None) -> KaratError:
        """The error for a question in two ranges, which are read again."""
        first, second = (self._place_of(query, self.planned.ranges[number], golds, choice) for number in numbers)
        return repeated_question(query, first, second)

    def _place_of(self, query: str, at: FileRange, golds: Golds, choice: Choice | None) -> Place:
        with opened_range(at) as file:
            fields = AnswerFields("answer", self.fields, file.name, choice=choice)
            rows = read_answer_rows(file, fields, lambda: tuple(golds), _known_form(at, self.planned.form))
            place = next((place for place, question, _ in rows if question == query), Place(file.name))
        return place_in_whole_file(at, place)


def scores_of_parts(
    queries: Sequence[str],
    values: Mapping[str, Floats],
    digests: Sequence[str | None],
    facts: AnswerFacts,
    plan: AnswerPlan,
    place: Place | str,
    notes: Iterable[object],
    name: str,
) -> Scores:
    """The scores of all parts: what is given is that of all of them; `place` is that of the predictions in errors."""
    check_answer_facts(facts, plan.missing, place)
    by_query = {query: digest for query, digest in zip(queries, digests, strict=True) if digest is not None}
    scores = scores_of_answers(queries, values, facts, by_query, plan.measures, plan.missing, name)
    of_reading = (Finding("reading", str(note), 0) for note in notes)
    return replace(scores, findings=(*of_reading, *scores.findings))


def _known_form(at: FileRange, of_parts: Format) -> Format | None:
    """The format of a range that is part of a file; a whole file shows its own."""
    return None if at.bounds is None else of_parts
