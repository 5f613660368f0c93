"""The table of a report: a row per system and a cell per measure."""

from __future__ import annotations

from typing import Any

from karat.comparison.result import ComparisonRow
from karat.comparison.sentences import correction_text, without_rounding
from karat.comparison.tables import method_text
from karat.report.numbers import Number, number
from karat.report.subject import ReportSubject
from karat.scores.summary import best_value

MISSING = ("missing-queries", "missing-answers")


def table(subject: ReportSubject, unjudged: list[float | None] | None) -> dict[str, Any]:
    """The means with their intervals, which of them are best, and the differences from the baseline."""
    comparison = subject.comparison
    method = None if comparison is None else comparison.method
    cells = [_cells(subject, name) for name in subject.names]
    for at, measure in enumerate(subject.measures):
        values = {
            name: scores.combined(measure) if measure in scores.values else None
            for name, scores in subject.systems.items()
        }
        best = best_value(values, measure, subject.systems)
        for row, value in zip(cells, values.values(), strict=True):
            row[at]["best"] = best is not None and value == best
    powers = [] if comparison is None else list(comparison.powers.values())
    test = correction = None
    if method is not None:
        test = method_text(method, powers, len(subject.measures))
        correction = correction_text(method, max(power.comparisons for power in powers)) or None
    return {
        "rows": cells,
        "level": subject.level,
        "alpha": None if method is None else method.alpha,
        "test": test,
        "correction": correction,
        "unjudged": None if unjudged is None else [number(share) for share in unjudged],
        "unjudged_at": subject.cutoff,
        "missing": [len(missing_queries(subject, name)) for name in subject.names],
    }


def missing_queries(subject: ReportSubject, name: str) -> set[str]:
    """The queries that a system has no results for: neither documents nor an answer, as far as each is evaluated."""
    lacking = set(subject.queries).difference(subject.systems[name].queries)
    for finding in subject.systems[name].findings:
        if finding.code in MISSING:
            lacking |= {query for query in finding.queries if query in subject.places}
    return lacking


def _cells(subject: ReportSubject, name: str) -> list[dict[str, Any]]:
    """The cells of a system, without the mark of the best."""
    scores = subject.systems[name]
    comparison = subject.comparison
    cells: list[dict[str, Any]] = []
    # A comparison has intervals already, which take long to compute.
    alone = {} if comparison is not None else scores.intervals(subject.level)
    for measure in subject.measures:
        rows = _rows(subject, measure, name)
        if rows:
            low, high = rows[0].low, rows[0].high
        else:
            several = measure in scores.values and len(scores.queries) - scores.nulls(measure) > 1
            low, high = (alone.get(measure) if several else None) or (None, None)
        mean = scores.combined(measure) if measure in scores.values else None
        against = next((row for row in rows if row.baseline is not None), None)
        cells.append(
            {
                "mean": number(mean),
                "low": number(low),
                "high": number(high),
                "best": False,
                "difference": _difference(against),
                "p": None if against is None else number(against.p_corrected),
                "significant": None if against is None or comparison is None else comparison.significant(against),
                "against": None if against is None else subject.baseline,
            }
        )
    return cells


def _difference(row: ComparisonRow | None) -> Number:
    """A difference, as in the table of a comparison: 0 if it is not 0 by rounding alone."""
    if row is None or row.difference is None:
        return None
    ends = [end for end in (row.difference_low, row.difference_high) if end is not None]
    return number(without_rounding([row.difference, *ends])[0])


def _rows(subject: ReportSubject, measure: str, name: str) -> list[ComparisonRow]:
    """The row of a comparison with the difference of a system from the baseline, or any other row of the system."""
    if subject.comparison is None or subject.baseline is None:
        return []
    rows = subject.comparison.rows_by_names
    baseline = subject.names[subject.baseline]
    found = rows.get((measure, name, baseline)) or rows.get((measure, name, None))
    return [] if found is None else [found]
