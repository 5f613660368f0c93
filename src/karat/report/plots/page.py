"""The charts of the report: specifications that name their data, with the rows that the page cannot make itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karat.comparison import Comparison
from karat.errors import KaratError
from karat.report.plots import charts, rows
from karat.report.plots.chart import Chart, Columns
from karat.scores import Scores
from karat.scores.columns import all_measures


def charts_for_page(
    systems: Mapping[str, Scores],
    comparison: Comparison | None = None,
    slices: Mapping[str, Any] | None = None,
    *,
    level: float = 0.95,
    measures: Sequence[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """The charts of some systems, by kind, without those that cannot be drawn: `Chart.for_page` says what each has.

    `comparison` has the intervals of the means, if they are computed already. `slices` maps the name of a property of
    queries to what `Scores.slices` takes to group them. Intervals and bounds are drawn of `measures`, by default all.
    The page makes the rows of `differences` and `scatter`, for the two systems and the measure that it shows.
    """
    measures = all_measures(systems) if measures is None else measures
    queries = max(len(scores.queries) for scores in systems.values())
    found: dict[str, Chart] = {
        "intervals": charts.intervals(rows.interval_rows(systems, measures, level, comparison), level)
    }
    if len(systems) > 1:
        found["differences"] = charts.differences(None, queries, {})
        found["scatter"] = charts.scatter(None, queries, {})
    judged = {name: scores for name, scores in systems.items() if scores.evidence is not None}
    if judged:
        found["cutoffs"] = charts.cutoffs(rows.cutoff_rows(judged))
        found["precision-recall"] = charts.precision_recall(rows.precision_recall_rows(judged))
        found["first"] = charts.first(rows.first_rows(judged))
    bounded = [part for measure in measures if (part := _bounds(systems, measure))]
    if bounded:
        found["bounds"] = charts.bounds(rows.joined(bounded), {})
    if slices:
        best = rows.emphasized(systems)
        shown = {name: scores for name, scores in systems.items() if name in best}
        parts = [rows.slice_rows(shown, label, level=level, by=by) for label, by in slices.items()]
        found["slices"] = charts.slices(rows.joined(parts), level, len(systems) - len(best), {})
    return {kind: chart.for_page() for kind, chart in found.items()}


def _bounds(systems: Mapping[str, Scores], measure: str) -> Columns | None:
    """The bounds of each system on a measure that lacks judgments or labels; None if one of them has no bounds."""
    having = {
        name: scores
        for name, scores in systems.items()
        if measure in scores.values and (scores.evidence is not None or scores.label_bounds)
    }
    try:
        return rows.bounds_rows(having, measure) if having else None
    except KaratError:  # the measure, the ties or repeated documents do not allow bounds
        return None
