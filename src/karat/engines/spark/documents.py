"""The evaluation of documents on Spark: each bucket of queries is judged by the local functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from karat.engines.spark.buckets import Buckets, CollectedBuckets, in_buckets
from karat.engines.spark.corpus import TEXT, JoinedCorpus, texts_of_rows
from karat.engines.spark.executor_results import collect_table
from karat.engines.spark.measures import PortablePlan
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BucketResult, readable
from karat.errors import KaratError, Message, Parameter
from karat.evaluation.document_parts import PartResult, SourceSide, scores_of_parts
from karat.evaluation.documents import EvaluationPlan, JudgedDocuments, need_spans
from karat.evaluation.reading import CorpusMatcher, ReadingOptions
from karat.matching.matcher import Matcher
from karat.matching.matchers import Same
from karat.reading.pairs.any_source import Truth, read_truth
from karat.reading.pairs.mappings import check_matched_by_id
from karat.scores import Scores


class TableToRead(NamedTuple):
    """What an executor has to know to read a table: its name in messages, and the names of its columns by role."""

    name: str
    columns: Mapping[str, str]
    has_order: bool
    """whether the documents of a query have an order"""

    @classmethod
    def of(cls, table: SparkTable) -> TableToRead:
        return cls(table.name, dict(table.columns), table.by_query or table.order is not None)

    def truth(self, rows: Any, matcher: Matcher) -> Truth:
        """The ground truth in its rows, which may be all of them, or those of a bucket."""
        if isinstance(rows, pa.Table) and not len(rows):
            return Truth.empty()
        truth = read_truth(rows, columns=self.columns, key=matcher.gold_key, name=self.name)
        # Of several judged documents of the same grade that a document matches, the first is credited.
        return truth if self.has_order or isinstance(matcher, Same) else truth.in_order_of_keys()


@dataclass(frozen=True)
class DocumentWork:
    """The evaluation of the documents of one bucket."""

    truth: TableToRead
    run: TableToRead
    plan: PortablePlan
    has_corpus: bool = False
    """whether the tables have a column with the texts of documents"""

    def __call__(self, truth: Any, run: Any) -> BucketResult:
        """The values of one bucket, whose tables are Arrow tables or lines as a file, in an executor."""
        plan = self.plan.received()
        matcher = plan.matching.matcher
        if self.has_corpus:
            sides = ((truth, self.truth), (run, self.run))
            golds, retrieved = (texts_of_rows(table, side.columns["doc"]) for table, side in sides)
            matcher = matcher.with_texts(golds | retrieved)
            truth, run = (table.drop_columns([TEXT]) for table, _ in sides)
            plan = plan._replace(matching=CorpusMatcher(matcher))
        is_read = not need_spans(plan.measures) or (isinstance(truth, pa.Table) and not len(truth))
        judgments = self.truth.truth(truth, matcher) if is_read else truth
        documents = JudgedDocuments.read(judgments, run, plan, self.run.name)
        part = PartResult.of(documents, plan)
        return BucketResult(part.queries, part.values, part.digests, part.facts)


@dataclass(frozen=True)
class DocumentEvaluation:
    """An evaluation of documents: the tables, and what is computed from them."""

    truth: SparkTable
    run: SparkTable
    plan: EvaluationPlan
    name: str
    corpus: JoinedCorpus | None = None

    def buckets(self, number: int | None, progress: bool) -> Buckets:
        """The work on all buckets, which is not done yet."""
        self.check()
        sides = TableToRead.of(self.truth), TableToRead.of(self.run)
        plan = PortablePlan.of(self.plan, ReadingOptions(sides[0].columns, sides[1].columns))
        work = DocumentWork(*sides, plan, self.corpus is not None)
        return in_buckets(
            work,
            self.truth,
            self.run,
            values=[str(each) for each in self.plan.measures],
            texts=["spans", "judged"] if need_spans(self.plan.measures) else ["judged"],
            buckets=number,
            progress=progress,
        )

    def scores(self, collected: CollectedBuckets) -> Scores:
        """The scores of all queries, which are those of a local evaluation."""
        matching = self.plan.matching
        if self.corpus is not None:
            matching = matching._replace(notes=self.corpus.notes)
        plan = self.plan._replace(matching=matching)
        return scores_of_collected(collected, plan, (self.truth, self.run), self.name)

    def read_truth(self) -> Truth:
        """The ground truth, which the driver reads as executors read that of a bucket."""
        rows, records = readable(collect_table(self.truth.frame)), self.truth.records
        return TableToRead.of(self.truth).truth(records.source(rows) if records else rows, self.plan.matching.matcher)

    def check(self) -> None:
        """Reject what cannot be evaluated, before anything is computed."""
        matcher = self.plan.matching.matcher
        for table, key, is_truth in ((self.truth, matcher.gold_key, True), (self.run, matcher.key, False)):
            if not table.by_query:
                check_matched_by_id(key, "a table", table.name, gold=is_truth)
        if self.plan.settings["ties"] == "input" and self.run.order is None and not self.run.by_query:
            what: Message = ["the rows of a table on Spark have no order, which ", Parameter("ties", "input"), " needs"]
            order, ties = Parameter("order"), Parameter("ties")
            hint: Message = ["Name a column that gives the order with ", order, ", or use another value of ", ties, "."]
            raise KaratError(what, place=self.run.name, hint=hint)


def scores_of_collected(
    collected: CollectedBuckets, plan: EvaluationPlan, sides: tuple[SourceSide, SourceSide], name: str
) -> Scores:
    """The scores of all buckets, or of all ranges."""
    scores = scores_of_parts(collected.queries, collected.values, collected.texts, collected.facts, plan, sides, name)
    return replace(scores, findings=(*scores.findings, *collected.findings))
