"""How far judges agree: Cohen's kappa of two, Krippendorff's alpha of several, and the order of systems by two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from karat.data.judged import Floats, Ints, distinct
from karat.stats.bootstrap import MAX_RESAMPLED, ROUNDING, abc_interval_of_mean, bca_interval, bootstrap_means

_LEVEL = 0.95  # of the confidence intervals


class Coefficient(NamedTuple):
    """How far judges, or two orders of systems, agree: 1 is always, and 0 as by chance. And its 95% interval.

    The value is None where it is undefined: if all judges gave one and the same label everywhere, so that agreement by
    chance is certain, or if all systems have the same mean by one of the judges. The interval is None if there are
    fewer than two queries. That of judges is also None if the coefficient has no value without one of the queries, or
    is the same without any of them.
    """

    value: float | None
    interval: tuple[float, float] | None

    def record(self, name: str) -> dict[str, float | None]:
        """The value and the ends of the interval, under this name."""
        low, high = self.interval or (None, None)
        return {name: self.value, f"{name}_low": low, f"{name}_high": high}


def kappas(query: Ints, first: Ints, second: Ints, scale: Floats) -> tuple[Coefficient, Coefficient]:
    """Cohen's kappa of two judges, and kappa weighted by the squared distance of labels on their scale (Cohen 1968).

    A row is something that both labelled: its query, and the position on the scale of each label. `scale` has the
    number that each label stands for. The queries are resampled, because labels of one query depend on each other.
    """
    distances = _distances(scale)
    group, n, labels = *_groups(query), len(scale)
    # Kappa depends on these sums over queries: the distances of both kinds, and how often each judge gave each label.
    of_distance = [np.bincount(group, distance[first, second], n) for distance in distances]
    of_labels = [np.bincount(group * labels + judge, minlength=n * labels) for judge in (first, second)]
    columns = np.column_stack([*of_distance, *(counts.reshape(n, labels) for counts in of_labels)]).astype(np.float64)

    def kappa(kind: int, sums: Floats) -> Floats:
        return _kappa(sums[..., kind], sums[..., 2 : 2 + labels], sums[..., 2 + labels :], distances[kind])

    return _coefficients(columns, kappa)


def alphas(query: Ints, item: Ints, label: Ints, scale: Floats) -> tuple[Coefficient, Coefficient]:
    """Krippendorff's alpha of any number of judges: of equal labels, and of their squared distance on the scale.

    A row is one label: its query, the item that it is about (numbered across queries), and its position on the scale.
    Items with one label say nothing about agreement. The queries are resampled.
    """
    _, item = np.unique(item, return_inverse=True)
    counted = np.bincount(item)[item] > 1
    if not counted.any():
        return Coefficient(None, None), Coefficient(None, None)
    query, item, label = query[counted], item[counted], label[counted]
    distances = _distances(scale)
    group, n, labels = *_groups(query), len(scale)
    items, first, item = np.unique(item, return_index=True, return_inverse=True)
    of_items = np.bincount(item * labels + label, minlength=len(items) * labels).reshape(-1, labels).astype(np.float64)
    given = of_items.sum(axis=1)
    # Within an item with m labels, each ordered pair of labels by two judges counts 1 / (m - 1).
    within = [((of_items @ distance) * of_items).sum(axis=1) / (given - 1) for distance in distances]
    of_distance = [np.bincount(group[first], each, n) for each in within]
    of_labels = np.bincount(group * labels + label, minlength=n * labels).reshape(n, labels)
    columns = np.column_stack([*of_distance, of_labels]).astype(np.float64)

    def alpha(kind: int, sums: Floats) -> Floats:
        return _alpha(sums[..., kind], sums[..., 2:], distances[kind])

    return _coefficients(columns, alpha)


def _distances(scale: Floats) -> tuple[Floats, Floats]:
    """How far labels are apart: whether they differ, and the squared difference of their numbers."""
    return 1 - np.eye(len(scale)), np.subtract.outer(scale, scale) ** 2


def _groups(query: Ints) -> tuple[Ints, int]:
    """The queries as numbers from 0, and how many there are."""
    queries = distinct(query)
    return np.searchsorted(queries, query), len(queries)


def _coefficients(columns: Floats, coefficient: Callable[[int, Floats], Floats]) -> tuple[Coefficient, Coefficient]:
    """Both kinds of a coefficient that depends on sums over queries; `columns` has a row of terms per query."""
    resampled: list[Floats] = []
    results, n = [], len(columns)
    for kind in range(2):
        value = float(coefficient(kind, columns.sum(axis=0)))
        if math.isnan(value) or n < 2:
            results.append(Coefficient(None if math.isnan(value) else value, None))
            continue
        without_each = coefficient(kind, columns.sum(axis=0) - columns)
        # To first order, the coefficient is the mean of these values, one per query.
        values = value + (n - 1) * (without_each.mean() - without_each)
        # Values that are all equal do not tell how much it varies.
        if np.isnan(values).any() or np.ptp(values) == 0:
            results.append(Coefficient(value, None))
            continue
        interval = abc_interval_of_mean(values, _LEVEL) if n > MAX_RESAMPLED else None
        if interval is None:
            resampled = resampled or [bootstrap_means(columns)]
            drawn = coefficient(kind, n * resampled[0])
            interval = bca_interval(values, drawn[~np.isnan(drawn)], _LEVEL)
        results.append(Coefficient(value, interval))
    return results[0], results[1]


def _kappa(distance: Floats, first: Floats, second: Floats, distances: Floats) -> Floats:
    """1 - observed distance / distance by chance; NaN if that is 0."""
    by_chance = ((first @ distances) * second).sum(axis=-1)
    return _beyond_chance(distance * first.sum(axis=-1), by_chance)


def _alpha(distance: Floats, given: Floats, distances: Floats) -> Floats:
    """The same for labels of which each is paired with those of all other judges."""
    by_chance = ((given @ distances) * given).sum(axis=-1)
    return _beyond_chance(distance * (given.sum(axis=-1) - 1), by_chance)


def _beyond_chance(observed: Floats, by_chance: Floats) -> Floats:
    share = np.full(np.shape(by_chance), np.nan)
    np.divide(observed, by_chance, out=share, where=by_chance > 0)
    return 1 - share


def order_agreement(people: Floats, model: Floats) -> tuple[Coefficient, Coefficient]:
    """Kendall's tau-b and tau_AP of the order of systems by their means, from values with a row per query.

    A column is a system. tau_AP (Yilmaz, Aslam and Robertson 2008) is Kendall's tau in which mistakes among the best
    systems count more: the mean, over all systems but the first in the order of the model, of the share of the systems
    above it that people too place above it, from -1 to 1. Systems with equal means have no order: each of their orders
    counts alike.

    The intervals are percentiles over resampled queries: coefficients of few systems have few values, of which no finer
    interval can be made.

    >>> people, model = np.array([[0.5, 0.4, 0.3, 0.2]]), np.array([[0.4, 0.5, 0.3, 0.2]])
    >>> [round(each.value, 3) for each in order_agreement(people, model)]
    [0.667, 0.333]
    """
    systems = people.shape[1]
    found = [_orders(values.mean(axis=0)[None, :]) for values in (people, model)]
    values = [float(of(*found)[0]) for of in (_tau_b, _tau_ap)]
    if len(people) < 2:
        return _ordered(values[0], None), _ordered(values[1], None)
    drawn = bootstrap_means(np.column_stack([people, model]))
    resampled = _orders(drawn[:, :systems]), _orders(drawn[:, systems:])
    return _ordered(values[0], _tau_b(*resampled)), _ordered(values[1], _tau_ap(*resampled))


def _ordered(value: float, drawn: Floats | None) -> Coefficient:
    if math.isnan(value):
        return Coefficient(None, None)
    known = None if drawn is None else drawn[~np.isnan(drawn)]
    if known is None or not len(known):
        return Coefficient(value, None)
    low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).tolist()
    return Coefficient(value, (min(low, value), max(high, value)))


def _orders(means: Floats) -> Floats:
    """For each row of means: 1 where the system of the first axis is above that of the second, -1 below, 0 if equal.

    Means of the same values in another order may differ by rounding: they are equal.
    """
    differences = means[:, :, None] - means[:, None, :]
    rounding = ROUNDING * np.abs(means).max(axis=1)[:, None, None]
    return np.where(np.abs(differences) <= rounding, 0.0, np.sign(differences))


def _tau_b(first: Floats, second: Floats) -> Floats:
    concordant = (first * second).sum(axis=(1, 2))
    untied = np.sqrt((first**2).sum(axis=(1, 2)) * (second**2).sum(axis=(1, 2)))
    return _ratio(concordant, untied)


def _tau_ap(people: Floats, model: Floats) -> Floats:
    """The mean over systems; of a system that the model ties with others, over its places among these."""
    systems = people.shape[1]
    right = (people + 1) / 2  # of a pair: 1 if the first is above the second by people too, 1/2 if they are tied
    above, tied = model > 0, (model == 0) & ~np.eye(systems, dtype=bool)
    counts, ties = above.sum(axis=1), tied.sum(axis=1)
    agreeing = (right * above).sum(axis=1)
    share_of_tied = np.divide((right * tied).sum(axis=1), ties, out=np.zeros(ties.shape), where=ties > 0)
    total = np.zeros(counts.shape)
    for before in range(systems):  # so many of the tied systems stand above it, with equal chance
        place = counts + before
        share = np.divide(agreeing + before * share_of_tied, place, out=np.zeros(counts.shape), where=place > 0)
        total += np.where(before <= ties, share, 0) / (ties + 1)
    values = 2 * total.sum(axis=1) / max(1, systems - 1) - 1
    same = ~people.any(axis=(1, 2)) | ~model.any(axis=(1, 2))
    return np.where(same, np.nan, values)


def _ratio(part: Floats, whole: Floats) -> Floats:
    ratio = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio
