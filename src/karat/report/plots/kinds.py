"""The charts of scores: each kind with what it needs, those of groups of queries, and all charts of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from karat.analysis.evidence import NO_RUN_DATA
from karat.comparison import Comparison
from karat.comparison.alignment import align_systems, check_system
from karat.errors import KaratError, Message, Parameter, did_you_mean, plural, require, shown
from karat.options import Names, PlotKind, check_choice, check_level
from karat.registry import Measure
from karat.report.plots import charts, rows
from karat.report.plots.chart import Chart, Columns
from karat.report.plots.style import label, labels
from karat.scores import Scores
from karat.scores.columns import all_measures, first_asked

if TYPE_CHECKING:
    from karat.comparison.slices import ComparisonSlices

_MAX_ROWS = 48
"""with more rows of systems and measures than this, only the first measure is shown"""
MAX_PAIRS = 6
"""the number of pairs of systems that a chart can show"""


@dataclass(frozen=True)
class Subject:
    """What a chart is about: systems, and what the caller chose."""

    systems: Mapping[str, Scores]
    measure: str | Measure | None = None
    pairs: Sequence[tuple[str, str]] = ()
    """the systems to compare, each after its baseline"""
    comparison: Comparison | None = None
    grouping: Mapping[str, Any] = field(default_factory=dict)
    """`by`, `bins` and `queries` of slices"""
    level: float = 0.95
    names: Names = "canonical"
    """how measures are named"""

    @property
    def measure_name(self) -> str:
        """The column of the chosen measure, or of the first one."""
        first = next(iter(self.systems.values()))
        if self.measure is not None:
            return first.column_name(self.measure)
        require(first.measures, "these scores have no measures to plot")
        return first.measures[0]


@dataclass(frozen=True)
class Kind:
    """A kind of chart: the function that makes it, and what it needs."""

    make: Callable[[Subject], Chart]
    needs: Literal["", "two systems", "run data", "groups of queries"] = ""


def draw(kind: str, subject: Subject) -> Chart:
    """A chart of this kind, or an error that says what it needs."""
    if not isinstance(kind, str) or kind not in KINDS:
        listed = ", ".join(f"{name}{f' (needs {other.needs})' if other.needs else ''}" for name, other in KINDS.items())
        near = did_you_mean(kind, KINDS)
        raise KaratError(f"{shown(kind)} is not a kind of plot", hint=f"{near} The kinds are {listed}.".strip())
    check_level(subject.level)
    require(any(scores.queries for scores in subject.systems.values()), "these scores have no queries to plot")
    needs = KINDS[kind].needs
    if needs == "run data":
        for name, scores in subject.systems.items():
            what = f"the plot {kind} needs run data, which these scores do not contain"
            has_bounds = kind == "bounds" and subject.measure_name in scores.label_bounds
            require(scores.evidence is not None or has_bounds, what, NO_RUN_DATA, place=name or None)
    if needs == "groups of queries":
        hint: Message = ["Pass the group of each query, or ", Parameter("by", "relevant"), "."]
        require(subject.grouping.get("by") is not None, f"the plot {kind} needs groups of queries", hint)
    if needs == "two systems":
        hint = "Plot a comparison, or the scores of two systems."
        require(subject.pairs, f"the plot {kind} needs two systems, but there is only one", hint)
    check_choice("names", subject.names, get_args(Names))
    chart = KINDS[kind].make(subject)
    return chart if subject.names == "canonical" else chart.with_measures(first_asked(subject.systems))


def pairs_of(systems: Mapping[str, Scores], system: str | None, baseline: str | None) -> list[tuple[str, str]]:
    """The systems to compare, each after its baseline, which is the first system unless it is given."""
    for name, role in ((system, "system"), (baseline, "baseline")):
        if name is not None:
            check_system(systems, name, role)
    first = baseline if baseline is not None else next((name for name in systems if name != system), None)
    return [(first, name) for name in systems if first is not None and name != first and system in (None, name)]


def draw_groups(
    kind: str, slices: ComparisonSlices, measure: str | Measure | None, system: str | None, baseline: str | None
) -> Chart:
    """The difference of each pair of systems in each group of queries, or the mean of each system in each group."""
    kinds = ("differences", "slices")
    hint = f"{did_you_mean(kind, kinds)} The kinds are {' and '.join(kinds)}.".strip()
    require(isinstance(kind, str) and kind in kinds, f"{shown(kind)} is not a kind of plot of groups", hint)
    first = next(iter(slices.whole.systems.values()))
    name = first.measures[0] if measure is None else first.column_name(measure)
    pairs = slices.whole.pairs(system, baseline)
    return _group_means(slices, name) if kind == "slices" else _group_differences(slices, name, pairs)


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
    drawn = {"intervals": charts.intervals(rows.interval_rows(systems, measures, level, comparison), level)}
    if len(systems) > 1:
        drawn["differences"] = charts.differences(None, queries, {})
        drawn["scatter"] = charts.scatter(None, queries, {})
    judged = {name: scores for name, scores in systems.items() if scores.evidence is not None}
    if judged:
        drawn["cutoffs"] = charts.cutoffs(rows.cutoff_rows(judged))
        drawn["precision-recall"] = charts.precision_recall(rows.precision_recall_rows(judged))
        drawn["first"] = charts.first(rows.first_rows(judged))
    bounded = [part for measure in measures if (part := _known_bounds(systems, measure))]
    for kind, missing in (("bounds", "unjudged"), ("label-bounds", "unknown")):
        if parts := [part for part in bounded if missing in part and part["low"] != part["high"]]:
            drawn[kind] = charts.bounds(rows.joined(parts), {})
    if slices:
        best = rows.emphasized_systems(systems)
        shown_systems = {name: scores for name, scores in systems.items() if name in best}
        parts = [rows.slice_rows(shown_systems, title, level=level, by=by) for title, by in slices.items()]
        drawn["slices"] = charts.slices(rows.joined(parts), level, len(systems) - len(best), {})
    return {kind: chart.for_page() for kind, chart in drawn.items()}


def _intervals(subject: Subject) -> Chart:
    names = [subject.measure_name] if subject.measure is not None else list(all_measures(subject.systems))
    if len(names) * len(subject.systems) > _MAX_ROWS:
        names = names[:1]
    return charts.intervals(
        rows.interval_rows(subject.systems, names, subject.level, subject.comparison), subject.level
    )


def _differences(subject: Subject) -> Chart:
    return _chart_of_pairs(subject, "differences", charts.differences)


def _scatter(subject: Subject) -> Chart:
    return _chart_of_pairs(subject, "scatter", charts.scatter)


def _chart_of_pairs(subject: Subject, kind: str, make: Callable[..., Chart]) -> Chart:
    """The chart of each pair of systems, which says how many queries are left out because one has no value."""
    _check_pairs(kind, subject.pairs)
    measure = subject.measure_name
    parts: list[Columns] = []
    notes: dict[str, str] = {}
    for one, other in subject.pairs:
        two = {name: subject.systems[name] for name in (one, other)}
        if subject.comparison is None:
            two = align_systems(two, [measure], common_queries=False).systems
        columns = rows.pair_rows(two[one], two[other], measure)
        pair = _pair(one, other)
        parts.append({**columns, "pair": [pair] * len(columns["query"])})
        if left_out := len(two[one].queries) - len(columns["query"]):
            notes[pair] = f"without {plural(left_out, 'query')} that {'has' if left_out == 1 else 'have'} no value"
    queries = max(len(part["query"]) for part in parts)
    return replace(make(rows.joined(parts), queries, _names_of_pairs(subject.pairs, measure)), panel_notes=notes)


def _check_pairs(kind: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Reject more pairs of systems than a chart can show."""
    what = f"the plot {kind} shows at most {MAX_PAIRS} pairs of systems, not {len(pairs)}"
    hint: Message = ["Choose ", Parameter("system"), " and ", Parameter("baseline"), ", or plot fewer systems."]
    require(len(pairs) <= MAX_PAIRS, what, hint)


def _pair(one: str, other: str) -> str:
    return f"{other} − {one}"


def _names_of_pairs(pairs: Sequence[tuple[str, str]], measure: str) -> dict[str, dict[str, str]]:
    """What the placeholders of the panel of each pair stand for."""
    return {_pair(one, other): {"a": one, "b": other, "measure": measure} for one, other in pairs}


def _bounds(subject: Subject) -> Chart:
    measure = subject.measure_name
    return charts.bounds(rows.bounds_rows(subject.systems, measure), {"measure": measure})


def _known_bounds(systems: Mapping[str, Scores], measure: str) -> Columns | None:
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


def _slices(subject: Subject) -> Chart:
    measure = subject.measure_name
    best = rows.emphasized_systems(subject.systems)
    systems = {name: scores.only([measure]) for name, scores in subject.systems.items() if name in best}
    columns = rows.slice_rows(systems, "", level=subject.level, **subject.grouping)
    return charts.slices(columns, subject.level, len(subject.systems) - len(best), {"measure": measure})


def _group_differences(slices: ComparisonSlices, measure: str, pairs: Sequence[tuple[str, str]]) -> Chart:
    """The difference of each pair in each group, with its interval if it was tested."""
    _check_pairs("differences", pairs)
    lines, levels = [], set()
    for one, other in pairs:
        for group, compared in slices.with_all():
            row = compared.rows_by_names[measure, other, one]
            text = _group_label(group, len(compared.queries))
            lines.append((_pair(one, other), text, row.difference, row.difference_low, row.difference_high))
            levels.add(row.difference_level)
    columns = rows.columns_of(("pair", "group", "difference", "low", "high"), lines)
    known = sorted(level for level in levels if level is not None)
    return charts.group_differences(columns, known, _names_of_pairs(pairs, measure))


def _group_means(slices: ComparisonSlices, measure: str) -> Chart:
    """The mean of each system in each group; of many systems, the best."""
    whole = slices.whole
    best = rows.emphasized_systems(whole.systems)
    named = labels(whole.systems)
    lines = []
    for group, compared in slices.groups.items():
        queries = len(compared.queries)
        means = {row.system: row for row in compared.rows if row.measure == measure and row.system in best}
        for system, row in means.items():
            text = _group_label(group, queries)
            lines.append((slices.by, measure, text, queries, named[system], row.mean, row.low, row.high))
    columns = rows.columns_of(rows.SLICE_COLUMNS, lines)
    return charts.slices(columns, whole.method.level, len(whole.systems) - len(best), {"measure": measure})


def _group_label(name: str, queries: int) -> str:
    return f"{label(name)} ({queries:,})"


KINDS: dict[PlotKind, Kind] = {
    "intervals": Kind(_intervals),
    "differences": Kind(_differences, "two systems"),
    "scatter": Kind(_scatter, "two systems"),
    "cutoffs": Kind(lambda subject: charts.cutoffs(rows.cutoff_rows(subject.systems)), "run data"),
    "precision-recall": Kind(
        lambda subject: charts.precision_recall(rows.precision_recall_rows(subject.systems)), "run data"
    ),
    "first": Kind(lambda subject: charts.first(rows.first_rows(subject.systems)), "run data"),
    "bounds": Kind(_bounds, "run data"),
    "slices": Kind(_slices, "groups of queries"),
}
