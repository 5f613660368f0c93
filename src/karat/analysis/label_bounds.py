"""The lowest and the highest value that a measure of verdicts could have, whatever the unknown labels are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple, cast

import numpy as np

from karat.data.judged import Bools, Floats, Ints, place_in_query, ranges
from karat.data.verdicts import ItemSet, Relation, Verdicts
from karat.measures.labels import relations_of
from karat.registry import Measure
from karat.scores.bounds import Bounds

MOST_UNKNOWN = 16
"""labels that are tried in every combination; of more, the bounds are those of the measure"""
_MOST_ROWS = 1 << 24
"""rows of all combinations that are tried, for one measure"""
_ROWS_AT_ONCE = 1 << 20
_Arrays = tuple[Floats, Floats, Bools, Bools]
"""of each query: the lowest and the highest value, whether they are exact, and whether it may have none"""


class Cost(NamedTuple):
    """What it costs to try all combinations of a query's unknown labels, in rows."""

    rows: float
    query: str


def label_bounds(measure: Measure, verdicts: Verdicts, values: Floats, limit: Cost | None) -> Bounds:
    """The bounds of a measure, of which `values` are known.

    Unknown labels are set to the lowest or the highest of their scale, whichever lowers or raises the measure. Where
    that is not certain, all combinations are tried, for up to 16 unknown labels per query; a query with more gets the
    lowest and the highest value of the measure itself. So does one that costs as much as the `limit`, or more.
    """
    low, high = values.copy(), values.copy()
    exact, nullable = np.ones(len(low), bool), np.zeros(len(low), bool)
    rows = np.flatnonzero(np.isnan(low))
    if len(rows):
        low[rows], high[rows], exact[rows], nullable[rows] = _bounds(measure, verdicts.take(rows), limit)
    return Bounds.of_labels(str(measure), verdicts.queries, low, high, exact, nullable)


def combination_costs(measure: Measure, verdicts: Verdicts, values: Floats) -> list[Cost]:
    """The costs of queries without a value, in order, as far as they can be tried, and the first one beyond."""
    rows = np.flatnonzero(np.isnan(values))
    if not len(rows) or 0 not in relations_of(measure).values():
        return []
    undecided = verdicts.take(rows)
    return affordable(_costs(undecided, _unknown(measure, undecided)))


def affordable(costs: Iterable[Cost]) -> list[Cost]:
    """The lowest costs, as far as all of them together can be tried, and the first one beyond, if any is."""
    rising = sorted(costs)
    totals = accumulate(cost.rows for cost in rising)
    within = sum(1 for _ in takewhile(lambda total: total <= _MOST_ROWS, totals))
    return rising[: within + 1]


def limit_of(costs: Sequence[Cost]) -> Cost | None:
    """The first cost that is too much, of what `affordable` returned; None if all of them can be tried."""
    return costs[-1] if math.fsum(cost.rows for cost in costs) > _MOST_ROWS else None


def _unknown(measure: Measure, verdicts: Verdicts) -> Ints:
    """The number of unknown labels of each query that may raise or lower the measure."""
    either = [relation for relation, sign in relations_of(measure).items() if sign == 0]
    return sum((_unknown_rows(verdicts, relation) for relation in either), np.zeros(len(verdicts.queries), np.int64))


def _bounds(measure: Measure, verdicts: Verdicts, limit: Cost | None) -> _Arrays:
    n, relations = len(verdicts.queries), relations_of(measure)
    if not relations:
        return _bounds_without_relations(measure, verdicts)
    unknown = _unknown(measure, verdicts)
    low, high = (measure.compute(verdicts.assuming(_extremes(relations, sign))) for sign in (-1, 1))
    exact, nullable = np.ones(n, bool), np.zeros(n, bool)
    tried = _tried(_costs(verdicts, unknown), limit, verdicts)
    if tried.any():
        rows = np.flatnonzero(tried)
        low[rows], high[rows], nullable[rows] = _combinations(measure, verdicts, rows, relations, unknown)
    beyond = (unknown > 0) & ~tried
    lowest, highest = measure.definition.bounds
    low[beyond], high[beyond], exact[beyond] = lowest, highest, False
    counted, *others = _needed_sets(relations)
    listed = [verdicts.are_listed(items) for items in (counted, *others)]
    unlisted = ~np.logical_and.reduce(listed)
    low[unlisted], high[unlisted], nullable[unlisted] = lowest, highest, False
    # If nothing is known, the whole range is possible; if some items are, not all of it may be.
    exact &= ~(unlisted & np.logical_or.reduce(listed))
    empty = verdicts.has_none(counted)
    low[empty] = high[empty] = np.nan
    return low, high, exact | empty, nullable


def _bounds_without_relations(measure: Measure, verdicts: Verdicts) -> _Arrays:
    """The bounds of a measure that does not say which labels it reads, or that reads only what sentences cite."""
    n, (lowest, highest) = len(verdicts.queries), measure.definition.bounds
    unknown = np.ones(n, bool)
    if not measure.needs_labels:
        cites = verdicts.citations.valid.count() > 0
        unknown = ~verdicts.are_listed("sentences") | (cites & ~verdicts.are_listed("passages"))
    low, high = (np.where(unknown, bound, np.nan) for bound in (lowest, highest))
    return low, high, ~unknown, np.zeros(n, bool)


def _extremes(relations: dict[Relation, int], sign: int) -> dict[Relation, float | Floats]:
    """What unknown labels are taken for so that the measure is lowest (-1) or highest (1)."""
    return {relation: relation.highest if own == sign else 0.0 for relation, own in relations.items()}


def _unknown_rows(verdicts: Verdicts, relation: Relation) -> Ints:
    labels = verdicts.relation(relation)
    return np.bincount(labels.query[np.isnan(labels.value)], minlength=labels.n)


def _needed_sets(relations: dict[Relation, int]) -> list[ItemSet]:
    """The items that must be known, first those without which there is nothing to judge."""
    sets: dict[ItemSet, None] = dict.fromkeys(relation.items for relation in relations)
    if any(relation.against in ("passage", "cited", "others") for relation in relations):
        sets["passages"] = None
    return list(sets)


def _costs(verdicts: Verdicts, unknown: Ints) -> list[Cost]:
    """The costs of the queries with few enough unknown labels to try all combinations."""
    items = np.bincount(verdicts.item_query, minlength=len(unknown))
    labels = np.bincount(verdicts.item_query[verdicts.label_item], minlength=len(unknown))
    cost = np.ldexp((items + labels).astype(float), np.minimum(unknown, MOST_UNKNOWN + 1))
    possible = np.flatnonzero((unknown > 0) & (unknown <= MOST_UNKNOWN)).tolist()
    return [Cost(float(cost[at]), verdicts.queries[at]) for at in possible]


def _tried(costs: Sequence[Cost], limit: Cost | None, verdicts: Verdicts) -> Bools:
    """The queries that cost less than the limit."""
    tried = {cost.query for cost in costs if limit is None or cost < limit}
    return np.array([query in tried for query in verdicts.queries], bool)


def _combinations(
    measure: Measure, verdicts: Verdicts, rows: Ints, relations: dict[Relation, int], unknown: Ints
) -> tuple[Floats, Floats, Bools]:
    """The bounds of some queries, of which every combination of unknown labels is tried, and which are nullable."""
    low, high, nullable = np.empty(len(rows)), np.empty(len(rows)), np.zeros(len(rows), bool)
    size = np.bincount(verdicts.item_query, minlength=len(unknown))[rows] + 1
    block = np.cumsum(size << unknown[rows]) // _ROWS_AT_ONCE
    for number in sorted(set(block.tolist())):
        at = np.flatnonzero(block == number)
        copies = np.left_shift(1, unknown[rows[at]])
        tiled = verdicts.take(np.repeat(rows[at], copies))
        combination = ranges(np.zeros(len(at), np.int64), copies)
        assumed = _assumptions(tiled, [relation for relation, sign in relations.items() if sign == 0], combination)
        starts = np.cumsum(copies) - copies
        for bound, sign, reduce in ((low, -1, np.fmin), (high, 1, np.fmax)):
            values = measure.compute(tiled.assuming({**_extremes(relations, sign), **assumed}))
            bound[at] = cast("np.ufunc", reduce).reduceat(values, starts)
            nullable[at] |= np.logical_or.reduceat(np.isnan(values), starts)
    return low, high, nullable & ~np.isnan(low)


def _assumptions(tiled: Verdicts, either: list[Relation], combination: Ints) -> dict[Relation, float | Floats]:
    """A value for each unknown label: bit i of the number of a combination is that of a query's label i."""
    assumed: dict[Relation, float | Floats] = {}
    before = np.zeros(len(combination), np.int64)
    for relation in either:
        labels = tiled.relation(relation)
        unknown = np.isnan(labels.value)
        query = labels.query[unknown]
        place = np.zeros(len(labels.value), np.int64)
        place[unknown] = before[query] + place_in_query(query) - 1
        bits = (combination[labels.query] >> place) & 1
        assumed[relation] = bits.astype(np.float64) * relation.highest
        before += np.bincount(query, minlength=len(before))
    return assumed
