"""Krippendorff's alpha of several judges, and how far two orders of systems agree: by their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from karat.stats import Coefficient, alphas, order_agreement

NONE = Coefficient(None, None)


def alpha_by_definition(units: list[list[int]], distance: list[list[float]]) -> float | None:
    """1 - the mean distance of pairs within units over that of all pairs, by two loops over labels."""
    pairable = [unit for unit in units if len(unit) > 1]
    labels = [label for unit in pairable for label in unit]
    n = len(labels)
    within = sum(distance[a][b] / (len(unit) - 1) for unit in pairable for a, b in permutations(unit, 2))
    overall = sum(distance[a][b] for a, b in permutations(labels, 2))
    return None if not overall else 1 - (within / n) / (overall / (n * (n - 1)))


def rows_of(units: list[list[int]], queries: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = [(at % queries, at, label) for at, unit in enumerate(units) for label in unit]
    query, item, label = np.array(rows, np.int64).reshape(-1, 3).T
    return query, item, label


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=10))
def test_alpha_is_that_of_its_definition(units: list[list[int]]) -> None:
    scale = np.array([0.0, 1.0, 2.0, 5.0])
    found = alphas(*rows_of(units), scale)
    nominal = [[float(a != b) for b in range(4)] for a in range(4)]
    squared = [[(a - b) ** 2 for b in scale.tolist()] for a in scale.tolist()]
    for each, distance in zip(found, (nominal, squared), strict=True):
        expected = alpha_by_definition(units, distance)
        assert each.value == (None if expected is None else pytest.approx(expected, abs=1e-12))
        if each.interval is not None:
            assert each.interval[0] <= each.interval[1] <= 1 + 1e-12


def test_alpha_is_that_of_the_package_krippendorff() -> None:
    # Computed with krippendorff 0.9: alpha(reliability_data=..., level_of_measurement="nominal") and "interval".
    units = [[1], [], [2, 2], [1, 1], [3, 3], [3, 3, 4], [4, 4, 4], [1, 3], [2, 2], [1, 1], [1, 1], [3, 3], [3, 3],
             [], [3, 4]]  # fmt: skip
    found = alphas(*rows_of([[label - 1 for label in unit] for unit in units]), np.arange(1.0, 5.0))
    assert [each.value for each in found] == [pytest.approx(0.691358024691358), pytest.approx(0.8108448928121059)]


def test_alpha_is_that_of_the_examples_of_krippendorff() -> None:
    # Krippendorff (2011), Computing Krippendorff's alpha-reliability: examples A and B, and C with missing labels.
    binary = [[0, 1], [1, 1], [0, 1], [0, 0], [0, 0], [0, 1], [0, 0], [0, 0], [1, 0], [0, 0]]
    nominal = ["ab", "aa", "bb", "bb", "db", "cc", "cc", "cc", "ee", "dd", "dd", "ad"]
    missing = ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
    letters = [["abcde".index(label) for label in unit] for unit in nominal]
    numbers = [[int(label) - 1 for label in unit] for unit in missing]
    assert alphas(*rows_of(binary), np.arange(2.0))[0].value == pytest.approx(0.095, abs=0.0005)
    assert alphas(*rows_of(letters), np.arange(5.0))[0].value == pytest.approx(0.692, abs=0.0005)
    found = alphas(*rows_of(numbers), np.arange(1.0, 6.0))
    assert [each.value for each in found] == [pytest.approx(0.743, abs=0.0005), pytest.approx(0.849, abs=0.0005)]


def test_items_that_only_one_judge_labelled_say_nothing() -> None:
    assert alphas(*rows_of([[0], [1], [2]]), np.arange(3.0)) == (NONE, NONE)
    alone = alphas(*rows_of([[0, 0], [1, 1], [0, 1]]), np.arange(2.0))
    with_others = alphas(*rows_of([[0, 0], [1, 1], [0, 1], [1], [1]]), np.arange(2.0))
    assert [each.value for each in alone] == [each.value for each in with_others]


def test_judges_who_give_one_label_everywhere_have_no_alpha() -> None:
    assert alphas(*rows_of([[1, 1], [1, 1], [1, 1]]), np.arange(2.0)) == (NONE, NONE)


means = st.lists(st.integers(0, 4), min_size=2, max_size=6)


def taus(people: Sequence[float], model: Sequence[float]) -> tuple[float | None, float | None]:
    """Kendall's tau-b and tau_AP of systems with these means."""
    tau, tau_ap = order_agreement(np.array([people], float), np.array([model], float))
    return tau.value, tau_ap.value


@given(st.data(), means)
def test_tau_b_is_that_of_scipy(data: st.DataObject, first: list[int]) -> None:
    second = data.draw(st.lists(st.integers(0, 4), min_size=len(first), max_size=len(first)))
    expected = kendalltau(first, second).statistic
    assert taus(first, second)[0] == (None if np.isnan(expected) else pytest.approx(expected, abs=1e-12))


def tau_ap_by_definition(people: list[int], model: list[int]) -> float:
    """The mean over all orders of the systems that the model ties, of the definition for one order."""
    n = len(people)
    orders = [
        order
        for order in permutations(range(n))
        if all(model[order[at]] >= model[order[at + 1]] for at in range(n - 1))
    ]
    values = []
    for order in orders:
        shares = [
            sum(
                1.0 if people[above] > people[of] else 0.5 if people[above] == people[of] else 0.0
                for above in order[:at]
            )
            / at
            for at, of in enumerate(order)
            if at
        ]
        values.append(2 * sum(shares) / (n - 1) - 1)
    return sum(values) / len(values)


@settings(max_examples=30, deadline=None)
@given(st.data(), means)
def test_tau_ap_is_that_of_its_definition_and_ties_count_as_all_their_orders(
    data: st.DataObject, people: list[int]
) -> None:
    model = data.draw(st.lists(st.integers(0, 4), min_size=len(people), max_size=len(people)))
    same = len({*people}) == 1 or len({*model}) == 1
    expected = None if same else pytest.approx(tau_ap_by_definition(people, model), abs=1e-12)
    assert taus(people, model)[1] == expected


def test_mistakes_at_the_top_lower_tau_ap_more_than_those_at_the_bottom() -> None:
    people = [4, 3, 2, 1]
    (tau, top), (same_tau, bottom) = taus(people, [3, 4, 2, 1]), taus(people, [4, 3, 1, 2])
    assert tau == same_tau
    assert top is not None
    assert bottom is not None
    assert top < bottom


@given(st.permutations(range(5)))
def test_both_are_1_for_the_same_order_and_minus_1_for_the_reverse(order: list[int]) -> None:
    reverse = [-each for each in order]
    assert taus(order, order) == (1, 1)
    assert taus(order, reverse) == (-1, -1)


def test_the_interval_of_an_order_contains_it_and_narrows_with_more_queries() -> None:
    random = np.random.default_rng(5)
    people = random.random((400, 4)) + np.arange(4) / 20
    model = people + random.normal(0, 0.3, people.shape)
    widths = []
    for n in (20, 400):
        for each in order_agreement(people[:n], model[:n]):
            assert each.interval is not None
            assert each.value is not None
            assert each.interval[0] <= each.value <= each.interval[1]
            widths.append(each.interval[1] - each.interval[0])
    assert widths[2] < widths[0]
    assert widths[3] < widths[1]


def test_orders_of_one_query_have_no_interval_and_of_equal_systems_no_value() -> None:
    one = order_agreement(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]]))
    assert [each.interval for each in one] == [None, None]
    equal = np.ones((3, 3))
    assert order_agreement(equal, np.arange(9.0).reshape(3, 3)) == (Coefficient(None, None),) * 2


def test_systems_whose_means_differ_only_by_rounding_are_tied() -> None:
    people = np.array([[0.1, 0.3, 0.0], [0.2, 0.2, 0.0], [0.3, 0.1, 0.0]])
    assert people[:, 0].mean() != people[:, 1].mean()
    for model in ([1.0, 1.0, 0.0], [0.0, 1.0, 2.0]):
        found = order_agreement(people, np.array([model] * 3))
        assert tuple(each.value for each in found) == taus([1, 1, 0], model)
