"""The texts of queries and documents: ids that have none, and texts that contradict or repeat each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Self

from karat.evaluation.check.batches import RunCheck
from karat.evaluation.check.ids import SimilarIds, similar_documents, similar_queries
from karat.evaluation.check.many_findings import Found
from karat.evaluation.check.places import PairPlaces
from karat.evaluation.check.plan import CheckPlan
from karat.evaluation.check.text_sources import TextSource, texts_of_plan
from karat.evaluation.facts import LEAST_POSITIVE, thresholds
from karat.matching.matchers import Same
from karat.reading.pairs.containers import Run, Truth
from karat.reading.pairs.objects import rereadable
from karat.scores.finding import Finding

if TYPE_CHECKING:
    from karat.evaluation.check.membership import KnownIds


@dataclass(frozen=True, eq=False)
class KnownTexts:
    """The ids that the corpus and the file of queries have, and what is wrong with their texts."""

    plan: CheckPlan
    queries: TextSource | None = None
    corpus: TextSource | None = None
    known_queries: KnownIds | None = None
    known_documents: KnownIds | None = None

    @classmethod
    def read(cls, plan: CheckPlan) -> Self:
        """Read the texts that are given, and those in the folder of a data set whose ground truth is checked."""
        if plan.matcher.key.field == "content":  # a match by texts reads the corpus again
            plan = replace(plan, corpus=rereadable(plan.corpus, "the corpus"))
        given, corpus_given = texts_of_plan(plan, "queries"), texts_of_plan(plan, "corpus")
        queries = None if given is None else TextSource.read(given, "queries")
        corpus = None if corpus_given is None else TextSource.read(corpus_given, "corpus")
        if queries is None and corpus is None:
            return cls(plan)
        from karat.evaluation.check.membership import KnownIds, documents_for

        # Of a source that was not read to its end, it is not known which ids it has.
        known_queries = KnownIds(queries) if queries and queries.is_whole else None
        known_documents = documents_for(corpus, plan.matcher) if corpus and corpus.is_whole else None
        return cls(plan, queries, corpus, known_queries, known_documents)

    @property
    def findings(self) -> Iterator[Found]:
        """What is wrong with the texts, whatever the ground truth says."""
        return chain.from_iterable(source.findings() for source in (self.queries, self.corpus) if source is not None)

    def about_truth(self, truth: Truth | None) -> Iterator[Finding]:
        """What the ground truth has that the texts lack, and what it says of texts that are the same.

        The ground truth is None if it cannot be read.
        """
        from karat.evaluation.check.same_texts import same_documents, same_questions

        if self.queries is not None:
            yield from same_questions(self.queries, truth)
        if self.corpus is not None:
            levels = thresholds(list(self.plan.measures)) or [LEAST_POSITIVE]
            yield from same_documents(self.corpus, truth, levels)
        if truth is None:
            return
        pairs = PairPlaces.of_truth(self.plan)
        yield from similar_queries(truth, pairs)
        if self.plan.matcher == Same():
            yield from similar_documents(truth, pairs)
        if self.known_queries is not None:
            from karat.evaluation.check.membership import queries_not_in_file

            first = (truth.golds(at) for at in range(len(truth.queries)))
            documents = {
                query: truth.docs[golds.start] if golds else ""
                for query, golds in zip(truth.queries, first, strict=True)
            }
            yield from queries_not_in_file(documents, self.known_queries, pairs)
        if self.known_documents is not None:
            from karat.evaluation.check.membership import judged_not_in_corpus

            yield from judged_not_in_corpus(truth, self.known_documents, pairs)

    def checks_of_run(self, run: Run, truth: Truth) -> list[RunCheck]:
        """What is found out about the documents and queries of a run while it is read."""
        pairs = PairPlaces.of_run(run)
        checks: list[RunCheck] = [SimilarIds(truth, pairs)] if truth.queries and self.plan.matcher == Same() else []
        if self.known_documents or self.known_queries:
            from karat.evaluation.check.membership import NotInTexts

            checks.append(NotInTexts(pairs, self.known_documents, self.known_queries))
        return checks
