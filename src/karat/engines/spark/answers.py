"""The evaluation of answers on Spark: ranges of files, or buckets of questions, are read by the local functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, overload

from karat.engines.spark.answer_ranges import answers_in_ranges, result_of_answers
from karat.engines.spark.buckets import Buckets, CollectedBuckets, in_buckets
from karat.engines.spark.inputs import spark_table
from karat.engines.spark.measures import portable
from karat.engines.spark.planning import say_ranges, say_rows
from karat.engines.spark.ranges import ShuffleNeededError
from karat.engines.spark.session import spark_session
from karat.engines.spark.stored import scores_of_buckets
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BucketResult
from karat.errors.arguments import check_switch, check_text
from karat.evaluation.answer_parts import AnswerPlan, PartOfAnswers, scores_of_parts
from karat.evaluation.facts import AnswerFacts
from karat.options import Missing, check_choice
from karat.reading.records.answers import check_gold_answers, read_part_of_gold_answers, read_predicted_answers
from karat.reading.records.list_texts import ListsAsText
from karat.reading.records.records import field_names
from karat.registry import Measure
from karat.registry.selection import DEFAULT_ANSWER_MEASURES, Measures, Selection, select_measures
from karat.scores import Scores, StoredScores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@overload
def evaluate_answers(
    truth: Any, predictions: Any, measures: Measures = ..., *, per_query_path: None = ..., **arguments: Any
) -> Scores: ...
@overload
def evaluate_answers(
    truth: Any, predictions: Any, measures: Measures = ..., *, per_query_path: str | os.PathLike[str], **arguments: Any
) -> StoredScores: ...


def evaluate_answers(  # type: ignore[misc]  # the overloads do not repeat the arguments that they share
    truth: DataFrame | str | os.PathLike[str],
    predictions: DataFrame | str | os.PathLike[str],
    measures: Measures = DEFAULT_ANSWER_MEASURES,
    *,
    missing: Missing = "zero",
    fields: Mapping[str, str] | None = None,
    buckets: int | None = None,
    per_query_path: str | os.PathLike[str] | None = None,
    session: SparkSession | None = None,
    progress: bool = False,
    name: str = "",
) -> Scores | StoredScores:
    """Evaluate predicted answers on Spark: the scores are those of `karat.evaluate_answers`, to the last bit.

    `truth` and `predictions` are each a DataFrame or a path, with a row per question; a question may have several rows
    of gold answers, or an array of them. Executors read files themselves, in all formats of `karat.evaluate_answers`,
    if they can, and otherwise Spark reads the rows. The questions of the result are in the order of their ids.
    `buckets`, `per_query_path`, `session` and `progress` are those of `evaluate`, the other arguments those of
    `karat.evaluate_answers`.

    >>> truth = spark.createDataFrame([("q1", "Au")], "id string, answer string")
    >>> predictions = spark.createDataFrame([("q1", "au")], "id string, answer string")
    >>> evaluate_answers(truth, predictions, "EM").means
    {'EM': 0.0}
    """
    check_choice("missing", missing, get_args(Missing))
    check_text("name", name)
    field_names(fields)
    selected = select_measures(measures, subjects=("answers",))
    show_progress = check_switch("progress", progress)
    with spark_session(session, truth, predictions) as spark:
        try:
            in_ranges = answers_in_ranges(truth, predictions, selected, missing, fields, name, spark, buckets)
            say_ranges(in_ranges.predictions.name, in_ranges.predictions.ranges)
            return scores_of_buckets(in_ranges.buckets(show_progress), in_ranges.scores, per_query_path)
        except ShuffleNeededError as reason:
            say_rows(reason)
        golds = spark_table(truth, "gold_answers", fields, session=spark)
        predicted = spark_table(predictions, "answer", fields, name=name, session=spark)
        evaluation = AnswerEvaluation(golds, predicted, selected, missing, name)
        work = evaluation.buckets(buckets, show_progress)
        return scores_of_buckets(work, evaluation.scores, per_query_path)


class AnswersOfBucket(NamedTuple):
    """What the driver has to know about a bucket, besides values and digests."""

    answers: AnswerFacts
    lists_as_text: ListsAsText
    has_golds: bool


@dataclass(frozen=True)
class AnswerWork:
    """The evaluation of the answers of one bucket."""

    truth: tuple[str, Mapping[str, str]]
    """the name of the table in messages, and the names of its fields"""
    predictions: tuple[str, Mapping[str, str]]
    measures: Sequence[Callable[[], Measure]]
    missing: Missing

    def __call__(self, truth: Any, predictions: Any) -> BucketResult:
        """The values of one bucket, in an executor."""
        name, fields = self.truth
        golds = read_part_of_gold_answers(truth, fields, name)
        name, fields = self.predictions
        predicted = read_predicted_answers(predictions, golds.by_query, fields, name)
        measures = {measure(): () for measure in self.measures}
        part = PartOfAnswers.of(golds.by_query, predicted.by_query, measures, self.missing)
        facts = AnswersOfBucket(part.facts, golds.lists_as_text, bool(golds.by_query))
        return result_of_answers(part, facts)


@dataclass(frozen=True)
class AnswerEvaluation:
    """An evaluation of answers: the tables, and what is computed from them."""

    truth: SparkTable
    predictions: SparkTable
    measures: Selection
    missing: Missing
    name: str

    def buckets(self, number: int | None, progress: bool) -> Buckets:
        """The work on all buckets, which is not done yet."""
        truth, predictions = ((table.name, dict(table.columns)) for table in (self.truth, self.predictions))
        work = AnswerWork(truth, predictions, [portable(each) for each in self.measures], self.missing)
        names = [str(each) for each in self.measures]
        return in_buckets(
            work, self.truth, self.predictions, values=names, texts=["answers"], buckets=number, progress=progress
        )

    def scores(self, collected: CollectedBuckets) -> Scores:
        """The scores of all questions, which are those of a local evaluation."""
        of_buckets: list[AnswersOfBucket] = collected.facts
        lists_as_text = ListsAsText.merged((each.lists_as_text for each in of_buckets), self.truth.name)
        check_gold_answers(lists_as_text, self.truth.name, has_any=any(each.has_golds for each in of_buckets))
        facts = AnswerFacts.merged(each.answers for each in of_buckets)
        if not facts.any_predicted and self.predictions.empty_error is not None:
            raise self.predictions.empty_error
        notes = (*self.truth.notes, *self.predictions.notes)
        plan = AnswerPlan(self.measures, self.missing)
        digests = collected.texts["answers"]
        scores = scores_of_parts(
            collected.queries, collected.values, digests, facts, plan, self.predictions.name, notes, self.name
        )
        return replace(scores, findings=(*scores.findings, *collected.findings))
