"""The numbers in the records of a log, which another tool computed: scores, latencies, costs, counts of tokens."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple, Self

from karat.errors import KaratError, Place, enumeration, first_few, plural, require, shown
from karat.reading.columns.numbers import LEAVE_EMPTY, are_row_numbers, number_of, too_large
from karat.reading.records.first_values import FirstValues
from karat.reading.records.paths import Record, field_value
from karat.reading.shapes.scores import ScorePlaces

_SHOWN = 6  # numbers that are shown if none are asked for
_NAMED = 20  # other numbers that a note names
_EXAMPLES = 20  # records that show which fields could be asked for
_FEWEST = 5  # records in which a constant step shows that numbers count something
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_A-Za-z]+")
_COUNTING = {"id", "ids", "uuid", "idx", "index", "order", "seed", "epoch", "line", "row", "run", "version"}
_COUNTING |= {"at", "timestamp", "ts", "date", "datetime", "unix"}
_LIKE_TIMES = {"time", "start", "end", "created", "updated", "nano", "ns", "ms"}
_FIRST_TIME = 1e9  # seconds since 1970: in 2001
_SELECT = "-m NAME (measures= in Python)"


@dataclass(frozen=True)
class LogNumbers:
    """The numbers of a log: a column for each name, with a number for each record, NaN where it has none."""

    columns: dict[str, list[float]] = field(default_factory=dict)
    faults: dict[str, KaratError] = field(default_factory=dict)
    """what is wrong with fields that are not numbers in all records, for whoever asks for them"""
    names: tuple[str, ...] = ()
    """those that could be asked for, to suggest them; none if all that were asked for are there"""
    notes: tuple[str, ...] = ()


Locate = Callable[[Place], Place]
"""says where a place in a part of a file is in the whole file"""


def _here(place: Place) -> Place:
    return place


class NumberColumn(NamedTuple):
    """The values of a field as numbers, in some records. Those of several parts of the records can be merged."""

    length: int
    """the number of records"""
    numbers: Sequence[float]
    """NaN for a record without one; empty if no record has any"""
    known: int
    """how many records have a number"""
    wrong: WrongNumber | None
    """the first value that is not a number, or too large"""
    without_numbers: FirstValues
    """which of the first values, null left out, is a number"""
    texts: FirstValues
    """which of the first values is not a text"""

    @classmethod
    def of(cls, values: Sequence[Any], places: Sequence[Place], *, asked: bool) -> Self:
        """The values of some records with these places. True and false are numbers only if they are asked for."""
        numbers = [number_of(value, asked) for value in values]
        wrong = next((at for at, number in enumerate(numbers) if number is None or too_large(number)), None)
        known = sum(number is not None and number == number for number in numbers)
        return cls(
            len(values),
            array("d", [math.nan if number is None else number for number in numbers] if known else ()),
            known,
            None if wrong is None else WrongNumber.of(values[wrong], numbers[wrong], places[wrong]),
            _without_numbers(values),
            FirstValues.of(values, lambda value: isinstance(value, str)),
        )

    @classmethod
    def merged(cls, parts: Sequence[Self], locate: Sequence[Locate]) -> Self:
        """The values of all parts, in their order; `locate` says where places in the parts are in whole files."""
        known = sum(part.known for part in parts)
        numbers = [part.numbers or [math.nan] * part.length for part in parts] if known else ()
        wrong = (
            part.wrong._replace(locate=of_part)
            for part, of_part in zip(parts, locate, strict=True)
            if part.wrong is not None
        )
        return cls(
            sum(part.length for part in parts),
            [*chain.from_iterable(numbers)],
            known,
            next(wrong, None),
            FirstValues.merged(part.without_numbers for part in parts),
            FirstValues.merged(part.texts for part in parts),
        )

    def read(self, name: str, *, asked: bool) -> list[float] | None:
        """The numbers; None if there are none. It is an error if only some of the values are numbers."""
        if not asked and self.without_numbers.other is None:
            return None
        if self.wrong is None:
            return [*self.numbers] if self.known else None
        are_texts = self.texts.other is None
        if not asked and not self.wrong.problem and (not self.known or (are_texts and 2 * self.known < self.length)):
            return None
        problem = self.wrong.problem or "is not a number"
        place = self.wrong.locate(self.wrong.place).inside(name)
        raise KaratError(f"{self.wrong.value} {problem}", place=place, hint=LEAVE_EMPTY)


class WrongNumber(NamedTuple):
    """A value that is not a number (without a problem), or too large (the problem); and where it is."""

    value: str
    problem: str
    place: Place
    locate: Locate = _here

    @classmethod
    def of(cls, value: Any, number: float | None, place: Place) -> Self:
        return cls(shown(value), "" if number is None else too_large(number) or "", place)


class NumbersInRecords(NamedTuple):
    """The columns of numbers in some records, which can be merged: what `LogNumbers` are chosen from."""

    columns: Mapping[str, NumberColumn]
    """in the order in which they are shown; of fields, or of paths that lead to something"""
    of_tool: tuple[str, ...]
    """those where a tool has scores"""
    others: Mapping[str, bool]
    """the fields of the first records, and which of them could be asked for"""
    length: int
    """the number of records"""

    @classmethod
    def of(
        cls,
        records: Sequence[tuple[Place, Record]],
        places: ScorePlaces | None,
        asked: Collection[str] | None,
        used: Collection[str],
        *,
        is_part: bool = True,
    ) -> Self:
        """The numbers in records that are asked for by these names; if none are, those of all fields.

        `places` says where a tool has scores; `used` are the fields that are read as something else. Unless this
        `is_part` of the records, fields without numbers are left out.
        """
        present = dict.fromkeys(name for keys in dict.fromkeys(tuple(record) for _, record in records) for name in keys)
        of_tool = _scores_of_tool(records, places) if places else {}
        top = [name for name in present if isinstance(name, str) and name not in used and name not in of_tool]
        where = [place for place, _ in records]
        columns: dict[str, NumberColumn] = {}
        for name in [*of_tool, *top] if asked is None else asked:
            is_known = name in of_tool or name in present or "." in name or "[" in name
            values = of_tool.get(name) or (_values(records, name, name in present) if is_known else [])
            if values and (is_part or asked is not None or _may_be_numbers(values)):
                columns[name] = NumberColumn.of(values, where, asked=asked is not None)
        first = [record for _, record in records[:_EXAMPLES]]
        others = {name: asked is not None and _may_be_numbers(each.get(name) for each in first) for name in top}
        return cls(columns, tuple(of_tool), others, len(records))

    @classmethod
    def merged(cls, parts: Sequence[Self], locate: Sequence[Locate]) -> Self:
        """The numbers in the records of all parts, in their order; `locate` is that of `NumberColumn.merged`."""
        of_tool = tuple(dict.fromkeys(name for part in parts for name in part.of_tool))
        names = dict.fromkeys([*of_tool, *(name for part in parts for name in part.columns)])
        columns = {
            name: NumberColumn.merged([part.columns.get(name) or _nothing(part.length) for part in parts], locate)
            for name in names
            if any(name in part.columns for part in parts)
        }
        before = accumulate((part.length for part in parts), initial=0)
        first = [part.others for part, number in zip(parts, before, strict=False) if number < _EXAMPLES]
        others = {name: any(part.get(name) for part in first) for each in parts for name in each.others}
        return cls(columns, of_tool, others, sum(part.length for part in parts))

    def chosen(self, asked: Collection[str] | None, source: str) -> LogNumbers:
        """The numbers that are asked for by these names; if none are, those that are likely to be scores."""
        columns: dict[str, list[float]] = {}
        faults: dict[str, KaratError] = {}
        for name in self.columns if asked is None else (name for name in asked if name in self.columns):
            try:
                column = self.columns[name].read(name, asked=asked is not None)
                no_value = f"{shown(name)} has no value in any record"
                require(asked is None or column is not None, no_value, place=source)
            except KaratError as error:
                faults[name] = error
            else:
                if column is not None:
                    columns[name] = column
        if asked is not None:
            others = (
                ()
                if columns.keys() >= {*asked}
                else (*self.of_tool, *(name for name, is_number in self.others.items() if is_number))
            )
            return LogNumbers(columns, faults, others)
        return self._likely_scores(columns, faults)

    def _likely_scores(self, columns: Mapping[str, list[float]], faults: dict[str, KaratError]) -> LogNumbers:
        scores = [name for name in columns if name in self.of_tool or not _is_counting(name, columns[name])]
        steady = [name for name in scores if name not in self.of_tool and _has_constant_step(columns[name])]
        shown_first = [name for name in scores if name not in steady]
        notes = [
            *_note_on_faults(faults),
            *_note_on_others([*shown_first[_SHOWN:], *steady], "more number" if shown_first else "number"),
        ]
        return LogNumbers({name: columns[name] for name in shown_first[:_SHOWN]}, {}, tuple(scores), tuple(notes))


def read_numbers(
    records: Sequence[tuple[Place, Record]],
    places: ScorePlaces | None,
    asked: Collection[str] | None,
    used: Collection[str],
) -> LogNumbers:
    """The numbers of records that are asked for by these names; if none are, those that are likely to be scores."""
    numbers = NumbersInRecords.of(records, places, asked, used, is_part=False)
    return numbers.chosen(asked, records[0][0].source)


def _nothing(length: int) -> NumberColumn:
    """A field that no record of a part has."""
    return NumberColumn.of([None] * length, (), asked=False)


def _scores_of_tool(records: Sequence[tuple[Place, Record]], places: ScorePlaces) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for at, (place, record) in enumerate(records):
        for name, value in places.values(record, place).items():
            columns.setdefault(name, [None] * len(records))[at] = value
    return columns


def _values(records: Iterable[tuple[Place, Record]], name: str, is_top: bool) -> list[Any]:
    """The values of a field; none if the name is a path that leads to nothing."""
    if is_top:
        return [record.get(name) for _, record in records]
    values = [field_value(record, name, place) for place, record in records]
    return values if any(value is not None for value in values) else []


def _without_numbers(values: Iterable[Any]) -> FirstValues:
    """Which of the first values is a number."""
    known = (value for value in values if value is not None)
    return FirstValues.of(
        known, lambda value: (number := number_of(value, truth_values=False)) is None or number != number
    )


def _may_be_numbers(values: Iterable[Any]) -> bool:
    """Whether any of the first values is a number."""
    return _without_numbers(values).other is not None


def _is_counting(name: str, numbers: Sequence[float]) -> bool:
    """Whether numbers are plainly ids, positions, seeds or times, by their name.

    >>> _is_counting("testIdx", [0.0]), _is_counting("created_at", [5.0]), _is_counting("latencyMs", [120.0, 90.0])
    (True, True, False)
    """
    words = [word.casefold() for word in _WORD.findall(name)]
    last = words[-1] if words else ""
    if last in _LIKE_TIMES:
        return all(number >= _FIRST_TIME for number in numbers if number == number)
    return are_row_numbers(name) or last in _COUNTING or words[-2:] in (["line", "number"], ["line", "no"])


def _has_constant_step(numbers: Sequence[float]) -> bool:
    """Whether whole numbers rise or fall by the same step, as positions do; a latency may do so by chance."""
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    are_whole = all(number.is_integer() for number in numbers)
    return len(numbers) >= _FEWEST and are_whole and len(steps) == 1 and steps != {0.0}


def _note_on_faults(faults: dict[str, KaratError]) -> list[str]:
    if not faults:
        return []
    fault = next(iter(faults.values()))
    fields = "field" if len(faults) == 1 else "fields"
    are = "is not a number in all records and is" if len(faults) == 1 else "are not numbers in all records and are"
    return [f"the {fields} {first_few([*faults])} {are} not shown: {fault.place}: {fault.what}"]


def _note_on_others(names: Sequence[str], noun: str) -> list[str]:
    if not names:
        return []
    listed = [*names[:_NAMED], *([f"{len(names) - _NAMED} others"] if len(names) > _NAMED else [])]
    return [
        f"the log has {plural(len(names), noun)}, which can be selected with {_SELECT}: {enumeration(listed, 'and')}"
    ]
