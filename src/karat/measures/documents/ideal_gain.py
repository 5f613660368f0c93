"""Gain compared with that of the ideal ranking at several ranks, as in trec_eval."""

from __future__ import annotations

import math

import numpy as np

from karat.data.judged import Bools, Floats, Ints, Judged, View, log2, share
from karat.errors import KaratError
from karat.measures.documents.declarations import TREC_EVAL, Rel
from karat.measures.documents.gain import Gains, divisor, with_gains
from karat.registry import register
from karat.registry.names import Pairs

_ANY_GAIN = math.ulp(0.0)


@register(
    formula="binG = (1/R) Σ 1 / log2(2 + the non-relevant ranks above) over the ranks of relevant documents",
    reference=TREC_EVAL,
    aliases=("bing",),
)
def binG(judged: Judged, *, rel: Rel = 1) -> Floats:
    """Binary G: what a relevant document counts falls with the number of other documents above it.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "y", "b"]}, ["binG"])["binG"]
    0.75
    """
    hits = judged.by_gold.graded(rel)
    others = np.maximum(0, hits.rank - hits.place())  # below 0 if one rank has several relevant documents
    return share(hits.sum(1 / log2(2 + others)), judged.relevant(rel))


@register(
    formula="G = Σ gain(i) / log2(2 + C(i) − S(i)) / Σ I, I the gains of the ideal ranking, C(i) the sum of max(I, 1)"
    " and S(i) that of the gains down to rank i",
    reference=TREC_EVAL,
    graded=True,
)
def G(judged: Judged, *, gains: Gains = ()) -> Floats:
    """Normalized gain: what a document counts falls with the gain that the ranks above it lack.

    >>> evaluate({"q": {"a": 1, "b": 2}}, {"q": ["b", "x", "y", "a"]}, ["G"])["G"]
    0.8333333333333334
    """
    hits, best = _gaining(judged, gains)
    in_ideal = np.minimum(hits.rank, best.count()[hits.query])
    cost = _at_place(best, best.running(np.add, np.maximum(best.grade, 1)), hits.query, in_ideal) + hits.rank - in_ideal
    lacking = np.maximum(0, cost - hits.running(np.add, hits.grade))
    return share(hits.sum(hits.grade / log2(2 + lacking)), best.sum(best.grade))


@register(
    formula="nDCG_rel = the mean of DCG@i / ideal DCG@i over the documents with a gain, i the rank of each; for those"
    " that were not retrieved, it is nDCG",
    reference=TREC_EVAL,
    graded=True,
    aliases=("ndcg_rel",),
)
def nDCG_rel(judged: Judged, *, gains: Gains = ()) -> Floats:
    """nDCG averaged over the ranks of the relevant documents, so that it depends less on where it is measured.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a"]}, ["nDCG_rel"])["nDCG_rel"]
    0.8065735963827292
    """
    hits, best = _gaining(judged, gains)
    gained, ideal = _discounted(hits), _discounted(best)
    relevant = best.count()
    place = np.minimum(hits.rank, relevant[hits.query])
    found = hits.running(np.add, gained) / _at_place(best, best.running(np.add, ideal), hits.query, place)
    lost = share((relevant - hits.count()) * hits.sum(gained), best.sum(ideal))
    return share(hits.sum(found) + lost, relevant)


@register(
    formula="RnDCG = the mean of DCG@i / ideal DCG@i over the ranks i after which the ideal gain falls; and nDCG once"
    " more, if at least two ranks follow the last of them; 0 if R = 0",
    reference=TREC_EVAL,
    graded=True,
    aliases=("Rndcg",),
)
def RnDCG(judged: Judged, *, rel: Rel = 1, gains: Gains = ()) -> Floats:
    """nDCG averaged over the ranks at which a perfect ranking would go on to lower gains.

    >>> evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, ["RnDCG"])["RnDCG"]
    0.6798593499260985
    """
    hits, best = _gaining(judged, gains)
    gained, ideal = _discounted(hits), _discounted(best)
    is_last = _last_of_level(best)
    levels = best.where(is_last)
    at_level = _down_to(hits, hits.running(np.add, gained), levels) / best.running(np.add, ideal)[is_last]
    relevant = best.count()
    goes_on = (relevant > 0) & (judged.retrieved >= relevant + 2)
    total = levels.sum(at_level) + np.where(goes_on, share(hits.sum(gained), best.sum(ideal)), 0.0)
    return share(total * (judged.relevant(rel) > 0), levels.count() + goes_on)


def _gaining(judged: Judged, gains: Pairs) -> tuple[View, View]:
    """The ranks with a gain, and those of the ideal ranking, with gains in place of grades."""
    judged = with_gains(judged, dict(gains)) if gains else judged
    best = judged.ideal.graded(_ANY_GAIN)
    with np.errstate(over="ignore"):
        total = best.sum(np.maximum(best.grade, 1)).max(initial=0)
    if not total < np.inf:
        raise KaratError(f"the largest grade, {best.grade.max():g}, is too large", hint="Scale the grades.")
    return judged.by_gold.graded(_ANY_GAIN), best


def _discounted(view: View) -> Floats:
    return view.once("discounted", lambda: view.grade / divisor(view.rank, "log2"))


def _at_place(view: View, values: Floats, query: Ints, place: Ints) -> Floats:
    """The values of rows, given by their queries and their places among the rows of these."""
    first = np.cumsum(view.count()) - view.count()
    chosen: Floats = values[first[query] + place - 1]
    return chosen


def _last_of_level(best: View) -> Bools:
    """Whether a row of an ideal ranking is the last one with its gain."""
    last = np.ones(len(best.query), bool)
    last[:-1] = (best.query[1:] != best.query[:-1]) | (best.grade[1:] != best.grade[:-1])
    return last


def _down_to(hits: View, running: Floats, ranks: View) -> Floats:
    """What has been added up over the hits down to these ranks."""
    width = 1 + max(int(hits.rank.max(initial=0)), int(ranks.rank.max(initial=0)))
    at = np.searchsorted(hits.query * width + hits.rank, ranks.query * width + ranks.rank, side="right")
    first = np.cumsum(hits.count()) - hits.count()
    added_up: Floats = np.where(at > first[ranks.query], np.r_[0.0, running][at], 0.0)
    return added_up
