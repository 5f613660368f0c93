"""A table of scores from a file: its query column, its columns of numbers, and the systems that its rows belong to."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Floats
from karat.errors import KaratError, Place, enumeration, require, shown
from karat.reading.columns import missing_columns
from karat.reading.columns.numbers import LARGEST, LEAVE_EMPTY, are_row_numbers, number_of, too_large
from karat.reading.columns.spellings import SPELLINGS, find_column
from karat.scores.bounds import Bounds
from karat.scores.corrections import ValuesByPeople
from karat.scores.finding import Finding
from karat.scores.fingerprint import Fingerprint
from karat.scores.sample_variance import SampleVariance
from karat.scores.scores import Scores

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_SAVE_AGAIN = "Save the scores again."


@dataclass(frozen=True)
class ScoreTable:
    """The columns of a file, where each row is, and what karat has saved about each system besides its values."""

    place: str
    columns: Mapping[str, Sequence[object]]
    place_of: Callable[[int], Place]
    about: Mapping[str, Any] = field(default_factory=dict)

    def systems(self) -> dict[str, Scores]:
        """The scores of each system by its name, which is empty if the file does not name it."""
        names = [name for name in self.columns if name not in self.saved_measures]
        query, run = query_column(names), find_column(names, "system")
        if query is None:
            raise self._without_queries(run)
        queries = self._texts(query)
        rows: dict[str, list[int]] = {name: [] for name in self.about} or ({} if run else {"": []})
        if run:
            for at, name in enumerate(self._texts(run)):
                rows.setdefault(name, []).append(at)
        else:
            require(len(rows) == 1, "the column run is missing", _SAVE_AGAIN, place=self.place)
            rows = {name: list(range(len(queries))) for name in rows}
        require(rows, "this file has no rows", place=self.place)
        values = {name: self._numbers(name) for name in self.columns if name not in (query, run)}
        return {name: self._system(name, queries, places, values) for name, places in rows.items()}

    def _system(
        self, name: str, queries: Sequence[str], rows: Sequence[int], values: Mapping[str, Floats | None]
    ) -> Scores:
        """The scores of one system, from its rows, and from what is saved about it."""
        about = self.about.get(name, {})
        findings = _findings(about.get("findings", ()), self.place)
        columns, ignored = self._columns(about, values)
        own = tuple(queries[at] for at in rows)
        if len(set(own)) < len(own):
            query, times = Counter(own).most_common(1)[0]
            of_system = f" of {name}" if name else ""
            hint = "Each query has one row."
            raise KaratError(f"query {query}{of_system} appears {times} times", place=self.place, hint=hint)
        saved = about.get("fingerprint")
        fingerprint = None if saved is None else Fingerprint.from_dict(saved, own, self.place)
        asked = _asked(about.get("asked", {}), self.place)
        if not columns.keys() <= set(asked.values()):  # the columns have the names that were asked for
            columns = {asked.get(measure, measure): column for measure, column in columns.items()}
        places = np.array(rows, np.int64)
        numbers = {measure: column[places] for measure, column in columns.items()}

        def by_column(key: str, problem: str) -> list[tuple[str, Any]]:
            """What is saved about each column, under this key."""
            data = about.get(key, {})
            require(isinstance(data, dict), problem, _SAVE_AGAIN, place=self.place)
            records = ((asked.get(measure, measure), record) for measure, record in data.items())
            return [(column, record) for column, record in records if column in numbers]

        bounds = {
            column: Bounds.from_saved(record, column, own, numbers[column], self.place)
            for column, record in by_column("bounds", "its bounds are damaged")
        }
        variances = {
            column: SampleVariance.from_dict(record, own, numbers[column], self.place)
            for column, record in by_column("judge", "the variances of its samples are damaged")
        }
        corrections = {
            column: ValuesByPeople.from_dict(column, record, own, self.place)
            for column, record in by_column("people", "the values of people are damaged")
        }
        lower = about.get("lower_is_better", [])
        valid = isinstance(lower, list) and all(isinstance(column, str) for column in lower)
        require(valid, "its lower_is_better is damaged", _SAVE_AGAIN, place=self.place)
        return Scores(
            own, numbers, (*findings, *ignored), name, fingerprint=fingerprint, asked=asked,
            lower_is_better=frozenset(lower), label_bounds=bounds, sample_variances=variances,
            corrections=corrections,
        )  # fmt: skip

    def _columns(
        self, about: Mapping[str, Any], values: Mapping[str, Floats | None]
    ) -> tuple[dict[str, Floats], list[Finding]]:
        """The columns of a system's scores, and a finding about columns that are not scores."""
        columns = {measure: column for measure, column in values.items() if column is not None}
        findings = []
        if self.saved_measures:
            for measure in about.get("measures", ()):
                problem = f"column {shown(measure)} is missing, or not numbers"
                require(measure in columns, problem, _SAVE_AGAIN, place=self.place)
            columns = {measure: columns[measure] for measure in about.get("measures", columns)}
        elif ignored := [column for column in values if column not in columns]:
            without_numbers = [column for column in ignored if not are_row_numbers(column)]
            message = f"columns without numbers are ignored: {', '.join(without_numbers)}"
            message = message if without_numbers else "the row numbers of a data frame are ignored"
            findings = [Finding("ignored-columns", message, len(ignored))]
        hint = f"The columns are {', '.join(map(shown, self.columns))}."
        require(columns or self.about, "no column contains scores", hint, place=self.place)
        return columns, findings

    @cached_property
    def saved_measures(self) -> set[str]:
        """The names of the measures, if karat has written the file."""
        return {measure for about in self.about.values() for measure in about.get("measures", ())}

    def _without_queries(self, run: str | None) -> KaratError:
        if run is not None:
            hint = "Save the values of every query: with --per-query on the command line, with `save` in Python."
            return KaratError("this is a table of means, without a column of query ids", place=self.place, hint=hint)
        others = enumeration(SPELLINGS["record_query"][0][1:], "and")
        hint = f"Rename the column of query ids to query; {others} are read too."
        return missing_columns(["query"], list(self.columns), self.place, hint=hint)

    def _texts(self, name: str) -> list[str]:
        """A column of ids or names."""
        values = self.columns[name]
        if {*map(type, values)} == {str}:  # as in a file that karat wrote: there may be millions
            return list(map(str, values))
        texts = []
        for at, value in enumerate(values):
            if isinstance(value, float) and value.is_integer():
                value = int(value)  # pandas writes whole numbers as floats if one of them is missing
            if not isinstance(value, str | int) or isinstance(value, bool):
                what = "is missing" if value is None else f"is {shown(value)}, which is not text"
                raise KaratError(f"the {name} {what}", place=self.place_of(at))
            texts.append(str(value))
        return texts

    def _numbers(self, name: str) -> Floats | None:
        """A column of numbers; None if most of its cells contain something else."""
        if are_row_numbers(name) and name not in self.saved_measures:
            return None
        values = self.columns[name]
        column = _plain_numbers(values)
        if column is None:
            numbers = [number_of(value) for value in values]
            wrong = [at for at, number in enumerate(numbers) if number is None]
            if wrong:
                known = sum(number is not None and not math.isnan(number) for number in numbers)
                is_comma = all(_DECIMAL_COMMA.fullmatch(str(values[at]).strip()) for at in wrong)
                if len(wrong) >= known and not is_comma:
                    return None
                hint = "Write numbers with a decimal point." if is_comma else LEAVE_EMPTY
                place = self.place_of(wrong[0]).inside(f"column {shown(name)}")
                raise KaratError(f"{shown(values[wrong[0]])} is not a number", place=place, hint=hint)
            column = np.array(numbers, np.float64)
        for at in np.flatnonzero(np.abs(column) > LARGEST).tolist():
            value = values[at].item() if isinstance(values, np.ndarray) else values[at]
            raise KaratError(f"{shown(value)} {too_large(column[at])}", place=self.place_of(at), hint=LEAVE_EMPTY)
        return column


def query_column(names: Iterable[str]) -> str | None:
    """The column of query ids among these columns.

    >>> query_column(["answer", "Query-ID", "latency"])
    'Query-ID'
    """
    return find_column(names, "record_query")


def column_values(column: Any, place: Place | str, is_measure: bool) -> Sequence[object]:
    """The values of an Arrow column; those that cannot be ids or numbers are described by their type."""
    import pyarrow as pa

    from karat.reading.bytes.arrow_file import decoded

    column = decoded(column, place)
    kind = column.type
    if is_measure and pa.types.is_float64(kind):  # as karat writes it; null becomes NaN
        values: Sequence[object] = column.to_numpy()
        return values
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if is_text or is_number or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return list(column.to_pylist())
    return [[str(kind)]] * len(column)


def _plain_numbers(values: Sequence[Any]) -> Floats | None:
    """A column of floats and None, or of texts that are all numbers; None if `number_of` must look at each cell."""
    if isinstance(values, np.ndarray):
        return values
    kinds = {*map(type, values)}
    if kinds <= {float, NoneType}:
        return np.array(values, np.float64)
    if kinds != {str} or any("_" in value for value in values):
        return None
    try:
        return np.array([float(value or "nan") for value in values], np.float64)
    except ValueError:
        return None


def _asked(data: Any, place: Place | str) -> dict[str, str]:
    """The names that were asked for, and the canonical name of each."""
    valid = isinstance(data, dict) and all(isinstance(text, str) for pair in data.items() for text in pair)
    require(valid, "the names of its measures are damaged", _SAVE_AGAIN, place=place)
    return dict(data)


def _findings(data: Any, place: Place | str) -> tuple[Finding, ...]:
    """Findings, from the data that their `to_dict` returned."""
    try:
        return tuple(Finding(**each) for each in data)
    except (TypeError, KaratError):
        raise KaratError("its findings are damaged", place=place, hint=_SAVE_AGAIN) from None
