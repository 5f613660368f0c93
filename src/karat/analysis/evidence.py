"""What stands behind scores: the judged documents, and the run itself where it can be looked at again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.documents.fields import DocumentLike, document_keys
from karat.errors import KaratError, shown
from karat.judged import Judged
from karat.matching.joiner import Joiner
from karat.matching.matchers import FunctionMatcher, Matcher
from karat.ranking import Rules
from karat.ranking.ties import Order
from karat.registry import Measure
from karat.sources.containers import Batch, InMemoryRun, RankedLists, Run, ScoredMappings, ScoredRows, Truth


class Hit(NamedTuple):
    """A judged document at a rank, and why it is one."""

    rank: int
    gold: int
    how: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that one run was evaluated by. A file is read again when somebody wants to look at it."""

    judged: Judged
    truth: Truth
    run: Run
    rules: Rules
    match: Matcher

    def judged_for(self, measure: Measure) -> Judged:
        """What a measure is computed from: the scores of listed golds are grades to graded measures alone."""
        if isinstance(self.truth.scores, KaratError) and measure.definition.graded:
            raise self.truth.scores
        same = measure.definition.graded or not isinstance(self.truth.scores, np.ndarray)
        return self.judged if same else self.judged.regraded(self.truth.grades)

    def unjudged_twice(self) -> tuple[str, str] | None:
        """A query, and a document without a judgment that stands at several of its ranks, if there is one."""
        folds = bool(self.match.key.folds)
        if not folds and not isinstance(self.run, InMemoryRun):
            # A file is a table, and a table has each document of a query once.
            return None
        retrieved: dict[str, list[DocumentLike]] = {}
        for make in self.run.batches():
            batch = make()
            for at, query in enumerate(batch.queries):
                if query not in self.truth.positions:
                    continue
                if isinstance(batch, RankedLists):
                    retrieved.setdefault(query, []).extend(batch.documents[at])
                elif folds:
                    retrieved.setdefault(query, []).extend(dict.fromkeys(doc for doc, _ in _rows(batch, at)))
        twice = ((query, self._unjudged_twice(query, documents)) for query, documents in retrieved.items())
        return next(((query, document) for query, document in twice if document is not None), None)

    def _unjudged_twice(self, query: str, documents: list[DocumentLike]) -> str | None:
        where = f"{self.run.name}, query {query}"
        if self.rules.ignore_identical_ids:
            names = document_keys(documents, "id", where)
            documents = [each for each, name in zip(documents, names, strict=True) if name != query]
        own = isinstance(self.match, FunctionMatcher)
        # To a function, documents are the same that are equal, as golds are.
        read = (self.match.gold_key if own else self.match.key).of(documents, where)
        repeated = {key for key, times in Counter(filter(None, read)).items() if times > 1}
        if not repeated:
            return None
        first = {key: document for key, document in zip(read, documents, strict=True) if key in repeated}
        place = self.truth.positions[query]
        batch = RankedLists([query], [list(first)], [list(first.values())])
        _, at, gold = Joiner(self.truth, self.match).in_lists(batch, np.array([place]))
        judged = set(at[self.truth.grades[gold] >= 0].tolist())
        names = [shown(document) if own else str(key) for key, document in first.items()]
        return next((name for each, name in enumerate(names) if each not in judged), None)

    def look(self, query: str) -> tuple[list[DocumentLike], list[Hit]]:
        """What was retrieved for a query, in rank order, and the hits among it."""
        place = self.truth.positions[query]
        listed: list[DocumentLike] = []
        scores: dict[str, float] = {}
        for make in self.run.batches():
            batch = make()
            for at in (at for at, name in enumerate(batch.queries) if name == query):
                if isinstance(batch, RankedLists):
                    listed += batch.documents[at]
                for doc, score in _rows(batch, at):
                    if doc not in scores or score > scores[doc]:
                        # Of a document that comes twice the one with the higher score counts, where it stands.
                        scores.pop(doc, None)
                        scores[doc] = score
        documents: list[DocumentLike] = listed or list(scores)
        if self.rules.ignore_identical_ids:
            names = document_keys(documents, "id", self.run.name)
            documents = [each for each, name in zip(documents, names, strict=True) if name != query]
        if len(documents) != self.judged.retrieved[place]:
            raise self._changed()
        hits = self._hits(place, documents)
        if scores:
            documents = self._in_order(documents, scores, hits)
            hits = self._hits(place, documents)
        of_query = self.judged.hit_query == place
        judged = zip(self.judged.hit_rank[of_query].tolist(), self.judged.hit_gold[of_query].tolist(), strict=True)
        if [(hit.rank, hit.gold) for hit in hits] != sorted(judged):
            raise self._changed()
        return documents, hits

    def _changed(self) -> KaratError:
        return KaratError("the run has changed since it was evaluated", where=self.run.name, hint="Evaluate again.")

    def _hits(self, place: int, documents: list[DocumentLike]) -> list[Hit]:
        query = self.truth.queries[place]
        read = self.match.key.of_retrieved(documents, f"{self.run.name}, query {query}")
        batch = RankedLists([query], [read], [documents])
        _, at, gold = Joiner(self.truth, self.match).in_lists(batch, np.array([place]))
        compared = documents if isinstance(self.match, FunctionMatcher) else read
        pairs = sorted(zip(at.tolist(), gold.tolist(), strict=True))
        return [Hit(one + 1, other, self.match.how(compared[one], self.truth.docs[other])) for one, other in pairs]

    def _in_order(self, docs: list[str], scores: dict[str, float], hits: list[Hit]) -> list[str]:
        grades: dict[str, float] = {}
        for hit in hits:
            grade = float(self.truth.grades[hit.gold])
            grades[docs[hit.rank - 1]] = max(grade, grades.get(docs[hit.rank - 1], grade))
        order = Order(self.rules.ties, lambda _: grades)
        equal: dict[float, list[str]] = {}
        for doc in docs:
            equal.setdefault(scores[doc], []).append(doc)
        return [doc for score in sorted(equal, reverse=True) for doc in order.of(equal[score], 0)]


def _rows(batch: Batch, at: int) -> Iterator[tuple[str, float]]:
    """The documents of one query of a batch, each with its score; lists have none."""
    if isinstance(batch, ScoredMappings):
        yield from ((doc, float(score)) for doc, score in batch.docs[at].items())
    if isinstance(batch, ScoredRows):
        start, stop = batch.offsets[at : at + 2].tolist()
        docs = batch.docs.slice(start, stop - start).to_pylist()
        yield from zip(docs, batch.scores[start:stop].tolist(), strict=True)
