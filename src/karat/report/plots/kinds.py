"""The kinds of charts: what each shows, what it needs, and how it is made from scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from karat.analysis.evidence import NO_RUN_DATA
from karat.comparison import Comparison
from karat.comparison.alignment import align_systems, check_system
from karat.errors import KaratError, Message, Parameter, did_you_mean, plural, require, shown
from karat.options import Names, PlotKind, check_choice, check_level
from karat.registry import Measure
from karat.report.plots import charts, rows
from karat.report.plots.chart import Chart, Columns
from karat.scores import Scores
from karat.scores.columns import all_measures, first_asked

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
    """A kind of chart: what it shows, what it needs, and the function that makes it."""

    shows: str
    make: Callable[[Subject], Chart]
    needs: Literal["", "two systems", "run data", "groups of queries"] = ""


def draw(kind: str, subject: Subject) -> Chart:
    """A chart of this kind, or an error that says what it needs."""
    if not isinstance(kind, str) or kind not in KINDS:
        listed = ", ".join(f"{name}{f' (needs {each.needs})' if each.needs else ''}" for name, each in KINDS.items())
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


def _intervals(subject: Subject) -> Chart:
    names = [subject.measure_name] if subject.measure is not None else list(all_measures(subject.systems))
    if len(names) * len(subject.systems) > _MAX_ROWS:
        names = names[:1]
    found = rows.interval_rows(subject.systems, names, subject.level, subject.comparison)
    return charts.intervals(found, subject.level)


def _differences(subject: Subject) -> Chart:
    return _chart_of_pairs(subject, "differences", charts.differences)


def _scatter(subject: Subject) -> Chart:
    return _chart_of_pairs(subject, "scatter", charts.scatter)


def check_pairs(kind: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Reject more pairs of systems than a chart can show."""
    what = f"the plot {kind} shows at most {MAX_PAIRS} pairs of systems, not {len(pairs)}"
    require(
        len(pairs) <= MAX_PAIRS,
        what,
        ["Choose ", Parameter("system"), " and ", Parameter("baseline"), ", or plot fewer systems."],
    )


def _chart_of_pairs(subject: Subject, kind: str, make: Callable[..., Chart]) -> Chart:
    """The chart of each pair of systems, which says how many queries are left out because one has no value."""
    check_pairs(kind, subject.pairs)
    measure = subject.measure_name
    parts: list[Columns] = []
    names, notes = {}, {}
    for one, other in subject.pairs:
        two = {name: subject.systems[name] for name in (one, other)}
        if subject.comparison is None:
            two = align_systems(two, [measure], common_queries=False).systems
        found = rows.pair_rows(two[one], two[other], measure)
        pair = f"{other} − {one}"
        parts.append({**found, "pair": [pair] * len(found["query"])})
        names[pair] = {"a": one, "b": other, "measure": measure}
        if left_out := len(two[one].queries) - len(found["query"]):
            notes[pair] = f"without {plural(left_out, 'query')} that {'has' if left_out == 1 else 'have'} no value"
    queries = max(len(part["query"]) for part in parts)
    return replace(make(rows.joined(parts), queries, names), panel_notes=notes)


def _cutoffs(subject: Subject) -> Chart:
    return charts.cutoffs(rows.cutoff_rows(subject.systems))


def _precision_recall(subject: Subject) -> Chart:
    return charts.precision_recall(rows.precision_recall_rows(subject.systems))


def _first(subject: Subject) -> Chart:
    return charts.first(rows.first_rows(subject.systems))


def _bounds(subject: Subject) -> Chart:
    measure = subject.measure_name
    return charts.bounds(rows.bounds_rows(subject.systems, measure), {"measure": measure})


def _slices(subject: Subject) -> Chart:
    measure = subject.measure_name
    best = rows.emphasized(subject.systems)
    systems = {name: scores.only([measure]) for name, scores in subject.systems.items() if name in best}
    found = rows.slice_rows(systems, "", level=subject.level, **subject.grouping)
    return charts.slices(found, subject.level, len(subject.systems) - len(best), {"measure": measure})


KINDS: dict[PlotKind, Kind] = {
    "intervals": Kind("means with their confidence intervals", _intervals),
    "differences": Kind("the difference of each query, sorted", _differences, "two systems"),
    "scatter": Kind("one system against the other, a point per query", _scatter, "two systems"),
    "cutoffs": Kind("nDCG, recall and precision at each cut-off", _cutoffs, "run data"),
    "precision-recall": Kind("interpolated precision at levels of recall", _precision_recall, "run data"),
    "first": Kind("the rank of the first relevant document", _first, "run data"),
    "bounds": Kind("the range that unjudged documents allow", _bounds, "run data"),
    "slices": Kind("scores by group of queries", _slices, "groups of queries"),
}
