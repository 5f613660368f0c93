"""Bounds: the lowest and the highest value that a measure could have if unjudged documents or answers were judged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from karat.analysis.evidence import NO_RUN_DATA, Evidence
from karat.analysis.gradings import lowest_and_highest
from karat.arguments import as_number
from karat.errors import KaratError, plural, require, safe_line, shown
from karat.judged import Bools, Floats, Ints, Judged
from karat.measures import definitions, parse
from karat.options import check_choice
from karat.output.progress import progress_bar
from karat.output.tables import Cell, Table, Tabular
from karat.registry import Effect, Measure
from karat.registry.names import format_value
from karat.scores import Scores
from karat.scores.query_bounds import QueryBounds
from karat.scores.summary import DIGITS, cell_text


@dataclass(frozen=True, eq=False)
class Bounds(Tabular):
    """The range of a measure over the possible grades of unjudged documents, or over all unknown labels of answers.

    `value` counts unjudged documents as not relevant, and is NaN if labels are unknown. `unjudged` is the number of
    unjudged documents that were retrieved for each query, `max_grade` the highest grade that they could have. For
    labels, `unjudged` is 1 for queries that lack some, and `max_grade` is None.
    """

    measure: str
    queries: tuple[str, ...]
    of_queries: QueryBounds
    value: Floats
    unjudged: Ints
    max_grade: float | None

    @property
    def low(self) -> Floats:
        """The lowest value of each query."""
        return self.of_queries.low

    @property
    def high(self) -> Floats:
        """The highest value of each query."""
        return self.of_queries.high

    @property
    def exact(self) -> Bools:
        """For each query, whether the bounds are exact, or an estimate that is wide enough."""
        return self.of_queries.exact

    @property
    def mean(self) -> tuple[float, float]:
        """The lowest and the highest value over all queries, combined as the measure defines."""
        low, high = self.of_queries.extremes
        return self._combined(low), self._combined(high)

    @property
    def per_query(self) -> dict[str, tuple[float, float]]:
        """The lowest and the highest value of each query."""
        return dict(zip(self.queries, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """`{"measure", "max_grade", "value", "low", "high", "unjudged", "queries": [{"query", "value", ...}]}`.

        For labels, `unknown` (1 for a query that lacks some) and `exact` stand in place of `unjudged` and `max_grade`.
        """
        names = ("query", "value", "low", "high", self.counted)
        *queries, combined = (dict(zip(names, row, strict=True)) for row in self._rows())
        del combined["query"]
        if self.max_grade is not None:
            return {"measure": self.measure, "max_grade": self.max_grade, **combined, "queries": queries}
        queries = [{**row, "exact": exact} for row, exact in zip(queries, self.exact.tolist(), strict=True)]
        return {"measure": self.measure, **combined, "exact": bool(self.exact.all()), "queries": queries}

    def table(self, digits: int = DIGITS) -> Table:
        """A row per query, and a last row for all queries."""
        rows = tuple(
            (Cell(query), *(Cell(cell_text(value, self.measure, digits)) for value in values), Cell(f"{unjudged:,}"))
            for query, *values, unjudged in self._rows()
        )
        return Table(("query", "score", "lowest", "highest", self.counted), rows, (f"{self.measure} {self.condition}",))

    @property
    def counted(self) -> Literal["unjudged", "unknown"]:
        """What is counted: unjudged documents, or queries with unknown labels."""
        return "unknown" if self.max_grade is None else "unjudged"

    @property
    def condition(self) -> str:
        """The condition under which the measure could have other values, in words."""
        if self.max_grade is None:
            queries = plural(int(self.unjudged.sum()), "query")
            estimate = "" if self.exact.all() else "; some ranges may be narrower"
            return f"whatever the missing labels of {queries} are{estimate}"
        documents = plural(int(self.unjudged.sum()), "unjudged document")
        return f"if the {documents} were graded from 0 to {format_value(self.max_grade)}"

    def __repr__(self) -> str:
        low, high = self.mean
        queries = plural(len(self.queries), "query")
        return safe_line(f"<Bounds of {self.measure} over {queries}: {low:.4f} to {high:.4f}>")

    def _rows(self) -> Iterator[tuple[str, float | None, float | None, float | None, int]]:
        """The id, value, low, high and number of unjudged documents of each query, then of all; None is null."""
        of_all = self._combined(self.value), *self.mean
        columns = [[*each.tolist(), all_] for each, all_ in zip((self.value, self.low, self.high), of_all, strict=True)]
        counts = [*self.unjudged.tolist(), int(self.unjudged.sum())]
        for query, value, low, high, count in zip([*self.queries, "all"], *columns, counts, strict=True):
            yield query, _or_none(value), _or_none(low), _or_none(high), count

    def _combined(self, column: Floats) -> float:
        combined = Scores(self.queries, {self.measure: column}).combined(self.measure)
        return math.nan if combined is None else combined


def bounds(scores: Scores, measure: str | Measure, max_grade: float | None = None) -> Bounds:
    """The lowest and the highest value of a measure over all gradings of the unjudged documents that were retrieved.

    For measures of verdicts: whatever the unknown labels are.

    Each of them may have any grade from 0 to `max_grade`. By default this is the largest grade in the ground truth, of
    any query, or 1 if that has no relevant document. Documents that were not retrieved are not considered.

    >>> from karat import evaluate
    >>> print(bounds(evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["b"]}, "RR"), "RR"))
    query    score   lowest   highest   unjudged
    ────────────────────────────────────────────
    q       0.5000   0.5000    1.0000          1
    r       1.0000   1.0000    1.0000          0
    all     0.7500   0.7500    1.0000          1
    RR if the 1 unjudged document were graded from 0 to 1
    """
    if measure in scores:  # with rel=2, AP is AP(rel=2)
        measure = parse(scores.column_name(measure))
    measure = measure.check() if isinstance(measure, Measure) else parse(measure)
    if measure.definition.takes == "verdicts":
        return _bounds_of_labels(scores, measure, max_grade)
    _check_effect(measure)
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
    unjudged = judged.retrieved - judged.by_rank.graded(0).count()
    with progress_bar("queries") as progress:
        low, high, exact = lowest_and_highest(measure, judged, value, unjudged, grade, progress)
    position = {query: at for at, query in enumerate(judged.queries)}
    order = np.array([position[query] for query in queries], np.int64)
    of_queries = QueryBounds(low[order], high[order], exact[order], np.zeros(len(order), bool))
    return Bounds(str(measure), queries, of_queries, value[order], unjudged[order], grade)


def _bounds_of_labels(scores: Scores, measure: Measure, max_grade: float | None) -> Bounds:
    """The bounds of a measure of verdicts, which scores keep from their evaluation."""
    require(max_grade is None, "max_grade is about unjudged documents, not about labels", "Leave it out.")
    name = scores.column_name(measure)
    value = scores.column(name)
    known = scores.label_bounds.get(name)
    if known is None and np.isnan(value).any():
        hint = 'Evaluate again with unknown="bounds"; scores that were saved as CSV have none.'
        raise KaratError(f"these scores have no bounds of {name}", hint=hint)
    bounds = known or QueryBounds.exactly(value, value)
    return Bounds(name, scores.queries, bounds, value, bounds.lacking(value).astype(np.int64), None)


def _check_effect(measure: Measure) -> None:
    """Reject a measure whose definition does not say how unjudged documents affect it."""
    definition = measure.definition
    effect: object = measure.unjudged
    if effect is not None:
        check_choice(f"{measure}: unjudged", effect, get_args(Effect))
        return
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
    grade = as_number(given)
    if grade is None or not 0 < grade < math.inf:
        what = f"max_grade={shown(given)} is not the grade of a relevant document"
        raise KaratError(what, hint="Use a number above 0.")
    require(
        grade >= largest,
        f"max_grade={format_value(grade)} is below the largest grade in the ground truth, {format_value(largest)}",
        f"Use {format_value(largest)} or more, or leave it out.",
    )
    return grade


def _check_repeats(evidence: Evidence) -> None:
    """Reject unjudged documents at several ranks: the gradings that give the lowest and highest value are unknown."""
    judged, truth = evidence.judged, evidence.truth
    found = evidence.repeated_unjudged
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
            place=f"{evidence.run.name}, query {query}",
            hint="Remove the repeated documents from the run, or judge them.",
        )


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
