"""The rows of charts, as columns, from scores. All values are those of measures; None is null or infinite.

Systems and groups are named by their labels, measures and queries by their names.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from karat.analysis.evidence import other_measures, same_threshold
from karat.analysis.slices import slices
from karat.comparison import Comparison
from karat.measures import RR, IPrec, P, R, meanings, nDCG
from karat.registry import Measure
from karat.report.plots.chart import Columns
from karat.report.plots.style import MAX_SYSTEMS, label, labels
from karat.scores import Scores
from karat.scores.combining import differences

Systems = Mapping[str, Scores]

SLICE_COLUMNS = ("slice", "measure", "group", "queries", "system", "mean", "low", "high")
CUTOFFS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000)
RECALLS = tuple(tenths / 10 for tenths in range(11))
_LAST_RANKS = (1, 3, 5, 10, math.inf)
"""the last rank of each group of ranks"""
RANKS = ("1", "2–3", "4–5", "6–10", "> 10", "none")


def interval_rows(systems: Systems, measures: Sequence[str], level: float, comparison: Comparison | None) -> Columns:
    """The mean of each system on each measure, with its interval: of the comparison, if it has one."""
    ends = {} if comparison is None else {(row.system, row.measure): (row.low, row.high) for row in comparison.rows}
    rows = []
    named = labels(systems)
    for name, scores in systems.items():
        having = [measure for measure in measures if measure in scores.values]
        missing = [measure for measure in having if (name, measure) not in ends]
        computable = [measure for measure in missing if len(scores.queries) - scores.nulls(measure) > 1]
        computed = scores.intervals(level, measures=computable) if computable else {}
        for measure in having:
            low, high = ends.get((name, measure)) or computed.get(measure) or (None, None)
            rows.append((measure, named[name], scores.combined(measure), low, high))
    order = {measure: at for at, measure in enumerate(measures)}
    rows.sort(key=lambda row: order[row[0]])
    return columns_of(("measure", "system", "mean", "low", "high"), rows)


def pair_rows(before: Scores, after: Scores, measure: str) -> Columns:
    """The values of both systems for each query, and their difference, largest first."""
    mine, theirs = after.column(measure), before.column(measure)
    change = differences(mine, theirs)
    known = np.flatnonzero(np.isfinite(change))
    order = known[np.argsort(-change[known], kind="stable")].tolist()
    sign = 1 if before.higher_is_better(measure) else -1
    names = {1: "better", 0: "same", -1: "worse"}
    rows = [
        (before.queries[at], theirs[at], mine[at], change[at] + 0.0, names[int(np.sign(sign * change[at]))], place)
        for place, at in enumerate(order)
    ]
    return columns_of(("query", "a", "b", "difference", "change", "place"), rows)


def cutoff_rows(systems: Systems) -> Columns:
    """nDCG, recall and precision of each system at each cut-off, down to the deepest ranking."""
    deepest = max(_deepest(scores) for scores in systems.values())
    ks = [k for k in CUTOFFS if k <= max(deepest, 10)]
    rows = []
    for measure in (nDCG, R, P):
        for name, values in _computed(systems, [measure @ k for k in ks]):
            rows += [(f"{measure.name}@k", name, k, value) for k, value in zip(ks, values, strict=True)]
    return _with_emphasis(systems, ("measure", "system", "k", "value"), rows)


def precision_recall_rows(systems: Systems) -> Columns:
    """The interpolated precision of each system at eleven levels of recall."""
    rows = []
    for name, values in _computed(systems, [IPrec @ recall for recall in RECALLS]):
        rows += [(name, recall, value) for recall, value in zip(RECALLS, values, strict=True)]
    return _with_emphasis(systems, ("system", "recall", "precision"), rows)


def first_rows(systems: Systems) -> Columns:
    """For each system, the number of queries whose first relevant document is at these ranks."""
    rows = []
    for name, scores in _labelled(systems).items():
        ranks = first_ranks(scores)
        groups = [len(RANKS) - 1 if rank is None else bisect_left(_LAST_RANKS, rank) for rank in ranks]
        counts = np.bincount(groups, minlength=len(RANKS)).tolist()
        rows += [(name, RANKS[place], count, place) for place, count in enumerate(counts)]
    return columns_of(("system", "rank", "queries", "place"), rows)


def first_ranks(scores: Scores) -> list[int | None]:
    """The rank of the first relevant document of each query; None if none was retrieved."""
    (values,) = other_measures(scores, [same_threshold(scores, RR)]).values.values()
    return [round(1 / value) if value > 0 else None for value in values.tolist()]


def bounds_rows(systems: Systems, measure: str) -> Columns:
    """The score of each system, and the lowest and the highest that unjudged documents or unknown labels allow."""
    rows = []
    for name, scores in _labelled(systems).items():
        bounds = scores.bounds(measure)
        rows.append((measure, name, scores.combined(measure), *bounds.mean, int(bounds.unknown.sum())))
    of_labels = any(each.definition.takes == "verdicts" for each in meanings(measure))
    missing = "unknown" if of_labels else "unjudged"
    return columns_of(("measure", "system", "value", "low", "high", missing), rows)


def slice_rows(
    systems: Systems, slice_name: str, *, level: float, by: Any, bins: Any = None, queries: Any = None
) -> Columns:
    """The mean of each group of queries and each system on each measure, with its interval."""
    rows = []
    for name, scores in _labelled(systems).items():
        for group in slices(scores, by, bins, queries, level).to_dict()["groups"]:
            for measure, ends in group["scores"].items():
                text = f"{label(group['group'])} ({group['queries']:,})"
                rows.append(
                    (slice_name, measure, text, group["queries"], name, ends["mean"], ends["low"], ends["high"])
                )
    return columns_of(SLICE_COLUMNS, rows)


def joined(parts: Sequence[Columns]) -> Columns:
    """The rows of several tables with the same columns."""
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def emphasized_systems(systems: Systems) -> set[str]:
    """The systems that have a colour of their own: all, or the best on the first measure if there are too many."""
    if len(systems) <= MAX_SYSTEMS:
        return set(systems)
    measure = next(iter(next(iter(systems.values()))))
    sign = 1 if next(iter(systems.values())).higher_is_better(measure) else -1
    means = {name: scores.combined(measure) if measure in scores else None for name, scores in systems.items()}
    best = sorted(systems, key=lambda name: math.inf if means[name] is None else -sign * (means[name] or 0.0))
    return set(best[: MAX_SYSTEMS - 1])


def _computed(systems: Systems, measures: Sequence[Measure]) -> Iterable[tuple[str, list[float | None]]]:
    """The means of other measures, for each system."""
    for name, scores in _labelled(systems).items():
        wanted = [same_threshold(scores, measure) for measure in measures]
        yield name, list(other_measures(scores, wanted).means.values())


def _labelled(systems: Systems) -> dict[str, Scores]:
    """The systems by their labels."""
    named = labels(systems)
    return {named[name]: scores for name, scores in systems.items()}


def _deepest(scores: Scores) -> int:
    return 0 if scores.evidence is None else int(scores.evidence.judged.retrieved.max(initial=0))


def _with_emphasis(systems: Systems, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Columns:
    named = labels(systems)
    chosen = {named[name] for name in emphasized_systems(systems)}
    columns = columns_of(names, rows)
    return {**columns, "emphasized": [name in chosen for name in columns["system"]]}


def columns_of(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Columns:
    """Rows as columns of these names."""
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: [_plain(value) for value in column] for name, column in zip(names, columns, strict=True)}


def _plain(value: Any) -> Any:
    """A value for JSON, which has no numbers that are not finite."""
    return (float(value) if math.isfinite(value) else None) if isinstance(value, float) else value
