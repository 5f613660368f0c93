"""The numbers in the records of a log, which another tool computed: scores, latencies, costs, counts of tokens."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from karat.errors import KaratError, Place, enumeration, first_few, plural, require, shown
from karat.reading.columns.numbers import LEAVE_EMPTY, are_row_numbers, number_of, too_large
from karat.reading.records.paths import Record, field_value
from karat.reading.shapes.scores import ScorePlaces

_SHOWN = 6  # numbers that are shown if none are asked for
_NAMED = 20  # other numbers that a note names
_CHECKED = 1000  # values of a field that show whether it is one of texts
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


def read_numbers(
    records: Sequence[tuple[Place, Record]],
    places: ScorePlaces | None,
    asked: Collection[str] | None,
    used: Collection[str],
) -> LogNumbers:
    """The numbers of records that are asked for by these names; if none are, those that are likely to be scores.

    `places` says where a tool has scores; `used` are the fields that are read as something else.
    """
    present = dict.fromkeys(name for keys in dict.fromkeys(tuple(record) for _, record in records) for name in keys)
    of_tool = _scores_of_tool(records, places) if places else {}
    top = [name for name in present if isinstance(name, str) and name not in used and name not in of_tool]
    columns: dict[str, list[float]] = {}
    faults: dict[str, KaratError] = {}
    for name in [*of_tool, *top] if asked is None else asked:
        is_known = name in of_tool or name in present or "." in name or "[" in name
        values = of_tool.get(name) or (_values(records, name, name in present) if is_known else [])
        try:
            column = _column(name, values, records, asked=asked is not None)
        except KaratError as error:
            faults[name] = error
        else:
            if column is not None:
                columns[name] = column
    if asked is not None:
        others = [] if columns.keys() >= {*asked} else [*_other_numbers(records, of_tool, top)]
        return LogNumbers(columns, faults, tuple(others))
    scores = [name for name in columns if name in of_tool or not _is_counting(name, columns[name])]
    steady = [name for name in scores if name not in of_tool and _has_constant_step(columns[name])]
    shown_first = [name for name in scores if name not in steady]
    notes = [
        *_note_on_faults(faults),
        *_note_on_others([*shown_first[_SHOWN:], *steady], "more number" if shown_first else "number"),
    ]
    return LogNumbers({name: columns[name] for name in shown_first[:_SHOWN]}, {}, tuple(scores), tuple(notes))


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


def _other_numbers(
    records: Sequence[tuple[Place, Record]], of_tool: Iterable[str], top: Iterable[str]
) -> Iterator[str]:
    """The names of numbers that could be asked for, by the first records."""
    yield from of_tool
    first = [record for _, record in records[:_EXAMPLES]]
    yield from (name for name in top if _may_be_numbers(record.get(name) for record in first))


def _column(
    name: str, values: Sequence[Any], records: Sequence[tuple[Place, Record]], *, asked: bool
) -> list[float] | None:
    """The numbers of a column; None if it has none. It is an error if only some of its values are numbers.

    True and false are numbers only if they are asked for.
    """
    if not asked and not _may_be_numbers(values):
        return None
    numbers = [number_of(value, asked) for value in values]
    known = sum(number is not None and number == number for number in numbers)
    wrong = next((at for at, number in enumerate(numbers) if number is None or too_large(number)), None)
    if wrong is None and known:
        return [number for number in numbers if number is not None]
    if wrong is None:
        require(not (asked and values), f"{shown(name)} has no value in any record", place=records[0][0].source)
        return None
    number = numbers[wrong]
    are_texts = all(isinstance(value, str) for value in islice(values, _CHECKED))
    if not asked and number is None and (not known or (are_texts and 2 * known < len(numbers))):
        return None
    problem = "is not a number" if number is None else too_large(number)
    place = records[wrong][0].inside(name)
    raise KaratError(f"{shown(values[wrong])} {problem}", place=place, hint=LEAVE_EMPTY)


def _may_be_numbers(values: Iterable[Any]) -> bool:
    """Whether any of the first values is a number."""
    first = islice((value for value in values if value is not None), _CHECKED)
    return any((number := number_of(value, truth_values=False)) is not None and number == number for value in first)


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
