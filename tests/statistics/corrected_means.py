"""How often the interval of a corrected mean contains the true mean: simulated, for the tests and for the docs.

python -m tests.statistics.corrected_means      prints the table in docs/is-the-difference-real.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from karat.data.judged import Floats
from karat.stats import CorrectedMean, bounded_interval
from tests.statistics.means import Random, print_table, width

DRAWS = 1000
UNIT, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)


@dataclass(frozen=True)
class Values:
    """The values that people would give, and their true mean."""

    label: str
    mean: float
    draw: Callable[[Random, int], Floats]


@dataclass(frozen=True)
class Judge:
    """The values that a model gives, if those of people are known."""

    label: str
    of: Callable[[Random, Floats], Floats]


CONTINUOUS = (
    Values("like AP", 0.3, lambda random, n: random.beta(0.6, 1.4, n)),
    Values("high", 6 / 7, lambda random, n: random.beta(3, 0.5, n)),
)
LOW = Values("like AP, low", 1 / 6, lambda random, n: random.beta(0.4, 2, n))
BINARY = (
    Values("0 or 1, mean 0.5", 0.5, lambda random, n: (random.random(n) < 0.5).astype(float)),
    Values("0 or 1, mean 0.9", 0.9, lambda random, n: (random.random(n) < 0.9).astype(float)),
    Values("0 or 1, mean 0.97", 0.97, lambda random, n: (random.random(n) < 0.97).astype(float)),
)
PERFECT = Judge("perfect", lambda _, people: people.copy())
GOOD = Judge("good", lambda random, people: np.clip(people + random.normal(0, 0.08, len(people)), 0, 1))
USELESS = Judge("useless", lambda random, people: random.random(len(people)))
BIASED = Judge("biased", lambda random, people: np.clip(0.3 + 0.7 * people + random.normal(0, 0.1, len(people)), 0, 1))
STRICT = Judge("finds little right", lambda _, people: np.clip(2 * people - 1, 0, 1))
MILD = Judge("says yes too often", lambda random, people: np.maximum(people, random.random(len(people)) < 0.3))
FLIPS = Judge("is wrong in 8%", lambda random, people: np.where(random.random(len(people)) < 0.08, 1 - people, people))
RARE = Judge("is rarely wrong", lambda random, people: np.where(random.random(len(people)) < 0.01, 1 - people, people))

CASES = [
    *((values, judge) for values in CONTINUOUS for judge in (PERFECT, GOOD, BIASED, USELESS, RARE)),
    *((LOW, judge) for judge in (GOOD, BIASED, USELESS, STRICT)),
    *((values, judge) for values in BINARY for judge in (PERFECT, FLIPS, MILD, USELESS, RARE)),
]
SIZES = ((50, 300), (50, 2000), (200, 1000), (200, 10_000))


def samples(values: Values, judge: Judge, labelled: int, total: int) -> list[CorrectedMean]:
    random = np.random.default_rng([labelled, total, *values.label.encode(), *judge.label.encode()])
    drawn = []
    for _ in range(DRAWS):
        people = values.draw(random, total)
        model = judge.of(random, people)
        drawn.append(CorrectedMean(people[:labelled], model[:labelled], model))
    return drawn


def intervals(means: list[CorrectedMean], bounds: tuple[float, float] = UNIT) -> Floats:
    return np.array([mean.interval(bounds, 0.95) for mean in means])


def of_people(means: list[CorrectedMean]) -> Floats:
    """The intervals of the labels of people alone."""
    moments = [(len(each.people), float(each.people.mean()), float(each.people.var(ddof=1))) for each in means]
    return np.array([bounded_interval(*each, UNIT, 0.95) for each in moments])


def coverage(found: Floats, truth: float) -> float:
    return float(((found[:, 0] <= truth) & (truth <= found[:, 1])).mean())


def rows() -> list[tuple[str, ...]]:
    """For each case, the coverage and the width as a share of that of people alone, for each size."""
    found = []
    for values, judge in CASES:
        cells = []
        for labelled, total in SIZES:
            means = samples(values, judge, labelled, total)
            ends = intervals(means)
            cells.append(f"{coverage(ends, values.mean):.2f} ({width(ends) / width(of_people(means)):.2f})")
        found.append((values.label, judge.label, *cells))
    return found


if __name__ == "__main__":
    print_table(["values", "model", *(f"{labelled} of {total:,}" for labelled, total in SIZES)], rows())
