"""How often the interval of a difference contains the true difference, and agrees with its test: a simulation.

make test-statistics
.venv/bin/python tests/statistics/test_differences.py    # prints the table of docs/is-the-difference-real.md
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from karat.data.judged import Floats
from karat.stats import SEED, Criterion, Inverted, randomization, t_interval, t_test

SIZES = (10, 25, 50, 100)
DRAWS = 2_000
CRITERION = Criterion(0.05)
PERMUTATIONS = 10_000

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def like_ap(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Differences of average precision: of two skewed values between 0 and 1 that agree on half of the score."""
    return np.asarray(0.5 * (chance.beta(0.9, 1.2, shape) - chance.beta(0.7, 1.5, shape)))


def half_equal(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return np.where(chance.random(shape) < 0.5, 0.0, like_ap(chance, shape))


def mostly_equal(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Differences of a measure that is 0 or 1."""
    return chance.choice([0.0, 1.0, -1.0], shape, p=[0.8, 0.14, 0.06])


def few_large_gains(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    gains = np.where(chance.random(shape) < 0.1, chance.uniform(0.3, 0.9, shape), 0.0)
    return np.asarray(gains + chance.normal(0, 0.05, shape))


def no_difference(draw: Draw) -> Draw:
    """The same sizes of differences with random signs: their true mean is 0."""
    return lambda chance, shape: draw(chance, shape) * chance.choice([-1.0, 1.0], shape)


CELLS: dict[str, Draw] = {
    "values like AP": like_ap,
    "half of the queries equal": half_equal,
    "0 or 1, 80% equal": mostly_equal,
    "few large gains": few_large_gains,
}
NULLS = {name: no_difference(draw) for name, draw in CELLS.items()}


class Simulated(NamedTuple):
    """Shares of the draws."""

    covered: float
    """those whose interval contains the true mean, of those that have an interval"""
    missing: float
    """those that have no interval"""
    excluded: float
    """those whose interval excludes 0"""
    contradicting: float
    """those whose interval disagrees with p"""


@cache
def simulated(draw: Draw, n: int, test: str = "randomization") -> Simulated:
    chance = np.random.default_rng([SEED, n])
    mean = float(draw(chance, (2_000, 1_000)).mean())
    differences = list(draw(chance, (DRAWS, n)))
    if test == "t":
        ps = [t_test(each) for each in differences]
        found = [None if p is None else t_interval(each, p, CRITERION) for each, p in zip(differences, ps, strict=True)]
    else:
        tests = randomization(differences, PERMUTATIONS, inverted=[Inverted(np.ones(n, bool), CRITERION)] * DRAWS)
        ps, found = tests.p.tolist(), tests.intervals
    shown = [(*ends, p) for ends, p in zip(found, ps, strict=True) if ends is not None and p is not None]
    excluding = [low > 0 or high < 0 for low, high, _ in shown]
    return Simulated(
        float(np.mean([low <= mean <= high for low, high, _ in shown])),
        1 - len(shown) / DRAWS,
        sum(excluding) / DRAWS,
        sum(excludes != (p < 0.05) for excludes, (_, _, p) in zip(excluding, shown, strict=True)) / DRAWS,
    )


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("cell", CELLS)
def test_intervals_agree_with_their_test_in_every_draw(cell: str, n: int, test: str) -> None:
    assert simulated(CELLS[cell], n, test).contradicting == 0


@pytest.mark.parametrize("n", [25, 50, 100])
@pytest.mark.parametrize("cell", ["values like AP", "half of the queries equal"])
def test_intervals_contain_the_true_difference(cell: str, n: int) -> None:
    assert simulated(CELLS[cell], n).covered >= 0.93


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("cell", CELLS)
def test_intervals_rarely_exclude_0_if_there_is_no_difference(cell: str, n: int) -> None:
    # At most 0.05 is expected; the rest is three standard errors of the simulation.
    assert simulated(NULLS[cell], n).excluded <= 0.05 + 3 * (0.05 * 0.95 / DRAWS) ** 0.5


def table() -> str:
    """The shares of intervals that contain the true difference, and that exclude 0 although it is true."""
    rows = [["", *(f"n = {n}" for n in SIZES)], ["---"] * (1 + len(SIZES))]
    for name, draw in CELLS.items():
        rows.append([name, *(f"{simulated(draw, n).covered:.2f}" for n in SIZES)])
    missing = [f"{max(simulated(draw, n).missing for draw in CELLS.values()):.2f}" for n in SIZES]
    excluded = [sorted(simulated(draw, n).excluded for draw in NULLS.values()) for n in SIZES]
    ranges = [f"{shares[0]:.2f}–{shares[-1]:.2f}" for shares in excluded]
    rows += [["no interval, at most", *missing], ["excludes 0 although there is no difference", *ranges]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print(table())
