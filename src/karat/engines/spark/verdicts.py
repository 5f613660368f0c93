"""The evaluation of verdicts on Spark: each bucket of queries is read and evaluated by the local functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from karat.engines.spark.buckets import in_buckets
from karat.engines.spark.inputs import spark_table
from karat.engines.spark.measures import portable
from karat.engines.spark.session import spark_session
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.verdict_ranges import scores_of_verdict_ranges
from karat.engines.spark.worker import BucketResult
from karat.errors.arguments import check_switch, check_text
from karat.evaluation.verdict_parts import SharedRecords, evaluate_parts
from karat.evaluation.verdict_ranges import KINDS_WITH_QUERY
from karat.options import Unknown, check_choice
from karat.registry.selection import Measures, listed_measures
from karat.scores import Finding, Scores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Result = TypeVar("Result")


def evaluate_verdicts(
    verdicts: DataFrame | str | os.PathLike[str],
    measures: Measures | None = None,
    *,
    system: str | None = None,
    author: str | None = None,
    unknown: Unknown = "bounds",
    order: str | None = None,
    buckets: int | None = None,
    session: SparkSession | None = None,
    progress: bool = False,
    name: str = "",
) -> Scores:
    """Evaluate generated answers by labels on Spark: the scores are those of `karat.evaluate_verdicts`, bit for bit.

    `verdicts` are a DataFrame or a path that Spark reads, with a row per record. A record replaces an earlier one about
    the same item or by the same author. The lines of a verdict file have an order; of a DataFrame, `order` names a
    column that gives it, and without it, records that differ are an error. So are those of a large file that is not
    grouped by query. The queries of the result are in the order of their ids. `buckets`, `session` and `progress` are
    those of `evaluate`, the other arguments those of `karat.evaluate_verdicts`.

    >>> row = ("q1", "answer", "correctness", "correct")
    >>> labels = spark.createDataFrame([row], "query string, item string, task string, label string")
    >>> evaluate_verdicts(labels).means
    {'Correctness': 1.0}
    """
    check_choice("unknown", unknown, get_args(Unknown))
    check_text("name", name)
    for option, value in (("system", system), ("author", author), ("order", order)):
        if value is not None:
            check_text(option, value)
    listed = None if measures is None else listed_measures(measures)
    show_progress = check_switch("progress", progress)
    with spark_session(session, verdicts) as spark:
        rows_needed_for = "order" if order is not None else None if buckets is None else "buckets"
        of_ranges = scores_of_verdict_ranges(
            verdicts, listed, system, author, unknown, name, spark, rows_needed_for, show_progress
        )
        if of_ranges is not None:
            return of_ranges
        table = spark_table(verdicts, "verdicts", session=spark, order=order)
        return verdict_scores(table, listed, system, author, unknown, name, buckets, show_progress)


@dataclass(frozen=True)
class PartOfVerdicts:
    """Work on the records of a bucket, of which only facts come back."""

    work: Callable[[Any], Any]

    def __call__(self, records: Any) -> BucketResult:
        """The facts about one bucket, in an executor."""
        return BucketResult((), {}, {}, self.work(records))


def verdict_scores(
    table: SparkTable,
    measures: Measures | None,
    system: str | None,
    author: str | None,
    unknown: Unknown,
    name: str,
    buckets: int | None,
    progress: bool,
) -> Scores:
    """The scores of the labels in a table, which are those of a local evaluation."""
    has_query = table.key.isNotNull()
    if "record" in table.frame.columns:  # a call may name a query, too
        kind = table.frame["record"]
        has_query &= kind.isNull() | kind.isin(*KINDS_WITH_QUERY)
    of_queries = replace(table, frame=table.frame.where(has_query))
    others = replace(table, frame=table.frame.where(~has_query))
    findings: list[Finding] = []

    def run(work: Callable[[Any], Result], wanted: Sequence[int] | None = None) -> list[Result]:
        part = PartOfVerdicts(work)
        collected = in_buckets(part, of_queries, values=(), buckets=buckets, progress=progress).collect()
        findings[:] = collected.findings
        return collected.facts if wanted is None else [collected.facts[at] for at in wanted]

    shared = SharedRecords(table.name, has_order=table.order is not None)
    (shared,) = (
        in_buckets(PartOfVerdicts(shared.reading), others, values=(), buckets=1, progress=progress).collect().facts
    )
    scores, _ = evaluate_parts(
        run, shared, measures, system=system, author=author, unknown=unknown, name=name, portable=portable
    )
    notes = (Finding("reading", str(note), 0) for note in table.notes)
    return replace(scores, findings=(*notes, *scores.findings, *findings))
