"""Results in ranges of files, which are read in several places; no engine is known here.

Whoever has a way to call a function for many inputs gets the scores with `evaluate_ranges`. Each range is read and
scored at once, by decisions that it makes itself (`karat.reading.records.result_parts` says which). Where all ranges
together decide otherwise, it is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from karat.data.judged import Floats
from karat.errors import KaratError, require
from karat.evaluation.answer_parts import AnswerPlan, PartOfAnswers
from karat.evaluation.answer_parts import scores_of_parts as scores_of_answers
from karat.evaluation.document_parts import PartResult, scores_of_parts
from karat.evaluation.documents import EvaluationPlan, JudgedDocuments, need_pool
from karat.evaluation.facts import AnswerFacts
from karat.evaluation.log_measures import all_measures, asked_measures, in_one_table, selected_measures, wanted_of_log
from karat.evaluation.log_numbers import AskedMeasures, number_scores
from karat.evaluation.reading import CorpusMatcher
from karat.evaluation.results import LogArguments, placed_in_results, unscored_fields, with_notes
from karat.evaluation.verdict_parts import PortableMeasure
from karat.evaluation.verdict_ranges import InTasks
from karat.matching.matchers import matcher_of
from karat.options import check_order, complete_options
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import FORMATS, check_format
from karat.reading.bytes.opened_ranges import opened_range, places_in_whole_file
from karat.reading.pairs.any_source import Truth
from karat.reading.pairs.numeric_ids import Note
from karat.reading.records.numbers import LogNumbers
from karat.reading.records.record_ranges import RecordRanges
from karat.reading.records.records import field_names
from karat.reading.records.result_fields import Part
from karat.reading.records.result_parts import (
    KnownResults,
    LogInRanges,
    MergedResults,
    ResultsPart,
    check_records,
    merged_fields,
    merged_numbers,
    merged_present,
    read_part,
    readable_fields,
)
from karat.reading.records.results import Results, fields_to_read
from karat.reading.records.sources import RecordSource, read_records
from karat.reading.shapes import check_tool_or_format
from karat.registry import Measure
from karat.registry.selection import Measures, Selection, default_measures, measure_list, of_subject
from karat.scores import Scores
from karat.scores.columns import with_lower_is_better


def evaluate_ranges(
    planned: RecordRanges,
    in_tasks: InTasks,
    measures: Measures | None,
    fields: Mapping[str, str] | None,
    arguments: LogArguments,
    name: str,
    portable: Callable[[Measure], PortableMeasure],
) -> Scores:
    """The scores of results in ranges, as `evaluate_results` computes them."""
    listed = None if measures is None else measure_list(measures)
    settings = complete_options(arguments.options)
    wanted, _ = wanted_of_log(listed, {}, has_verdicts=False)
    wanted = replace(wanted, order=arguments.order)

    def scores(source: RecordSource) -> Scores:
        form = arguments.input_format
        known_form = check_format(form) if form in FORMATS else None
        log = LogInRanges(planned.name, planned.form, known_form, source.layout, fields, wanted)
        question = _LogQuestion(log, listed, settings, name)
        ranges = planned.ranges if source.layout.is_per_record else _whole_files(planned.ranges)
        evaluation = _LogEvaluation(question, replace(source, name=planned.name), ranges, in_tasks, portable)
        return with_lower_is_better({"": evaluation.scores()}, arguments.lower_is_better)[""]

    return read_records(planned.ranges[0].path, fields, arguments.input_format, scores, path=arguments.records)


def check_arguments(measures: Measures | None, fields: Mapping[str, str] | None, arguments: LogArguments) -> None:
    """Reject wrong arguments before anything is read."""
    if measures is not None:
        wanted_of_log(measure_list(measures), {}, has_verdicts=False)
    field_names(fields)
    check_order(arguments.order)
    matcher_of(complete_options(arguments.options)["match"])
    if arguments.input_format is not None:
        check_tool_or_format(arguments.input_format, "input_format")


def _whole_files(ranges: Sequence[FileRange]) -> list[FileRange]:
    """The files of these ranges, of which each is one range."""
    return list(dict.fromkeys(each._replace(bounds=None) for each in ranges))


# In an executor


@dataclass(frozen=True)
class _LogQuestion:
    """What an evaluation was asked for."""

    log: LogInRanges
    listed: Sequence[str | Measure] | None
    settings: Mapping[str, Any]
    name: str

    def asked(self, read: _ReadPart | MergedResults) -> AskedMeasures:
        """The measures of what was read."""
        if self.listed is not None:
            return asked_measures(self.listed, {}, read, has_verdicts=False)
        of_documents, note = default_measures(read.longest_list)
        return all_measures(read, None, of_documents, () if note is None else (note,))

    def selected(self, read: _ReadPart | MergedResults) -> Selection:
        """Karat's own measures among them."""
        return selected_measures(self.asked(read), read, self.settings, {})


class _ReadPart(NamedTuple):
    """What a part knows of the results, if others are like it."""

    name: str
    queries: tuple[str, ...]
    parts: tuple[Part, ...]
    longest_list: int
    numbers: LogNumbers


class _KnownOfLog(NamedTuple):
    """What is decided for all parts."""

    read: KnownResults = KnownResults()
    measures: tuple[PortableMeasure, ...] | None = None


class _ScoredPart(NamedTuple):
    """A part of the results: what is in it and, as far as it could be decided, its values."""

    read: ResultsPart
    measures: tuple[str, ...] | None = None
    documents: PartResult | None = None
    answers: PartOfAnswers | None = None


def _evaluated(question: _LogQuestion, known: _KnownOfLog, at: FileRange) -> _ScoredPart:
    """A range, read and scored."""
    with opened_range(at) as file:
        read, results = read_part(question.log, file, known.read)
        if results is None:
            return _ScoredPart(read)
        try:
            return _scored(question, read, results, known)
        except KaratError:
            if known.measures is not None:
                raise
            return _ScoredPart(read)


def _scored(question: _LogQuestion, read: ResultsPart, results: Results, known: _KnownOfLog) -> _ScoredPart:
    if known.measures is not None:
        measures: Selection = {measure(): () for measure in known.measures}
    elif read.numbers is not None:
        numbers = read.numbers.chosen(question.log.wanted.numbers, results.name)
        own = _ReadPart(results.name, results.queries, results.parts, results.longest_list, numbers)
        measures = dict.fromkeys(question.selected(own), ())
    documents = answers = None
    if of_documents := of_subject(measures, "documents"):
        plan = _plan(of_documents, question.settings)
        with placed_in_results(results.name):
            judged = JudgedDocuments.read(results.truth or Truth.empty(), results.run, plan, question.name)
            documents = PartResult.of(judged, plan)
    if of_answers := of_subject(measures, "answers"):
        missing = question.settings["missing"]
        answers = PartOfAnswers.of(results.gold_answers, results.answers, of_answers, missing)
    return _ScoredPart(read, tuple(map(str, measures)), documents, answers)


def _plan(measures: Selection, settings: Mapping[str, Any]) -> EvaluationPlan:
    return EvaluationPlan(measures, settings, CorpusMatcher(matcher_of(settings["match"])))


# For all parts


class _Side(NamedTuple):
    """The ground truth or the run in results."""

    name: str
    notes: tuple[Note, ...]
    empty_error: None = None


class _LogEvaluation:
    """An evaluation of ranges: `source` has the records of the first file, of which the first ones are read here."""

    def __init__(
        self,
        question: _LogQuestion,
        source: RecordSource,
        ranges: Sequence[FileRange],
        in_tasks: InTasks,
        portable: Callable[[Measure], PortableMeasure],
    ) -> None:
        self._question, self._source, self._ranges = question, source, ranges
        self._in_tasks, self._portable = in_tasks, portable
        names = None if question.listed is None else [*map(str, question.listed)]
        self._for_tasks = replace(question, listed=names)  # executors may not know all measures
        self._known = _KnownOfLog()
        self._parts = in_tasks(partial(_evaluated, self._for_tasks, self._known), ranges)

    def scores(self) -> Scores:
        """The scores of all queries."""
        question = self._question
        read = self._read()
        asked = question.asked(read)
        selected = selected_measures(asked, read, question.settings, {})
        what = "Hole depends on the judged documents of other queries, and is not computed in ranges"
        require(not need_pool(selected), what, "Use Unjudged@k.")
        self._ask(self._known._replace(measures=tuple(map(self._portable, selected))), tuple(map(str, selected)))
        parts = [*self._scores_of_parts(selected, read)]
        if asked.numbers:
            parts.append(number_scores(read, asked, question.name))
        scores = in_one_table(parts, read, asked, selected, question.name)
        return with_notes(scores, read, asked, [] if question.listed else unscored_fields(read))

    def _read(self) -> MergedResults:
        """What all parts have, in steps: what a step needs to know of all of them is decided before it."""
        log, source = self._question.log, self._source
        fields = merged_fields(self._read_parts, log)
        self._know(KnownResults(fields))
        check_records(self._read_parts, self._ranges, log, fields.names)
        present = merged_present(self._read_parts)
        numbers = LogNumbers()
        if present.queries["query"]:
            locate = [places_in_whole_file(InputFile(at.path, at.bounds)) for at in self._ranges]
            numbers = merged_numbers(self._read_parts, log, locate)
        chosen = fields_to_read(source, fields, log.wanted, present, numbers)
        self._know(KnownResults(fields, chosen))
        chosen, fault = readable_fields(self._read_parts, chosen)
        self._know(KnownResults(fields, chosen, can_be_read=True))
        return MergedResults.of(self._read_parts, source, log, fields, numbers, fault)

    @property
    def _read_parts(self) -> list[ResultsPart]:
        return [part.read for part in self._parts]

    def _know(self, known: KnownResults) -> None:
        self._ask(_KnownOfLog(known))

    def _ask(self, known: _KnownOfLog, measures: tuple[str, ...] | None = None) -> None:
        """Read those parts again that have decided otherwise than what is known now."""
        self._known = known
        wanted = [
            at
            for at, part in enumerate(self._parts)
            if not part.read.has_decided(known.read) or (measures is not None and part.measures != measures)
        ]
        if wanted:
            again = self._in_tasks(partial(_evaluated, self._for_tasks, known), [self._ranges[at] for at in wanted])
            for at, part in zip(wanted, again, strict=True):
                self._parts[at] = part

    def _scores_of_parts(self, measures: Selection, read: MergedResults) -> Iterator[Scores]:
        settings, name = self._question.settings, self._question.name
        if of_documents := of_subject(measures, "documents"):
            with placed_in_results(read.name):
                yield _scores_of_documents(
                    [part.documents for part in self._parts if part.documents is not None],
                    _plan(of_documents, settings),
                    name,
                )
        if of_answers := of_subject(measures, "answers"):
            of_parts = [part.answers for part in self._parts if part.answers is not None]
            yield scores_of_answers(
                [*chain.from_iterable(part.queries for part in of_parts)],
                _joined([part.values for part in of_parts]),
                [*chain.from_iterable(part.digests for part in of_parts)],
                AnswerFacts.merged(part.facts for part in of_parts),
                AnswerPlan(of_answers, settings["missing"]),
                read.name,
                (),
                name,
            )


def _scores_of_documents(parts: Sequence[PartResult], plan: EvaluationPlan, name: str) -> Scores:
    facts = [part.facts for part in parts]
    notes = [(each.documents.truth_notes, each.documents.run_notes) for each in facts]
    truth, run = (tuple(dict.fromkeys(chain.from_iterable(side))) for side in zip(*notes, strict=True))
    queries = tuple(chain.from_iterable(part.queries for part in parts))
    digests = {kind: [*chain.from_iterable(part.digests[kind] for part in parts)] for kind in parts[0].digests}
    sides = _Side("the ground truth", truth), _Side(name or "the run", run)
    return scores_of_parts(queries, _joined([part.values for part in parts]), digests, facts, plan, sides, name)


def _joined(parts: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """The values of all parts."""
    return {measure: np.concatenate([part[measure] for part in parts]) for measure in parts[0]}
