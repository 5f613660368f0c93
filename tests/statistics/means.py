"""How often the confidence interval of a mean contains the true mean: simulated, for the tests and for the docs.

python -m tests.statistics.means      prints the tables in docs/is-the-difference-real.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from karat.data.judged import Floats
from karat.scores.intervals import CombinedValue, intervals
from karat.stats.student import critical_value

Random = np.random.Generator
DRAWS = 2000
SIZES = (10, 15, 25, 50, 100)


@dataclass(frozen=True)
class Population:
    """Values of a measure that samples are drawn from, with their true mean."""

    label: str
    measure: str
    mean: float
    draw: Callable[[Random, tuple[int, int]], Floats]

    def samples(self, n: int, draws: int = DRAWS) -> Floats:
        """Samples of n values, one in each row; the same ones each time."""
        return self.draw(np.random.default_rng([n, draws, *self.label.encode()]), (draws, n))


def _mostly_zero(random: Random, shape: tuple[int, int]) -> Floats:
    return np.where(random.random(shape) < 0.8, 0.0, 1 - random.random(shape))


def _reciprocal_ranks(random: Random, shape: tuple[int, int]) -> Floats:
    return random.choice(np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 10, 0]), shape, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])


BOUNDED = (
    Population("like AP", "AP", 0.3, lambda random, shape: random.beta(0.6, 1.4, shape)),
    Population("like AP, low", "AP", 0.4 / 3, lambda random, shape: random.beta(0.4, 2.6, shape)),
    Population("like P@10", "P@10", 0.3, lambda random, shape: random.binomial(10, random.beta(1.2, 2.8, shape)) / 10),
    Population("like P@1000", "P@1000", 0.02, lambda random, shape: random.beta(4, 196, shape).round(3)),
    Population("like RR", "RR", 0.4 + 0.1 + 0.1 / 3 + 0.025 + 0.01, _reciprocal_ranks),
    Population("0 or 1, mean 0.9", "Success@10", 0.9, lambda random, shape: (random.random(shape) < 0.9).astype(float)),
    Population("80% zeros", "AP", 0.1, _mostly_zero),
)  # fmt: skip
"""values with a range: the targets are for these"""
UNBOUNDED = (
    Population("like DCG", "DCG@10", 2.0, lambda random, shape: random.gamma(2, 1, shape)),
    Population("like a latency", "latency", float(np.exp(0.32)), lambda random, shape: random.lognormal(0, 0.8, shape)),
)
"""values without a range, whose intervals are by the bootstrap"""


def chosen(population: Population, samples: Floats, level: float) -> Floats:
    """The intervals that karat shows, one in each row."""
    members = [CombinedValue.of(population.measure, values) for values in samples]
    return np.array([found or (np.nan, np.nan) for found in intervals(members, level, 2000, 1)])


def t_intervals(samples: Floats, level: float) -> Floats:
    """The intervals mean ± t · standard error."""
    n = samples.shape[1]
    mean, errors = samples.mean(axis=1), critical_value(n - 1, 1 - level) * samples.std(axis=1, ddof=1) / n**0.5
    return np.column_stack([mean - errors, mean + errors])


def coverage(found: Floats, mean: float) -> float:
    """The share of the intervals that contain the true mean; a sample without an interval counts as a miss."""
    return float(np.mean((found[:, 0] <= mean + 1e-12) & (mean - 1e-12 <= found[:, 1])))


def width(found: Floats) -> float:
    return float(np.mean(found[:, 1] - found[:, 0]))


def rows(populations: Iterable[Population], level: float = 0.95) -> list[tuple[str, ...]]:
    """For each population, the coverage for each number of queries, and how wide the intervals are for 25."""
    found = []
    for population in populations:
        cells = []
        for n in SIZES:
            samples = population.samples(n)
            ends = chosen(population, samples, level)
            ratio = width(ends) / width(t_intervals(samples, level))
            cells.append(f"{coverage(ends, population.mean):.2f}" + (f" ({ratio:.2f})" if n >= 25 else ""))
        found.append((population.label, *cells))
    return found


def print_table(header: Iterable[str], lines: Iterable[Iterable[str]]) -> None:
    header = list(header)
    for line in (header, ["---"] * len(header), *lines):
        print("|", " | ".join(line), "|")


if __name__ == "__main__":
    print_table(["95%, n =", *map(str, SIZES)], rows((*BOUNDED, *UNBOUNDED)))
