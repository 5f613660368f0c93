"""Bounds: the lowest and the highest value that a measure could have if the unjudged documents were judged.

A grading assigns to each unjudged document that was retrieved either 0 or the highest grade; for u documents there are
2^u gradings. The definition of a measure says (`unjudged`) how a relevant document affects its value, and this leaves
few gradings that can give the lowest or the highest value:

- If a relevant document never lowers the value: none of the documents relevant, and all of them.
- If it also adds to the number of documents to find: for each m, the m topmost documents relevant give the highest
  value of all gradings with m relevant documents, and the m lowest documents the lowest. Documents below the cutoff
  can only lower the value: none of them is relevant at the highest value, and all of them are at the lowest.

Each of these gradings becomes a query of a Judged, and the measure itself computes its value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from karat.analysis.evidence import NO_RUN_DATA, Evidence
from karat.errors import KaratError, plural, require, safe_line, shown
from karat.judged import Floats, Ints, Judged
from karat.measures import definitions, parse
from karat.output.tables import Cell, Table, Tabular
from karat.registry import Effect, Measure
from karat.registry.names import format_value
from karat.scores import Scores
from karat.scores.summary import DIGITS, cell_text

# Ranks, over all gradings, that are computed at a time.
_ROWS = 1 << 18


@dataclass(frozen=True, eq=False)
class Bounds(Tabular):
    """The range of a measure over the possible grades of unjudged documents; `value` counts them as not relevant.

    `unjudged` is the number of unjudged documents that were retrieved for each query, `max_grade` the highest grade
    that they could have.
    """

    measure: str
    queries: tuple[str, ...]
    low: Floats
    high: Floats
    value: Floats
    unjudged: Ints
    max_grade: float

    @property
    def mean(self) -> tuple[float, float]:
        """The lowest and the highest value over all queries, combined as the measure defines."""
        return self._combined(self.low), self._combined(self.high)

    @property
    def per_query(self) -> dict[str, tuple[float, float]]:
        """The lowest and the highest value of each query."""
        return dict(zip(self.queries, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """`{"measure", "max_grade", "value", "low", "high", "unjudged", "queries": [{"query", "value", ...}]}`."""
        names = ("query", "value", "low", "high", "unjudged")
        *queries, combined = (dict(zip(names, row, strict=True)) for row in self._rows())
        del combined["query"]
        return {"measure": self.measure, "max_grade": self.max_grade, **combined, "queries": queries}

    def table(self, digits: int = DIGITS) -> Table:
        """A row per query, and a last row for all queries."""
        rows = tuple(
            (Cell(query), *(Cell(cell_text(value, self.measure, digits)) for value in values), Cell(f"{unjudged:,}"))
            for query, *values, unjudged in self._rows()
        )
        documents = plural(int(self.unjudged.sum()), "unjudged document")
        note = f"{self.measure} if the {documents} were graded 0 or {format_value(self.max_grade)}"
        return Table(("query", "score", "lowest", "highest", "unjudged"), rows, (note,))

    def __repr__(self) -> str:
        low, high = self.mean
        queries = plural(len(self.queries), "query")
        return safe_line(f"<Bounds of {self.measure} over {queries}: {low:.4f} to {high:.4f}>")

    def _rows(self) -> Iterator[tuple[str, float | None, float | None, float | None, int]]:
        """The id, value, low, high and number of unjudged documents of each query, then of all; None is null."""
        columns = [[*column.tolist(), self._combined(column)] for column in (self.value, self.low, self.high)]
        counts = [*self.unjudged.tolist(), int(self.unjudged.sum())]
        for query, value, low, high, count in zip([*self.queries, "all"], *columns, counts, strict=True):
            yield query, _or_none(value), _or_none(low), _or_none(high), count

    def _combined(self, column: Floats) -> float:
        combined = Scores(self.queries, {self.measure: column}).combined(self.measure)
        return math.nan if combined is None else combined


def bounds(scores: Scores, measure: str | Measure, max_grade: float | None = None) -> Bounds:
    """The lowest and the highest value of a measure over all gradings of the unjudged documents that were retrieved.

    `max_grade` is the grade of a document that turns out to be relevant. By default it is the largest grade in the
    ground truth, or 1 if that has no relevant document. Documents that were not retrieved are not considered.

    >>> from karat import evaluate
    >>> print(bounds(evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["b"]}, "RR"), "RR"))
    query    score   lowest   highest   unjudged
    ────────────────────────────────────────────
    q       0.5000   0.5000    1.0000          1
    r       1.0000   1.0000    1.0000          0
    all     0.7500   0.7500    1.0000          1
    RR if the 1 unjudged document were graded 0 or 1
    """
    if measure in scores:  # with rel=2, AP is AP(rel=2)
        measure = parse(scores.column_name(measure))
    measure = measure.check() if isinstance(measure, Measure) else parse(measure)
    effect = _effect(measure)
    evidence = _evidence(scores)
    if evidence.rules.ties in ("best", "worst"):
        raise KaratError(
            f"bounds are not defined for ties={evidence.rules.ties}, which orders tied documents by grade",
            hint='Evaluate again with ties="trec" or ties="input" (--ties).',
        )
    _check_repeats(evidence)
    judged = evidence.judged_for(measure)
    grade = _max_grade(judged, max_grade)
    queries = _evaluated(scores)
    kept = np.zeros(len(judged.queries), bool)
    kept[[evidence.truth.positions[query] for query in queries]] = True
    judged = judged.select(kept)
    value = measure.compute(judged)
    low, high = value.copy(), value.copy()
    for case, hypothetical in _hypotheticals(_cases(judged), effect, measure.cutoff, grade):
        values = measure.compute(hypothetical)
        np.fmin.at(low, case, values)
        np.fmax.at(high, case, values)
    position = {query: at for at, query in enumerate(judged.queries)}
    order = np.array([position[query] for query in queries], np.int64)
    unjudged = judged.retrieved - judged.by_rank.graded(0).count()
    return Bounds(str(measure), queries, low[order], high[order], value[order], unjudged[order], grade)


def _effect(measure: Measure) -> Effect:
    """How unjudged documents affect a measure; an error if its definition does not say."""
    definition = measure.definition
    effect = measure.unjudged
    if effect is not None:
        return effect
    if "rel" in definition.parameters and measure(rel=1).unjudged:
        raise KaratError(
            f"{measure} has no bounds: every judged document reaches this threshold",
            hint="Use a rel above 0.",
        )
    names = [known.name for known in definitions() if Measure(known.name, definition=known).unjudged]
    if definition.takes == "answers":
        raise KaratError("answer measures have no bounds", hint=f"Measures with bounds: {', '.join(names)}.")
    raise KaratError(
        f"{measure} has no bounds: how unjudged documents affect it is not known",
        hint=f"Measures with bounds: {', '.join(names)}.",
    )


def _evidence(scores: Scores) -> Evidence:
    if scores.evidence is not None:
        return scores.evidence
    if scores.answers is not None:
        raise KaratError("bounds need documents, but these are scores of answers", hint="Evaluate the documents.")
    raise KaratError("these scores contain no run data to compute bounds from", hint=NO_RUN_DATA)


def _evaluated(scores: Scores) -> tuple[str, ...]:
    """The queries whose documents were evaluated; scores of results may have queries with answers only."""
    if scores.answers is None:
        return scores.queries
    columns = [column for name, column in scores.values.items() if parse(name).definition.takes != "answers"]
    measured = ~np.all(np.isnan(columns), axis=0)
    return tuple(query for query, kept in zip(scores.queries, measured.tolist(), strict=True) if kept)


def _max_grade(judged: Judged, given: float | None) -> float:
    largest = float(judged.gold_grade.max(initial=0.0))
    if given is None:
        return largest or 1.0
    valid = isinstance(given, Real) and not isinstance(given, bool) and 0 < given < math.inf
    require(valid, f"max_grade={shown(given)} is not the grade of a relevant document", "Use a number above 0.")
    require(
        given >= largest,
        f"max_grade={format_value(float(given))} is below the largest grade in the ground truth,"
        f" {format_value(largest)}",
        f"Use {format_value(largest)} or more, or leave it out.",
    )
    return float(given)


def _check_repeats(evidence: Evidence) -> None:
    """Reject unjudged documents at several ranks: the gradings that give the lowest and highest value are unknown."""
    judged, truth = evidence.judged, evidence.truth
    found = evidence.repeated_unjudged()
    if found is None:
        # Several chunks may match one gold that is in the pool but unjudged.
        unknown = judged.hit_grade < 0
        rank = judged.hit_query * (judged.retrieved.max(initial=0) + 1) + judged.hit_rank
        several = np.bincount(judged.hit_gold[unknown], minlength=len(truth.docs)) > 1
        rows = unknown & several[judged.hit_gold] & ~np.isin(rank, rank[~unknown])
        for row in np.flatnonzero(rows)[:1].tolist():
            found = judged.queries[judged.hit_query[row]], truth.docs[judged.hit_gold[row]]
    if found is not None:
        query, document = found
        raise KaratError(
            f"the unjudged document {document} is at several ranks; bounds need unjudged documents to be listed once",
            where=f"{evidence.run.name}, query {query}",
            hint="Remove the repeated documents from the run, or judge them.",
        )


@dataclass(frozen=True, eq=False)
class _Case:
    """A query: a row for each hit of a judged document and for each unjudged rank, in rank order.

    `unjudged_at` numbers the unjudged ranks from the top and is -1 in rows of judged documents; `gold` is the index of
    the judged document. `grades` are those of the judged documents, `unjudged` is the number of unjudged ranks.
    """

    query: str
    retrieved: int
    rank: Ints
    unjudged_at: Ints
    gold: Ints
    grades: Floats
    unjudged: int


def _cases(judged: Judged) -> Iterator[_Case]:
    """The queries, in which documents with a negative grade (in the pool, but not judged) count as unjudged."""
    starts = np.searchsorted(judged.hit_query, np.arange(len(judged.queries) + 1)).tolist()
    for at, (query, retrieved) in enumerate(zip(judged.queries, judged.retrieved.tolist(), strict=True)):
        first, last = judged.gold_offsets[at : at + 2].tolist()
        grades = judged.gold_grade[first:last]
        # Best first, as in the ideal ranking.
        order = np.argsort(-grades, kind="stable")
        place = np.empty(len(grades), np.int64)
        place[order] = np.arange(len(grades))
        hits = slice(starts[at], starts[at + 1])
        known = judged.hit_grade[hits] >= 0
        rank = judged.hit_rank[hits][known]
        unjudged = np.ones(retrieved, bool)
        unjudged[rank - 1] = False
        ranks = np.r_[rank, np.flatnonzero(unjudged) + 1]
        unjudged_at = np.r_[np.full(len(rank), -1), np.arange(len(ranks) - len(rank))]
        gold = np.r_[place[judged.hit_gold[hits][known] - first], np.zeros(len(ranks) - len(rank), np.int64)]
        rows = np.argsort(ranks, kind="stable")
        known_grades = grades[order][: int((grades >= 0).sum())]
        yield _Case(query, retrieved, ranks[rows], unjudged_at[rows], gold[rows], known_grades, len(ranks) - len(rank))


def _hypotheticals(
    cases: Iterable[_Case], effect: Effect, cutoff: int | None, max_grade: float
) -> Iterator[tuple[Ints, Judged]]:
    """The gradings that can give the lowest or highest value, some at a time: their cases, and them as queries."""
    parts: list[Judged] = []
    numbers: list[Ints] = []
    rows = 0
    for number, case in enumerate(cases):
        size = max(1, len(case.rank) + len(case.grades))
        gradings = _gradings(case, effect, cutoff)
        at_once = max(1, _ROWS // size)
        for start in range(0, len(gradings), at_once):
            some = gradings[start : start + at_once]
            if parts and rows + len(some) * size > _ROWS:
                yield np.concatenate(numbers), _concatenated(parts)
                parts, numbers, rows = [], [], 0
            parts.append(_judged(case, some, max_grade))
            numbers.append(np.full(len(some), number))
            rows += len(some) * size
    if parts:
        yield np.concatenate(numbers), _concatenated(parts)


def _gradings(case: _Case, effect: Effect, cutoff: int | None) -> Ints:
    """The gradings to compute, each as the range of unjudged documents that are relevant: from start to before stop.

    The grading without relevant documents is left out: its value is that of the run itself.
    """
    n = case.unjudged
    if not n or effect == "monotone":
        return np.array([(0, n)] if n else [], np.int64).reshape(-1, 2)
    within = n if cutoff is None else int(((case.unjudged_at >= 0) & (case.rank <= cutoff)).sum())
    topmost = [(0, stop) for stop in range(1, min(within + 1, n))]
    lowest = [(start, n) for start in range(min(within + 1, n))]
    return np.array(topmost + lowest, np.int64)


def _judged(case: _Case, gradings: Ints, max_grade: float) -> Judged:
    """Each grading as a query. Documents that are made relevant become new golds, before the other golds."""
    start, stop = gradings[:, :1], gradings[:, 1:]
    relevant = (stop - start)[:, 0]
    grading, row = np.nonzero((case.unjudged_at < 0) | ((case.unjudged_at >= start) & (case.unjudged_at < stop)))
    offsets = np.r_[0, np.cumsum(relevant + len(case.grades))]
    grades = np.full(offsets[-1], max_grade)
    grades[(offsets[:-1] + relevant)[:, None] + np.arange(len(case.grades))] = case.grades
    unjudged_at = case.unjudged_at[row]
    new = unjudged_at >= 0
    gold = offsets[grading] + np.where(new, unjudged_at - start[grading, 0], relevant[grading] + case.gold[row])
    return Judged.from_hits(
        queries=(case.query,) * len(gradings),
        in_run=np.ones(len(gradings), bool),
        retrieved=np.full(len(gradings), case.retrieved),
        hit_query=grading,
        hit_rank=case.rank[row],
        hit_gold=gold,
        gold_grade=grades,
        gold_offsets=offsets,
    )


def _concatenated(parts: list[Judged]) -> Judged:
    """One Judged with the queries of several."""
    if len(parts) == 1:
        return parts[0]
    queries = np.cumsum([0, *(len(part.queries) for part in parts)]).tolist()
    golds = np.cumsum([0, *(len(part.gold_grade) for part in parts)]).tolist()
    return Judged.from_hits(
        queries=tuple(query for part in parts for query in part.queries),
        in_run=np.concatenate([part.in_run for part in parts]),
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
