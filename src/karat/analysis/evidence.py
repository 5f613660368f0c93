"""Evidence: the judged documents that scores were computed from, and the run, to be read again on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.data.judged import Judged
from karat.documents.fields import DocumentLike, document_keys
from karat.errors import KaratError, shown
from karat.matching.joiner import Joiner
from karat.matching.matchers import FunctionMatcher, Matcher
from karat.ranking import RankingRules
from karat.reading.pairs.containers import Batch, InMemoryRun, RankedLists, Run, ScoredMappings, ScoredRows, Truth
from karat.registry import Measure

# The hint for scores without evidence.
NO_RUN_DATA = "Evaluate again: saved scores, and scores returned by evaluators, do not include the run."


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data that one run was evaluated from. A run in a file is not kept: the file is read again on demand."""

    judged: Judged
    truth: Truth
    run: Run
    rules: RankingRules
    match: Matcher
    files: tuple[str, ...] = ()
    """the names of the files of ground truth and run, if they were given by name"""

    def judged_for(self, measure: Measure) -> Judged:
        """The judged documents as a measure reads them: only graded measures use the scores of listed golds."""
        if isinstance(self.truth.scores, KaratError) and measure.definition.graded:
            raise self.truth.scores
        same = measure.definition.graded or not isinstance(self.truth.scores, np.ndarray)
        return self.judged if same else self.judged.regraded(self.truth.grades)

    @cached_property
    def repeated_unjudged(self) -> tuple[str, str] | None:
        """A query with an unjudged document at several of its ranks, and that document; None if there is none."""
        folds = self.match.key.changes_ids
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
        keys = key.of(documents, self.place(query))
        times = Counter(filter(None, keys))
        repeated = {key: document for key, document in zip(keys, documents, strict=True) if key and times[key] > 1}
        if not repeated:
            return None
        batch = RankedLists([query], [list(repeated)], [list(repeated.values())])
        _, rows, golds = Joiner(self.truth, self.match).find_in_lists(batch, np.array([self.truth.positions[query]]))
        judged = set(rows[self.truth.grades[golds] >= 0].tolist())
        names = [shown(document) if by_function else str(key) for key, document in repeated.items()]
        return next((name for row, name in enumerate(names) if row not in judged), None)

    def place(self, query: str) -> str:
        """The place of a query in the run, for errors."""
        return f"{self.run.name}, query {query}"

    def _without_identical_ids(self, query: str, documents: list[DocumentLike]) -> list[DocumentLike]:
        """The documents whose id is not the id of the query, if that is how the run was evaluated."""
        if not self.rules.ignore_identical_ids:
            return documents
        ids = document_keys(documents, "id", self.place(query))
        return [document for document, name in zip(documents, ids, strict=True) if name != query]


def _rows(batch: Batch, at: int) -> Iterator[tuple[str, float]]:
    """The documents of one query of a batch, each with its score; nothing for lists, which have no scores."""
    if isinstance(batch, ScoredMappings):
        yield from ((doc, float(score)) for doc, score in batch.docs[at].items())
    if isinstance(batch, ScoredRows):
        start, stop = batch.offsets[at : at + 2].tolist()
        docs = batch.docs.slice(start, stop - start).to_pylist()
        yield from zip(docs, batch.scores[start:stop].tolist(), strict=True)
