"""What `karat evaluate --bounds` prints: the range of each score over all grades of the unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from karat.cli.output import Output, print_report
from karat.errors import KaratError, plural
from karat.output.tables import Cell, Table
from karat.registry.names import format_value
from karat.scores import Scores
from karat.scores.summary import cell_text, notes

if TYPE_CHECKING:
    from karat.analysis.bounds import Bounds


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
    rows = [
        {**({"run": run} if several else {}), "measure": measure, **row}
        for (measure, run), each in bounds.items()
        for row in _rows(each, output.per_query)
    ]
    by_run: dict[str, dict[str, object]] = {}
    for (measure, run), each in bounds.items():
        by_run.setdefault(run, {})[measure] = each.to_dict()
    document = {"runs": by_run} if several else next(iter(by_run.values()))
    print_report(output, tables, document=lambda: document, rows=lambda: rows)


def _rows(bounds: Bounds, per_query: bool) -> list[dict[str, object]]:
    document = bounds.to_dict()
    if per_query:
        return list(document["queries"])
    return [{key: document[key] for key in ("value", "low", "high", bounds.counted)}]


def _table(bounds: Mapping[tuple[str, str], Bounds], several: bool, digits: int) -> Table:
    """A row per measure and run."""
    rows, last = [], None
    counted = tuple(dict.fromkeys(each.counted for each in bounds.values()))
    for measure in dict.fromkeys(measure for measure, _ in bounds):
        for run, each in ((run, each) for (of, run), each in bounds.items() if of == measure):
            document = each.to_dict()
            values = (Cell(cell_text(document[key], measure, digits)) for key in ("value", "low", "high"))
            labels = [Cell("" if last == measure else measure), *([Cell(run)] if several else [])]
            counts = (Cell(f"{document[key]:,}" if key in document else "") for key in counted)
            rows.append((*labels, *values, *counts))
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
        table = each.table(digits)
        tables.append(replace(table, notes=tuple(f"{run}: {note}" for note in table.notes)) if several else table)
    return tables
