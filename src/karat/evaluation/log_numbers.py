"""Numbers of a log as measures: which names mean them, which mean karat's own measures, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from karat.errors import KaratError, did_you_mean, enumeration
from karat.reading.pairs.digests import digest
from karat.reading.records.numbers import LogNumbers
from karat.reading.records.result_fields import Part
from karat.registry import Measure
from karat.registry.peers import expand_names
from karat.registry.registry import meanings
from karat.registry.selection import Rubrics, possible_measures
from karat.scores import Scores
from karat.scores.fingerprint import Fingerprint

_SUFFIX = " (log)"
_RESERVED = {"query", "run", "system"}
"""columns of karat's tables"""
_NAMED = 10  # numbers of the log that an error names
_NEEDS = {
    "documents": "ground truth", "preferences": "preferences", "answers": "gold answers and predicted answers",
    "verdicts": "labels",
}  # fmt: skip


class WhatWasRead(Protocol):
    """What decides which measures of a log can be computed: of results, or of all parts of them together."""

    @property
    def name(self) -> str: ...

    @property
    def queries(self) -> tuple[str, ...]: ...

    @property
    def parts(self) -> tuple[Part, ...]: ...

    @property
    def longest_list(self) -> int: ...

    @property
    def numbers(self) -> LogNumbers: ...


@dataclass(frozen=True)
class AskedMeasures:
    """The measures that were asked for, in order: karat's own, and numbers of the log."""

    order: Sequence[str | Measure]
    """names, and numbers by their columns"""
    own: Sequence[str | Measure] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    """the number of each column"""
    asked: Mapping[str, str] = field(default_factory=dict)
    """the column of each name that means a number"""
    notes: tuple[str, ...] = ()


def names_of_numbers(listed: Iterable[str | Measure]) -> list[str]:
    """The names that numbers of a log may have, if measures are asked for by these texts."""
    texts = [text for text in listed if isinstance(text, str)]
    names = dict.fromkeys(name for text in texts for name in (text, *expand_names(text)))
    return list(dict.fromkeys(each for name in names for each in (name, name.removesuffix(_SUFFIX))))


def possible_meanings(name: str | Measure, rubrics: Rubrics) -> list[Measure]:
    """The measures that a name can mean; none if it may only be a number of the log."""
    if isinstance(name, Measure):
        return [name]
    return [rubrics[name]] if name in rubrics else meanings(name)


def measures_to_compute(
    listed: Iterable[str | Measure], read: WhatWasRead, rubrics: Rubrics, can_be_computed: Callable[[Measure], bool]
) -> AskedMeasures:
    """What the measures that were asked for mean. One of karat's own counts before a number, if it can be computed."""
    numbers = read.numbers
    known = {*numbers.columns, *numbers.faults}
    own: list[str | Measure] = []
    chosen: list[tuple[str | Measure, str | None]] = []
    notes: list[str] = []
    for text in listed:
        for name in _names_in(text, known, rubrics):
            number = _number(name, known, rubrics, can_be_computed)
            chosen.append((name, number))
            if isinstance(name, str) and name in known and (means := possible_meanings(name, rubrics)):
                notes.append(_note(name, means[0], is_number=number is not None))
            if number is None:
                _check_name(name, read, rubrics)
                own.append(name)
            elif number in numbers.faults:
                raise numbers.faults[number]
    computed = {measure for name in own for measure in possible_meanings(name, rubrics)}
    columns = _columns((number for _, number in chosen if number is not None), computed)
    return AskedMeasures(
        [name if number is None else columns[number] for name, number in chosen],
        own,
        {column: number for number, column in columns.items()},
        {str(name): columns[number] for name, number in chosen if number is not None},
        tuple(dict.fromkeys(notes)),
    )


def with_all_numbers(own: Sequence[str], numbers: LogNumbers) -> AskedMeasures:
    """These measures of karat's own, and all numbers of a log after them."""
    computed = {measure for name in own for measure in meanings(name)}
    columns = {column: number for number, column in _columns(numbers.columns, computed).items()}
    asked = {number: column for column, number in columns.items() if not {*meanings(number)} & computed}
    return AskedMeasures([*own, *columns], own, columns, asked)


def number_scores(read: WhatWasRead, measures: AskedMeasures, name: str) -> Scores:
    """The scores of all queries: their numbers, null where a query has none."""
    columns = {column: np.array(read.numbers.columns[number]) for column, number in measures.numbers.items()}
    # Numbers do not depend on ground truth: what is the same for all logs.
    fingerprint = Fingerprint({"numbers": dict.fromkeys(read.queries, digest(()))})
    return Scores(read.queries, columns, name=name, fingerprint=fingerprint, asked=measures.asked)


def _names_in(text: str | Measure, known: set[str], rubrics: Rubrics) -> list[str | Measure]:
    """The names in a text; the name of a number may contain anything, and a text without known names is one name."""
    if isinstance(text, Measure) or text in known:
        return [text]
    names = expand_names(text)
    any_known = any(name in known or possible_meanings(name, rubrics) for name in names)
    return [*names] if any_known or len(names) == 1 else [text]


def _number(
    name: str | Measure, known: set[str], rubrics: Rubrics, can_be_computed: Callable[[Measure], bool]
) -> str | None:
    """The number of the log that a name means, if it does not mean one of karat's measures that can be computed."""
    if isinstance(name, Measure):
        return None
    if name.endswith(_SUFFIX) and name not in known and name.removesuffix(_SUFFIX) in known:
        return name.removesuffix(_SUFFIX)
    is_own = any(map(can_be_computed, possible_meanings(name, rubrics)))
    return name if name in known and not is_own else None


def _columns(numbers: Iterable[str], computed: set[Measure]) -> dict[str, str]:
    """The name of each number's column, which is never that of one of karat's measures, or of another column."""
    columns: dict[str, str] = {}
    for number in numbers:
        means = meanings(number)
        is_taken = number in _RESERVED or number in map(str, means) or not computed.isdisjoint(means)
        column = f"{number}{_SUFFIX}" if is_taken else number
        while column in (name for other, name in columns.items() if other != number):
            column += _SUFFIX
        columns[number] = column
    return columns


def _note(name: str, measure: Measure, *, is_number: bool) -> str:
    if is_number:
        needs = _NEEDS[measure.definition.subject]
        return f"{name} is the number in the log; karat's {measure} needs {needs}"
    return f"{name} is karat's {measure}; the number in the log is {name}{_SUFFIX}"


def _check_name(name: str | Measure, read: WhatWasRead, rubrics: Rubrics) -> None:
    """Reject a name that is neither that of a measure nor that of a number."""
    try:
        if isinstance(name, str):
            possible_measures(name, rubrics)
    except KaratError as error:
        if names := read.numbers.names:
            listed = _listed(names)
            error.add_hint(f"{did_you_mean(name, names)} Numbers in {read.name}: {listed}.".strip())
        raise


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return enumeration([*names[:_NAMED], *([f"{more} others"] if more > 0 else [])], "and")
