"""Bounds: the lowest and the highest value that a measure could have, whatever is not known turns out to be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, Self

import numpy as np

from karat.data.judged import Bools, Floats, Ints
from karat.errors import KaratError, Place, plural, safe_line
from karat.output.printable import Printable
from karat.output.tables import DIGITS, Cell, Mark, Table
from karat.registry.names import format_value
from karat.scores.combining import combined_column

OUTER = Mark("~", "outer bound: the possible range may be narrower, but not wider", "dim", weak=True)


@dataclass(frozen=True, eq=False)
class Bounds(Printable):
    """The range of a measure over the possible grades of unjudged documents, or over all unknown labels of answers.

    `value` is the value of each query by what is known: unjudged documents count as not relevant, and it is NaN if
    labels are missing or if there is nothing to judge. `low` and `high` are its lowest and its highest possible value;
    they are NaN if there is nothing to judge. If they are not `exact`, they are safe outer bounds: the possible range
    may be narrower, but not wider. `unknown` is the number of unjudged documents that were retrieved for each query, or
    1 for a query that lacks labels. A query that is `nullable` has nothing to judge for some values of its unknown
    labels, but not for all. `max_grade` is the highest grade that unjudged documents could have; None for labels.

    >>> import karat
    >>> bounds = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"]).bounds("RR")
    >>> bounds.mean, bounds.per_query, bounds.unknown.tolist()
    ((0.5, 1.0), {'q': (0.5, 1.0)}, [1])
    """

    measure: str
    queries: tuple[str, ...]
    value: Floats
    low: Floats
    high: Floats
    exact: Bools
    unknown: Ints
    nullable: Bools
    max_grade: float | None = None

    @classmethod
    def of_labels(
        cls, measure: str, queries: tuple[str, ...], low: Floats, high: Floats, exact: Bools, nullable: Bools
    ) -> Self:
        """The bounds of a measure of labels: a query has a value if it is the same whatever the missing labels are."""
        value = np.where(exact & ~nullable & ~(low < high), low, np.nan)
        return cls(measure, queries, value, low, high, exact, (np.isnan(value) & ~np.isnan(low)).astype(int), nullable)

    @classmethod
    def of_values(cls, measure: str, queries: tuple[str, ...], values: Floats) -> Self:
        """The bounds of a measure that lacks no labels."""
        return cls.of_labels(measure, queries, values, values, np.ones(len(values), bool), np.zeros(len(values), bool))

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The values of all queries for which their mean is lowest, and those for which it is highest.

        A nullable query has nothing to judge (NaN) where its value would move the mean in the other direction.
        """
        return -with_highest_mean(-self.low, self.nullable), with_highest_mean(self.high, self.nullable)

    @property
    def mean(self) -> tuple[float | None, float | None]:
        """The lowest and the highest value over all queries, combined as the measure defines; None if none has one."""
        low, high = (combined_column(self.measure, side) for side in self.extremes)
        return low, high

    @property
    def per_query(self) -> dict[str, tuple[float, float]]:
        """The lowest and the highest value of each query."""
        return dict(zip(self.queries, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    @property
    def counted(self) -> Literal["unjudged", "unknown"]:
        """What is counted: unjudged documents, or queries with unknown labels."""
        return "unknown" if self.max_grade is None else "unjudged"

    @property
    def condition(self) -> str:
        """The condition under which the measure could have other values, in words."""
        count = int(self.unknown.sum())
        if self.max_grade is None:
            return f"whatever the missing labels of {plural(count, 'query')} are"
        return f"if the {plural(count, 'unjudged document')} were graded from 0 to {format_value(self.max_grade)}"

    def tables(self, digits: int = DIGITS) -> list[Table]:
        """A row per query, and a last row for all queries."""
        rows = tuple((Cell(str(row.pop("query"))), *self.cells(row, digits)) for row in self._records())
        header = ("query", "score", "lowest", "highest", self.counted)
        return [Table(header, rows, (f"{self.measure} {self.condition}",))]

    def cells(self, record: Mapping[str, Any], digits: int = DIGITS) -> list[Cell]:
        """The cells of a record of `to_dict`: value, lowest, highest, and how much is unknown."""
        from karat.scores.value_texts import cell_text

        numbers = (record[name] for name in ("value", "low", "high"))
        value, low, high = (cell_text(number, self.measure, digits) for number in numbers)
        mark = None if record["exact"] else OUTER
        return [Cell(value), Cell(low, mark), Cell(high, mark), Cell(f"{record[self.counted]:,}")]

    def to_dict(self) -> dict[str, Any]:
        """`{"measure", "max_grade", "value", "low", "high", "unjudged", "exact", "queries": [{"query", ...}]}`.

        For labels, `unknown` (1 for a query that lacks some) stands in place of `unjudged`, without a `max_grade`; a
        query that may have nothing to judge is `nullable`.
        """
        *queries, combined = self._records()
        del combined["query"]
        grade = {} if self.max_grade is None else {"max_grade": self.max_grade}
        return {"measure": self.measure, **grade, **combined, "queries": queries}

    def records(self) -> list[dict[str, Any]]:
        """A record per query."""
        return [*self._records()][:-1]

    def to_saved(self) -> dict[str, Any]:
        """What is saved with scores of labels: as `to_dict`, but of queries only those that lack labels."""
        document = self.to_dict()
        return {**document, "queries": [row for row in document["queries"] if row["unknown"]]}

    @classmethod
    def from_saved(cls, data: Any, measure: str, queries: Sequence[str], values: Floats, place: Place | str) -> Self:
        """The bounds that `to_saved` returned; `place` is the file they are from, for errors."""
        low, high = values.copy(), values.copy()
        exact, nullable = np.ones(len(values), bool), np.zeros(len(values), bool)
        position = {query: at for at, query in enumerate(queries)}
        try:
            for row in _saved_rows(data):
                at = position.get(row["query"])  # a query may have been removed from the file
                if at is not None:
                    low[at], high[at], exact[at] = float(row["low"]), float(row["high"]), bool(row["exact"])
                    nullable[at] = bool(row.get("nullable"))
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            raise KaratError("its bounds are damaged", place=place, hint="Save the scores again.") from None
        return cls.of_labels(measure, tuple(queries), low, high, exact, nullable)

    def take(self, rows: Ints, queries: tuple[str, ...]) -> Bounds:
        """Some of the queries, by their positions, with their ids; -1 is a query with nothing to judge."""
        value, low, high = (np.append(side, np.nan)[rows] for side in (self.value, self.low, self.high))
        exact, unknown = np.append(self.exact, True)[rows], np.append(self.unknown, 0)[rows]
        nullable = np.append(self.nullable, False)[rows]
        return Bounds(self.measure, queries, value, low, high, exact, unknown, nullable, self.max_grade)

    def __repr__(self) -> str:
        low, high = ("–" if end is None else f"{end:.4f}" for end in self.mean)
        return safe_line(f"<Bounds of {self.measure} over {plural(len(self.queries), 'query')}: {low} to {high}>")

    def _records(self) -> Iterator[dict[str, Any]]:
        """The id, value, low, high, how much is unknown, and whether this is exact, of each query, then of all."""
        columns = [side.tolist() for side in (self.value, self.low, self.high, self.unknown, self.exact)]
        names = ("value", "low", "high", self.counted, "exact")
        for query, nullable, *row in zip(self.queries, self.nullable.tolist(), *columns, strict=True):
            known = dict(zip(names, (None if each != each else each for each in row), strict=True))
            yield {"query": query, **known, **({"nullable": True} if nullable else {})}
        counts = int(self.unknown.sum()), bool(self.exact.all())
        of_all = combined_column(self.measure, self.value), *self.mean, *counts
        yield {"query": "all", **dict(zip(names, of_all, strict=True))}


def _saved_rows(data: Any) -> Sequence[Mapping[str, Any]]:
    """The queries of saved bounds; karat 0.1.0 saved `{"queries": {query: [low, high]}, "estimated", "nullable"}`."""
    rows: Any = data["queries"]
    if not isinstance(rows, Mapping):
        return rows  # type: ignore[no-any-return]  # `from_saved` checks each row
    estimated, nullable = {*data["estimated"]}, {*data["nullable"]}
    return [
        {"query": query, "low": low, "high": high, "exact": query not in estimated, "nullable": query in nullable}
        for query, (low, high) in rows.items()
    ]


def with_highest_mean(values: Floats, nullable: Bools) -> Floats:
    """These values, without those of the nullable queries that would lower the mean."""
    uncertain = np.flatnonzero(nullable & ~np.isnan(values))
    if not len(uncertain):
        return values
    uncertain = uncertain[np.argsort(-values[uncertain], kind="stable")]
    certain = values[~nullable & ~np.isnan(values)]
    sums = [*accumulate(values[uncertain].tolist(), initial=math.fsum(certain))]
    means = [total / count if count else -math.inf for count, total in enumerate(sums, len(certain))]
    highest = values.copy()
    highest[uncertain[means.index(max(means)) :]] = np.nan
    return highest


def bounds_of_rows(bounds: Mapping[str, Bounds], rows: Ints, queries: tuple[str, ...]) -> dict[str, Bounds]:
    """The bounds of some of the queries, for each measure."""
    return {measure: each.take(rows, queries) for measure, each in bounds.items()}
