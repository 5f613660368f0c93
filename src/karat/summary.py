"""Scores as tables: one row per system, per measure or per query, the best marked, and what was noticed."""

from __future__ import annotations

from collections.abc import Mapping

from karat.errors import KaratError
from karat.measures import parse
from karat.scores import Scores
from karat.tables import Cell, Table


def summary(runs: Mapping[str, Scores], level: float | None = None) -> Table:
    """One system: a row per measure. Several: a row per system, a column per measure, the best marked."""
    return by_measure(runs, level) if len(runs) == 1 else by_system(runs, level)


def by_system(runs: Mapping[str, Scores], level: float | None = None) -> Table:
    """A row per system and a column per measure."""
    measures = _measures(runs)
    columns = {name: _column(runs, name, level) for name in measures}
    rows = tuple(
        (Cell(system), *(columns[name][system] for name in measures)) for system in runs
    )  # fmt: skip
    return Table(("run", *measures), rows, _footer(runs, level))


def by_measure(runs: Mapping[str, Scores], level: float | None = None) -> Table:
    """A row per measure and system, for one system and for narrow terminals."""
    columns = {name: _column(runs, name, level) for name in _measures(runs)}
    if len(runs) == 1:
        ((system, _),) = runs.items()
        rows = tuple((Cell(name), column[system]) for name, column in columns.items())
        return Table(("measure", system or "score"), rows, _footer(runs, level))
    several = tuple(
        (Cell(name if at == 0 else ""), Cell(system), column[system])
        for name, column in columns.items() for at, system in enumerate(runs)
    )  # fmt: skip
    return Table(("measure", "run", "score"), several, _footer(runs, level), labels=2)


def by_query(runs: Mapping[str, Scores], level: float | None = None) -> Table:
    """A row per query (and system, if there are several), the combined values last."""
    measures = _measures(runs)
    several = len(runs) > 1
    rows = []
    for system, scores in runs.items():
        for query, values in scores.per_query.items():
            cells = (Cell(value_text(values[name], name)) for name in measures)
            rows.append((*([Cell(system)] if several else []), Cell(query), *cells))
    for system in runs:
        combined = (_column(runs, name, level)[system] for name in measures)
        rows.append((*([Cell(system)] if several else []), Cell("all"), *combined))
    header = (*(["run"] if several else []), "query", *measures)
    return Table(header, tuple(rows), _footer(runs, level), labels=2 if several else 1)


def value_text(value: float | None, measure: str) -> str:
    """A value as people read it: four digits, counts whole, a dash for none."""
    if value is None:
        return "–"
    try:
        counts = parse(measure).definition.combine == "sum"
    except KaratError:
        counts = False
    return f"{value:,.0f}" if counts and float(value).is_integer() else f"{value:.4f}"


def _measures(runs: Mapping[str, Scores]) -> list[str]:
    return list(dict.fromkeys(name for scores in runs.values() for name in scores.measures))


def _column(runs: Mapping[str, Scores], name: str, level: float | None) -> dict[str, Cell]:
    values = {system: scores.combined(name) if name in scores.values else None for system, scores in runs.items()}
    best = _best([value for value in values.values() if value is not None], name)
    cells = {}
    for system, value in values.items():
        text = value_text(value, name)
        if level is not None and value is not None:
            low, high = runs[system].interval(name, level)
            text += f" [{value_text(low, name)}, {value_text(high, name)}]"
        cells[system] = Cell(text, best=best is not None and value == best)
    return cells


def _best(values: list[float], name: str) -> float | None:
    """The best of several values; none where they are all the same."""
    if len(set(values)) < 2:
        return None
    try:
        higher = parse(name).definition.higher_is_better
    except KaratError:
        higher = True
    return max(values) if higher else min(values)


def notes(runs: Mapping[str, Scores]) -> list[str]:
    """What was noticed, said once where it holds for every system."""
    of_system = {system: [*map(str, scores.findings), *_nulls(scores)] for system, scores in runs.items()}
    said = []
    for text in dict.fromkeys(text for texts in of_system.values() for text in texts):
        systems = [system for system, texts in of_system.items() if text in texts]
        whose = "" if len(systems) == len(runs) else f"{', '.join(systems)}: "
        said.append(f"note: {whose}{text}")
    return said


def _footer(runs: Mapping[str, Scores], level: float | None) -> tuple[str, ...]:
    """How many queries, how sure, and what was noticed."""
    counts = sorted({len(scores.queries) for scores in runs.values()})
    queries = " to ".join(f"{count:,}" for count in (counts[0], counts[-1])[: len(counts)])
    intervals = f", with {100 * level:g}% confidence intervals" if level is not None else ""
    return (f"{queries} quer{'y' if counts == [1] else 'ies'}{intervals}", *notes(runs))


def _nulls(scores: Scores) -> list[str]:
    counts = {name: scores.nulls(name) for name in scores.measures}
    return [f"{count:,} without a value for {name}, left out." for name, count in counts.items() if count]
