"""The evaluation of documents on Spark: each bucket of queries is judged by the local functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from karat.engines.spark.buckets import Buckets, CollectedBuckets, in_buckets
from karat.engines.spark.corpus import TEXT, JoinedCorpus, texts_of_rows
from karat.engines.spark.measures import portable
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BucketResult
from karat.errors import KaratError, Message, Parameter
from karat.evaluation.documents import EvaluationPlan, JudgedDocuments, check_facts, need_spans, scores_of_documents
from karat.evaluation.facts import DocumentFacts
from karat.evaluation.reading import CorpusMatcher, ReadingOptions
from karat.matching.matcher import Matcher
from karat.matching.matchers import Same
from karat.reading.pairs.any_source import Truth, read_truth, require_truth
from karat.reading.pairs.mappings import check_matched_by_id
from karat.reading.pairs.numeric_ids import Note, NumericIds
from karat.registry import Measure
from karat.registry.selection import Selection
from karat.scores import Scores

Digests = Mapping[str, Mapping[str, str]]
"""the digests of the ground truth, by kind and query"""


class TableToRead(NamedTuple):
    """What an executor has to know to read a table: its name in messages, and the names of its columns by role."""

    name: str
    columns: Mapping[str, str]
    has_order: bool
    """whether the documents of a query have an order"""

    @classmethod
    def of(cls, table: SparkTable) -> TableToRead:
        return cls(table.name, dict(table.columns), table.by_query or table.order is not None)


class BucketFacts(NamedTuple):
    """What the driver has to know about a bucket, besides values and digests of the queries that are scored."""

    documents: DocumentFacts
    skipped: Digests
    """of queries that are left out"""
    labels_by: str | None


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
        documents = JudgedDocuments.read(
            self._read_truth(truth, matcher, need_spans(measures)),
            run,
            EvaluationPlan(measures, self.settings, CorpusMatcher(matcher), inputs),
            self.run.name,
        )
        queries = documents.judged.queries
        scored = set(queries)
        skipped = {
            kind: {query: digest for query, digest in digests.items() if query not in scored}
            for kind, digests in documents.truths.items()
        }
        return BucketResult(
            queries,
            documents.values(measures),
            {kind: [digests[query] for query in queries] for kind, digests in documents.truths.items()},
            BucketFacts(documents.facts, skipped, documents.labels_by),
        )

    def _read_truth(self, table: Any, matcher: Matcher, as_spans: bool) -> Any:
        if isinstance(table, pa.Table) and not len(table):
            return Truth((), np.zeros(1, np.int64), [], np.empty(0))
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
    measures: Selection
    settings: Mapping[str, Any]
    matching: CorpusMatcher
    name: str
    corpus: JoinedCorpus | None = None

    def buckets(self, number: int | None, progress: bool) -> Buckets:
        """The work on all buckets, which is not done yet."""
        self._check()
        work = DocumentWork(
            TableToRead.of(self.truth),
            TableToRead.of(self.run),
            [portable(each) for each in self.measures],
            self.settings,
            self.matching.matcher,
            self.corpus is not None,
        )
        return in_buckets(
            work,
            self.truth,
            self.run,
            values=[str(each) for each in self.measures],
            texts=["spans", "judged"] if need_spans(self.measures) else ["judged"],
            buckets=number,
            progress=progress,
        )

    def scores(self, collected: CollectedBuckets) -> Scores:
        """The scores of all queries, which are those of a local evaluation."""
        facts = self._checked_facts(collected.facts)
        truths = {
            kind: {query: digest for query, digest in zip(collected.queries, texts, strict=True) if digest is not None}
            for kind, texts in collected.texts.items()
        }
        for facts_of_bucket in collected.facts:
            for kind, skipped in facts_of_bucket.skipped.items():
                truths[kind] |= skipped
        labels_by = collected.facts[0].labels_by
        matching = self.matching if self.corpus is None else self.matching._replace(notes=self.corpus.notes)
        plan = EvaluationPlan(self.measures, self.settings, matching)
        scores = scores_of_documents(
            collected.queries, collected.values, facts, truths, plan, self.name, labels_by, run_name=self.run.name
        )
        return replace(scores, findings=(*scores.findings, *collected.findings))

    def _check(self) -> None:
        """Reject what cannot be evaluated, before anything is computed."""
        matcher = self.matching.matcher
        for table, key, is_truth in ((self.truth, matcher.gold_key, True), (self.run, matcher.key, False)):
            if not table.by_query:
                check_matched_by_id(key, "a table", table.name, gold=is_truth)
        if self.settings["ties"] == "input" and self.run.order is None and not self.run.by_query:
            what: Message = ["the rows of a table on Spark have no order, which ", Parameter("ties", "input"), " needs"]
            order, ties = Parameter("order"), Parameter("ties")
            hint: Message = ["Name a column that gives the order with ", order, ", or use another value of ", ties, "."]
            raise KaratError(what, place=self.run.name, hint=hint)

    def _checked_facts(self, parts: Sequence[BucketFacts]) -> DocumentFacts:
        """The facts about all queries; an error if ground truth and run do not fit together."""
        facts = DocumentFacts.merged(each.documents for each in parts)
        for table, has_rows in ((self.truth, facts.examples), (self.run, facts.answered or facts.unknown)):
            if not has_rows and table.empty_error is not None:
                raise table.empty_error
        require_truth(facts.examples)
        if self.corpus is not None:
            _ = self.corpus.notes  # an error if the corpus does not fit
        check_facts(facts, self.matching.matcher, self.settings["missing"], self.run.name)
        return replace(
            facts,
            truth_notes=_with_numeric_ids(self.truth.notes, facts.truth_notes),
            run_notes=_with_numeric_ids(self.run.notes, facts.run_notes),
        )


def _with_numeric_ids(notes: Sequence[Note], of_buckets: Iterable[Note]) -> tuple[Note, ...]:
    """The notes on a table, with those on its ids, which only the executors see: their others repeat parts of these."""
    return (*notes, *(note for note in of_buckets if isinstance(note, NumericIds) and note not in notes))
