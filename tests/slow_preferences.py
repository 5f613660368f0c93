"""trec_eval's measures of preferences for one query, pair by pair: a slow and simple reference.

It follows the descriptions in trec_eval, and what it prints where these leave something open. It shares no code with
the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Levels = Mapping[str, float]
Pair = tuple[str, str]
Group = Sequence[Levels]
"""The subgroups of a judgment group, sorted by name, each with the levels of its documents."""


def values(groups: Sequence[Group], ranked: Sequence[str]) -> dict[str, float]:
    """The value of each measure, by trec_eval's names; `groups` are sorted by name."""
    preferences = [preferences_of(group) for group in groups]
    found: dict[str, float] = {}
    for suffix, least in (("", 0), ("_imp", 1), ("_ret", 2)):
        counted = [{pair for pair in pairs if retrieved(pair, ranked) >= least} for pairs in preferences]
        fulfilled = [{pair for pair in pairs if is_fulfilled(pair, ranked)} for pairs in counted]
        sizes, successes = list(map(len, counted)), list(map(len, fulfilled))
        found[f"prefs_simp{suffix}"] = ratio(sum(successes), sum(sizes))
        found[f"prefs_avgjg{suffix}"] = sum(map(ratio, successes, sizes)) / len(groups)
        compared = {frozenset(pair) for pairs in counted for pair in pairs}
        shares = [
            ratio(sum(any(set(pair) == both for pair in pairs) for pairs in fulfilled),
                  sum(any(set(pair) == both for pair in pairs) for pairs in counted))
            for both in compared
        ]  # fmt: skip
        found[f"prefs_pair{suffix}"] = ratio(sum(shares), len(shares))
        if suffix != "_imp":
            found[f"prefs_avgjg_Rnonrel{suffix}"] = balanced(groups, preferences, ranked, only_retrieved=least == 2)
            found[f"prefs_num_prefs_ful{suffix}"] = sum(successes)
        if not suffix:
            found["prefs_num_prefs_poss"] = sum(sizes)
    return found


def preferences_of(group: Group) -> set[Pair]:
    """The pairs of a document and one to which it is preferred, and those that follow from them."""
    pairs = {(a, b) for levels in group for a in levels for b in levels if levels[a] > levels[b]}
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs |= more
    return pairs


def retrieved(pair: Pair, ranked: Sequence[str]) -> int:
    return sum(doc in ranked for doc in pair)


def is_fulfilled(pair: Pair, ranked: Sequence[str]) -> bool:
    better, other = pair
    return better in ranked and (other not in ranked or ranked.index(better) < ranked.index(other))


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def balanced(
    groups: Sequence[Group], preferences: Sequence[set[Pair]], ranked: Sequence[str], *, only_retrieved: bool
) -> float:
    shares = []
    for group, pairs in zip(groups, preferences, strict=True):
        levels = {doc: level for subgroup in group for doc, level in subgroup.items()}
        is_partial = len(group) > 1
        docs = [*(doc for doc in ranked if doc in levels), *sorted(doc for doc in levels if doc not in ranked)]
        relevant = [doc for doc in docs if levels[doc] > 0]
        others = [doc for doc in docs if (levels[doc] == 0 if is_partial else levels[doc] <= 0)]
        found = [doc for doc in relevant if doc in ranked]
        r, n = len(relevant), len(others)
        if only_retrieved:
            r, n = len(found), sum(doc in ranked for doc in others)
        counted: Iterable[Pair] = pairs
        added = r - n
        if added < 0 and is_partial:
            left_out = others[len(relevant) :]
            counted = [pair for pair in pairs if not set(pair) & set(left_out)]
        elif added < 0:
            last = [doc for doc in docs if levels[doc] == min(levels.values())]
            counted = [(a, b) for a, b in pairs if b not in last]
            counted = [*counted, *((doc, topmost) for topmost in last[:r] for doc in docs)]
        if only_retrieved:
            counted = [pair for pair in counted if retrieved(pair, ranked) == 2]
        fulfilled = sum(is_fulfilled(pair, ranked) for pair in counted) + max(0, added) * len(found)
        possible = len(list(counted)) + max(0, added) * len(relevant)
        if not possible:
            return 0.0
        shares.append(fulfilled / possible)
    return sum(shares) / len(shares)
