"""The lowest and the highest value that a measure of verdicts could have, whatever the unknown labels are."""

from __future__ import annotations

from typing import cast

import numpy as np

from karat.judged import Bools, Floats, Ints, place_in_query, ranges
from karat.measures.relations import relations_of
from karat.registry import Measure
from karat.scores.label_bounds import LabelBounds
from karat.verdicts import Relation, Verdicts

MOST_UNKNOWN = 16
"""labels that are tried in every combination; of more, the bounds are those of the measure"""
_MOST_ROWS = 1 << 24
"""rows of all combinations that are tried, for one measure"""
_ROWS_AT_ONCE = 1 << 20


def label_bounds(measure: Measure, verdicts: Verdicts, values: Floats | None = None) -> LabelBounds:
    """The bounds of a measure. `values` are those of the measure, if they were computed before.

    Unknown labels are set to the lowest or the highest of their scale, whichever lowers or raises the measure. Where
    that is not certain, all combinations are tried, for up to 16 unknown labels per query; a query with more gets the
    lowest and the highest value of the measure itself.
    """
    low = (measure.compute(verdicts) if values is None else values).copy()
    high, exact = low.copy(), np.ones(len(low), bool)
    open_queries = np.flatnonzero(np.isnan(low))
    if len(open_queries):
        low[open_queries], high[open_queries], exact[open_queries] = _bounds(measure, verdicts.take(open_queries))
    return LabelBounds(low, high, exact)


def _bounds(measure: Measure, verdicts: Verdicts) -> tuple[Floats, Floats, Bools]:
    n = len(verdicts.queries)
    relations = relations_of(measure)
    either = [relation for relation, sign in relations.items() if sign == 0]
    unknown = sum((_unknown_rows(verdicts, relation) for relation in either), np.zeros(n, np.int64))
    low, high = (measure.compute(verdicts.assuming(_extremes(relations, sign))) for sign in (-1, 1))
    exact = np.ones(n, bool)
    tried = _affordable(unknown, verdicts)
    if tried.any():
        rows = np.flatnonzero(tried)
        low[rows], high[rows] = _combinations(measure, verdicts, rows, relations, unknown)
    beyond = (unknown > 0) & ~tried
    lowest, highest = measure.definition.bounds
    low[beyond], high[beyond], exact[beyond] = lowest, highest, False
    unlisted = ~_are_listed(verdicts, relations) & np.isnan(low)
    low[unlisted], high[unlisted] = lowest, highest
    return low, high, exact


def _extremes(relations: dict[Relation, int], sign: int) -> dict[Relation, float | Floats]:
    """What unknown labels are taken for so that the measure is lowest (-1) or highest (1)."""
    return {relation: relation.highest if own == sign else 0.0 for relation, own in relations.items()}


def _unknown_rows(verdicts: Verdicts, relation: Relation) -> Ints:
    labels = verdicts.relation(relation)
    return np.bincount(labels.query[np.isnan(labels.value)], minlength=labels.n)


def _are_listed(verdicts: Verdicts, relations: dict[Relation, int]) -> Bools:
    """Queries of which it is known which items they have."""
    listed = np.ones(len(verdicts.queries), bool)
    for relation in relations:
        listed &= verdicts.are_listed(relation.items)
        if relation.against == "passage" and relation.items != "sentences":
            listed &= verdicts.are_listed("passages")
    return listed


def _affordable(unknown: Ints, verdicts: Verdicts) -> Bools:
    """Queries with few enough unknown labels to try all combinations, those with the fewest first."""
    items = np.bincount(verdicts.item_query, minlength=len(unknown))
    labels = np.bincount(verdicts.item_query[verdicts.label_item], minlength=len(unknown))
    cost = np.ldexp((items + labels).astype(float), np.minimum(unknown, MOST_UNKNOWN + 1))
    cost[(unknown == 0) | (unknown > MOST_UNKNOWN)] = np.inf
    order = np.argsort(cost, kind="stable")
    affordable = np.zeros(len(unknown), bool)
    affordable[order] = np.cumsum(cost[order]) <= _MOST_ROWS
    return affordable


def _combinations(
    measure: Measure, verdicts: Verdicts, rows: Ints, relations: dict[Relation, int], unknown: Ints
) -> tuple[Floats, Floats]:
    """The bounds of some queries, of which every combination of unknown labels is tried."""
    low, high = np.empty(len(rows)), np.empty(len(rows))
    size = np.bincount(verdicts.item_query, minlength=len(unknown))[rows] + 1
    block = np.cumsum(size << unknown[rows]) // _ROWS_AT_ONCE
    for each in sorted(set(block.tolist())):
        at = np.flatnonzero(block == each)
        copies = np.left_shift(1, unknown[rows[at]])
        tiled = verdicts.take(np.repeat(rows[at], copies))
        combination = ranges(np.zeros(len(at), np.int64), copies)
        assumed = _assumptions(tiled, [relation for relation, sign in relations.items() if sign == 0], combination)
        starts = np.cumsum(copies) - copies
        for found, sign, reduce in ((low, -1, np.fmin), (high, 1, np.fmax)):
            values = measure.compute(tiled.assuming({**_extremes(relations, sign), **assumed}))
            found[at] = cast("np.ufunc", reduce).reduceat(values, starts)
    return low, high


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
