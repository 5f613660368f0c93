"""How far two judges agree: Cohen's kappa on labels, and Kendall's tau on the order of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from karat.data.judged import Floats, Ints
from karat.stats.bootstrap import MAX_RESAMPLED, abc_interval_of_mean, bca_interval, bootstrap_means

_LEVEL = 0.95  # of the confidence intervals


class Kappa(NamedTuple):
    """Cohen's kappa, and its 95% confidence interval.

    The value is None if both judges gave one and the same label everywhere, so that agreement by chance is certain. The
    interval is None if there are fewer than two queries, if kappa has no value without one of them, or if it is the
    same without any of them.
    """

    value: float | None
    interval: tuple[float, float] | None


def kappas(query: Ints, first: Ints, second: Ints, scale: Floats) -> tuple[Kappa, Kappa]:
    """Cohen's kappa of two judges, and kappa weighted by the squared distance of labels on their scale (Cohen 1968).

    A row is something that both labelled: its query, and the position on the scale of each label. `scale` has the
    number that each label stands for. The queries are resampled, because labels of one query depend on each other.
    """
    distances = [1 - np.eye(len(scale)), np.subtract.outer(scale, scale) ** 2]
    _, group = np.unique(query, return_inverse=True)
    n, labels = int(group.max()) + 1, len(scale)
    # Kappa depends on these sums over queries: the distances of both kinds, and how often each judge gave each label.
    of_distance = [np.bincount(group, distance[first, second], n) for distance in distances]
    of_labels = [np.bincount(group * labels + judge, minlength=n * labels) for judge in (first, second)]
    columns = np.column_stack([*of_distance, *(counts.reshape(n, labels) for counts in of_labels)]).astype(np.float64)
    resampled: list[Floats] = []

    def kappa(kind: int, sums: Floats) -> Floats:
        return _kappa(sums[..., kind], sums[..., 2 : 2 + labels], sums[..., 2 + labels :], distances[kind])

    results = []
    for kind in range(2):
        value = float(kappa(kind, columns.sum(axis=0)))
        if math.isnan(value) or n < 2:
            results.append(Kappa(None if math.isnan(value) else value, None))
            continue
        without_each = kappa(kind, columns.sum(axis=0) - columns)
        # To first order, kappa is the mean of these values, one per query.
        values = value + (n - 1) * (without_each.mean() - without_each)
        # Values that are all equal do not tell how much kappa varies.
        if np.isnan(values).any() or np.ptp(values) == 0:
            results.append(Kappa(value, None))
            continue
        interval = abc_interval_of_mean(values, _LEVEL) if n > MAX_RESAMPLED else None
        if interval is None:
            resampled = resampled or [bootstrap_means(columns)]
            drawn = kappa(kind, resampled[0])
            interval = bca_interval(values, drawn[~np.isnan(drawn)], _LEVEL)
        results.append(Kappa(value, interval))
    return results[0], results[1]


def _kappa(distance: Floats, first: Floats, second: Floats, distances: Floats) -> Floats:
    """1 - observed distance / distance by chance; NaN if that is 0. The numbers may all be scaled by one factor."""
    by_chance = ((first @ distances) * second).sum(axis=-1)
    kappa = np.full(np.shape(by_chance), np.nan)
    np.divide(distance * first.sum(axis=-1), by_chance, out=kappa, where=by_chance > 0)
    return 1 - kappa


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b of two lists of values; None if all values of a list are the same.

    >>> kendall_tau([0.3, 0.4, 0.5], [0.1, 0.2, 0.3])
    1.0
    """
    from scipy.stats import kendalltau

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(kendalltau(first, second).statistic)
