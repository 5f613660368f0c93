"""Evidence: the judged documents that scores were computed from, and the run, to be read again on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from karat.documents.fields import DocumentLike, document_keys
from karat.errors import KaratError, shown
from karat.judged import Judged
from karat.matching.joiner import Joiner
from karat.matching.matchers import FunctionMatcher, Matcher
from karat.ranking import RankingRules
from karat.ranking.ties import order_of_ties, stretches
from karat.registry import Measure
from karat.sources.containers import Batch, InMemoryRun, RankedLists, Run, ScoredMappings, ScoredRows, Truth

# The hint for scores without evidence.
NO_RUN_DATA = "Evaluate again: saved scores, and scores returned by evaluators, do not include the run."


class Hit(NamedTuple):
    """A rank, the gold that the document there matched, and the reason why it matched."""

    rank: int
    gold: int
    reason: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data that one run was evaluated from. A run in a file is not kept: the file is read again on demand."""

    judged: Judged
    truth: Truth
    run: Run
    rules: RankingRules
    match: Matcher

    def judged_for(self, measure: Measure) -> Judged:
        """The judged documents as a measure reads them: only graded measures use the scores of listed golds."""
        if isinstance(self.truth.scores, KaratError) and measure.definition.graded:
            raise self.truth.scores
        same = measure.definition.graded or not isinstance(self.truth.scores, np.ndarray)
        return self.judged if same else self.judged.regraded(self.truth.grades)

    @cached_property
    def repeated_unjudged(self) -> tuple[str, str] | None:
        """A query with an unjudged document at several of its ranks, and that document; None if there is none."""
        folds = bool(self.match.key.folds)
        if not folds and not isinstance(self.run, InMemoryRun):
            # A file is a table, in which each document appears once per query.
            return None
        retrieved: dict[str, list[DocumentLike]] = {}
        for load in self.run.batches():
            batch = load()
            for at, query in enumerate(batch.queries):
                if query not in self.truth.positions:
                    continue
                if isinstance(batch, RankedLists):
                    retrieved.setdefault(query, []).extend(batch.documents[at])
                elif folds:
                    retrieved.setdefault(query, []).extend(dict.fromkeys(doc for doc, _ in _rows(batch, at)))
        repeated = ((query, self._repeated_unjudged(query, documents)) for query, documents in retrieved.items())
        return next(((query, document) for query, document in repeated if document is not None), None)

    def _repeated_unjudged(self, query: str, documents: list[DocumentLike]) -> str | None:
        """An unjudged document that is listed several times; None if there is none."""
        documents = self._without_identical_ids(query, documents)
        by_function = isinstance(self.match, FunctionMatcher)
        # A function compares whole documents, so that repeats are equal documents, as among golds.
        key = self.match.gold_key if by_function else self.match.key
        keys = key.of(documents, self._where(query))
        times = Counter(filter(None, keys))
        repeated = {key: document for key, document in zip(keys, documents, strict=True) if key and times[key] > 1}
        if not repeated:
            return None
        batch = RankedLists([query], [list(repeated)], [list(repeated.values())])
        _, rows, golds = Joiner(self.truth, self.match).find_in_lists(batch, np.array([self.truth.positions[query]]))
        judged = set(rows[self.truth.grades[golds] >= 0].tolist())
        names = [shown(document) if by_function else str(key) for key, document in repeated.items()]
        return next((name for row, name in enumerate(names) if row not in judged), None)

    def read_ranking(self, query: str) -> tuple[list[DocumentLike], list[Hit]]:
        """The documents retrieved for a query, in rank order, and the hits among them; reads the run again."""
        position = self.truth.positions[query]
        listed: list[DocumentLike] = []
        scores: dict[str, float] = {}
        for load in self.run.batches():
            batch = load()
            for at in (at for at, name in enumerate(batch.queries) if name == query):
                if isinstance(batch, RankedLists):
                    listed += batch.documents[at]
                for doc, score in _rows(batch, at):
                    if doc not in scores or score > scores[doc]:
                        # A document listed twice counts with its higher score, at that position.
                        scores.pop(doc, None)
                        scores[doc] = score
        documents: list[DocumentLike] = listed or list(scores)
        documents = self._without_identical_ids(query, documents)
        if len(documents) != self.judged.retrieved[position]:
            raise self._run_changed()
        hits = self._hits(query, documents)
        if scores:
            documents = self._sorted(documents, scores, hits)
            hits = self._hits(query, documents)
        of_query = self.judged.hit_query == position
        judged = zip(self.judged.hit_rank[of_query].tolist(), self.judged.hit_gold[of_query].tolist(), strict=True)
        if [(hit.rank, hit.gold) for hit in hits] != sorted(judged):
            raise self._run_changed()
        return documents, hits

    def _where(self, query: str) -> str:
        return f"{self.run.name}, query {query}"

    def _without_identical_ids(self, query: str, documents: list[DocumentLike]) -> list[DocumentLike]:
        """The documents whose id is not the id of the query, if that is how the run was evaluated."""
        if not self.rules.ignore_identical_ids:
            return documents
        ids = document_keys(documents, "id", self._where(query))
        return [document for document, name in zip(documents, ids, strict=True) if name != query]

    def _run_changed(self) -> KaratError:
        return KaratError("the run has changed since it was evaluated", where=self.run.name, hint="Evaluate again.")

    def _hits(self, query: str, documents: list[DocumentLike]) -> list[Hit]:
        keys = self.match.key.of_retrieved(documents, self._where(query))
        batch = RankedLists([query], [keys], [documents])
        _, rows, golds = Joiner(self.truth, self.match).find_in_lists(batch, np.array([self.truth.positions[query]]))
        compared = documents if isinstance(self.match, FunctionMatcher) else keys
        pairs = sorted(zip(rows.tolist(), golds.tolist(), strict=True))
        return [Hit(row + 1, gold, self.match.reason(compared[row], self.truth.docs[gold])) for row, gold in pairs]

    def _sorted(self, docs: list[str], scores: dict[str, float], hits: list[Hit]) -> list[str]:
        """Documents by descending score, with ties in the order of the evaluation."""
        grades: dict[str, float] = {}
        for hit in hits:
            doc = docs[hit.rank - 1]
            grades[doc] = max(float(self.truth.grades[hit.gold]), grades.get(doc, 0.0))
        docs = sorted(docs, key=scores.__getitem__, reverse=True)
        ties = stretches(np.array([scores[doc] for doc in docs]))
        order = order_of_ties(docs, ties, np.array([grades.get(doc, 0.0) for doc in docs]), self.rules.ties)
        return [docs[at] for at in order.tolist()]


def _rows(batch: Batch, at: int) -> Iterator[tuple[str, float]]:
    """The documents of one query of a batch, each with its score; nothing for lists, which have no scores."""
    if isinstance(batch, ScoredMappings):
        yield from ((doc, float(score)) for doc, score in batch.docs[at].items())
    if isinstance(batch, ScoredRows):
        start, stop = batch.offsets[at : at + 2].tolist()
        docs = batch.docs.slice(start, stop - start).to_pylist()
        yield from zip(docs, batch.scores[start:stop].tolist(), strict=True)
