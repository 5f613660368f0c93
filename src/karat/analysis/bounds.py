"""Bounds over unjudged documents: the least and the greatest value that a measure could have, were they judged.

A way of judging says of each document that was retrieved and not judged whether it is of the best grade or of no worth.
There are 2^u of them for u documents. A measure says (`unjudged`) what a relevant document does to it, and that
leaves few ways that can be an end:

- it never lowers the value: the ends are none of them and all of them;
- it is one more to find as well: of the ways with m relevant documents the topmost m are worth the most and the
  lowest m the least, whatever m is. Documents below a cut-off can only lower the value, so that at the greatest none
  of them is relevant, and at the least all are.

Each of these ways becomes a query of a Judged, which the measure itself computes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from karat.analysis.evidence import Evidence
from karat.errors import KaratError, shown
from karat.judged import Floats, Ints, Judged
from karat.measures import definitions, parse
from karat.output.tables import Cell, Table, Tabular
from karat.registry import Effect, Measure
from karat.registry.names import format_value
from karat.scores import Scores
from karat.scores.summary import cell_text

# How many ranks are held at once, over all the ways of judging that are computed together.
_ROWS = 1 << 18


@dataclass(frozen=True, eq=False)
class Bounds(Tabular):
    """Between which values a measure lies, whatever the unjudged documents are worth; `value` takes them for nothing.

    `unjudged` counts the documents of each query that were retrieved and not judged, `best` is the grade that they
    could have.
    """

    measure: str
    queries: tuple[str, ...]
    low: Floats
    high: Floats
    value: Floats
    unjudged: Ints
    best: float

    @property
    def mean(self) -> tuple[float, float]:
        """The least and the greatest value over all queries, combined as the measure is."""
        return self._combined(self.low), self._combined(self.high)

    @property
    def per_query(self) -> dict[str, tuple[float, float]]:
        """The least and the greatest value of each query."""
        return dict(zip(self.queries, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """`{"measure", "best", "value", "low", "high", "unjudged", "queries": [{"query", "value", "low", ...}]}`."""
        names = ("query", "value", "low", "high", "unjudged")
        *of_queries, last = (dict(zip(names, row, strict=True)) for row in self._rows())
        del last["query"]
        return {"measure": self.measure, "best": self.best, **last, "queries": of_queries}

    def table(self) -> Table:
        """A row per query, all of them together last."""
        rows = tuple(
            (Cell(query), *(Cell(cell_text(value, self.measure)) for value in values), Cell(f"{unjudged:,}"))
            for query, *values, unjudged in self._rows()
        )
        count = int(self.unjudged.sum())
        documents = f"{count:,} retrieved document{'' if count == 1 else 's'}"
        note = f"{self.measure}, were the {documents} without a judgment judged as 0 or as {format_value(self.best)}"
        return Table(("query", "score", "least", "greatest", "unjudged"), rows, (note,))

    def __repr__(self) -> str:
        low, high = self.mean
        return f"<Bounds of {self.measure} over {len(self.queries)} queries: {low:.4f} to {high:.4f}>"

    def _rows(self) -> Iterator[tuple[str, float | None, float | None, float | None, int]]:
        """Query, value, low, high and unjudged documents of each query, and of all; None where there is no value."""
        columns = [[*column.tolist(), self._combined(column)] for column in (self.value, self.low, self.high)]
        counts = [*self.unjudged.tolist(), int(self.unjudged.sum())]
        for query, value, low, high, count in zip([*self.queries, "all"], *columns, counts, strict=True):
            yield query, _or_none(value), _or_none(low), _or_none(high), count

    def _combined(self, column: Floats) -> float:
        combined = Scores(self.queries, {self.measure: column}).combined(self.measure)
        return math.nan if combined is None else combined


def bounds(scores: Scores, measure: str | Measure, best: float | None = None) -> Bounds:
    """The least and the greatest value of a measure over every way of judging what was retrieved and not judged.

    `best` is the grade of a document that turns out to be relevant: unless given, the largest in the truth, or 1
    where that has no relevant document. Documents that were not retrieved stay as they are.

    >>> from karat import evaluate
    >>> print(bounds(evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["b"]}, "RR"), "RR"))
    query    score    least   greatest   unjudged
    ─────────────────────────────────────────────
    q       0.5000   0.5000     1.0000          1
    r       1.0000   1.0000     1.0000          0
    all     0.7500   0.7500     1.0000          1
    RR, were the 1 retrieved document without a judgment judged as 0 or as 1
    """
    asked = measure.check() if isinstance(measure, Measure) else parse(str(measure))
    effect = _effect(asked)
    evidence = _evidence(scores)
    if evidence.rules.ties in ("best", "worst"):
        raise KaratError(
            f"ties={evidence.rules.ties} ranks documents by their grades, so that judging one would move it",
            hint='Evaluate again with ties="trec" or ties="input" (--ties).',
        )
    _refuse_repeats(evidence)
    of_all = evidence.judged_for(asked)
    grade = _best_grade(of_all, best)
    queries = _evaluated(scores)
    kept = np.zeros(len(of_all.queries), bool)
    kept[[evidence.truth.positions[query] for query in queries]] = True
    judged = of_all.select(kept)
    value = asked.compute(judged)
    low, high = value.copy(), value.copy()
    for case, hypothetical in _hypotheticals(_cases(judged), effect, asked.cutoff, grade):
        values = asked.compute(hypothetical)
        np.fmin.at(low, case, values)
        np.fmax.at(high, case, values)
    place = {query: at for at, query in enumerate(judged.queries)}
    order = np.array([place[query] for query in queries], np.int64)
    unjudged = judged.retrieved - judged.by_rank.graded(0).count()
    return Bounds(str(asked), queries, low[order], high[order], value[order], unjudged[order], grade)


def _effect(measure: Measure) -> Effect:
    """What a measure says of unjudged documents; an error where that is nothing."""
    definition = measure.definition
    effect = definition.unjudged(measure)
    if effect is not None:
        return effect
    if "rel" in definition.parameters and definition.unjudged(measure(rel=1)):
        raise KaratError(
            f"{measure}: with such a threshold a document is relevant as soon as it is judged, as whatever",
            hint="Take a rel above 0.",
        )
    able = [known.name for known in definitions() if known.unjudged(Measure(known.name, definition=known))]
    raise KaratError(
        f"{measure} has no bounds: nothing is known of what unjudged documents could do to it",
        hint=f"Measures that have them are {', '.join(able)}.",
    )


def _evidence(scores: Scores) -> Evidence:
    if scores.evidence is not None:
        return scores.evidence
    if scores.answers is not None:
        raise KaratError("these scores are of answers, and bounds are of documents", hint="Evaluate the documents.")
    raise KaratError(
        "these scores are numbers alone, with no documents behind them to judge",
        hint="Evaluate again: scores that were saved, or that evaluators made, do not hold their run.",
    )


def _evaluated(scores: Scores) -> tuple[str, ...]:
    """The queries whose documents were evaluated; beside answers there may be others, which are null."""
    if scores.answers is None:
        return scores.queries
    of_documents = [column for name, column in scores.values.items() if parse(name).definition.takes != "answers"]
    measured = ~np.all(np.isnan(of_documents), axis=0)
    return tuple(query for query, kept in zip(scores.queries, measured.tolist(), strict=True) if kept)


def _best_grade(judged: Judged, best: float | None) -> float:
    largest = float(judged.gold_grade.max(initial=0.0))
    if best is None:
        return largest or 1.0
    if isinstance(best, bool) or not isinstance(best, Real) or not 0 < best < math.inf:
        raise KaratError(f"best={shown(best)} is no grade of a relevant document", hint="Give a number above 0.")
    if best < largest:
        raise KaratError(
            f"best={format_value(float(best))} is below the largest grade in the truth, {format_value(largest)}",
            hint=f"Give {format_value(largest)} or more, or leave it out.",
        )
    return float(best)


def _refuse_repeats(evidence: Evidence) -> None:
    """One judgment would make several ranks relevant: not the topmost documents might then be the best ones."""
    judged, truth = evidence.judged, evidence.truth
    found = evidence.repeated_unjudged()
    if found is None:
        # Several chunks may belong to a gold that is in the pool and was not judged.
        unknown = judged.hit_grade < 0
        rank = judged.hit_query * (judged.retrieved.max(initial=0) + 1) + judged.hit_rank
        several = np.bincount(judged.hit_gold[unknown], minlength=len(truth.docs)) > 1
        rows = unknown & several[judged.hit_gold] & ~np.isin(rank, rank[~unknown])
        for row in np.flatnonzero(rows)[:1].tolist():
            found = judged.queries[judged.hit_query[row]], truth.docs[judged.hit_gold[row]]
    if found is not None:
        query, document = found
        raise KaratError(
            f"document {document} is not judged and stands at several ranks: bounds are for documents that come once",
            where=f"{evidence.run.name}, query {query}",
            hint="Leave the repeated documents out of the run, or judge them.",
        )


@dataclass(frozen=True, eq=False)
class _Case:
    """A query: a row per judged document that was retrieved and per unjudged rank, in rank order.

    `which` counts the unjudged ranks from the top, and is -1 in rows of judged documents; `gold` says which these are.
    """

    query: str
    retrieved: int
    rank: Ints
    which: Ints
    gold: Ints
    grades: Floats
    unjudged: int


def _cases(judged: Judged) -> Iterator[_Case]:
    """The queries as they are, without what is in the pool and was not judged: a negative grade is worth nothing."""
    starts = np.searchsorted(judged.hit_query, np.arange(len(judged.queries) + 1)).tolist()
    for at, (query, retrieved) in enumerate(zip(judged.queries, judged.retrieved.tolist(), strict=True)):
        first, last = judged.gold_offsets[at : at + 2].tolist()
        grades = judged.gold_grade[first:last]
        # Best first, as the ideal ranking has them.
        order = np.argsort(-grades, kind="stable")
        place = np.empty(len(grades), np.int64)
        place[order] = np.arange(len(grades))
        hits = slice(starts[at], starts[at + 1])
        known = judged.hit_grade[hits] >= 0
        rank = judged.hit_rank[hits][known]
        unjudged = np.ones(retrieved, bool)
        unjudged[rank - 1] = False
        ranks = np.r_[rank, np.flatnonzero(unjudged) + 1]
        which = np.r_[np.full(len(rank), -1), np.arange(len(ranks) - len(rank))]
        gold = np.r_[place[judged.hit_gold[hits][known] - first], np.zeros(len(ranks) - len(rank), np.int64)]
        rows = np.argsort(ranks, kind="stable")
        known_grades = grades[order][: int((grades >= 0).sum())]
        yield _Case(query, retrieved, ranks[rows], which[rows], gold[rows], known_grades, len(ranks) - len(rank))


def _hypotheticals(cases: Iterable[_Case], effect: Effect, k: int | None, best: float) -> Iterator[tuple[Ints, Judged]]:
    """The ways of judging that can be an end, some at a time: the case of each, and the ways as queries."""
    parts: list[Judged] = []
    numbers: list[Ints] = []
    rows = 0
    for number, case in enumerate(cases):
        size = max(1, len(case.rank) + len(case.grades))
        ways = _ways(case, effect, k)
        at_once = max(1, _ROWS // size)
        for start in range(0, len(ways), at_once):
            some = ways[start : start + at_once]
            if parts and rows + len(some) * size > _ROWS:
                yield np.concatenate(numbers), _together(parts)
                parts, numbers, rows = [], [], 0
            parts.append(_judged(case, some, best))
            numbers.append(np.full(len(some), number))
            rows += len(some) * size
    if parts:
        yield np.concatenate(numbers), _together(parts)


def _ways(case: _Case, effect: Effect, k: int | None) -> Ints:
    """From which to before which of its unjudged documents a case has relevant ones; not the way in which none is."""
    n = case.unjudged
    if not n or effect == "monotone":
        return np.array([(0, n)] if n else [], np.int64).reshape(-1, 2)
    within = n if k is None else int(((case.which >= 0) & (case.rank <= k)).sum())
    topmost = [(0, stop) for stop in range(1, min(within + 1, n))]
    lowest = [(start, n) for start in range(min(within + 1, n))]
    return np.array(topmost + lowest, np.int64)


def _judged(case: _Case, ways: Ints, best: float) -> Judged:
    """Each way as a query. What is made relevant is a new gold, and the new ones come first among the golds."""
    start, stop = ways[:, :1], ways[:, 1:]
    relevant = (stop - start)[:, 0]
    way, row = np.nonzero((case.which < 0) | ((case.which >= start) & (case.which < stop)))
    offsets = np.r_[0, np.cumsum(relevant + len(case.grades))]
    grades = np.full(offsets[-1], best)
    grades[(offsets[:-1] + relevant)[:, None] + np.arange(len(case.grades))] = case.grades
    new = case.which[row] >= 0
    gold = offsets[way] + np.where(new, case.which[row] - start[way, 0], relevant[way] + case.gold[row])
    return Judged.from_hits(
        queries=(case.query,) * len(ways),
        answered=np.ones(len(ways), bool),
        retrieved=np.full(len(ways), case.retrieved),
        hit_query=way,
        hit_rank=case.rank[row],
        hit_gold=gold,
        gold_grade=grades,
        gold_offsets=offsets,
    )


def _together(parts: list[Judged]) -> Judged:
    """The queries of several Judged as those of one."""
    if len(parts) == 1:
        return parts[0]
    queries = np.cumsum([0, *(len(part.queries) for part in parts)]).tolist()
    golds = np.cumsum([0, *(len(part.gold_grade) for part in parts)]).tolist()
    return Judged.from_hits(
        queries=tuple(query for part in parts for query in part.queries),
        answered=np.concatenate([part.answered for part in parts]),
        retrieved=np.concatenate([part.retrieved for part in parts]),
        hit_query=np.concatenate([part.hit_query + at for part, at in zip(parts, queries[:-1], strict=True)]),
        hit_rank=np.concatenate([part.hit_rank for part in parts]),
        hit_gold=np.concatenate([part.hit_gold + at for part, at in zip(parts, golds[:-1], strict=True)]),
        gold_grade=np.concatenate([part.gold_grade for part in parts]),
        gold_offsets=np.concatenate(
            [[0], *(part.gold_offsets[1:] + at for part, at in zip(parts, golds[:-1], strict=True))]
        ),
    )


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
