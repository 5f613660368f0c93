"""The same queries and measures of all systems: what is not in all of them is an error, or left out and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from karat.errors import KaratError, did_you_mean, shown
from karat.options import Queries
from karat.registry import Measure
from karat.registry.selection import asked_for
from karat.scores import Scores

_SHOWN = 3
# The square of a larger one is infinite.
_LARGEST = 1e150


class Aligned(NamedTuple):
    """The systems with the same queries in the same order and the same measures, and what was left out for that."""

    systems: dict[str, Scores]
    notes: tuple[str, ...]


def align_systems(
    systems: Mapping[str, Scores], measures: str | Measure | Iterable[str | Measure] | None, queries: Queries
) -> Aligned:
    """Bring systems together by the ids of their queries; the first gives the order."""
    _refuse_what_is_no_scores(systems)
    asked = None if measures is None else asked_for(measures)
    of_same_measures, notes = _measures(systems, asked)
    first, *others = of_same_measures.values()
    there = set(first.queries).intersection(*(scores.queries for scores in others))
    if any(len(scores.queries) > len(there) for scores in of_same_measures.values()):
        if queries == "same" or not there:
            raise _not_the_same(of_same_measures, there)
        for name, scores in of_same_measures.items():
            if left := len(scores.queries) - len(there):
                notes.append(
                    f"{name}: {left:,} of {len(scores.queries):,} queries left out: not all systems have them."
                )
    order = [query for query in first.queries if query in there]
    taken = {name: _taken(scores, order) for name, scores in of_same_measures.items()}
    for name, scores in taken.items():
        refuse_the_infinite(name, scores)
    return Aligned(taken, tuple(notes))


def _refuse_what_is_no_scores(systems: object) -> None:
    hint = 'Give scores by name: {"bm25": scores, "dense": scores}.'
    if not isinstance(systems, Mapping):
        raise KaratError(f"{shown(systems)} are no systems to compare", hint=hint)
    for name, scores in systems.items():
        if not isinstance(name, str):
            raise KaratError(f"{shown(name)} is no name of a system", hint=hint)
        if not isinstance(scores, Scores):
            raise KaratError(
                f"{shown(scores)} are no scores", where=name, hint=f"Evaluate first, or use Scores.load. {hint}"
            )
        for finding in scores.findings:
            if finding.code == "missing-queries" and scores.queries and {*scores.queries} <= {*finding.queries}:
                what = "not one of the queries is in this system: it scores 0 for having no results"
                raise KaratError(what, where=name, hint="Compare the query ids: are they written alike?")
        if len(set(scores.queries)) < len(scores.queries):
            twice = next(query for query, times in Counter(scores.queries).items() if times > 1)
            raise KaratError(f"query {twice} comes twice", where=name, hint="Give each query one row.")
    if len(systems) < 2:
        raise KaratError(f"{len(systems)} system{'s' * (len(systems) != 1)} cannot be compared", hint=hint)
    if not any(scores.queries for scores in systems.values()):
        raise KaratError("there are no queries to compare systems on")


def refuse_the_infinite(name: str, scores: Scores) -> None:
    """Means and spreads of such values are no numbers any more."""
    for measure, column in scores.values.items():
        wrong = np.flatnonzero(np.abs(column) > _LARGEST)
        if len(wrong):
            value, query = column[wrong[0]], scores.queries[wrong[0]]
            hint = "Scores are finite; what could not be judged is null."
            raise KaratError(
                f"{measure} is {value:g}, which cannot be compared", where=f"{name}, query {query}", hint=hint
            )


def _measures(
    systems: Mapping[str, Scores], asked: Sequence[str | Measure] | None
) -> tuple[dict[str, Scores], list[str]]:
    """The systems with the measures asked for, or else with those that all of them have."""
    if asked is not None:
        if not asked:
            raise KaratError("no measure was asked for", hint="Ask for one, for example nDCG@10.")
        return {name: _only(scores, asked, name) for name, scores in systems.items()}, []
    first, *others = systems.values()
    common = [measure for measure in first.measures if all(measure in scores.values for scores in others)]
    if not common:
        has = "; ".join(f"{name} has {', '.join(scores.measures) or 'none'}" for name, scores in systems.items())
        raise KaratError(
            f"the systems have no measure in common: {has}", hint="Evaluate them all with the same measures."
        )
    left = {name: [one for one in scores.measures if one not in common] for name, scores in systems.items()}
    notes = [
        f"{name}: {', '.join(names)} left out: not all systems have {'it' if len(names) == 1 else 'them'}."
        for name, names in left.items()
        if names
    ]
    return {name: scores.only(common) for name, scores in systems.items()}, notes


def _only(scores: Scores, measures: Sequence[str | Measure], name: str) -> Scores:
    try:
        return scores.only(measures)
    except KaratError as error:
        raise KaratError(error.what, where=name, hint=error.hint) from None


def _taken(scores: Scores, order: Sequence[str]) -> Scores:
    if list(scores.queries) == order:
        return scores
    at = {query: row for row, query in enumerate(scores.queries)}
    return scores.take([at[query] for query in order])


def _not_the_same(systems: Mapping[str, Scores], there: set[str]) -> KaratError:
    if not there:
        ids = "; ".join(f"{name} has {_some(scores.queries)}" for name, scores in systems.items())
        return KaratError(
            f"the systems have no query in common: {ids}", hint="Compare the query ids: are they written alike?"
        )
    everything = dict.fromkeys(query for scores in systems.values() for query in scores.queries)
    lacking = []
    for name, scores in systems.items():
        known = set(scores.queries)
        if lost := [query for query in everything if query not in known]:
            lacking.append(f"{name} lacks {len(lost):,} ({_some(lost)})")
    return KaratError(
        f"the systems have different queries: {'; '.join(lacking)}",
        hint=f'Evaluate them on the same ones, or compare the {len(there):,} that all have with queries="common"'
        " (--queries common).",
    )


def _some(queries: Sequence[str]) -> str:
    return ", ".join(queries[:_SHOWN]) + (", …" if len(queries) > _SHOWN else "") or "none"


def known_system(systems: Iterable[str], name: str, what: str) -> str:
    """The name of a system, if it is one."""
    names = list(systems)
    if name not in names:
        near = did_you_mean(name, names) if isinstance(name, str) else ""
        raise KaratError(
            f"{what} {shown(name)} is none of the systems", hint=f"{near} They are {', '.join(names)}.".strip()
        )
    return name
