"""What `karat evaluate --bounds` shows: between which values scores lie, whatever unjudged documents are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from karat.analysis.bounds import Bounds
from karat.cli.output import Request, report
from karat.errors import KaratError
from karat.output.tables import Cell, Table
from karat.registry.names import format_value
from karat.scores import Scores
from karat.scores.summary import cell_text, notes


def show_bounds(runs: Mapping[str, Scores], request: Request) -> None:
    """Print the bounds of each measure and run, or write them."""
    found: dict[tuple[str, str], Bounds] = {}
    cannot: dict[str, str] = {}
    for name, scores in runs.items():
        for measure in scores.measures:
            try:
                found[measure, name] = scores.bounds(measure)
            except KaratError as error:
                cannot[measure] = str(error)
    if not found:
        raise KaratError(next(iter(cannot.values())))
    noted = (*(f"note: {text}" for text in dict.fromkeys(cannot.values())), *notes(runs))
    several = len(runs) > 1
    tables = _every_query(found, several) if request.per_query else [_together(found, several)]
    tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *noted))
    rows = [
        {**({"run": name} if several else {}), "measure": measure, **row}
        for (measure, name), each in found.items()
        for row in _rows(each, request.per_query)
    ]
    by_run: dict[str, dict[str, object]] = {}
    for (measure, name), each in found.items():
        by_run.setdefault(name, {})[measure] = each.to_dict()
    report(request, tables, whole={"runs": by_run} if several else next(iter(by_run.values())), rows=rows)


def _rows(bounds: Bounds, per_query: bool) -> list[dict[str, object]]:
    whole = bounds.to_dict()
    if per_query:
        return list(whole["queries"])
    return [{key: whole[key] for key in ("value", "low", "high", "unjudged")}]


def _together(found: Mapping[tuple[str, str], Bounds], several: bool) -> Table:
    """A row per measure and run."""
    rows, last = [], None
    for measure in dict.fromkeys(measure for measure, _ in found):
        for (_, name), each in ((key, each) for key, each in found.items() if key[0] == measure):
            whole = each.to_dict()
            values = (Cell(cell_text(whole[key], measure)) for key in ("value", "low", "high"))
            label = [Cell("" if last == measure else measure), *([Cell(name)] if several else [])]
            rows.append((*label, *values, Cell(f"{whole['unjudged']:,}")))
            last = measure
    header = ("measure", *(["run"] if several else []), "score", "least", "greatest", "unjudged")
    some = next(iter(found.values()))
    said = (
        f"{len(some.queries):,} quer{'y' if len(some.queries) == 1 else 'ies'}; least and greatest: over every way of"
        f" judging the retrieved documents without a judgment, at whatever rank, as 0 or as {format_value(some.best)}"
    )
    return Table(header, tuple(rows), (said,), labels=2 if several else 1)


def _every_query(found: Mapping[tuple[str, str], Bounds], several: bool) -> list[Table]:
    tables = []
    for (_, name), each in found.items():
        table = each.table()
        tables.append(replace(table, notes=tuple(f"{name}: {note}" for note in table.notes)) if several else table)
    return tables
