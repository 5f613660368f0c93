"""The table of a report: a row per system and a cell per measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from karat.comparison.result import ComparisonRow
from karat.comparison.sentences import correction_text, without_rounding
from karat.comparison.tables import beaten_systems, intervals_text, method_text
from karat.report.numbers import Number, number, numbers
from karat.report.subject import ReportSubject
from karat.scores import Scores
from karat.scores.summary import best_value

MISSING = ("missing-queries", "missing-answers")


def table(subject: ReportSubject, unjudged: list[float | None] | None) -> dict[str, Any]:
    """The means with their intervals, which of them are best, and what the comparison found.

    That is the difference of each system from the baseline, or from the first of two systems. If all pairs of more
    systems were compared, it is the systems that each of them is significantly better than.
    """
    comparison = subject.comparison
    method = None if comparison is None else comparison.method
    beaten = None if comparison is None or subject.reference is not None else beaten_systems(comparison)
    cells = [_cells(subject, name, beaten) for name in subject.names]
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
        "intervals": None if comparison is None else "; ".join(intervals_text([comparison])) or None,
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


def _cells(
    subject: ReportSubject, name: str, beaten: Mapping[tuple[str, str], Sequence[str]] | None
) -> list[dict[str, Any]]:
    """The cells of a system, without the mark of the best."""
    scores = subject.systems[name]
    comparison = subject.comparison
    cells: list[dict[str, Any]] = []
    # A comparison has intervals already, which take long to compute.
    alone = {} if comparison is not None else scores.intervals(subject.level)
    for measure in subject.measures:
        row = _row(subject, measure, name)
        if row is not None:
            low, high = row.low, row.high
        else:
            several = measure in scores.values and len(scores.queries) - scores.nulls(measure) > 1
            low, high = (alone.get(measure) if several else None) or (None, None)
        mean = scores.combined(measure) if measure in scores.values else None
        against = row if row is not None and row.baseline is not None and beaten is None else None
        cells.append(
            {
                "mean": number(mean),
                "low": number(low),
                "high": number(high),
                "bounds": _label_bounds(scores, measure),
                "best": False,
                "difference": _difference(against),
                "p": None if against is None else number(against.p_corrected),
                "significant": None if against is None or comparison is None else comparison.significant(against),
                "against": None if against is None else subject.reference,
                "better_than": None
                if beaten is None
                else [subject.names.index(other) for other in beaten.get((measure, name), ())],
            }
        )
    return cells


def _label_bounds(scores: Scores, measure: str) -> list[Number] | None:
    """The lowest and the highest mean that unknown labels allow; None if all labels are known."""
    bounds = scores.label_bounds.get(measure)
    return None if bounds is None or not bounds.unknown.any() else numbers(bounds.mean)


def _difference(row: ComparisonRow | None) -> Number:
    """A difference, as in the table of a comparison: 0 if it is not 0 by rounding alone."""
    if row is None or row.difference is None:
        return None
    ends = [end for end in (row.difference_low, row.difference_high) if end is not None]
    return number(without_rounding([row.difference, *ends])[0])


def _row(subject: ReportSubject, measure: str, name: str) -> ComparisonRow | None:
    """The row of a comparison with the difference of a system from another; the baseline has no difference."""
    if subject.comparison is None:
        return None
    rows = subject.comparison.rows_by_names
    earlier = takewhile(lambda other: other != name, subject.names)
    others = [subject.comparison.baseline] if subject.comparison.baseline is not None else earlier
    return next((rows[key] for other in (*others, None) if (key := (measure, name, other)) in rows), None)
