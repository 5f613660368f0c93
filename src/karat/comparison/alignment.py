"""Alignment of systems: the same queries in the same order, and the same measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from karat.comparison.same_truth import check_same_truth
from karat.errors import KaratError, Parameter, Place, did_you_mean, first_few, plural, require
from karat.registry import Measure
from karat.registry.selection import Measures
from karat.scores import Scores
from karat.scores.columns import listed_columns, with_same_directions
from karat.scores.system_scores import check_systems

# The square of a larger value overflows to infinity.
_LARGEST = 1e150
_QUERY_IDS_HINT = "Check that the query ids are spelled the same way."


class Aligned(NamedTuple):
    """Systems with the same queries and measures, and notes on what was left out, and on how they were evaluated."""

    systems: dict[str, Scores]
    notes: tuple[str, ...]


def align_systems(
    systems: Mapping[str, Scores], measures: Measures | None, common_queries: bool, force: bool = False
) -> Aligned:
    """Align systems by query id; the order of the queries is that of the first system.

    Other queries than the common ones are refused, unless `common_queries` is set; so are systems that were evaluated
    against different ground truth, unless `force` is set.
    """
    _check_systems(systems)
    same_measures, notes = _with_same_measures(systems, None if measures is None else listed_columns(measures, systems))
    first, *others = same_measures.values()
    common = set(first.queries).intersection(*(scores.queries for scores in others))
    if any(len(scores.queries) > len(common) for scores in same_measures.values()):
        if not common_queries or not common:
            raise _different_queries(same_measures, common)
        for name, scores in same_measures.items():
            if left_out := len(scores.queries) - len(common):
                total = plural(len(scores.queries), "query")
                notes.append(f"{name}: {left_out:,} of {total} left out (not in all systems).")
    order = [query for query in first.queries if query in common]
    aligned = {name: _in_order(scores, order) for name, scores in same_measures.items()}
    for name, scores in aligned.items():
        check_finite(name, scores)
    return Aligned(with_same_directions(aligned), (*notes, *check_same_truth(aligned, force)))


def _check_systems(systems: Mapping[str, Scores]) -> None:
    """Check that the systems are Scores by name, at least two of them, with queries to compare."""
    check_systems(systems)
    for name, scores in systems.items():
        _check_queries(name, scores)
    hint = 'Pass scores by name: {"bm25": scores, "dense": scores}.'
    require(len(systems) > 1, f"a comparison needs at least 2 systems, got {len(systems)}", hint)
    require(any(scores.queries for scores in systems.values()), "there are no queries to compare")


def _check_queries(name: str, scores: Scores) -> None:
    for finding in scores.findings:
        if finding.code == "missing-queries" and scores.queries and {*scores.queries} <= {*finding.queries}:
            raise KaratError("the system has no results for any of the queries", place=name, hint=_QUERY_IDS_HINT)
    if len(set(scores.queries)) < len(scores.queries):
        repeated = next(query for query, times in Counter(scores.queries).items() if times > 1)
        raise KaratError(f"query {repeated} appears twice", place=name, hint="Give each query one row.")


def check_finite(name: str, scores: Scores) -> None:
    """Reject values whose mean and standard deviation would overflow."""
    for measure, column in scores.values.items():
        wrong = np.flatnonzero(np.abs(column) > _LARGEST)
        if len(wrong):
            value, query = column[wrong[0]], scores.queries[wrong[0]]
            hint = "Use finite values, and null for queries that could not be judged."
            raise KaratError(f"{measure} is {value:g}, which is too large", place=Place(name, query=query), hint=hint)


def _with_same_measures(
    systems: Mapping[str, Scores], chosen: Sequence[str | Measure] | None
) -> tuple[dict[str, Scores], list[str]]:
    """The systems with the chosen measures, or with all measures that they have in common."""
    if chosen is not None:
        require(chosen, "no measures were given", "Name at least one, for example nDCG@10.")
        return {name: _only(scores, chosen, name) for name, scores in systems.items()}, []
    first, *others = systems.values()
    common = [measure for measure in first.measures if all(measure in scores.values for scores in others)]
    if not common:
        has = "; ".join(f"{name} has {', '.join(scores.measures) or 'none'}" for name, scores in systems.items())
        raise KaratError(
            f"the systems have no measure in common: {has}", hint="Evaluate them all with the same measures."
        )
    left_out = {name: [one for one in scores.measures if one not in common] for name, scores in systems.items()}
    notes = [f"{name}: {', '.join(names)} left out (not in all systems)." for name, names in left_out.items() if names]
    return {name: scores.only(common) for name, scores in systems.items()}, notes


def _only(scores: Scores, measures: Sequence[str | Measure], name: str) -> Scores:
    try:
        return scores.only(measures)
    except KaratError as error:
        raise error.but(place=name) from None


def _in_order(scores: Scores, order: Sequence[str]) -> Scores:
    if list(scores.queries) == order:
        return scores
    at = {query: row for row, query in enumerate(scores.queries)}
    return scores.take([at[query] for query in order])


def _different_queries(systems: Mapping[str, Scores], common: set[str]) -> KaratError:
    if not common:
        ids = "; ".join(f"{name} has {first_few(scores.queries)}" for name, scores in systems.items())
        return KaratError(f"the systems have no query in common: {ids}", hint=_QUERY_IDS_HINT)
    all_queries = dict.fromkeys(query for scores in systems.values() for query in scores.queries)
    lacking = []
    for name, scores in systems.items():
        known = set(scores.queries)
        if missing := [query for query in all_queries if query not in known]:
            lacking.append(f"{name} lacks {plural(len(missing), 'query')} ({first_few(missing)})")
    return KaratError(
        f"the systems have different queries: {'; '.join(lacking)}",
        hint=[
            f"Evaluate them on the same queries, or compare only the {plural(len(common), 'common query')}: ",
            Parameter("common_queries", True),
            ".",
        ],
    )


def check_system(systems: Iterable[str], name: str, role: str) -> str:
    """The name of a system, after checking that there is a system of that name."""
    names = list(systems)
    if not isinstance(name, str) or name not in names:
        near = did_you_mean(name, names)
        hint = f"{near} The systems are {', '.join(names)}.".strip()
        raise KaratError([Parameter(role, name), " is not one of the systems"], hint=hint)
    return name
