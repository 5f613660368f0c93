"""The usual mistakes and other conventions that give another score than karat's, each with its words.

What each gives is computed by the measures of the registry: see `recomputing.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from karat.data.judged import Judged
from karat.errors import KaratError
from karat.evaluation.check.recomputing import Attempt, Average, ColumnOfValues, Order, every_query, queries_of_run
from karat.options import Ties
from karat.registry import Measure, parse
from karat.registry.names import format_value
from karat.registry.selection import with_level

ALIKE = ("queries", "ideal", "found", "rel", "cut-off", "measure")
"""topics of which one is enough if several give the same value, such as cut-offs that are all below the last rank"""
CUTOFFS = (1, 3, 5, 10, 20, 50, 100, 200, 1000)
_OTHERS = (
    "nDCG", "AP", "RR", "P", "R", "Success", "F", "SetP", "relative_P", "RecallAll", "Rprec", "Bpref", "ERR", "RBP",
)  # fmt: skip


@dataclass(frozen=True)
class Mistake:
    """A way to compute another score, in words that complete `0.4123 comes out if`.

    Of one topic, only one is tried at a time. `combines` says whether it is tried together with those of other topics.
    """

    words: str
    topic: str
    attempt: Callable[[Attempt], Attempt | None]
    combines: bool = False

    def applied(self, attempt: Attempt) -> Attempt | None:
        """The same computation with this mistake; None if it cannot be made with this measure."""
        try:
            changed = self.attempt(attempt)
            return None if changed is None else replace(changed, measure=changed.measure.check())
        except KaratError:  # the measure has no such parameter, or it does not fit the others
            return None


def mistakes_of(measure: Measure, grades: Iterable[float], rel: float | None) -> Iterator[Mistake]:
    """All mistakes that can be made with a measure, the most specific first. `grades` are those of the ground truth."""
    yield from _OF_VALUES
    yield from _OF_MEASURES
    yield from _levels(measure, grades)
    yield from _OF_RANKINGS
    yield from _cutoffs(measure)
    yield from _other_measures(measure, rel)


# Which queries are averaged, and how.


def _with_relevant(column: ColumnOfValues) -> float | None:
    return column.of(column.has_relevant)


def _of_run_with_relevant(column: ColumnOfValues) -> float | None:
    return column.of(column.judged.in_run & column.has_relevant)


def _without_relevant_as_1(column: ColumnOfValues) -> float | None:
    return every_query(column._replace(values=np.where(column.has_relevant, column.values, 1.0)))


def _with_unknown(column: ColumnOfValues) -> float | None:
    return every_query(column._replace(values=np.append(column.values, np.zeros(column.unknown))))


def _all_of_run(column: ColumnOfValues) -> float | None:
    return _with_unknown(column._replace(values=column.values[column.judged.in_run]))


def _with_found(column: ColumnOfValues) -> float | None:
    return column.of(column.judged.found(column.measure.cutoff, column.level) > 0)


def _median(column: ColumnOfValues) -> float | None:
    return float(np.median(column.values)) if len(column.values) else None


def _pooled(column: ColumnOfValues) -> float | None:
    """Numerators and denominators are added up over all queries."""
    measure, judged = column.measure, column.judged
    settings = dict(measure.settings)
    if measure.name == "R":
        weights = judged.relevant(column.level)
    elif measure.name == "SetP":
        weights = judged.depth(measure.cutoff)
    elif measure.definition.normalizer is not None and settings.keys() <= _NORMALIZED_WITH:
        weights = measure.definition.normalizer(judged, **settings)
    else:
        return None
    total = float(weights.sum())
    return float((column.values * weights).sum()) / total if total else None


_NORMALIZED_WITH = {"k", "gain", "discount", "ideal", "rel", "norm", "credit", "mult"}


def _average(words: str, average: Average, *, combines: bool = False) -> Mistake:
    def change(attempt: Attempt) -> Attempt:
        # Queries that an evaluation leaves out are left out, unless that is the mistake.
        only_of_run = attempt.average is queries_of_run and average is not every_query
        return replace(attempt, average=of_run if only_of_run else average)

    def of_run(column: ColumnOfValues) -> float | None:
        return average(column.of_run)

    return Mistake(words, "queries", change, combines)


_OF_VALUES = (
    _average("queries missing from the run are left out (missing=skip)", queries_of_run, combines=True),
    _average("queries missing from the run count as 0 (missing=zero)", every_query, combines=True),
    _average("queries without relevant documents are left out", _with_relevant, combines=True),
    _average(
        "queries that are missing from the run or have no relevant documents are left out",
        _of_run_with_relevant,
        combines=True,
    ),
    _average("queries without relevant documents count as 1", _without_relevant_as_1),
    _average("queries of the run without ground truth count as 0", _with_unknown),
    _average("all queries of the run are averaged, those without ground truth as 0, and no others", _all_of_run),
    _average("queries for which nothing relevant was retrieved are left out", _with_found),
    _average("the median of the queries is taken, not the mean", _median),
    _average("numerators and denominators are added up over all queries (micro-average)", _pooled),
)


# How the measure is computed.


@dataclass(frozen=True)
class _TopOnly:
    """The run without its documents below a rank."""

    k: int

    def __call__(self, judged: Judged) -> Judged:
        return judged.top(self.k)


@dataclass(frozen=True)
class _Binary:
    """Every relevant document has grade 1, and others 0."""

    level: float

    def __call__(self, judged: Judged) -> Judged:
        return judged.regraded((judged.gold_grade >= self.level).astype(np.float64))


def _set(**settings: object) -> Callable[[Attempt], Attempt]:
    return lambda attempt: replace(attempt, measure=attempt.measure(**settings))


def _ideal_of_top(attempt: Attempt) -> Attempt | None:
    k = attempt.measure.cutoff
    return None if k is None else replace(_set(ideal="retrieved")(attempt), changes=(*attempt.changes, _TopOnly(k)))


def _ideal_without_cutoff(attempt: Attempt) -> Attempt | None:
    k = attempt.measure.cutoff
    if k is None or attempt.measure.name != "nDCG":
        return None
    return replace(_set(k=None)(attempt), changes=(*attempt.changes, _TopOnly(k)))


def _norm_of_cutoff(attempt: Attempt) -> Attempt | None:
    return None if attempt.measure.cutoff is None else _set(norm="min")(attempt)


def _found_by_rank(attempt: Attempt) -> Attempt:
    return replace(_set(norm="found", credit="rank")(attempt), order="repeated")


def _binary(attempt: Attempt) -> Attempt | None:
    floor = attempt.measure.get("rel")
    level = floor if isinstance(floor, int | float) and floor > 0 else 1
    graded = attempt.measure.definition.graded
    return replace(attempt, changes=(*attempt.changes, _Binary(level))) if graded else None


def _as(old: str, new: str) -> Callable[[Attempt], Attempt | None]:
    """A measure in place of another one, with the parameters that both have."""

    def change(attempt: Attempt) -> Attempt | None:
        measure, other = attempt.measure, parse(f"{new}@1")
        shared = {key: value for key, value in measure.settings if key in other.definition.parameters}
        return replace(attempt, measure=other(**{"k": None, **shared})) if measure.name == old else None

    return change


_OF_MEASURES = (
    Mistake("the ideal ranking has only retrieved documents", "ideal", _set(ideal="retrieved"), True),
    Mistake("the ideal ranking has only the documents that are above the cut-off", "ideal", _ideal_of_top, True),
    Mistake("the ideal ranking is not cut off", "ideal", _ideal_without_cutoff, True),
    Mistake("the gain is 2^g − 1", "gain", _set(gain="exp"), True),
    Mistake("the gain is the grade", "gain", _set(gain="linear"), True),
    Mistake("every relevant document has the same gain", "gain", _binary, True),
    Mistake("the discount is max(1, log2(i))", "discount", _set(discount="jk"), True),
    Mistake("the discount is log2(i + 1)", "discount", _set(discount="log2"), True),
    Mistake("DCG is not divided by the ideal DCG", "norm", _as("nDCG", "DCG"), True),
    Mistake("AP is divided by the number of relevant documents found", "found", _set(norm="found"), True),
    Mistake("AP is divided by the number of relevant documents", "norm", _set(norm="relevant"), True),
    Mistake("AP is divided by min(R, k)", "norm", _norm_of_cutoff, True),
    Mistake(
        "AP is divided by the number found, and a repeated document counts each time",
        "found",
        _found_by_rank,
    ),
    Mistake("recall is a hit rate, 1 for any relevant document found", "norm", _as("R", "Success"), True),
    Mistake("recall is divided by min(R, k)", "norm", _as("R", "relative_P"), True),
    Mistake("recall is 1 where all relevant documents are found, and else 0", "norm", _as("R", "RecallAll"), True),
    Mistake("the hit rate is a recall", "norm", _as("Success", "R"), True),
    Mistake("precision is divided by the number of retrieved documents", "norm", _as("P", "SetP"), True),
    Mistake("precision is divided by min(R, k)", "norm", _as("P", "relative_P"), True),
    Mistake("precision is divided by k", "norm", _as("SetP", "P"), True),
    Mistake("the mean is geometric", "mean", _as("AP", "GMAP")),
    Mistake("the mean is arithmetic", "mean", _as("GMAP", "AP")),
)


def _levels(measure: Measure, grades: Iterable[float], most: int = 6) -> Iterator[Mistake]:
    """Other grades from which documents are relevant."""
    if "rel" not in measure.definition.parameters:
        return
    for grade in [grade for grade in grades if grade >= 0 and grade != measure.get("rel")][:most]:
        words = "every judged document is relevant" if grade == 0 else f"grade {format_value(grade)} is the lowest"
        yield Mistake(f"{words}{' relevant one' if grade else ''}", "rel", _set(rel=grade), True)


# How the run is ranked.


def _rules(**rules: object) -> Callable[[Attempt], Attempt]:
    return lambda attempt: replace(attempt, rules=replace(attempt.rules, **rules))  # type: ignore[arg-type]


def _tied(words: str, ties: Ties) -> Mistake:
    return Mistake(f"documents with equal scores are ordered {words} (ties={ties})", "ties", _rules(ties=ties), True)


def _ordered(order: Order) -> Callable[[Attempt], Attempt]:
    return lambda attempt: replace(attempt, order=order)


_OF_RANKINGS = (
    Mistake("documents without judgments are removed", "judged", _set(judged_only=True), True),
    _tied("by id, descending, as in trec_eval", "trec"),
    _tied("as in the input", "input"),
    Mistake("documents with equal scores are ordered by id, ascending", "ties", _rules(ties="ascending"), True),
    _tied("with relevant documents first", "best"),
    _tied("with relevant documents last", "worst"),
    Mistake("scores are compared in single precision, as in trec_eval 9", "ties", _rules(single_precision=True), True),
    Mistake("documents whose id is that of the query are ignored", "ids", _rules(ignore_identical_ids=True), True),
    Mistake("documents whose id is that of the query are kept", "ids", _rules(ignore_identical_ids=False), True),
    Mistake("documents that are listed twice keep both ranks", "repeats", _ordered("repeated"), True),
    Mistake("documents are ranked as in the input, whatever their scores are", "order", _ordered("input")),
    Mistake("the lowest score is ranked first", "order", _ordered("reversed")),
)


# Another measure.


def _cutoffs(measure: Measure) -> Iterator[Mistake]:
    if "k" not in measure.definition.parameters:
        return
    k = measure.cutoff
    if k is not None:
        yield Mistake("the cut-off is ignored", "cut-off", _set(k=None), True)
    near = () if k is None else (k - 1, k + 1)
    for cutoff in dict.fromkeys((*near, *CUTOFFS)):
        if cutoff not in (0, k):
            words = "there is a cut-off" if k is None else "the cut-off is another one"
            yield Mistake(words, "cut-off", _set(k=cutoff))


def _other_measures(measure: Measure, rel: float | None) -> Iterator[Mistake]:
    level = measure.get("rel") if measure.get("rel") and not measure.definition.graded else rel
    for name in _OTHERS:
        for cutoff in dict.fromkeys((measure.cutoff, None)):
            try:
                other = parse(f"{name}@{cutoff}" if cutoff else name).check()
            except KaratError:
                continue
            other = with_level(other, level) if isinstance(level, int | float) else other
            if other.name != measure.name:
                change = _replaced(other)
                yield Mistake("it is the score of another measure", "measure", change)


def _replaced(measure: Measure) -> Callable[[Attempt], Attempt]:
    return lambda attempt: replace(attempt, measure=measure)
