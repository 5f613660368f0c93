"""What `karat evaluate --bounds` prints: the range of each score over all grades of the unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from karat.errors import KaratError, plural
from karat.output.printable import Printable
from karat.output.tables import DIGITS, Cell, Table
from karat.registry.names import format_value
from karat.scores import Scores
from karat.scores.bounds import Bounds
from karat.scores.summary import notes


@dataclass(frozen=True)
class BoundsOfSystems(Printable):
    """The bounds of each measure and run: a row per measure and run, or a table per query for each of them."""

    bounds: Mapping[tuple[str, str], Bounds]
    """by measure and run"""
    with_runs: bool
    """whether runs are named, because there is more than one"""
    per_query: bool
    notes: tuple[str, ...]

    def tables(self, digits: int = DIGITS) -> list[Table]:
        by_query = _tables_per_query(self.bounds, self.with_runs, digits) if self.per_query else []
        tables = by_query or [_table(self.bounds, self.with_runs, digits)]
        return [*tables[:-1], replace(tables[-1], notes=(*tables[-1].notes, *self.notes))]

    def to_dict(self) -> dict[str, Any]:
        """The document of each measure, by run if runs are named."""
        by_run: dict[str, dict[str, object]] = {}
        for (measure, run), bounds in self.bounds.items():
            by_run.setdefault(run, {})[measure] = bounds.to_dict()
        return {"runs": by_run} if self.with_runs else next(iter(by_run.values()))

    def records(self) -> list[dict[str, object]]:
        """A record per measure and run, or per query."""
        return [
            {**({"run": run} if self.with_runs else {}), "measure": measure, **row}
            for (measure, run), bounds in self.bounds.items()
            for row in (bounds.records() if self.per_query else [_over_all(bounds.to_dict())])
        ]


def bounds_of(runs: Mapping[str, Scores], per_query: bool) -> BoundsOfSystems:
    """The bounds of each measure and run that has them, with a note on those that have none."""
    bounds: dict[tuple[str, str], Bounds] = {}
    errors: list[KaratError] = []
    for run, scores in runs.items():
        for measure in scores.measures:
            try:
                bounds[measure, run] = scores.bounds(measure)
            except KaratError as error:
                errors.append(error)
    if not bounds:
        raise errors[0]
    under = (*dict.fromkeys(f"note: {error.what}." for error in errors), *notes(runs, with_possible=False))
    return BoundsOfSystems(bounds, len(runs) > 1, per_query, under)


def _over_all(document: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds of a measure over all queries, as a row."""
    return {name: each for name, each in document.items() if name not in ("measure", "max_grade", "queries")}


def _table(bounds: Mapping[tuple[str, str], Bounds], with_runs: bool, digits: int) -> Table:
    """A row per measure and run."""
    rows, last = [], None
    counted = tuple(dict.fromkeys(each.counted for each in bounds.values()))
    order = {measure: at for at, measure in enumerate(dict.fromkeys(measure for measure, _ in bounds))}
    for (measure, run), of_run in sorted(bounds.items(), key=lambda row: order[row[0][0]]):
        *values, count = of_run.cells(of_run.to_dict(), digits)
        labels = [Cell("" if last == measure else measure), *([Cell(run)] if with_runs else [])]
        rows.append((*labels, *values, *(count if name == of_run.counted else Cell("") for name in counted)))
        last = measure
    header = ("measure", *(["run"] if with_runs else []), "score", "lowest", "highest", *counted)
    first = next(iter(bounds.values()))
    grades = [each.max_grade for each in bounds.values() if each.max_grade is not None]
    conditions = [f"if each unjudged document were graded from 0 to {format_value(max(grades))}"] if grades else []
    conditions += ["whatever the missing labels of queries (unknown) are"] if "unknown" in counted else []
    ranges = f"lowest and highest: the possible scores {', and '.join(conditions)}"
    note = f"{plural(len(first.queries), 'query')}; {ranges}"
    return Table(header, tuple(rows), (note,), labels=2 if with_runs else 1)


def _tables_per_query(bounds: Mapping[tuple[str, str], Bounds], with_runs: bool, digits: int) -> list[Table]:
    tables = ((run, table) for (_, run), each in bounds.items() for table in each.tables(digits))
    return [replace(table, title=run) if with_runs else table for run, table in tables]
