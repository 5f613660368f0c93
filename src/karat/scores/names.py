"""Names of measures in scores: the canonical names of the columns, and the names that were asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from karat.errors import KaratError, did_you_mean, shown
from karat.measures import Measure, meanings
from karat.options import Names, check_choice
from karat.registry.peers import by_name
from karat.registry.registry import check_single
from karat.registry.selection import Measures, given_measures, listed_measures

if TYPE_CHECKING:
    from karat.scores.scores import Scores


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
    names = {
        **{name: name for name in columns},
        **{name: column for name, column in asked.items() if column in columns},
    }
    found = (column for name, column in names.items() if any(str(each) in canonical for each in meanings(name)))
    return list(dict.fromkeys(found))


def all_measures(systems: Mapping[str, Scores]) -> tuple[str, ...]:
    """The measures that any of the systems has."""
    return tuple(dict.fromkeys(name for scores in systems.values() for name in scores.measures))


def listed_columns(measures: Measures, systems: Mapping[str, Scores]) -> list[str | Measure]:
    """Measures one by one; a text that is the name of a column is that column, whatever it contains."""
    columns = all_measures(systems)
    listed: list[str | Measure] = []
    for each in given_measures(measures):
        names = [each] if each in columns else listed_measures([each])
        # A text without any known name is reported as a whole.
        any_known = any(str(name) in columns or meanings(str(name)) for name in names)
        listed += names if any_known else [each]
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
    bounds = {first.get(column, column): each for column, each in scores.label_bounds.items()}
    variances = {first.get(column, column): each for column, each in scores.sample_variances.items()}
    return replace(scores.without_evidence(), values=values, label_bounds=bounds, sample_variances=variances)


def first_asked(systems: Mapping[str, Scores]) -> dict[str, str]:
    """The first name that each measure was asked for by."""
    found: dict[str, str] = {}
    for scores in systems.values():
        for asked, column in scores.asked.items():
            found.setdefault(column, asked)
    return found
