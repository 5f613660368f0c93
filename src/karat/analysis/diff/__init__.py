"""diff(): which queries changed from one system to another, and what moved in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from karat.analysis.diff.attribution import attributed, side
from karat.analysis.evidence import Evidence
from karat.analysis.explain import label
from karat.errors import KaratError, did_you_mean, shown
from karat.judged import Floats
from karat.measures import meanings
from karat.output.tables import Table, Tabular
from karat.registry import Measure
from karat.scores import Scores
from karat.scores.combining import differences, higher_is_better, wins_ties_losses

_LABEL = 10_000


@dataclass(frozen=True)
class Move:
    """A judged document in both runs: its first rank in each, None where it was not retrieved, and its part.

    `gold` is what it was matched by, `label` its id and its text as they were given, in one line. The part says how
    much of the query's difference the document accounts for; the parts of a query, and its `rest`, add up to the
    difference. It is None for a measure that has no value for some order of the documents.
    """

    gold: str
    label: str
    grade: float
    before: int | None
    after: int | None
    how: str
    part: float | None


@dataclass(frozen=True)
class QueryDiff:
    """A query in both systems: its values, and what moved.

    `rest` is what the number of documents retrieved does, or all of the difference where the parts cannot be told.
    """

    query: str
    before: float
    after: float
    difference: float
    moves: tuple[Move, ...] = ()
    rest: float = 0.0
    answers: tuple[str | None, str | None] | None = None
    """the predicted answers, where there are some"""

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        answers = found.pop("answers")
        return found if answers is None else {**found, "answers": list(answers)}


@dataclass(frozen=True, eq=False)
class Diff(Tabular):
    """The queries that changed most from one system to another, worst losses first; print it, or read `queries`."""

    measure: str
    names: tuple[str, str]
    scores: tuple[Scores, Scores] = field(repr=False)
    n: int | None = 10
    losses: bool = False
    """whether only queries that became worse are shown"""

    @cached_property
    def differences(self) -> Floats:
        """The difference of each query; NaN where one has no value."""
        before, after = self.columns
        return differences(after, before)

    @property
    def columns(self) -> tuple[Floats, Floats]:
        return self.scores[0].values[self.measure], self.scores[1].values[self.measure]

    @cached_property
    def queries(self) -> tuple[QueryDiff, ...]:
        """The n queries that changed most, worst losses first."""
        sign = 1 if higher_is_better(self.measure) else -1
        known = np.nan_to_num(self.differences)
        if self.losses:
            known = np.where(sign * known < 0, known, 0.0)
        most = np.argsort(-np.abs(known), kind="stable")[: self.n]
        worst_first = sorted((at for at in most.tolist() if known[at]), key=lambda at: sign * known[at])
        return tuple(self._change(at) for at in worst_first)

    def __getitem__(self, query: str) -> QueryDiff:
        """What changed in a query, one of the most changed or not."""
        queries = self.scores[0].queries
        if query not in queries:
            near = did_you_mean(query, queries)
            raise KaratError(f"there is no query {shown(query)} in both systems", hint=near or None)
        at = queries.index(query)
        if np.isnan(self.differences[at]):
            raise KaratError(f"{self.measure} has no value for query {shown(query)} in both systems")
        return self._change(at)

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """How many queries are better, the same, and worse."""
        return wins_ties_losses(self.differences, self.measure)

    @property
    def cannot(self) -> str | None:
        """Why nothing can be said of documents, where that is so."""
        measure = next(iter(meanings(self.measure)), None)
        if measure is None:
            return f"{self.measure} is not a measure of karat: what moved cannot be said."
        if measure.definition.takes == "answers":
            there = all(scores.answers is not None for scores in self.scores)
            return None if there else "these scores are numbers alone: evaluate again to see the answers."
        if measure.definition.takes != "judged":
            return f"{measure.name} is of spans: no document accounts for a part of it."
        if any(scores.evidence is None for scores in self.scores):
            return "these scores are numbers alone: evaluate again to see what moved."
        return None

    def to_dict(self) -> dict[str, Any]:
        """`{"measure", "systems", "better", "same", "worse", "queries": [{"query", "difference", "moves", ...}]}`."""
        counts = dict(zip(("better", "same", "worse"), self.counts, strict=True))
        queries = [change.to_dict() for change in self.queries]
        return {"measure": self.measure, "systems": list(self.names), **counts, "queries": queries}

    def table(self) -> Table:
        from karat.analysis.diff.tables import table

        return table(self)

    def tables_of(self, query: str) -> list[Table]:
        """One query in full: every document that moved, both lists side by side, and the answers."""
        from karat.analysis.diff.tables import in_full

        return in_full(self, query)

    def __repr__(self) -> str:
        return f"<Diff on {self.measure} from {self.names[0]} to {self.names[1]}: {len(self.queries)} queries>"

    def _change(self, at: int) -> QueryDiff:
        query = self.scores[0].queries[at]
        before, after = (float(column[at]) for column in self.columns)
        measure = next(iter(meanings(self.measure)), None)
        difference = float(self.differences[at])
        if measure is None or self.cannot is not None or measure.definition.takes == "answers":
            return QueryDiff(query, before, after, difference, answers=self._answers(query, measure))
        moves, rest = _moved(measure, query, *(scores.evidence for scores in self.scores))
        return QueryDiff(query, before, after, difference, tuple(moves), rest)

    def _answers(self, query: str, measure: Measure | None) -> tuple[str | None, str | None] | None:
        """The predicted answers of both, if that is what is measured."""
        if measure is None or measure.definition.takes != "answers":
            return None
        found = []
        for scores in self.scores:
            if scores.answers is None or query not in scores.answers.queries:
                return None
            at = scores.answers.queries.index(query)
            found.append((scores.answers.predicted[at], sorted(scores.answers.golds[at])))
        (before, golds), (after, others) = found
        if golds != others:
            raise _other_truth(query)
        return before, after


def diff(
    before: Scores,
    after: Scores,
    measure: str,
    n: int | None = 10,
    names: tuple[str, str] = ("before", "after"),
    losses: bool = False,
) -> Diff:
    """The queries that changed most on a measure. Both scores have the same queries, in the same order."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        hint = "Give a whole number from 1 on, or None for all."
        raise KaratError(f"n={shown(n)} is no number of queries", hint=hint)
    name = before.only([measure]).measures[0]
    after.only([name])
    return Diff(name, names, (before, after), n, losses)


def _moved(measure: Measure, query: str, before: Evidence | None, after: Evidence | None) -> tuple[list[Move], float]:
    """What moved in a query, topmost first: relevant documents, and whatever else accounts for something."""
    if before is None or after is None:
        return [], 0.0
    one, other = before.truth.positions[query], after.truth.positions.get(query)
    order = None if other is None else _same_golds(before, one, after, other)
    if other is None or order is None:
        raise _other_truth(query)
    judged, again = before.judged_for(measure), after.judged_for(measure)
    golds = before.truth.golds(one)
    grades = judged.gold_grade[golds.start : golds.stop]
    same = np.arange(len(golds))
    moved, rest = attributed(measure, grades, side(judged, one, same), side(again, other, order))
    names = before.truth.original_documents(golds)
    threshold = measure.get("rel")
    least = threshold if isinstance(threshold, int | float) and threshold > 0 else 0
    return [
        Move(
            before.truth.docs[golds[each.gold]],
            label(names[each.gold], _LABEL),
            float(grades[each.gold]),
            min(each.before, default=None),
            min(each.after, default=None),
            _how(each.before, each.after, measure.cutoff),
            each.part,
        )
        for each in moved
        if each.part or each.part is None or (grades[each.gold] > 0 and grades[each.gold] >= least)
    ], rest


def _other_truth(query: str) -> KaratError:
    what = "the two systems were judged by different truths"
    return KaratError(what, where=f"query {query}", hint="Evaluate both by the same.")


def _same_golds(before: Evidence, one: int, after: Evidence, other: int) -> np.ndarray[Any, Any] | None:
    """Which of a query's golds in the one truth each gold of the other is; None where they are not the same ones."""
    mine, theirs = before.truth.golds(one), after.truth.golds(other)
    if before.truth is after.truth:
        return np.arange(len(mine))
    keys = [_keyed(before, mine), _keyed(after, theirs)]
    if sorted(keys[0]) != sorted(keys[1]):
        return None
    places: dict[tuple[str, float, float], list[int]] = {}
    for at, key in enumerate(keys[0]):
        places.setdefault(key, []).append(at)
    return np.array([places[key].pop(0) for key in keys[1]], np.int64)


def _keyed(evidence: Evidence, golds: range) -> list[tuple[str, float, float]]:
    """The golds of a query: what they are matched by, and what they are worth to binary and to graded measures."""
    docs: Sequence[str] = evidence.truth.docs[golds.start : golds.stop]
    worth = (evidence.truth.grades[golds.start : golds.stop], evidence.judged.gold_grade[golds.start : golds.stop])
    return list(zip(docs, *(each.tolist() for each in worth), strict=True))


def _how(before: tuple[int, ...], after: tuple[int, ...], cutoff: int | None) -> str:
    """What happened to a document, in a word or two."""
    was, became = min(before, default=None), min(after, default=None)
    top = "" if cutoff is None else f" the top {cutoff}"
    was_in, is_in = (rank is not None and (cutoff is None or rank <= cutoff) for rank in (was, became))
    if was_in != is_in:
        return f"entered{top}" if is_in else f"fell out of{top}" if top else "fell out"
    if was is None or became is None or was == became:
        return "" if not was_in else "repeated otherwise"
    return "rose" if became < was else "fell"
