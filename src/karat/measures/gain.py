"""Discounted cumulative gain: graded relevance that counts less at lower ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from karat.errors import KaratError
from karat.judged import Floats, Ints, Judged, View, place_in_query, share
from karat.measures.settings import Credit, K
from karat.measures.unjudged import Gradings
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
# With more different gains in a query than this, a Fourier transform is faster than a sum of rankings of equal gains.
_MANY_GAINS = 64
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
        judged, rel = _with_gains(judged, dict(gains), rel), 0
    return _discounted(judged.view(credit), k, gain, discount, rel)


def _normalized_gains(
    gradings: Gradings,
    *,
    k: int | None = None,
    gain: str = "linear",
    discount: str = "log2",
    ideal: str = "truth",
    credit: Credit = "gold",
    rel: float = 0,
) -> Floats:
    """nDCG of each grading. In the ideal ranking, the documents that become relevant come first: none is better."""
    found = gradings.judged.view(credit)
    best = gradings.judged.ideal if ideal == "truth" else _best_first(found)
    new = _gain(np.array([gradings.grade]), gain, rel)
    total = _discounted(found, k, gain, discount, rel)[:, None] + gradings.running(
        gradings.unjudged * new / _divisor(gradings.rank, discount)
    )
    return share(total, _ideal_gains(best, _gain(best.grade, gain, rel), float(new[0]), gradings.relevant, k, discount))


def _ideal_gains(best: View, gains: Floats, new: float, added: Ints, k: int | None, discount: str) -> Floats:
    """DCG of the ideal ranking after `added` documents with the gain `new` were put before it, for each query.

    A ranking whose first n gains are 1 has the DCG `sums[n]`; every ranking is a weighted sum of such rankings.
    """
    place = best.place()
    lengths = np.arange(1, int(added.max(initial=0) + place.max(initial=0)) + 1)
    sums = np.r_[0.0, np.cumsum(np.where(lengths <= (k or len(lengths)), 1 / _divisor(lengths, discount), 0.0))]
    highest = np.zeros(best.n)
    highest[best.query[place == 1]] = gains[place == 1]
    total: Floats = (new - highest)[:, None] * sums[added]
    last = np.r_[best.query[1:] != best.query[:-1], True][: len(gains)]
    falls = gains - np.where(last, 0.0, np.r_[gains[1:], 0.0][: len(gains)])
    rows = np.flatnonzero(falls > 0)
    number = place_in_query(best.query[rows])
    many = np.bincount(best.query[rows], minlength=best.n) > _MANY_GAINS
    for query in np.flatnonzero(many).tolist():
        mine = best.query == query
        weights = np.r_[new - highest[query], falls[mine]] / new
        total[query] = new * _weighted_sums(weights, sums)[added[query]]
    for each in range(1, min(int(number.max(initial=0)), _MANY_GAINS) + 1):
        some = rows[(number == each) & ~many[best.query[rows]]]
        query = best.query[some]
        total[query] += falls[some, None] * sums[added[query] + place[some, None]]
    return total


def _weighted_sums(weights: Floats, sums: Floats) -> Floats:
    """Σ weights[j] · sums[m + j] for each m. Its increase with m is computed by a fast Fourier transform."""
    steps, size = np.diff(sums), len(sums) + len(weights)
    increase = np.fft.irfft(np.fft.rfft(steps, size) * np.conj(np.fft.rfft(weights, size)), size)
    totals: Floats = np.cumsum(np.r_[weights @ sums[: len(weights)], increase[: len(sums) - len(weights)]])
    return totals


@register(
    formula="nDCG@k = DCG@k / DCG@k of the ideal ranking",
    reference="Järvelin and Kekäläinen (2002), Cumulated Gain-Based Evaluation of IR Techniques, TOIS 20(4)",
    aliases=("ndcg", "NDCG", "ndcg_cut@k", "ndcg_cut_", "ndcg_burges(gain=exp)"),
    graded=True,
    synonyms=_DCG_EXP,
    conflict=_conflict,
    unjudged=lambda measure: _unless_gains(measure, "normalized"),
    estimate=_normalized_gains,
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
        judged, rel = _with_gains(judged, dict(gains), rel), 0
    found = judged.view(credit)
    best = judged.ideal if ideal == "truth" else _best_first(found)
    return share(_discounted(found, k, gain, discount, rel), _discounted(best, k, gain, discount, rel))


def _with_gains(judged: Judged, gains: Mapping[float, float], rel: float) -> Judged:
    """The gains in place of the grades; grades below `rel` have none."""
    values, place = np.unique(judged.gold_grade, return_inverse=True)
    of_value = [gains.get(grade, grade) if grade >= rel else 0.0 for grade in values.tolist()]
    return judged.regraded(np.asarray(of_value, np.float64)[place])


def _discounted(view: View, k: int | None, gain: str, discount: str, rel: float) -> Floats:
    view = view.top(k)
    with np.errstate(over="ignore"):
        total = view.sum(_gain(view.grade, gain, rel) / _divisor(view.rank, discount))
    if not np.isfinite(total).all():
        largest = view.grade.max()
        raise KaratError(f"the largest grade, {largest:g}, is too large for gain={gain}", hint="Scale the grades.")
    return total


def _gain(grade: Floats, gain: str, rel: float) -> Floats:
    grade = np.where((grade > 0) & (grade >= rel), grade, 0.0)
    return np.exp2(grade) - 1 if gain == "exp" else grade


def _divisor(rank: Ints, discount: str) -> Floats:
    return np.log2(rank + 1) if discount == "log2" else np.maximum(1.0, np.log2(rank))


def _best_first(view: View) -> View:
    """The same grades, best first, from rank 1."""
    order = np.lexsort((-view.grade, view.query))
    return View(view.n, view.query[order], view.place(), view.grade[order])
