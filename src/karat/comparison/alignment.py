"""Alignment of systems: the same queries in the same order, the same measures, and the same ground truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from karat.errors import KaratError, Parameter, Place, did_you_mean, enumeration, first_few, plural, require
from karat.registry import Measure, meanings
from karat.registry.selection import Measures
from karat.scores import Scores
from karat.scores.columns import listed_columns, with_same_directions
from karat.scores.fingerprint import Fingerprint
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
        same = {name: _only(scores, chosen, name) for name, scores in systems.items()}
        _check_same_measures(same)
        return same, []
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


def _check_same_measures(systems: Mapping[str, Scores]) -> None:
    """Refuse systems in which a name means different measures: with `rel=2`, `P@5` is `P(rel=2)@5`."""
    first, *others = systems.items()
    for name, scores in others:
        if {*first[1].measures} != {*scores.measures}:
            measures = [", ".join(system.measures) for system in (first[1], scores)]
            what = f"the systems have different measures: {first[0]} has {measures[0]}; {name} has {measures[1]}"
            raise KaratError(what, hint="Evaluate both with the same measures.")


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
    how = f"Evaluate them on the same queries, or compare only the {plural(len(common), 'common query')}: "
    what = f"the systems have different queries: {'; '.join(lacking)}"
    return KaratError(what, hint=[how, Parameter("common_queries", True), "."])


def check_system(systems: Iterable[str], name: str, role: str) -> str:
    """The name of a system, after checking that there is a system of that name."""
    names = list(systems)
    if not isinstance(name, str) or name not in names:
        near = did_you_mean(name, names)
        hint = f"{near} The systems are {', '.join(names)}.".strip()
        raise KaratError([Parameter(role, name), " is not one of the systems"], hint=hint)
    return name


def check_same_truth(systems: Mapping[str, Scores], force: bool) -> list[str]:
    """Refuse systems that were evaluated differently; with `force`, the differences are notes.

    Other notes are about systems without a fingerprint and about different versions of karat. The systems have the
    same queries and measures.
    """
    first = next(iter(systems.values()))
    known = {name: scores.fingerprint for name, scores in systems.items() if scores.fingerprint is not None}
    takes = [{_read_by(measure) for measure in meanings(name)} for name in first.measures]
    kinds: set[str] = set().union(*takes)
    # A measure that is not registered here may have read any of the data.
    checked = kinds if all(takes) else {kind for fingerprint in known.values() for kind in fingerprint.truths}
    notes = []
    for name, fingerprint in list(known.items())[1:]:
        reference, other = next(iter(known.items()))
        if differences := other.differences(fingerprint, first.queries, checked):
            what = f"{reference} and {name} were evaluated {'; '.join(differences)}"
            if not force:
                how = "Evaluate both against the same ground truth with the same options, or compare them anyway: "
                raise KaratError(what, hint=[how, Parameter("force", True), "."])
            notes.append(f"{what}; compared anyway.")
    # Scores of unregistered measures, such as a latency, may not depend on any ground truth.
    unknown = [name for name in systems if name not in known] if kinds else []
    functions = _different_functions(systems) if "judged" in checked else []
    return notes + functions + _without_fingerprint(unknown, len(systems)) + _different_versions(known)


def _read_by(measure: Measure) -> str:
    """The data whose digests are compared for a measure."""
    return "judged" if measure.definition.takes == "pool" else measure.definition.takes


def _different_functions(systems: Mapping[str, Scores]) -> list[str]:
    """A note on systems that were matched by different functions of the same name, which is all that is saved."""
    matches = {name: scores.evidence.match for name, scores in systems.items() if scores.evidence is not None}
    first = next(iter(matches.values()), None)
    others = [name for name, match in matches.items() if match != first and str(match) == str(first)]
    if not others:
        return []
    return [f"{enumeration([next(iter(matches)), *others], 'and')} were matched by different functions named {first}."]


def check_given_truth(
    name: str, scores: Scores, digests: Mapping[str, str], place: Place | str, force: bool
) -> list[str]:
    """Refuse saved scores of documents with ids if they were evaluated against other ground truth than this one.

    `digests` are those of the ground truth, and `place` is its file. With `force`, what differs is a note.
    """
    fingerprint = scores.fingerprint
    if fingerprint is None or "judged" not in fingerprint.truths or not _matches_ids(fingerprint.match or ""):
        return []
    if by := fingerprint.options.get("grades_by"):
        return [f"the scores of {name} include labels by {by}, so whether {place} is their ground truth is not known"]
    differences = replace(fingerprint, truths={"judged": digests}).differences(fingerprint, scores.queries, {"judged"})
    if not differences:
        return []
    what = f"the scores of {name} were computed {differences[0]}"
    hint = f"Evaluate {name} against this ground truth, or leave the ground truth out: saved scores do not need it."
    require(force, what, hint, place=place)
    return [f"{what}, not against {place}"]


def _matches_ids(match: str) -> bool:
    return match.startswith(("id", "prefix")) and "normalize" not in match and "field" not in match


def _without_fingerprint(names: list[str], systems: int) -> list[str]:
    """A warning about systems without a fingerprint, if there are any."""
    if not names:
        return []
    if len(names) == systems:
        what = "the systems may have been evaluated against different ground truths"
    else:
        what = f"{enumeration(names, 'and')} may have been evaluated against another ground truth"
    return [
        f"warning: {what}: {'its' if len(names) == 1 else 'their'} scores have no fingerprint. Files that"
        " karat saves as JSON or Parquet have one."
    ]


def _different_versions(known: Mapping[str, Fingerprint]) -> list[str]:
    """A note on systems that were evaluated with different versions of karat, if they were."""
    versions: dict[str, list[str]] = {}
    for name, fingerprint in known.items():
        versions.setdefault(fingerprint.version, []).append(name)
    if len(versions) < 2:
        return []
    evaluated = "; ".join(f"{enumeration(names, 'and')} with {version}" for version, names in versions.items())
    return [f"evaluated with different versions of karat: {evaluated}."]
