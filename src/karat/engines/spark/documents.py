"""The evaluation of documents on Spark: each bucket of queries is judged by the local functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from karat.engines.spark.buckets import Buckets, CollectedBuckets, in_buckets
from karat.engines.spark.corpus import TEXT, JoinedCorpus, texts_of_rows
from karat.engines.spark.measures import portable
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BucketResult
from karat.errors import KaratError, Message, Parameter
from karat.evaluation.document_parts import PartResult, SourceSide, scores_of_parts
from karat.evaluation.documents import EvaluationPlan, JudgedDocuments, need_spans
from karat.evaluation.reading import CorpusMatcher, ReadingOptions
from karat.matching.matcher import Matcher
from karat.matching.matchers import Same
from karat.reading.pairs.any_source import Truth, read_truth
from karat.reading.pairs.mappings import check_matched_by_id
from karat.registry import Measure
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


@dataclass(frozen=True)
class DocumentWork:
    """The evaluation of the documents of one bucket."""

    truth: TableToRead
    run: TableToRead
    measures: Sequence[Callable[[], Measure]]
    settings: Mapping[str, Any]
    matcher: Matcher
    has_corpus: bool = False
    """whether the tables have a column with the texts of documents"""

    def __call__(self, truth: Any, run: Any) -> BucketResult:
        """The values of one bucket, whose tables are Arrow tables or lines as a file, in an executor."""
        measures = {measure(): () for measure in self.measures}
        matcher = self.matcher
        if self.has_corpus:
            sides = ((truth, self.truth), (run, self.run))
            golds, retrieved = (texts_of_rows(table, side.columns["doc"]) for table, side in sides)
            matcher = matcher.with_texts(golds | retrieved)
            truth, run = (table.drop_columns([TEXT]) for table, _ in sides)
        inputs = ReadingOptions(self.truth.columns, self.run.columns)
        plan = EvaluationPlan(measures, self.settings, CorpusMatcher(matcher), inputs)
        documents = JudgedDocuments.read(
            self._read_truth(truth, matcher, need_spans(measures)), run, plan, self.run.name
        )
        part = PartResult.of(documents, plan)
        return BucketResult(part.queries, part.values, part.digests, part.facts)

    def _read_truth(self, table: Any, matcher: Matcher, as_spans: bool) -> Any:
        if isinstance(table, pa.Table) and not len(table):
            return Truth.empty()
        if as_spans:
            return table
        truth = read_truth(table, columns=self.truth.columns, key=matcher.gold_key, name=self.truth.name)
        # Of several judged documents of the same grade that a document matches, the first is credited.
        return truth if self.truth.has_order or isinstance(matcher, Same) else truth.in_order_of_keys()


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
        self._check()
        work = DocumentWork(
            TableToRead.of(self.truth),
            TableToRead.of(self.run),
            [portable(each) for each in self.plan.measures],
            self.plan.settings,
            self.plan.matching.matcher,
            self.corpus is not None,
        )
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

    def _check(self) -> None:
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
