"""Whether higher or lower values of a measure are better: known of karat's measures, declared of other columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from karat.errors import KaratError, Message, Parameter, did_you_mean, enumeration, require
from karat.errors.arguments import check_names
from karat.measures import meanings
from karat.scores.names import all_measures

if TYPE_CHECKING:
    from karat.scores.scores import Scores


def registered_direction(name: str) -> bool:
    """Whether higher values of a measure are better; assumed if it is not one of karat's."""
    definition = next((measure.definition for measure in meanings(name)), None)
    return definition is None or definition.higher_is_better


def with_lower_is_better(systems: Mapping[str, Scores], names: str | Iterable[str]) -> dict[str, Scores]:
    """The systems, with lower values of these columns declared to be better."""
    listed = check_names("lower_is_better", names, ["latency"])
    columns = all_measures(systems)
    for name in listed:
        if name not in columns:
            hint = f"{did_you_mean(name, columns)} The measures are {', '.join(columns)}.".strip()
            raise KaratError([Parameter("lower_is_better", name), " is not a measure of the scores"], hint=hint)
        known = meanings(name) and registered_direction(name)
        what: Message = [Parameter("lower_is_better", name), ": higher values of this measure are better"]
        require(not known, what, "Leave it out.")
    return {
        system: replace(scores, lower_is_better=scores.lower_is_better | {*listed} & {*scores.measures})
        for system, scores in systems.items()
    }


def with_same_directions(systems: Mapping[str, Scores]) -> dict[str, Scores]:
    """The systems, each with what any of them declares: files saved by another tool may declare nothing."""
    lower = frozenset(name for scores in systems.values() for name in scores.lower_is_better)
    return {name: replace(scores, lower_is_better=lower) for name, scores in systems.items()}


def unknown_directions(scores: Scores) -> list[str]:
    """A note on the measures whose direction is neither known nor declared."""
    names = [name for name in scores.measures if name not in scores.lower_is_better and not meanings(name)]
    if not names:
        return []
    are = "is not a registered measure" if len(names) == 1 else "are not registered measures"
    return [
        f"{enumeration(names, 'and')} {are}, so higher values are assumed to be better; if lower values are, use"
        " --lower-is-better (lower_is_better= in Python)."
    ]
