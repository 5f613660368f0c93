"""Measures of preferences: how often documents are ranked above others to which people prefer them."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.data.judged import Floats, share
from karat.data.preferences import AllOrBoth as _AllOrBoth
from karat.data.preferences import Compared as _Compared
from karat.data.preferences import Preferences
from karat.measures.documents.declarations import TREC_EVAL
from karat.registry import Help, register

_COUNT = (0.0, float("inf"))

Compared = Annotated[
    _Compared, Help("which preferences count: all, those with either document retrieved, or those with both retrieved")
]
AllOrBoth = Annotated[_AllOrBoth, Help("which preferences count: all, or those with both documents retrieved")]


@register(
    formula="PrefSimple = fulfilled preferences of all judgment groups / preferences of all groups",
    reference=TREC_EVAL,
    takes="preferences",
    aliases=("prefs_simp", "prefs_simp_ret(compared=both)", "prefs_simp_imp(compared=either)"),
)
def PrefSimple(preferences: Preferences, *, compared: Compared = "all") -> Floats:
    """The share of preferences that are fulfilled.

    A preference is fulfilled if the preferred document is retrieved, and the other one is ranked below it or not
    retrieved. If several groups have the same preference, it counts for each of them.

    >>> PrefSimple.compute(Preferences.of({"q": [{"a": 2, "b": 1, "c": 0, "d": 0}]}, {"q": ["b", "a"]})).tolist()
    [0.8]
    """
    counts = preferences.counts(compared)
    return share(preferences.sum(counts.fulfilled), preferences.sum(counts.possible))


@register(
    formula="PrefPair = the mean, over the pairs of documents that any judgment group compares, of"
    " groups whose preference is fulfilled / groups that prefer one of the two",
    reference=TREC_EVAL,
    takes="preferences",
    aliases=("prefs_pair", "prefs_pair_ret(compared=both)", "prefs_pair_imp(compared=either)"),
)
def PrefPair(preferences: Preferences, *, compared: Compared = "all") -> Floats:
    """The share of fulfilled preferences of each pair of documents, averaged over pairs: each pair has the same weight.

    With a single judgment group, it is PrefSimple.

    >>> groups = [{"a": 1, "b": 0}, {"a": 1, "b": 0}, {"a": 1, "c": 2}]
    >>> PrefPair.compute(Preferences.of({"q": groups}, {"q": ["a"]})).tolist()
    [0.5]
    """
    return share(*preferences.shares_of_pairs(compared))


@register(
    formula="PrefGroup = the mean, over judgment groups, of fulfilled preferences / preferences",
    reference=TREC_EVAL,
    takes="preferences",
    aliases=("prefs_avgjg", "prefs_avgjg_ret(compared=both)", "prefs_avgjg_imp(compared=either)"),
)
def PrefGroup(preferences: Preferences, *, compared: Compared = "all") -> Floats:
    """The share of fulfilled preferences of each judgment group, averaged over groups: each has the same weight.

    So one person who states many preferences has no more influence than another who states few. A group without
    preferences has the value 0.

    >>> groups = [{"a": 2, "b": 1, "c": 0}, {"a": 0, "b": 1}]
    >>> PrefGroup.compute(Preferences.of({"q": groups}, {"q": ["a", "b", "c"]})).tolist()
    [0.5]
    """
    shares = preferences.sum(share(*preferences.counts(compared)))
    return share(shares, preferences.groups_of_query)


@register(
    formula="PrefBalanced = the mean, over judgment groups, of fulfilled preferences / preferences, with as many"
    " non-relevant documents as relevant ones",
    reference=TREC_EVAL,
    takes="preferences",
    aliases=("prefs_avgjg_Rnonrel", "prefs_avgjg_Rnonrel_ret(compared=both)"),
)
def PrefBalanced(preferences: Preferences, *, compared: AllOrBoth = "all") -> Floats:
    """PrefGroup that does not depend on how many non-relevant documents were judged, as Bpref does not.

    A document is relevant if its level is above 0. Of R relevant and N non-relevant documents, only the R topmost
    non-relevant ones count. If there are fewer, every relevant document is also preferred to R - N more documents,
    which are not retrieved. If a group then has no preferences, the value of the query is 0.

    The numbers are those of trec_eval. Where all documents of a group are compared, the R topmost non-relevant
    documents are also compared with all non-relevant ones.

    >>> PrefBalanced.compute(Preferences.of({"q": [{"a": 1, "b": 1, "c": 0}]}, {"q": ["c", "a"]})).tolist()
    [0.25]
    """
    counts = preferences.balanced_counts(compared)
    with np.errstate(invalid="ignore"):
        shares = preferences.sum(counts.fulfilled / counts.possible)
    return np.where(shares > 0, share(shares, preferences.groups_of_query), 0.0)


@register(
    formula="NumPrefs = preferences of all judgment groups",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    takes="preferences",
    aliases=("prefs_num_prefs_poss",),
)
def NumPrefs(preferences: Preferences, *, compared: Compared = "all") -> Floats:
    """The number of preferences, summed over all queries.

    >>> NumPrefs.compute(Preferences.of({"q": [{"a": 1, "b": 0}, {"a": 0, "b": 1}]}, {"q": ["a"]})).tolist()
    [2.0]
    """
    return preferences.sum(preferences.counts(compared).possible)


@register(
    formula="NumPrefsFulfilled = fulfilled preferences of all judgment groups",
    reference=TREC_EVAL,
    bounds=_COUNT,
    combine="sum",
    takes="preferences",
    aliases=("prefs_num_prefs_ful", "prefs_num_prefs_ful_ret(compared=both)"),
)
def NumPrefsFulfilled(preferences: Preferences, *, compared: Compared = "all") -> Floats:
    """The number of preferences that are fulfilled, summed over all queries.

    >>> NumPrefsFulfilled.compute(Preferences.of({"q": [{"a": 1, "b": 0}, {"a": 0, "b": 1}]}, {"q": ["a"]})).tolist()
    [1.0]
    """
    return preferences.sum(preferences.counts(compared).fulfilled)
