"""Judgment groups in a ranked run: as queries of their own, or as the preferences that their grades express."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from karat.data.judged import Bools, Floats, Ints, Judged, distinct, stretches
from karat.data.preferences import PreferenceGroup, Preferences
from karat.errors import KaratError, Place, shown
from karat.reading.pairs.judgment_groups import JudgmentGroups

# What fits into memory.
_MOST_PREFERENCES = 1 << 24
_MOST_IN_SUBGROUPS = 1 << 12


def judged_by_group(judgments: JudgmentGroups, ranked: Judged) -> Judged:
    """The groups as queries, each with the run of its query; `ranked` contains the ranks of `judgments.truth`."""
    rank = _ranks(ranked)[judgments.gold]
    hits = rank.nonzero()[0]
    return Judged.from_hits(
        queries=judgments.groups,
        in_run=ranked.in_run[judgments.group_query],
        retrieved=ranked.retrieved[judgments.group_query],
        hit_query=judgments.group[hits],
        hit_rank=rank[hits],
        hit_gold=hits,
        gold_grade=judgments.grade,
        gold_offsets=stretches(judgments.group),
    )


def preferences_by_group(judgments: JudgmentGroups, ranked: Judged) -> Preferences:
    """The preferences that grades express: within a subgroup, documents are preferred to those with lower grades.

    If a group has several subgroups, its preferences are a partial order: a is preferred to c if it is preferred to b,
    and b to c. It is an error if they contradict each other.
    """
    rank = _ranks(ranked)
    # The retrieved documents in the order of their ranks, then the others, whose ids are sorted.
    order = np.lexsort((rank, rank == 0, ranked.gold_query))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - ranked.gold_offsets[ranked.gold_query[order]]
    groups = tuple(_group(judgments, places, *bounds) for bounds in pairwise(stretches(judgments.group).tolist()))
    retrieved = np.bincount(ranked.gold_query[rank > 0], minlength=len(ranked.queries))
    return Preferences(ranked.queries, ranked.in_run, retrieved, groups)


def _ranks(ranked: Judged) -> Ints:
    """The rank of each judged document; 0 if it is not retrieved."""
    ranks = np.zeros(len(ranked.gold_grade), np.int64)
    ranks[ranked.hit_gold] = ranked.hit_rank
    return ranks


def _group(judgments: JudgmentGroups, places: Ints, start: int, stop: int) -> PreferenceGroup:
    """The preferences of a group, whose judgments are these rows."""
    query = int(judgments.group_query[judgments.group[start]])
    if judgments.subgroup[start] != judgments.subgroup[stop - 1]:
        golds, grades, preferred = _partial_order(judgments, start, stop)
        order = places[golds].argsort()
        return PreferenceGroup(query, places[golds[order]], grades[order], preferred[order][:, order])
    where = places[judgments.gold[start:stop]]
    order = where.argsort()
    group = PreferenceGroup(query, where[order], judgments.grade[start:stop][order])
    _check_size(judgments, start, group.size, _MOST_PREFERENCES, "preferences")
    return group


def _partial_order(judgments: JudgmentGroups, start: int, stop: int) -> tuple[Ints, Floats, Bools]:
    """The documents of a group with several subgroups, their grades in its last ones, and its preferences."""
    golds = distinct(judgments.gold[start:stop])
    inverse = golds.searchsorted(judgments.gold[start:stop])
    _check_size(judgments, start, len(golds), _MOST_IN_SUBGROUPS, "documents in subgroups")
    grades = np.empty(len(golds))
    preferred = np.zeros((len(golds), len(golds)), np.bool_)
    above_0, at_0 = np.zeros(len(golds), np.bool_), np.zeros(len(golds), np.bool_)
    for first, beyond in pairwise(stretches(judgments.subgroup[start:stop]).tolist()):
        rows, given = inverse[first:beyond], judgments.grade[start + first : start + beyond]
        preferred[rows[:, None], rows] |= given[:, None] > given
        grades[rows] = given
        above_0[rows] |= given > 0
        at_0[rows] |= given == 0
    if (above_0 & at_0).any():
        doc = judgments.truth.docs[golds[int((above_0 & at_0).argmax())]]
        what = f"group {_name(judgments, start)} grades document {shown(doc)} 0 in a subgroup, and above 0 in another"
        raise KaratError(what, place=_place(judgments, start), hint="0 means that a document is not relevant.")
    preferred = _transitive(preferred)
    if (conflicts := np.triu(preferred & preferred.T, 1)).any():
        one, other = (shown(judgments.truth.docs[golds[at]]) for at in np.argwhere(conflicts)[0].tolist())
        what = f"group {_name(judgments, start)} prefers document {one} to {other}, and the other way round"
        hint = "Different opinions are different groups."
        raise KaratError(what, place=_place(judgments, start), hint=hint)
    return golds, grades, preferred


def _transitive(preferred: Bools) -> Bools:
    """The same preferences, and those that follow from them."""
    while True:
        steps = preferred.astype(np.float32)
        more = preferred | (steps @ steps > 0)
        if (more == preferred).all():
            return preferred
        preferred = more


def _check_size(judgments: JudgmentGroups, row: int, size: int, most: int, what: str) -> None:
    if size > most:
        what = f"group {_name(judgments, row)} has {size:,} {what}, more than {most:,}"
        raise KaratError(what, place=_place(judgments, row), hint="Leave judgments out, or divide the group.")


def _place(judgments: JudgmentGroups, row: int) -> Place:
    return Place(judgments.name, query=_query(judgments, row))


def _query(judgments: JudgmentGroups, row: int) -> str:
    return judgments.truth.queries[int(judgments.group_query[judgments.group[row]])]


def _name(judgments: JudgmentGroups, row: int) -> str:
    return shown(judgments.groups[int(judgments.group[row])])
