"""The confidence interval of a mean contains the true mean about as often as its level says, and is not too wide."""

from __future__ import annotations

import numpy as np
import pytest

from karat.scores.intervals import FEW_VALUES
from karat.stats import Moments
from tests.statistics.means import BOUNDED, SIZES, UNBOUNDED, Population, chosen, coverage, t_intervals, width

of_populations = pytest.mark.parametrize("population", BOUNDED, ids=lambda population: population.label)


@of_populations
@pytest.mark.parametrize("n", SIZES)
def test_the_interval_covers_the_true_mean_and_is_not_much_wider_than_that_of_t(population: Population, n: int) -> None:
    samples = population.samples(n)
    found = chosen(population, samples, 0.95)
    assert coverage(found, population.mean) >= 0.92
    if n >= 25:
        assert width(found) <= 1.15 * width(t_intervals(samples, 0.95))


@of_populations
@pytest.mark.parametrize(("level", "least"), [(0.9, 0.86), (0.99, 0.975)])
@pytest.mark.parametrize("n", SIZES)
def test_other_levels_are_about_as_good(population: Population, n: int, level: float, least: float) -> None:
    found = chosen(population, population.samples(n), level)
    assert coverage(found, population.mean) >= least
    assert (found[:, 0] < found[:, 1]).all()
    assert (found >= 0).all()
    assert (found <= 1).all()


@of_populations
@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_intervals_of_very_few_queries_are_wide_enough_if_the_measure_has_a_range(
    population: Population, n: int
) -> None:
    assert coverage(chosen(population, population.samples(n), 0.95), population.mean) >= 0.92


@pytest.mark.parametrize("population", UNBOUNDED, ids=lambda population: population.label)
def test_without_a_range_intervals_of_few_queries_are_too_narrow_and_those_of_more_are_not(
    population: Population,
) -> None:
    covered = {n: coverage(chosen(population, population.samples(n), 0.95), population.mean) for n in (3, 5, *SIZES)}
    assert covered[3] < 0.8
    assert covered[5] < 0.9
    assert min(share for n, share in covered.items() if n >= FEW_VALUES) >= 0.88


@pytest.mark.parametrize("population", BOUNDED[:1], ids=lambda population: population.label)
def test_moments_give_the_same_intervals(population: Population) -> None:
    samples = population.samples(25, 200)
    found = [Moments.of(values).interval(0.95, (0, 1)) or () for values in samples]
    assert np.allclose(found, chosen(population, samples, 0.95), rtol=1e-12)
