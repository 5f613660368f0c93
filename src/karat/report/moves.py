"""How judged documents moved from one system to another, and what each contributed to the difference."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from karat.analysis.diff import QueryDiff, diff
from karat.measures import meanings
from karat.report.rankings import Lists
from karat.report.subject import ReportSubject, number
from karat.scores.combining import differences

_MOST_IN_PAIRS = 4
MOST_MOVES = 6_000
"""queries whose moves are computed, over all pairs of systems and measures"""

QueryMoves = dict[int, list[list[Any]]]
"""the moves of each query, by its place: the judged document, both ranks, and the contribution"""
Moves = dict[str, dict[str, QueryMoves]]


def moves(subject: ReportSubject, lists: Lists | None) -> tuple[Moves, list[str]]:
    """For each pair of systems and each measure: the moves of queries that changed, as far as the budget allows.

    A pair is named by the indices of its systems, `0>1`. The largest changes come first. The second value
    are sentences about those that are left out.
    """
    if lists is None:
        return {}, []
    names = subject.names
    pairs = _pairs(subject)
    by_pair: Moves = {}
    used = left_out = 0
    wanted = [(measure, pair) for measure in subject.measures for pair in pairs]
    for at, (measure, (one, other)) in enumerate(wanted):
        # What earlier pairs did not need is left for later ones.
        most = max((MOST_MOVES - used) // (len(wanted) - at), 0)
        by_query, skipped = _moves_of_pair(subject, lists, measure, (names[one], names[other]), most)
        used += len(by_query)
        left_out += skipped
        if by_query:
            by_pair.setdefault(f"{one}>{other}", {})[measure] = by_query
    cut = []
    if left_out:
        cut.append(
            "What documents contributed to a difference is shown for the queries that changed most;"
            " `karat diff --query QUERY` shows it for any query."
        )
    if by_pair and len(names) > _MOST_IN_PAIRS:
        cut.append(
            f"What documents contributed to a difference is shown for differences from {names[pairs[0][0]]};"
            " `karat diff` shows it for any two systems."
        )
    return by_pair, cut


def _moves_of_pair(
    subject: ReportSubject, lists: Lists, measure: str, pair: tuple[str, str], most: int
) -> tuple[QueryMoves, int]:
    """The moves of the queries that changed most between two systems, and how many queries are left out."""
    before, after = (subject.systems[name] for name in pair)
    if before.queries != after.queries or measure not in before.values or measure not in after.values:
        return {}, 0
    compared = diff(before, after, measure, None, pair)
    if compared.limitation is not None or meanings(measure)[0].definition.takes == "answers":
        return {}, 0
    changes = np.nan_to_num(differences(after.values[measure], before.values[measure]))
    largest = np.argsort(-np.abs(changes), kind="stable")[:most]
    listed = set(lists.listed)
    shown = [row for row in largest.tolist() if changes[row] and subject.places[before.queries[row]] in listed]
    by_query: QueryMoves = {}
    for query_diff in compared.query_diffs(shown):
        place = subject.places[query_diff.query]
        judged = lists.golds[place]
        golds = {} if judged is None else judged.places
        moved: list[list[Any]] = [
            [golds[move.gold], move.before, move.after, number(move.contribution)]
            for move in query_diff.moves
            if move.gold in golds
        ]
        if moved := moved + _rest(query_diff, golds):
            by_query[place] = moved
    return by_query, max(0, int((changes != 0).sum()) - len(largest))


def _rest(query_diff: QueryDiff, golds: Mapping[str, int]) -> list[list[Any]]:
    """What is not due to any of the judged documents of the report, with a text in place of a document."""
    others = [move for move in query_diff.moves if move.gold not in golds]
    rest = query_diff.unattributed + sum(move.contribution or 0.0 for move in others)
    what = "other documents" if others else "number of documents retrieved"
    if any(move.contribution is None for move in query_diff.moves):
        what = "all documents together"
    return [[what, None, None, number(rest)]] if rest else []


def _pairs(subject: ReportSubject) -> list[tuple[int, int]]:
    """All pairs of a few systems, the baseline before others; of many, the baseline with each of them."""
    first = subject.baseline or 0
    others = [system for system in range(len(subject.names)) if system != first]
    if len(subject.names) <= _MOST_IN_PAIRS:
        return list(combinations([first, *others], 2))
    return [(first, other) for other in others]
