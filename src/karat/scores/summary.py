"""Tables of scores: a row per system, per measure or per query, with the best values marked and findings below."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from karat.arguments import as_count
from karat.errors import KaratError, enumeration, plural, shown
from karat.output.tables import BEST, Cell, Table
from karat.scores import Scores
from karat.scores.combining import combination
from karat.scores.finding import Finding, finding_about_queries
from karat.scores.names import all_measures

DIGITS = 4
"""the number of decimals in a table"""
_MAX_DIGITS = 15


def summary(runs: Mapping[str, Scores], level: float | None = None, digits: int = DIGITS) -> Table:
    """For one system a row per measure; for several a row per system, with the best of each column marked."""
    return layouts(runs, level, digits)[0]


def layouts(runs: Mapping[str, Scores], level: float | None = None, digits: int = DIGITS) -> tuple[Table, Table]:
    """The table of `summary`, and one for narrow terminals, with a row per measure and system.

    Both have the same cells, because intervals take long to compute.
    """
    columns, footer = _columns(runs, level, digits), _footer(runs, level)
    if len(runs) == 1:
        (system,) = runs
        rows = tuple((Cell(name), column[system]) for name, column in columns.items())
        table = Table(("measure", system or "score"), rows, footer)
        return table, table
    by_system = tuple((Cell(system), *(column[system] for column in columns.values())) for system in runs)
    by_measure = tuple(
        (Cell(name if at == 0 else ""), Cell(system), column[system])
        for name, column in columns.items()
        for at, system in enumerate(runs)
    )
    return Table(("run", *columns), by_system, footer), Table(("measure", "run", "score"), by_measure, footer, labels=2)


def by_query(runs: Mapping[str, Scores], level: float | None = None, digits: int = DIGITS) -> Table:
    """A row per query (and system, if there are several), the combined values last."""
    columns = _columns(runs, level, digits)
    several = len(runs) > 1
    rows = []
    for system, scores in runs.items():
        for query, values in scores.per_query.items():
            cells = (Cell(cell_text(values.get(name), name, digits)) for name in columns)
            rows.append((*([Cell(system)] if several else []), Cell(query), *cells))
    for system in runs:
        combined = (column[system] for column in columns.values())
        rows.append((*([Cell(system)] if several else []), Cell("all"), *combined))
    header = (*(["run"] if several else []), "query", *columns)
    return Table(header, tuple(rows), _footer(runs, level), labels=2 if several else 1)


def cell_text(value: float | None, measure: str, digits: int = DIGITS) -> str:
    """A value in a table: with as many decimals as digits, counts without decimals, a dash for null."""
    if value is None:
        return "–"
    # The ends of an interval of a count may have a rounding error.
    if combination(measure) == "sum" and round(float(value), 9).is_integer():
        return f"{value:,.0f}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 turns -0.0 into 0.0


def nonzero_text(value: float, measure: str, sign: str = "", digits: int = DIGITS) -> str:
    """A value as in `cell_text`; but one that is not 0 is never shown as 0.

    >>> nonzero_text(0.25, "AP", "+"), nonzero_text(0.00001234, "AP", "+"), nonzero_text(0.0, "AP", "+")
    ('+0.2500', '+1.2e-05', '0.0000')
    """
    text = cell_text(value, measure, digits)
    text = f"{value:.2g}" if value and not float(text.replace(",", "")) else text
    return f"{sign}{text}" if value > 0 else text


def interval_text(
    value: float | None, interval: tuple[float | None, float | None] | None, measure: str, digits: int = DIGITS
) -> str:
    """A value in a table with its confidence interval, if it has one: `0.4358 [0.3453, 0.5259]`."""
    text = cell_text(value, measure, digits)
    if interval is None or None in interval:
        return text
    low, high = (cell_text(end, measure, digits) for end in interval)
    return f"{text} [{low}, {high}]"


def check_digits(digits: object, name: str = "digits=") -> int:
    """A number of decimals that a table can have; `name` is that of the parameter, for messages."""
    decimals = as_count(digits, 0, _MAX_DIGITS)
    if decimals is None:
        raise KaratError(f"{name}{shown(digits)} is not a number of decimals", hint=f"Use 0 to {_MAX_DIGITS}.")
    return decimals


def _columns(runs: Mapping[str, Scores], level: float | None, digits: int) -> dict[str, dict[str, Cell]]:
    """The cells of each measure, by system."""
    intervals = {system: {} if level is None else scores.intervals(level) for system, scores in runs.items()}
    columns = {}
    for name in all_measures(runs):
        values = {system: scores.combined(name) if name in scores.values else None for system, scores in runs.items()}
        best = best_value(values, name, runs)
        columns[name] = {
            system: Cell(
                interval_text(value, intervals[system].get(name), name, digits),
                BEST if best is not None and value == best else None,
            )
            for system, value in values.items()
        }
    return columns


def best_value(values: Mapping[str, float | None], name: str, runs: Mapping[str, Scores]) -> float | None:
    """The best of several values; None if all are the same, or if lower is better and a system lacks queries."""
    known = [value for value in values.values() if value is not None]
    if len(set(known)) < 2:
        return None
    if all(scores.higher_is_better(name) for scores in runs.values() if name in scores.values):
        return max(known)
    missing = any(finding.code == "missing-queries" for scores in runs.values() for finding in scores.findings)
    return None if missing else min(known)


def notes(runs: Mapping[str, Scores]) -> list[str]:
    """The findings and the nulls, a line for each kind, with the systems it concerns unless all do.

    If the numbers of systems differ, the line lists them: `unjudged documents in the top 10: bm25 32%, dense 41%.`
    """
    by_topic: dict[str, dict[str, Finding]] = {}
    for system, scores in runs.items():
        for finding in (*scores.findings, *_nulls(scores)):
            by_topic.setdefault(finding.topic or str(finding), {})[system] = finding
    return [f"note: {_note(found, len(runs))}" for found in by_topic.values()]


def _note(findings: Mapping[str, Finding], systems: int) -> str:
    """The findings of systems on one topic, in one line."""
    texts = {str(finding): finding.hint for finding in findings.values()}
    if len(texts) == 1:
        names_file = next(iter(findings.values())).code == "reading"
        prefix = "" if len(findings) == systems or names_file else f"{', '.join(findings)}: "
        return prefix + next(iter(texts))
    topic = next(iter(findings.values())).topic
    amounts = [f"{system} {finding.amount}" for system, finding in findings.items()]
    return " ".join([f"{topic}: {', '.join(amounts)}.", *sorted({hint for hint in texts.values() if hint})])


def _footer(runs: Mapping[str, Scores], level: float | None) -> tuple[str, ...]:
    """The number of queries, the confidence level, and the notes."""
    counts = [len(scores.queries) for scores in runs.values()]
    fewest, most = min(counts), max(counts)
    queries = plural(most, "query") if fewest == most else f"{fewest:,} to {plural(most, 'query')}"
    intervals = f", with {100 * level:g}% confidence intervals" if level is not None else ""
    return (f"{queries}{intervals}", *notes(runs))


def _nulls(scores: Scores) -> list[Finding]:
    """A finding for each set of queries without a value, with the measures that have no value for exactly these."""
    measures: dict[tuple[str, ...], list[str]] = {}
    for name, column in scores.values.items():
        rows = np.flatnonzero(np.isnan(column)).tolist()
        measures.setdefault(tuple(scores.queries[row] for row in rows), []).append(name)
    return [
        finding_about_queries("nulls", queries, f"without a value for {enumeration(names, 'and')} (left out)")
        for queries, names in measures.items()
        if queries
    ]
