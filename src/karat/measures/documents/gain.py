"""Discounted cumulative gain: graded relevance that counts less at lower ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from karat.data.judged import Bools, Floats, Ints, Judged, View, log2, share
from karat.errors import KaratError
from karat.measures.documents.declarations import Credit, K
from karat.registry import Effect, Help, Measure, register
from karat.registry.names import Pairs

Gain = Annotated[Literal["linear", "exp"], Help("the gain of a grade g: g, or 2^g − 1")]
Discount = Annotated[
    Literal["log2", "jk"], Help("the divisor at rank i: log2(i + 1), or max(1, log2(i)) of Järvelin and Kekäläinen")
]
Ideal = Annotated[
    Literal["truth", "retrieved"],
    Help("the ideal ranking: the best order of all judged documents, or of those retrieved"),
]
Gains = Annotated[
    Pairs, Help("the gain of each grade, as in {1:1,2:3}; the gain of a grade that is not listed is the grade")
]
Floor = Annotated[float, Help("the lowest grade that has a gain; grades of 0 or less never do")]
# Values that differ by less, relative to their size, may be equal.
_ROUNDING = 1e-14
_DCG_EXP = {"dcg": {"log2": ("gain", "linear"), "exp-log2": ("gain", "exp")}}


def _two_gains(measure: Measure) -> str | None:
    if measure.get("gains") and measure.get("gain") != "linear":
        return "gains= and gain= both set the gain of a grade, leave one of them out"
    return None


def _conflict(measure: Measure) -> str | None:
    if measure.get("credit") == "rank" and measure.get("ideal") != "retrieved":
        return "credit=rank counts repeated documents and therefore needs ideal=retrieved"
    return _two_gains(measure)


def _unless_gains(measure: Measure, effect: Effect) -> Effect | None:
    """With `gains=`, a document of grade 0 may have a gain, and a relevant one none."""
    return None if measure.get("gains") else effect


@register(
    formula="DCG@k = Σ gain(i) / log2(i + 1) over the first k ranks i",
    reference="Järvelin and Kekäläinen (2002), Cumulated Gain-Based Evaluation of IR Techniques, TOIS 20(4)",
    bounds=(0.0, float("inf")),
    aliases=("dcg", "dcg_burges(gain=exp)"),
    graded=True,
    synonyms=_DCG_EXP,
    conflict=_two_gains,
    unjudged=lambda measure: _unless_gains(measure, "monotone"),
)
def DCG(
    judged: Judged,
    *,
    k: K | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    credit: Credit = "gold",
    rel: Floor = 0,
    gains: Gains = (),
) -> Floats:
    """Discounted cumulative gain: the sum of the retrieved grades, each discounted by its rank.

    >>> evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "x", "b"]}, ["DCG"])["DCG"]
    2.0
    """
    if gains:
        judged, rel = with_gains(judged, dict(gains), rel), 0
    return _discounted(judged.view(credit), k, gain, discount, rel)


def _ideal_gain(
    judged: Judged,
    *,
    k: int | None = None,
    gain: str = "linear",
    discount: str = "log2",
    ideal: str = "truth",
    credit: Credit = "gold",
    rel: float = 0,
) -> Floats:
    """DCG of the ideal ranking, which DCG is divided by."""
    best = judged.ideal if ideal == "truth" else _best_first(judged.view(credit))
    return _discounted(best, k, gain, discount, rel)


def _best_grades(
    judged: Judged,
    unjudged: Bools,
    max_grade: float,
    *,
    k: int | None = None,
    gain: str = "linear",
    discount: str = "log2",
    ideal: str = "truth",
    credit: Credit = "gold",
    rel: float = 0,
) -> tuple[Ints, Floats]:
    """The grades with the highest nDCG: how many of the topmost unjudged documents have one, and all these grades.

    The highest ratio of DCG to ideal DCG is the v for which DCG − v · ideal DCG is 0 at most (Dinkelbach 1967, On
    Nonlinear Fractional Programming). This difference is a sum over the levels of gain. In each level, the topmost
    documents are best; the lower a level, the more of them, because the ideal DCG rises less if more judged documents
    reach the level. So the best numbers of documents in all levels are a grading. Between two levels, the same number
    is best as in the higher one, so that no other grade is better.
    """
    hits = judged.view(credit)
    levels, step = _levels(judged.ideal if ideal == "truth" else _best_first(hits), max_grade, gain, rel)
    place = levels.place()
    # In column i: the unjudged documents at ranks 1 to i, and their DCG if their gains are 1.
    rank = np.arange(1, unjudged.shape[1] + 1)
    number: Ints = np.pad(np.cumsum(unjudged, axis=1), ((0, 0), (1, 0)))
    added: Floats = np.pad(np.cumsum(unjudged / divisor(rank, discount), axis=1), ((0, 0), (1, 0)))
    # DCG of the ideal ranking of n documents whose gains are 1, for each n.
    rank = np.arange(1, int(number.max(initial=0) + levels.rank.max(initial=0)) + 1)
    ideals = np.r_[0.0, np.cumsum(np.where(rank <= (k or len(rank)), 1 / divisor(rank, discount), 0.0))]
    known = _discounted(hits, k, gain, discount, rel) / _gain(np.array([max_grade]), gain, rel)
    value, better = np.zeros(levels.n), np.ones(levels.n, bool)
    columns, chosen = np.zeros_like(levels.rank), np.full_like(levels.rank, unjudged.shape[1])
    while True:
        total = known + levels.sum(step * added[levels.query, chosen])
        reached = share(total, levels.sum(step * ideals[number[levels.query, chosen] + levels.rank]))
        better &= reached > value * (1 + _ROUNDING)
        if not better.any():
            break
        value[better] = reached[better]
        columns = np.where(better[levels.query], chosen, columns)
        above = np.zeros(levels.n, np.int64)
        for level in range(1, int(place.max(initial=0)) + 1):
            rows = np.flatnonzero((place == level) & better[levels.query])
            query = levels.query[rows]
            lead = added[query] - value[query, None] * ideals[number[query] + levels.rank[rows, None]]
            above[query] = chosen[rows] = np.maximum(np.argmax(lead, axis=1), above[query])
    numbers = number[levels.query, columns]
    graded = np.zeros(levels.n, np.int64)
    np.maximum.at(graded, levels.query, numbers)
    return graded, np.repeat(levels.grade, numbers - np.where(place == 1, 0, np.r_[0, numbers][:-1]))


def _levels(best: View, highest: float, gain: str, rel: float) -> tuple[View, Floats]:
    """The gains of an ideal ranking, as a sum of rankings whose first gains are equal and whose other gains are 0.

    The view has a row for each gain of a query, the highest first. `rank` is the number of judged documents that have
    at least this gain, and `grade` their lowest grade; the first row is that of the highest grade that unjudged
    documents could have. Then come the differences to the next lower gains, in units of the highest gain.
    """
    query = np.r_[np.arange(best.n), best.query]
    reached = np.r_[np.zeros(best.n, np.int64), best.place()]
    grade = np.r_[np.full(best.n, highest), best.grade]
    order = np.lexsort((reached, query))
    rows = View(best.n, query[order], reached[order], grade[order])
    gains = _gain(rows.grade, gain, rel) / _gain(np.array([highest]), gain, rel)
    step = gains - np.where(np.r_[rows.query[1:] == rows.query[:-1], False], np.r_[gains[1:], 0.0], 0.0)
    return rows.where(step > 0), step[step > 0]


@register(
    formula="nDCG@k = DCG@k / DCG@k of the ideal ranking",
    reference="Järvelin and Kekäläinen (2002), Cumulated Gain-Based Evaluation of IR Techniques, TOIS 20(4)",
    aliases=("ndcg", "NDCG", "ndcg_cut@k", "ndcg_cut_", "ndcg_burges(gain=exp)", "ndcg_p(discount=jk)"),
    graded=True,
    synonyms=_DCG_EXP,
    conflict=_conflict,
    unjudged=lambda measure: _unless_gains(measure, "normalized"),
    normalizer=_ideal_gain,
    best_grades=_best_grades,
)
def nDCG(
    judged: Judged,
    *,
    k: K | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Ideal = "truth",
    credit: Credit = "gold",
    rel: Floor = 0,
    gains: Gains = (),
) -> Floats:
    """Normalized discounted cumulative gain: DCG divided by the DCG of a perfect ranking.

    The perfect ranking contains all judged documents, retrieved or not, best first; a cut-off applies to it too. With
    `ideal=retrieved` it contains only retrieved documents, so documents that were not retrieved do not lower the value.

    >>> evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "x", "b"]}, ["nDCG@10"])["nDCG@10"]
    0.7601875334318685
    """
    if gains:
        judged, rel = with_gains(judged, dict(gains), rel), 0
    of_ideal = _ideal_gain(judged, k=k, gain=gain, discount=discount, ideal=ideal, credit=credit, rel=rel)
    return share(_discounted(judged.view(credit), k, gain, discount, rel), of_ideal)


def with_gains(judged: Judged, gains: Mapping[float, float], rel: float = 0) -> Judged:
    """The gains in place of the grades; grades below `rel` have none."""
    values, place = np.unique(judged.gold_grade, return_inverse=True)
    of_value = [gains.get(grade, grade) if grade >= rel else 0.0 for grade in values.tolist()]
    return judged.regraded(np.asarray(of_value, np.float64)[place])


def _discounted(view: View, k: int | None, gain: str, discount: str, rel: float) -> Floats:
    gains = view.once(("DCG", gain, discount, rel), lambda: _discounted_gains(view, gain, discount, rel))
    total = view.sum(gains, k)
    if not total.max(initial=0.0) < np.inf:
        largest = view.top(k).grade.max()
        raise KaratError(f"the largest grade, {largest:g}, is too large for gain={gain}", hint="Scale the grades.")
    return total


def _discounted_gains(view: View, gain: str, discount: str, rel: float) -> Floats:
    with np.errstate(over="ignore"):
        return _gain(view.grade, gain, rel) / divisor(view.rank, discount)


def _gain(grade: Floats, gain: str, rel: float) -> Floats:
    grade = np.where((grade > 0) & (grade >= rel), grade, 0.0)
    return np.exp2(grade) - 1 if gain == "exp" else grade


def divisor(rank: Ints, discount: str) -> Floats:
    return log2(rank + 1) if discount == "log2" else np.maximum(1.0, log2(rank))


def _best_first(view: View) -> View:
    """The same grades, best first, from rank 1."""
    order = np.lexsort((-view.grade, view.query))
    return View(view.n, view.query[order], view.place(), view.grade[order])
