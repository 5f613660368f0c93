"""Evidence: the judged documents that scores were computed from, and the run, to be read again on demand.

Other measures of the same queries are computed from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Floats, Judged
from karat.documents.fields import DocumentLike, document_keys
from karat.errors import KaratError, shown
from karat.matching.joiner import Joiner
from karat.matching.matcher import Matcher
from karat.matching.matchers import FunctionMatcher
from karat.measures import RR, meanings
from karat.ranking import RankingRules
from karat.reading.pairs.containers import InMemoryRun, RankedLists, Run, Truth
from karat.registry import Measure
from karat.scores import Scores

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
                    retrieved.setdefault(query, []).extend(dict.fromkeys(batch.of_query(at)))
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


def other_measures(scores: Scores, measures: Iterable[Measure]) -> Scores:
    """The scores of these measures for the same queries; null for a query that has only answers.

    >>> from karat import evaluate, parse
    >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, "RR")
    >>> other_measures(scores, [parse("P@1"), parse("R@2")]).means
    {'P@1': 0.5, 'R@2': 1.0}
    """
    evidence = scores.evidence
    if evidence is None:
        what = "these scores contain no run data to compute other measures from"
        raise KaratError(what, place=scores.name or None, hint=NO_RUN_DATA)
    # A query that is not in the ground truth reads the null after the last value.
    places = [evidence.truth.positions.get(query, -1) for query in scores.queries]
    values: dict[str, Floats] = {}
    for measure in measures:
        computed = measure.compute(evidence.judged_for(measure))
        values[str(measure)] = np.append(computed, np.nan)[places]
    return replace(scores, values=values, findings=(), asked={})


def same_threshold(scores: Scores, measure: Measure) -> Measure:
    """A measure that counts documents as relevant from the same grade as the measures of the scores, if these set it.

    >>> from karat import evaluate, parse
    >>> scores = evaluate({"q": {"a": 2}}, {"q": ["a"]}, ["nDCG@10", "AP"], rel=2)
    >>> str(same_threshold(scores, parse("P@5")))
    'P(rel=2)@5'
    """
    known = (measure for name in scores.measures for measure in meanings(name)[:1])
    settings = (dict(measure.settings) for measure in known if measure.definition.subject == "documents")
    rel = next((of_measure["rel"] for of_measure in settings if "rel" in of_measure), None)
    return measure if rel is None else measure(rel=rel)


def relevance_threshold(scores: Scores) -> float:
    """The grade from which documents count as relevant, as in `same_threshold`; 1 by default.

    >>> from karat import evaluate
    >>> relevance_threshold(evaluate({"q": {"a": 2}}, {"q": ["a"]}, "P(rel=2)@5"))
    2.0
    """
    rel = same_threshold(scores, RR).get("rel")
    return float(rel) if isinstance(rel, int | float) else 1.0
