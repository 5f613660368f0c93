"""Predicted answers in files: executors read ranges of them with karat's own readers."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from karat.engines.spark.buckets import Buckets, CollectedBuckets
from karat.engines.spark.executor_results import Collect, ExecutorResults
from karat.engines.spark.measures import portable
from karat.engines.spark.planning import read_without_spark, several_texts, unreadable, versions_of_files
from karat.engines.spark.ranges import ShuffleNeededError, in_executor, number_of_tasks, tasks, truth_in_executor
from karat.engines.spark.worker import BucketResult, BucketWork
from karat.evaluation.answer_parts import (
    AnswerPlan,
    AnswerReport,
    AnswerReports,
    Golds,
    PartOfAnswers,
    read_range,
    rest,
    scores_of_parts,
)
from karat.evaluation.facts import AnswerFacts
from karat.options import Missing
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.columns import Choice
from karat.reading.records.answers import GoldAnswers, read_gold_answers, read_part_of_gold_answers
from karat.reading.records.record_ranges import RecordRanges, plan_records
from karat.registry import Measure
from karat.registry.selection import Selection
from karat.scores import Scores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_QUESTIONS = 1 << 20  # whose gold answers are in the memory of each Python process


class AnswersOfPart(NamedTuple):
    """What the driver has to know about a part of the questions, besides values and digests."""

    answers: AnswerFacts
    notes: tuple[str, ...] = ()
    """on all parts, if this is the last one"""


class GoldFiles(NamedTuple):
    """Gold answers that executors read: where they are, and how they are read."""

    path: str
    files: tuple[FileRange, ...]
    fields: Mapping[str, str] | None
    is_large: bool = False
    """whether a Python process of an executor should not keep all of them in memory"""

    def in_executor(self, questions: Container[str] | None) -> Golds:
        """The gold answers of some questions, or of all."""
        if self.is_large and questions is not None:
            return self._read(questions)
        return truth_in_executor(pickle.dumps(self), self._read)

    def _read(self, questions: Container[str] | None = None) -> Golds:
        for file in self.files:
            file.check_version(self.path)
        golds = read_part_of_gold_answers(self.path, self.fields, "", is_whole=True, only=questions)
        return golds.by_query


class RangeToRead(NamedTuple):
    """A range, and the fields that are read, if they are known."""

    at: FileRange
    choice: Choice | None = None


class RestOfAnswers(NamedTuple):
    """What is evaluated after all ranges, on the driver."""

    golds: Golds
    reports: Sequence[AnswerReport]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AnswerRangeWork:
    """The evaluation of a range of predicted answers, or of the questions that are in none."""

    golds: GoldFiles
    measures: Sequence[Callable[[], Measure]]
    plan: AnswerPlan
    """without measures, which are sent as functions that make them"""

    def __call__(self, part: RangeToRead | RestOfAnswers) -> BucketResult:
        """The values of a range, in an executor; or of the rest, on the driver."""
        plan = self.plan._replace(measures={measure(): () for measure in self.measures})
        if isinstance(part, RestOfAnswers):
            return result_of_answers(of := rest(part.golds, part.reports, plan), AnswersOfPart(of.facts, part.notes))
        with in_executor():
            read = read_range(self.golds.in_executor, part.at, plan, part.choice)
        if read.part is None:
            return BucketResult(
                (), {str(each): np.empty(0) for each in plan.measures}, {"answers": ()}, None, read.report
            )
        return result_of_answers(read.part, AnswersOfPart(read.part.facts), read.report)


def result_of_answers(part: PartOfAnswers, facts: Any, report: Any = None) -> BucketResult:
    """The result of a part of the questions, as executors return it."""
    return BucketResult(part.queries, part.values, {"answers": part.digests}, facts, report)


@dataclass(frozen=True)
class AnswerRangeEvaluation:
    """An evaluation of predicted answers in ranges of files."""

    session: SparkSession
    golds: GoldAnswers
    gold_files: GoldFiles
    predictions: RecordRanges
    measures: Selection
    missing: Missing
    name: str

    def buckets(self, progress: bool) -> Buckets:
        """The work on all ranges, which is not done yet."""
        plan = AnswerPlan({}, self.missing, self.gold_files.fields, self.predictions.form)
        work = AnswerRangeWork(self.gold_files, [portable(each) for each in self.measures], plan)
        of_ranges = BucketWork(work, (), tuple(map(str, self.measures)), ("answers",))
        return Buckets(self.session, of_ranges, self._results, list, progress)

    def scores(self, collected: CollectedBuckets) -> Scores:
        """The scores of all questions, which are those of a local evaluation."""
        parts: list[AnswersOfPart] = collected.facts
        facts = AnswerFacts.merged(part.answers for part in parts)
        notes = (*self.golds.notes, *parts[-1].notes)
        plan = AnswerPlan(self.measures, self.missing)
        return scores_of_parts(
            collected.queries, collected.values, collected.texts["answers"], facts, plan, self.predictions.name, notes,
            self.name,
        )  # fmt: skip

    def _results(self, work: BucketWork, collect: Collect) -> ExecutorResults:
        golds, ranges = self.golds.by_query, self.predictions.ranges
        results, of_ranges = self._read(work, range(len(ranges)), None, collect)
        reports = self._reports(of_ranges)
        choice = reports.choice()
        if others := reports.others(choice):
            read_again, of_others = self._read(work, others, choice, collect)
            results = results.without(others).with_results(read_again)
            reports = self._reports(of_ranges | of_others)
        reports.check(golds, choice)
        last = RestOfAnswers(golds, reports.reports, reports.notes(choice))
        return results.with_table(work.run(len(ranges), last))

    def _reports(self, of_ranges: Mapping[int, AnswerReport]) -> AnswerReports:
        return AnswerReports(self.predictions, self.gold_files.fields, [of_ranges[at] for at in sorted(of_ranges)])

    def _read(
        self, work: BucketWork, numbers: Iterable[int], choice: Choice | None, collect: Collect
    ) -> tuple[ExecutorResults, dict[int, AnswerReport]]:
        """The results of some ranges, and their reports."""
        ranges = {number: RangeToRead(self.predictions.ranges[number], choice) for number in numbers}
        results = collect(tasks(self.session, work, ranges))
        return results, results.reports()


def answers_in_ranges(
    truth: Any,
    predictions: Any,
    measures: Selection,
    missing: Missing,
    fields: Mapping[str, str] | None,
    name: str,
    session: SparkSession,
    buckets: int | None,
) -> AnswerRangeEvaluation:
    """The evaluation of predicted answers in ranges of files; a `ShuffleNeededError` if Spark has to read the rows."""
    if reason := _rows_because(truth, predictions, buckets):
        raise ShuffleNeededError(reason)
    paths = os.fsdecode(truth), os.fsdecode(predictions)
    with read_without_spark(session, *paths):
        files = GoldFiles(paths[0], versions_of_files(paths[0]), fields and dict(fields))
        golds = read_gold_answers(paths[0], fields)
        files = files._replace(is_large=len(golds.by_query) > _MOST_QUESTIONS)
        planned = plan_records(paths[1], number_of_tasks(session))
    return AnswerRangeEvaluation(session, golds, files, planned, measures, missing, name)


def _rows_because(truth: Any, predictions: Any, buckets: int | None) -> str | None:
    """Why Spark has to read the rows; None if executors can open the files."""
    for what, source in (("ground truth is", truth), ("predictions are", predictions)):
        if not isinstance(source, str | os.PathLike):
            return f"the {what} a DataFrame"
    if buckets is not None:
        return "buckets= was given"
    unreadable_paths = filter(None, map(unreadable, map(os.fsdecode, (truth, predictions))))
    return next(unreadable_paths, None) or several_texts(os.fsdecode(truth))
