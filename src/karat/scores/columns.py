"""The columns of scores: their values, their names, and whether higher or lower values are better.

A column has the canonical name of its measure; it is also found by the name that was asked for, and by any spelling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from karat.data.judged import Floats, Ints
from karat.errors import KaratError, Message, Parameter, did_you_mean, enumeration, plural, require, shown
from karat.errors.arguments import check_names
from karat.measures import Measure, meanings
from karat.options import Names, check_choice
from karat.registry.peers import by_name
from karat.registry.registry import check_single
from karat.registry.selection import Measures, listed_measures, measure_list

if TYPE_CHECKING:
    from karat.scores.scores import Scores


def checked_columns(queries: Any, values: Any) -> dict[str, Floats]:
    """The columns as arrays of one float per query, which cannot be changed."""
    hint = "Pass the ids of the queries, and {measure: one number per query}."
    is_list = isinstance(queries, Sequence) and not isinstance(queries, str)
    if not is_list or not all(issubclass(kind, str) for kind in {*map(type, queries)}):
        raise KaratError([Parameter("queries", queries), " is not a list of ids"], hint=hint)
    if not isinstance(values, Mapping):
        raise KaratError([Parameter("values", values), " is not a mapping of measures to columns"], hint=hint)
    columns = {}
    for name, column in values.items():
        if not isinstance(name, str):
            raise KaratError(f"{shown(name)} is not the name of a measure", hint=hint)
        try:
            numbers = np.asarray(column, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise KaratError(f"the values of {name} are not numbers: {shown(column)}", hint=hint) from None
        if numbers.shape != (len(queries),):
            what = f"{name} has values of shape {numbers.shape} for {plural(len(queries), 'query')}"
            raise KaratError(what, hint=hint)
        numbers.setflags(write=False)
        columns[name] = numbers
    return columns


def checked_rows(rows: Any, count: int) -> Ints:
    """Positions of queries as an array; negative ones count from the end."""
    try:
        array = np.asarray(rows)
        valid = array.ndim == 1 and (array.dtype.kind in "iu" or not len(array))
        places = array.astype(np.int64) if valid else None
    except (TypeError, ValueError, OverflowError):
        places = None
    if places is None or ((places < -count) | (places >= count)).any():
        hint = f"Pass whole numbers from 0 to {count - 1}."
        raise KaratError([Parameter("rows", rows), f" are not positions of the {plural(count, 'query')}"], hint=hint)
    return np.where(places < 0, places + count, places)


def find_column(measure: str | Measure, columns: Collection[str], asked: Mapping[str, str]) -> str:
    """The column of a measure, in any spelling of its name; `asked` has the column of each name that was asked for."""
    measure = by_name(measure)
    if not isinstance(measure, str | Measure):
        raise KaratError(f"{shown(measure)} is not a measure", hint=f"The measures are {', '.join(columns) or 'none'}.")
    text = str(measure)
    if text in columns:
        return text
    if asked.get(text) in columns:
        return asked[text]
    canonical = [str(meaning) for meaning in meanings(text)] or [text]
    names = [name for name in canonical if name in columns] or _columns_asked_as(canonical, columns, asked)
    if len(names) > 1:
        which = " or ".join(names)
        raise KaratError(f"{text} is ambiguous: it can mean {which}", hint=f"Write {which}.")
    if names:
        return names[0]
    check_single(text)
    hint = f"{did_you_mean(canonical[0], columns)} The measures are {', '.join(columns) or 'none'}.".strip()
    raise KaratError(f"these scores have no {shown(canonical[0])}", hint=hint)


def _columns_asked_as(canonical: Collection[str], columns: Iterable[str], asked: Mapping[str, str]) -> list[str]:
    """The columns that were asked for by a name of these measures: with `rel=2`, `AP` and `map` are `AP(rel=2)`."""
    names = {name: name for name in columns} | {name: column for name, column in asked.items() if column in columns}
    matches = (column for name, column in names.items() if any(str(each) in canonical for each in meanings(name)))
    return list(dict.fromkeys(matches))


def all_measures(systems: Mapping[str, Scores]) -> tuple[str, ...]:
    """The measures that any of the systems has."""
    return tuple(dict.fromkeys(name for scores in systems.values() for name in scores.measures))


def contents_of(systems: Mapping[str, Scores]) -> str:
    """How many systems, queries and measures there are, in words."""
    queries = {query for scores in systems.values() for query in scores.queries}
    measures = all_measures(systems)
    counts = (len(systems), "system"), (len(queries), "query"), (len(measures), "measure")
    return ", ".join(plural(number, noun) for number, noun in counts)


def listed_columns(measures: Measures, systems: Mapping[str, Scores]) -> list[str | Measure]:
    """Measures one by one; a text that is the name of a column is that column, whatever it contains."""
    columns = all_measures(systems)
    listed: list[str | Measure] = []
    for measure in measure_list(measures):
        names = [measure] if measure in columns else listed_measures([measure])
        # A text without any known name is reported as a whole.
        any_known = any(str(name) in columns or meanings(str(name)) for name in names)
        listed += names if any_known else [measure]
    return listed


def with_names(scores: Scores, names: Names) -> Scores:
    """The scores to export: with the canonical names, or with the first name that each measure was asked for by.

    They have no run data, because asked names alone do not identify a measure: with `rel=2`, `P@5` is `P(rel=2)@5`.
    """
    check_choice("names", names, get_args(Names))
    if names == "canonical":
        return scores
    first = first_asked({"": scores})
    values = {first.get(column, column): numbers for column, numbers in scores.values.items()}
    new_names = {column: first.get(column, column) for column in scores.values}
    return replace(scores.without_evidence(), values=values, **renamed_columns(scores, new_names))


def renamed_columns(scores: Scores, names: Mapping[str, str]) -> dict[str, Any]:
    """What is known of some columns besides their values, by their new names."""
    known = {field: getattr(scores, field) for field in ("label_bounds", "sample_variances", "corrections")}
    return {
        field: {names[name]: each for name, each in by_column.items() if name in names}
        for field, by_column in known.items()
    }


def first_asked(systems: Mapping[str, Scores]) -> dict[str, str]:
    """The first name that each measure was asked for by."""
    names: dict[str, str] = {}
    for scores in systems.values():
        for asked, column in scores.asked.items():
            names.setdefault(column, asked)
    return names


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
