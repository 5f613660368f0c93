"""Whether systems can be compared: they were evaluated against the same ground truth, with the same options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from karat.errors import KaratError, Message, Parameter, Place, enumeration, require
from karat.registry import Measure, meanings
from karat.scores import Scores
from karat.scores.fingerprint import Fingerprint

_HINT: Message = [
    "Evaluate both against the same ground truth with the same options, or compare them anyway: ",
    Parameter("force", True),
    ".",
]


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
                raise KaratError(what, hint=_HINT)
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
