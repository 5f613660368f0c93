"""One score of a run, computed in other ways: ranked in another way, of other documents or queries, averaged otherwise.

A measure is always that of the registry. A mistake is a change of what it is computed from, or of how the values of
queries become one number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from karat.data.judged import Bools, Floats, Judged
from karat.errors import KaratError
from karat.evaluation.check.batches import RankedRun
from karat.evaluation.documents import with_scores_as_grades
from karat.evaluation.facts import LEAST_POSITIVE, thresholds
from karat.matching.matcher import Matcher
from karat.ranking import Observations, RankingRules, rank_judged
from karat.reading.pairs.any_source import Run, Truth, read_run
from karat.reading.pairs.containers import Batch, RankedLists, ScoredMappings, ScoredRows
from karat.reading.pairs.places import Pair, PlacedPair
from karat.registry import Measure
from karat.scores.combining import combined_column

Order = Literal["score", "reversed", "input", "repeated"]
"""by descending score; by ascending score; as in the input; by score, with documents that are listed twice"""


class ColumnOfValues(NamedTuple):
    """The values of a measure, and what they were computed from."""

    measure: Measure
    values: Floats
    judged: Judged
    unknown: int
    """queries of the run without ground truth"""

    def of(self, queries: Bools) -> float | None:
        """The combined value of some queries."""
        return combined_column(str(self.measure), self.values[queries])

    @property
    def of_run(self) -> ColumnOfValues:
        """The same of the queries that are in the run."""
        is_in_run = self.judged.in_run
        return self._replace(values=self.values[is_in_run], judged=self.judged.select(is_in_run))

    @property
    def level(self) -> float:
        """The lowest grade that is relevant."""
        return next(iter(thresholds([self.measure])), LEAST_POSITIVE)

    @property
    def has_relevant(self) -> Bools:
        """The queries with relevant documents."""
        return self.judged.relevant(self.level) > 0


def every_query(column: ColumnOfValues) -> float | None:
    """All queries of the ground truth."""
    return column.of(np.ones(len(column.values), bool))


def queries_of_run(column: ColumnOfValues) -> float | None:
    """The queries that are in the run."""
    return column.of(column.judged.in_run)


Average = Callable[[ColumnOfValues], float | None]
Change = Callable[[Judged], Judged]


@dataclass(frozen=True)
class Attempt:
    """A way to compute a score."""

    measure: Measure
    rules: RankingRules
    average: Average
    order: Order = "score"
    changes: tuple[Change, ...] = ()
    """of the judged documents, one after the other"""


@dataclass(frozen=True, eq=False)
class Recomputing:
    """A run whose scores are computed in several ways. What several of them need is computed once."""

    truth: Truth
    run: Run
    matcher: Matcher
    rules: RankingRules
    observations: Observations
    ranked: dict[tuple[RankingRules, Order], Judged] = field(default_factory=dict)
    _columns: dict[tuple[Any, ...], ColumnOfValues] = field(default_factory=dict)

    @classmethod
    def of(cls, ranked: RankedRun, truth: Truth, run: Run, rules: RankingRules, matcher: Matcher) -> Self:
        """A run that was ranked under some orders of ties, with rules that are else the same."""
        known: dict[tuple[RankingRules, Order], Judged] = {
            (replace(rules, ties=ties), "score"): judged for ties, judged in ranked.judged.items()
        }
        return cls(truth, run, matcher, rules, ranked.observations, known)

    def value(self, attempt: Attempt) -> float | None:
        """The score that is computed in this way; None if it has no value."""
        key = attempt.measure, attempt.rules, attempt.order, attempt.changes
        if key not in self._columns:
            self._columns[key] = self._column(attempt)
        return attempt.average(self._columns[key])

    def judged(self, rules: RankingRules, order: Order) -> Judged:
        """The judged documents of the run, ranked in this way."""
        if (rules, order) not in self.ranked:
            if order == "repeated" and not self.observations.duplicates:
                return self.judged(rules, "score")
            run = self.run.without_progress()
            if order == "repeated":
                run = self._with_repeats(run)
            elif order != "score":
                run = _ReorderedRun(run, order)
            self.ranked[rules, order] = rank_judged(self.truth, run, rules, self.matcher)[0]
        return self.ranked[rules, order]

    def _column(self, attempt: Attempt) -> ColumnOfValues:
        judged = with_scores_as_grades(self.judged(attempt.rules, attempt.order), self.truth, [attempt.measure])
        for change in attempt.changes:
            judged = change(judged)
        values = attempt.measure.compute(judged)
        return ColumnOfValues(attempt.measure, values, judged, len(self.observations.unknown_queries))

    def _with_repeats(self, run: Run) -> Run:
        """A run with scores as lists, in which a document may be listed several times."""
        rows: dict[str, list[tuple[float, str]]] = {}
        for load in run.batches():
            batch = load()
            if isinstance(batch, RankedLists):
                return run
            for at, (start, stop) in enumerate(pairwise(batch.offsets.tolist())):
                if batch.queries[at] in self.truth.positions:
                    scored = zip(batch.scores[start:stop].tolist(), batch.of_query(at), strict=True)
                    rows.setdefault(batch.queries[at], []).extend(scored)
        lists = {query: [doc for _, doc in sorted(scored, reverse=True)] for query, scored in rows.items()}
        return read_run(lists, self.truth, key=self.matcher.key, name=run.name)


@dataclass(frozen=True, eq=False)
class _ReorderedRun:
    """A run with its documents in the order of the input, or of ascending scores."""

    run: Run
    order: Order
    notes: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return self.run.name

    def batches(self) -> Iterator[Callable[[], Batch]]:
        return (partial(self._reordered, load) for load in self.run.batches())

    def grouped_batches(self) -> Iterator[Callable[[], Batch]]:
        return (partial(self._reordered, load) for load in self.run.grouped_batches())

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        return self.run.locate(pairs)

    def empty_error(self) -> KaratError | None:
        return None

    def without_progress(self) -> _ReorderedRun:
        return self

    def _reordered(self, load: Callable[[], Batch]) -> Batch:
        batch = load()
        if isinstance(batch, RankedLists):
            if self.order == "input":
                return batch
            docs, documents = ([each[::-1] for each in lists] for lists in (batch.docs, batch.documents))
            return replace(batch, docs=docs, documents=documents)
        scores = -batch.scores if self.order == "reversed" else -np.arange(len(batch.scores), dtype=np.float64)
        if isinstance(batch, ScoredRows):
            return replace(batch, scores=scores)
        return _with_scores(batch, scores)


def _with_scores(batch: ScoredMappings, scores: Floats) -> ScoredMappings:
    docs = [
        dict(zip(docs, scores[start:stop].tolist(), strict=True))
        for docs, (start, stop) in zip(batch.docs, pairwise(batch.offsets.tolist()), strict=True)
    ]
    return replace(batch, docs=docs, scores=scores)
