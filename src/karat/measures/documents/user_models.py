"""Measures that model a reader who goes down the ranking and stops at some rank."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.data.judged import Bools, Floats, Ints, Judged, View
from karat.errors import KaratError, Place
from karat.measures.documents.declarations import TREC_EVAL, K, Persistence, Rel, monotone
from karat.registry import Effect, Help, Measure, register
from karat.registry.names import format_value


@register(
    formula="RR@k = 1 / rank of the first relevant document; 0 if none is in the top k",
    reference="Voorhees (1999), The TREC-8 Question Answering Track Report",
    aliases=("recip_rank", "recip_rank_", "rr", "MRR", "mrr", "mrr_", "reciprocal_rank"),
    unjudged=monotone,
)
def RR(judged: Judged, *, k: K | None = None, rel: Rel = 1) -> Floats:
    """Reciprocal rank of the first relevant document, for readers who need only one.

    >>> evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"])["RR"]
    0.5
    """
    hits = judged.by_gold.graded(rel)
    first = hits.place() == 1
    return hits.sum(np.where(first, 1 / hits.rank, 0.0), k)


@register(
    formula="ERR@k = Σ (1/i) · s(i) · Π (1 − s(j)), j the ranks above i, s = (2^grade − 1) / 2^max_grade",
    reference="Chapelle et al. (2009), Expected Reciprocal Rank for Graded Relevance, CIKM",
    graded=True,
    aliases=("err",),
    unjudged=lambda _: "monotone",
)
def ERR(
    judged: Judged,
    *,
    k: K | None = None,
    max_grade: Annotated[float, Help("the highest grade of the scale", low=0, exclusive=True)] = 4,
) -> Floats:
    """Expected reciprocal rank of the document at which a reader stops; higher grades make stopping more likely.

    A grade above max_grade is an error, because the probability of stopping could exceed 1.

    >>> evaluate({"q": {"a": 4, "b": 1}}, {"q": ["b", "a"]}, ["ERR"])["ERR"]
    0.501953125
    """
    _check_grades(judged, max_grade)
    hits = judged.by_gold.top(k)
    stops = np.exp2(np.maximum(hits.grade, 0) - max_grade) - np.exp2(-float(max_grade))
    return hits.sum(stops / hits.rank * hits.product_above(1 - stops))


def _check_grades(judged: Judged, max_grade: float) -> None:
    largest = float(judged.gold_grade.max(initial=0))
    if largest > max_grade:
        raise KaratError(
            f"ERR: grade {format_value(largest)} is above max_grade={format_value(float(max_grade))}",
            place=Place(f"query {judged.queries[judged.gold_query[np.argmax(judged.gold_grade)]]}"),
            hint=f"Write ERR(max_grade={format_value(largest)}).",
        )


def _highest_of_scale(judged: Judged, unjudged: Bools, max_grade: float, **_: object) -> tuple[Ints, Floats]:
    """The grades with the highest RBP: the highest grade that does not change the scale, for all documents."""
    graded = unjudged.sum(axis=1)
    return graded, np.repeat(np.minimum(_scale(judged), max_grade), graded)


def _rescaled_unless_binary(measure: Measure) -> Effect | None:
    """The first relevant document may raise the highest grade, by which all gains are divided; others do not."""
    return "monotone_after_first" if measure.get("rel") is None else monotone(measure)


@register(
    formula="RBP = (1 − p) Σ gain(i) · p^(i−1), gain = grade / max(1, the highest grade of the query)",
    reference="Moffat and Zobel (2008), Rank-Biased Precision for Measurement of Retrieval Effectiveness, TOIS 27(1)",
    graded=True,
    aliases=("rbp(p=0.9)", "rbp_(p=?)", "rbp(p=?)@p"),
    unjudged=_rescaled_unless_binary,
    best_grades=_highest_of_scale,
)
def RBP(
    judged: Judged,
    *,
    k: K | None = None,
    p: Persistence = 0.8,
    rel: Annotated[float, Help("if set, grades of at least this have gain 1, and lower grades 0")] | None = None,
) -> Floats:
    """Rank-biased precision: a reader goes on to the next rank with probability p.

    The default of p is 0.8, as in ir_measures; trec_eval's rbp is RBP(p=0.9).

    >>> evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RBP(p=0.5)"])["RBP(p=0.5)"]
    0.25
    """
    hits = judged.by_gold.top(k)
    gain = np.maximum(hits.grade, 0) / _scale(judged)[hits.query] if rel is None else (hits.grade >= rel).astype(float)
    return (1 - p) * hits.sum(gain * _reach_probability(hits, p))


def _scale(judged: Judged) -> Floats:
    """What the grades of each query are divided by."""
    scale = np.ones(len(judged.queries))
    np.maximum.at(scale, judged.gold_query, judged.gold_grade)
    return scale


@register(
    formula="RBPResidual = p^n + (1 − p) Σ p^(i−1) over the unjudged of n retrieved ranks i; 0 if none is unjudged",
    reference=f"Moffat and Zobel (2008), TOIS 27(1); as rbp_resid: {TREC_EVAL}",
    higher_is_better=False,
    aliases=("rbp_resid(p=0.9)", "rbp_resid_(p=?)"),
)
def RBPResidual(judged: Judged, *, p: Persistence = 0.8) -> Floats:
    """Residual of RBP: how much unjudged documents, and those below the last rank, could add to RBP.

    If every retrieved document is judged, it is 0 as in trec_eval, although the ranks below could still add p^n.

    >>> evaluate({"q": {"a": 1}}, {"q": ["a", "x"]}, ["RBPResidual(p=0.5)"])["RBPResidual(p=0.5)"]
    0.5
    """
    known = judged.by_rank.graded(0)
    unjudged = judged.retrieved - known.count()
    # p^n and the weights of all n ranks add up to 1, so the residual is 1 minus the weights of the judged ranks.
    residual = 1 - (1 - p) * known.sum(_reach_probability(known, p))
    return np.where(unjudged > 0, residual, 0.0)


def _reach_probability(view: View, p: float) -> Floats:
    """The probability that the reader reaches each rank."""
    return np.power(float(p), view.rank - 1)
