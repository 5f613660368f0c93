"""Confidence intervals of means that were considered, compared by simulation; karat computes only the last one.

python -m tests.statistics.interval_candidates      prints the table in docs/is-the-difference-real.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist

import numpy as np

from karat.data.judged import Floats
from karat.stats import bca_interval, bootstrap_means
from karat.stats.student import beyond
from tests.statistics.means import BOUNDED, Population, chosen, coverage, print_table, t_intervals, width

_GRID = np.linspace(0.001, 0.999, 999)


def t(_: Population, samples: Floats, level: float) -> Floats:
    return t_intervals(samples, level)


def wilson(_: Population, samples: Floats, level: float) -> Floats:
    """Wilson's interval, as if the mean were a share of ones."""
    n, mean, square = samples.shape[1], samples.mean(axis=1), NormalDist().inv_cdf((1 + level) / 2) ** 2
    middle = (mean + square / (2 * n)) / (1 + square / n)
    half = np.sqrt(square * mean * (1 - mean) / n + (square / (2 * n)) ** 2) / (1 + square / n)
    return np.column_stack([middle - half, middle + half])


def bca(_: Population, samples: Floats, level: float, *, expanded: bool) -> Floats:
    """The bootstrap interval, with the percentiles of the normal distribution or with those of t."""
    n = samples.shape[1]
    means = bootstrap_means(np.ascontiguousarray(samples.T), 2000, 1)
    if not expanded:  # the level for which the percentiles of t are those of the normal distribution
        level = 1 - beyond(NormalDist().inv_cdf((1 + level) / 2) * math.sqrt((n - 1) / n), n - 1)
    return np.array([bca_interval(row, means[:, at], level) for at, row in enumerate(samples)])


def betting(_: Population, samples: Floats, level: float) -> Floats:
    """The hedged interval of Waudby-Smith and Ramdas (2024): means against which no bet has won 1 / (1 - level)."""
    alpha, (draws, n) = 1 - level, samples.shape
    found = np.empty((draws, 2))
    for at, values in enumerate(samples):
        counts = np.arange(1, n + 1)
        means = (0.5 + np.cumsum(values)) / (counts + 1)
        variances = (0.25 + np.cumsum((values - means) ** 2)) / (counts + 1)
        bets = np.sqrt(2 * math.log(2 / alpha) / (np.concatenate([[0.25], variances[:-1]]) * n))[:, None]
        gains = values[:, None] - _GRID
        up = np.cumprod(1 + np.minimum(bets, 0.5 / _GRID) * gains, axis=0)
        down = np.cumprod(1 - np.minimum(bets, 0.5 / (1 - _GRID)) * gains, axis=0)
        kept = _GRID[(np.maximum(up, down) / 2 < 1 / alpha).all(axis=0)]
        found[at] = (kept.min() - 0.001, kept.max() + 0.001) if len(kept) else (values.mean(), values.mean())
    return found


CANDIDATES: dict[str, Callable[[Population, Floats, float], Floats]] = {
    "t": t,
    "Wilson": wilson,
    "BCa": partial(bca, expanded=False),
    "BCa with percentiles of t": partial(bca, expanded=True),
    "betting": betting,
    "**chosen**": chosen,
}


def main() -> None:
    """For each candidate: the coverage of 10 and 25 queries, and for 25 the width, divided by that of t."""
    populations = [each for each in BOUNDED if each.label != "like AP, low"]
    lines = []
    for name, candidate in CANDIDATES.items():
        cells = []
        for population in populations:
            few, more = (population.samples(n, 1000) for n in (10, 25))
            shares = [coverage(candidate(population, each, 0.95), population.mean) for each in (few, more)]
            ratio = width(candidate(population, more, 0.95)) / width(t_intervals(more, 0.95))
            cells.append(f"{shares[0]:.2f}, {shares[1]:.2f} ({ratio:.2f})")
        lines.append((name, *cells))
    print_table(["", *(each.label for each in populations)], lines)


if __name__ == "__main__":
    main()
