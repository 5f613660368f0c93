"""Discounted cumulative gain: graded relevance that counts less at lower ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

import numpy as np

from karat.errors import KaratError
from karat.judged import Floats, Ints, Judged, View, place_in_query, ranges, share
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
    found, best = _found_and_ideal(gradings.judged, ideal, credit)
    levels = _levels(best, gradings.grade, gain, rel)
    known = _discounted(found, k, gain, discount, rel) / _gain(np.array([gradings.grade]), gain, rel)
    total = known[:, None] + gradings.running(gradings.unjudged / _divisor(gradings.rank, discount))
    return share(total, _ideal_gains(levels, gradings.relevant, _sums_of_ones(gradings, levels, k, discount)))


class _Levels(NamedTuple):
    """The gains of an ideal ranking, as a sum of rankings whose first gains are equal and whose other gains are 0.

    A row for each gain of a query, the highest first. `rank` is the number of judged documents that have at least this
    gain, `grade` their lowest grade, and `step` the difference to the next lower gain. The first row is that of the
    highest grade that unjudged documents could have, and its gain is the unit.
    """

    rows: View
    step: Floats


def _levels(best: View, highest: float, gain: str, rel: float) -> _Levels:
    query = np.r_[np.arange(best.n), best.query]
    reached = np.r_[np.zeros(best.n, np.int64), best.place()]
    grade = np.r_[np.full(best.n, highest), best.grade]
    order = np.lexsort((reached, query))
    rows = View(best.n, query[order], reached[order], grade[order])
    gains = _gain(rows.grade, gain, rel) / _gain(np.array([highest]), gain, rel)
    step = gains - np.where(np.r_[rows.query[1:] == rows.query[:-1], False], np.r_[gains[1:], 0.0], 0.0)
    return _Levels(rows.where(step > 0), step[step > 0])


def _sums_of_ones(gradings: Gradings, levels: _Levels, k: int | None, discount: str) -> Floats:
    """DCG of a ranking whose first n gains are 1 and whose other gains are 0, for each n that a level can have."""
    rank = np.arange(1, int(gradings.relevant.max(initial=0) + levels.rows.rank.max(initial=0)) + 1)
    sums: Floats = np.r_[0.0, np.cumsum(np.where(rank <= (k or len(rank)), 1 / _divisor(rank, discount), 0.0))]
    return sums


def _ideal_gains(levels: _Levels, added: Ints, sums: Floats) -> Floats:
    """DCG of the ideal ranking after `added` documents with the highest grade were put before it, for each query."""
    total = np.zeros(added.shape)
    rows, number = levels.rows, levels.rows.place()
    many = rows.count() > _MANY_GAINS
    for at in np.flatnonzero(many).tolist():
        mine = rows.query == at
        weights = np.zeros(rows.rank[mine].max() + 1)
        weights[rows.rank[mine]] = levels.step[mine]
        total[at] = _weighted_sums(weights, sums)[added[at]]
    for each in range(1, min(int(number.max(initial=0)), _MANY_GAINS) + 1):
        some = np.flatnonzero((number == each) & ~many[rows.query])
        query = rows.query[some]
        total[query] += levels.step[some, None] * sums[added[query] + rows.rank[some, None]]
    return total


def _weighted_sums(weights: Floats, sums: Floats) -> Floats:
    """Σ weights[j] · sums[m + j] for each m. Its increase with m is computed by a fast Fourier transform."""
    steps, size = np.diff(sums), len(sums) + len(weights)
    increase = np.fft.irfft(np.fft.rfft(steps, size) * np.conj(np.fft.rfft(weights, size)), size)
    totals: Floats = np.cumsum(np.r_[weights @ sums[: len(weights)], increase[: len(sums) - len(weights)]])
    return totals


def _best_grades(
    gradings: Gradings,
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
    found, best = _found_and_ideal(gradings.judged, ideal, credit)
    levels, stops = _levels(best, gradings.grade, gain, rel), _stops(gradings, discount)
    rows, sums = levels.rows, _sums_of_ones(gradings, levels, k, discount)
    known = _discounted(found, k, gain, discount, rel) / _gain(np.array([gradings.grade]), gain, rel)
    value, number = np.zeros(rows.n), np.zeros_like(rows.rank)
    better = np.ones(rows.n, bool)
    while better.any():
        chosen = _best_stops(rows, stops, value, sums)
        total = known + rows.sum(levels.step * stops.gain[chosen])
        reached = share(total, rows.sum(levels.step * sums[stops.number[chosen] + rows.rank]))
        better = reached > value * (1 + _ROUNDING)
        value[better] = reached[better]
        number = np.where(better[rows.query], stops.number[chosen], number)
    above = np.where(rows.place() == 1, 0, np.r_[0, number][:-1])
    graded = np.zeros(rows.n, np.int64)
    np.maximum.at(graded, rows.query, number)
    return graded, np.repeat(rows.grade, number - above)


class _Stops(NamedTuple):
    """The unjudged documents that can be the last ones that reach a level, for each query; first, none.

    `number` unjudged documents are at this rank and above. If their gains are 1, their DCG is `gain`.

    These are the last document of each stretch without judged documents, and the first of all. In a stretch below h
    judged ranks, document m adds 1 / log2(m + h + 1) to the DCG, and at most 1 / log2(m + n + 1) to the ideal DCG of a
    level that n judged documents reach. If n >= h, the DCG rises more. If n < h, the ratio of both rises with m: DCG −
    v · ideal DCG first falls and then rises, and is highest before or after the stretch. With discount=jk, the ratio
    rises from the second document on.
    """

    offsets: Ints
    number: Ints
    gain: Floats


def _stops(gradings: Gradings, discount: str) -> _Stops:
    unjudged = gradings.unjudged
    number = np.cumsum(unjudged, axis=1)
    gain = np.cumsum(unjudged / _divisor(gradings.rank, discount), axis=1)
    is_last = ~np.pad(unjudged[:, 1:], ((0, 0), (0, 1)))
    stops = np.pad(unjudged & (is_last | (number == 1)), ((0, 0), (1, 0)), constant_values=True)
    number, gain = (np.pad(each, ((0, 0), (1, 0)))[stops] for each in (number, gain))
    return _Stops(np.r_[0, np.cumsum(stops.sum(axis=1))], number, gain)


def _best_stops(levels: View, stops: _Stops, value: Floats, sums: Floats) -> Ints:
    """For each level, the stop with the highest DCG − value · ideal DCG.

    The middle level of each query comes first. Its stop is the lowest one for higher levels and the highest one for
    lower levels; so each half is searched in its own part of the stops.
    """
    chosen = np.zeros_like(levels.rank)
    last = np.cumsum(levels.count())
    first, top, bottom = last - levels.count(), stops.offsets[:-1], stops.offsets[1:]
    while (some := first < last).any():
        first, last, top, bottom = first[some], last[some], top[some], bottom[some]
        middle, sizes = (first + last) // 2, bottom - top
        part, stop = np.repeat(np.arange(len(middle)), sizes), ranges(top, sizes)
        ideal = sums[stops.number[stop] + levels.rank[middle][part]]
        lead = stops.gain[stop] - value[levels.query[middle]][part] * ideal
        highest = np.flatnonzero(lead == np.maximum.reduceat(lead, np.cumsum(sizes) - sizes)[part])
        stop = stop[highest[place_in_query(part[highest]) == 1]]
        chosen[middle] = stop
        first, last = np.r_[first, middle + 1], np.r_[middle, last]
        top, bottom = np.r_[top, stop], np.r_[stop + 1, bottom]
    return chosen


@register(
    formula="nDCG@k = DCG@k / DCG@k of the ideal ranking",
    reference="Järvelin and Kekäläinen (2002), Cumulated Gain-Based Evaluation of IR Techniques, TOIS 20(4)",
    aliases=("ndcg", "NDCG", "ndcg_cut@k", "ndcg_cut_", "ndcg_burges(gain=exp)"),
    graded=True,
    synonyms=_DCG_EXP,
    conflict=_conflict,
    unjudged=lambda measure: _unless_gains(measure, "normalized"),
    estimate=_normalized_gains,
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
        judged, rel = _with_gains(judged, dict(gains), rel), 0
    found, best = _found_and_ideal(judged, ideal, credit)
    return share(_discounted(found, k, gain, discount, rel), _discounted(best, k, gain, discount, rel))


def _found_and_ideal(judged: Judged, ideal: str, credit: Credit) -> tuple[View, View]:
    found = judged.view(credit)
    return found, judged.ideal if ideal == "truth" else _best_first(found)


def _with_gains(judged: Judged, gains: Mapping[float, float], rel: float) -> Judged:
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
        return _gain(view.grade, gain, rel) / _divisor(view.rank, discount)


def _gain(grade: Floats, gain: str, rel: float) -> Floats:
    grade = np.where((grade > 0) & (grade >= rel), grade, 0.0)
    return np.exp2(grade) - 1 if gain == "exp" else grade


def _divisor(rank: Ints, discount: str) -> Floats:
    return np.log2(rank + 1) if discount == "log2" else np.maximum(1.0, np.log2(rank))


def _best_first(view: View) -> View:
    """The same grades, best first, from rank 1."""
    order = np.lexsort((-view.grade, view.query))
    return View(view.n, view.query[order], view.place(), view.grade[order])
