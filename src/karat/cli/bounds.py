"""What `karat evaluate --bounds` prints: the range of each score over all grades of the unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from karat.cli.output import Output, print_report
from karat.errors import KaratError, plural
from karat.output.tables import Cell, Table
from karat.registry.names import format_value
from karat.scores import Scores
from karat.scores.bounds import Bounds
from karat.scores.summary import notes


def print_bounds(runs: Mapping[str, Scores], output: Output) -> None:
    """Print or write the bounds of each measure and run."""
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
    several = len(runs) > 1
    digits = output.decimals
    tables = _tables_per_query(bounds, several, digits) if output.per_query else [_table(bounds, several, digits)]
    tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *under))
    documents = {key: each.to_dict() for key, each in bounds.items()}
    rows = [
        {**({"run": run} if several else {}), "measure": measure, **row}
        for (measure, run), document in documents.items()
        for row in (document["queries"] if output.per_query else [_over_all(document)])
    ]
    by_run: dict[str, dict[str, object]] = {}
    for (measure, run), document in documents.items():
        by_run.setdefault(run, {})[measure] = document
    whole = {"runs": by_run} if several else next(iter(by_run.values()))
    print_report(output, tables, document=lambda: whole, rows=lambda: rows)


def _over_all(document: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds of a measure over all queries, as a row."""
    return {name: each for name, each in document.items() if name not in ("measure", "max_grade", "queries")}


def _table(bounds: Mapping[tuple[str, str], Bounds], several: bool, digits: int) -> Table:
    """A row per measure and run."""
    rows, last = [], None
    counted = tuple(dict.fromkeys(each.counted for each in bounds.values()))
    order = {measure: at for at, measure in enumerate(dict.fromkeys(measure for measure, _ in bounds))}
    for (measure, run), each in sorted(bounds.items(), key=lambda row: order[row[0][0]]):
        *values, count = each.cells(each.to_dict(), digits)
        labels = [Cell("" if last == measure else measure), *([Cell(run)] if several else [])]
        rows.append((*labels, *values, *(count if name == each.counted else Cell("") for name in counted)))
        last = measure
    header = ("measure", *(["run"] if several else []), "score", "lowest", "highest", *counted)
    first = next(iter(bounds.values()))
    grades = [each.max_grade for each in bounds.values() if each.max_grade is not None]
    conditions = [f"if each unjudged document were graded from 0 to {format_value(max(grades))}"] if grades else []
    conditions += ["whatever the missing labels of queries (unknown) are"] if "unknown" in counted else []
    ranges = f"lowest and highest: the possible scores {', and '.join(conditions)}"
    note = f"{plural(len(first.queries), 'query')}; {ranges}"
    return Table(header, tuple(rows), (note,), labels=2 if several else 1)


def _tables_per_query(bounds: Mapping[tuple[str, str], Bounds], several: bool, digits: int) -> list[Table]:
    tables = []
    for (_, run), each in bounds.items():
        for table in each.tables(digits):
            notes = tuple(f"{run}: {note}" for note in table.notes) if several else table.notes
            tables.append(replace(table, notes=notes))
    return tables
