"""The charts of a comparison within groups of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.errors import did_you_mean, require, shown
from karat.registry import Measure
from karat.report.plots import charts
from karat.report.plots.chart import Chart, Columns
from karat.report.plots.kinds import check_pairs
from karat.report.plots.labels import label, labels
from karat.report.plots.rows import columns_of, emphasized

if TYPE_CHECKING:
    from karat.comparison.slices import ComparisonSlices

_KINDS = ("differences", "slices")


def draw_groups(
    kind: str, slices: ComparisonSlices, measure: str | Measure | None, system: str | None, baseline: str | None
) -> Chart:
    """The difference of each pair of systems in each group of queries, or the mean of each system in each group."""
    hint = f"{did_you_mean(kind, _KINDS)} The kinds are {' and '.join(_KINDS)}.".strip()
    require(isinstance(kind, str) and kind in _KINDS, f"{shown(kind)} is not a kind of plot of groups", hint)
    first = next(iter(slices.whole.systems.values()))
    name = first.measures[0] if measure is None else first.column_name(measure)
    pairs = slices.whole.pairs(system, baseline)
    if kind == "slices":
        return _means(slices, name)
    check_pairs(kind, pairs)
    names = {_pair(one, other): {"a": one, "b": other, "measure": name} for one, other in pairs}
    compared = (
        comparison.rows_by_names[name, other, one] for _, comparison in slices.with_all() for one, other in pairs
    )
    levels = sorted({row.difference_level for row in compared if row.difference_level is not None})
    return charts.group_differences(_differences(slices, name, pairs), levels, names)


def _differences(slices: ComparisonSlices, measure: str, pairs: list[tuple[str, str]]) -> Columns:
    """The difference of each pair in each group, with its interval if it was tested."""
    rows = []
    for one, other in pairs:
        for group, compared in slices.with_all():
            row = compared.rows_by_names[measure, other, one]
            text = _group(group, len(compared.queries))
            rows.append((_pair(one, other), text, row.difference, row.difference_low, row.difference_high))
    return columns_of(("pair", "group", "difference", "low", "high"), rows)


def _means(slices: ComparisonSlices, measure: str) -> Chart:
    """The mean of each system in each group; of many systems, the best."""
    whole = slices.whole
    best = emphasized(whole.systems)
    named = labels(whole.systems)
    rows = []
    for group, compared in slices.groups.items():
        queries = len(compared.queries)
        means = {row.system: row for row in compared.rows if row.measure == measure and row.system in best}
        for system, row in means.items():
            text = _group(group, queries)
            rows.append((slices.by, measure, text, queries, named[system], row.mean, row.low, row.high))
    found = columns_of(("slice", "measure", "group", "queries", "system", "mean", "low", "high"), rows)
    return charts.slices(found, whole.method.level, len(whole.systems) - len(best), {"measure": measure})


def _pair(one: str, other: str) -> str:
    return f"{other} − {one}"


def _group(name: str, queries: int) -> str:
    return f"{label(name)} ({queries:,})"
