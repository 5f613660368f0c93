"""Intervals of corrected means contain the true mean, whatever the judge is like, and gain from a good one."""

from __future__ import annotations

import numpy as np
import pytest

from karat.stats import CorrectedMean
from tests.statistics.corrected_means import (
    BIASED,
    CASES,
    CONTINUOUS,
    DIFFERENCE,
    DRAWS,
    GOOD,
    LOW,
    SIZES,
    STRICT,
    Judge,
    Values,
    coverage,
    intervals,
    of_people,
    samples,
)

of_cases = pytest.mark.parametrize(("values", "judge"), CASES, ids=lambda each: each.label)
of_sizes = pytest.mark.parametrize(("labelled", "total"), SIZES[:3])


@of_cases
@of_sizes
def test_they_contain_the_true_mean_with_any_judge(values: Values, judge: Judge, labelled: int, total: int) -> None:
    assert coverage(intervals(samples(values, judge, labelled, total)), values.mean) >= 0.92


@of_cases
@of_sizes
def test_no_judge_makes_them_wider_than_those_of_people_alone(
    values: Values, judge: Judge, labelled: int, total: int
) -> None:
    means = samples(values, judge, labelled, total)
    assert (np.diff(intervals(means)) <= 1.05 * np.diff(of_people(means))).all()


@pytest.mark.parametrize("values", CONTINUOUS, ids=lambda each: each.label)
@of_sizes
def test_a_judge_that_agrees_well_makes_them_at_least_30_percent_narrower(
    values: Values, labelled: int, total: int
) -> None:
    means = samples(values, GOOD, labelled, total)
    assert np.diff(intervals(means)).mean() <= 0.7 * np.diff(of_people(means)).mean()


def test_the_mean_of_a_judge_alone_is_biased_and_the_corrected_one_is_not() -> None:
    means = samples(CONTINUOUS[0], BIASED, 50, 300)
    assert np.mean([each.model_of_all.mean() for each in means]) > 0.45
    assert np.mean([each.mean for each in means]) == pytest.approx(0.3, abs=0.005)


def test_a_model_that_gives_0_to_nearly_all_queries_moves_no_mean_far_away() -> None:
    # With the slope as it is, the largest error would be 1: one query decides about it, and it can be above 100.
    means = samples(LOW, STRICT, 50, 2000)
    errors, of_people = (np.array([value - LOW.mean for value in each]) for each in zip(*both(means), strict=True))
    assert np.abs(errors).max() < 1.5 * np.abs(of_people).max()
    assert np.sqrt((errors**2).mean()) <= np.sqrt((of_people**2).mean())


def both(means: list[CorrectedMean]) -> list[tuple[float, float]]:
    """Each corrected mean, and that by people alone."""
    return [(each.mean, float(each.people.mean())) for each in means]


@pytest.mark.parametrize("effect", [0.0, 0.05])
def test_intervals_of_differences_contain_the_true_one_although_the_judge_favours_a_system(effect: float) -> None:
    random = np.random.default_rng(7)
    means = []
    for _ in range(DRAWS):
        first = random.beta(0.6, 1.4, 600)
        second = np.clip(first + effect + random.normal(0, 0.2, 600), -1, 2)
        favoured = second - first + 0.1 + random.normal(0, 0.05, 600)
        means.append(CorrectedMean((second - first)[:60], favoured[:60], favoured))
    assert coverage(intervals(means, DIFFERENCE), effect) >= 0.92
    assert np.mean([(each.p(DIFFERENCE) or 0.0) < 0.05 for each in means]) <= (0.08 if not effect else 1)
