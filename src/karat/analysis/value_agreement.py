"""How far values of measures by a model agree with those by people: means, bias by system, and the order of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Floats
from karat.errors import plural, printable
from karat.output.tables import DIGITS, Cell, Table, note_line
from karat.registry.combining import before_mean
from karat.scores.combining import combination, differences, range_of_terms
from karat.scores.value_texts import cell_text, interval_text, nonzero_text
from karat.stats import Coefficient, Moments, corrected, order_agreement, t_test

_LEAST_SYSTEMS = 3
"""with fewer systems, their order says little"""
_LEVEL = 0.95


@dataclass(frozen=True)
class ValueAgreement:
    """The mean of a measure for a system by the labels of people and by those of a model, over the same queries."""

    by: str
    measure: str
    system: str
    queries: int
    people: float
    model: float
    values: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False, compare=False)
    """the value of each query by people and by the model, as they are averaged"""

    @property
    def difference(self) -> float:
        """How much higher the mean is by the model: its bias for this system."""
        return self.model - self.people

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The 95% confidence interval of the bias; None for sums, geometric means, and fewer than two queries."""
        if combination(self.measure) != "mean" or not self.values:
            return None
        low, high = range_of_terms(self.measure)
        return Moments.of(_bias_of_queries(self, list(self.values))).interval(_LEVEL, (low - high, high - low))

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval or (None, None)
        means = {"people": self.people, "model": self.model, "difference": self.difference}
        of = {"by": self.by, "measure": self.measure, "system": self.system, "queries": self.queries}
        return {**of, **means, "difference_low": low, "difference_high": high}


def value_agreement(
    by: str,
    measure: str,
    system: str,
    queries: Sequence[str],
    people: Floats,
    model: Floats,
    means: tuple[float, float],
) -> ValueAgreement:
    """The agreement on the values of some queries, and on their means."""
    combine = combination(measure)
    pairs = zip(before_mean(people, combine).tolist(), before_mean(model, combine).tolist(), strict=True)
    return ValueAgreement(by, measure, system, len(queries), *means, dict(zip(queries, pairs, strict=True)))


@dataclass(frozen=True)
class Favour:
    """How much more the model overrates a system than the others, on the queries of all of them."""

    measure: str
    system: str
    more: float
    p: float | None
    """of the t-test, corrected by Holm's method for the systems"""

    @property
    def sentence(self) -> str:
        """The favour in words."""
        p = "" if self.p is None else f" (p = {self.p:.2g})" if self.p >= 0.0001 else " (p < 0.0001)"
        more = f"{nonzero_text(abs(self.more), self.measure)} {'higher' if self.more > 0 else 'lower'}"
        return printable(f"compared with people, the model rates {self.system} {more} than others on {self.measure}{p}")


@dataclass(frozen=True)
class OrderOfSystems:
    """How far the order of systems by a model agrees with that by people."""

    measure: str
    systems: int
    queries: int
    tau: Coefficient
    tau_ap: Coefficient

    def to_dict(self) -> dict[str, Any]:
        of = {"measure": self.measure, "systems": self.systems, "queries": self.queries}
        return {**of, **self.tau.record("tau"), **self.tau_ap.record("tau_ap")}


def _bias_of_queries(value: ValueAgreement, queries: Sequence[str]) -> Floats:
    """How much higher the value of each query is by the model."""
    people, model = np.array([value.values[query] for query in queries], np.float64).reshape(-1, 2).T
    return differences(model, people)


def favours(values: Sequence[ValueAgreement]) -> list[Favour]:
    """For each measure of several systems: how much more the model overrates each of them than the others."""
    found = []
    for measure, of_systems in _by_measure(values).items():
        queries = _common_queries(of_systems)
        if len(of_systems) < 2 or not queries or combination(measure) != "mean":
            continue
        biases = np.array([_bias_of_queries(value, queries) for value in of_systems])
        more = [row - np.delete(biases, at, axis=0).mean(axis=0) for at, row in enumerate(biases)]
        ps = corrected([t_test(each) for each in more], "holm")
        found += [
            Favour(measure, value.system, float(each.mean()), p)
            for value, each, p in zip(of_systems, more, ps, strict=True)
        ]
    return found


def orders(values: Sequence[ValueAgreement]) -> list[OrderOfSystems]:
    """For each measure of three systems or more: how far both orders agree, on the queries of all of them."""
    found = []
    for measure, of_systems in _by_measure(values).items():
        queries = _common_queries(of_systems)
        if len(of_systems) < _LEAST_SYSTEMS or not queries:
            continue
        sides = np.array([[value.values[query] for query in queries] for value in of_systems])
        people, model = sides[:, :, 0].T, sides[:, :, 1].T
        found.append(OrderOfSystems(measure, len(of_systems), len(queries), *order_agreement(people, model)))
    return found


def _by_measure(values: Sequence[ValueAgreement]) -> dict[str, list[ValueAgreement]]:
    of_measures: dict[str, list[ValueAgreement]] = {}
    for value in values:
        of_measures.setdefault(value.measure, []).append(value)
    return of_measures


def _common_queries(values: Sequence[ValueAgreement]) -> list[str]:
    first, *others = values
    return [query for query in first.values if all(query in other.values for other in others)]


def value_table(values: Sequence[ValueAgreement], digits: int = DIGITS) -> Table:
    """A row per measure and system, with what follows for the order of systems and for the bias of the model."""
    rows, last = [], None
    for value in values:
        means = (Cell(cell_text(mean, value.measure, digits)) for mean in (value.people, value.model))
        bias = nonzero_text(value.difference, value.measure, "+", digits)
        if value.interval is not None:
            low, high = (nonzero_text(end, value.measure, "", digits) for end in value.interval)
            bias = f"{bias} [{low}, {high}]"
        name = "" if value.measure == last else value.measure
        rows.append((Cell(name), Cell(value.system), Cell(f"{value.queries:,}"), *means, Cell(bias)))
        last = value.measure
    notes = [f"means over the queries that both people and {values[0].by} labelled; bias: by the model − by people"]
    if any(value.interval for value in values):
        notes.append("with 95% confidence intervals of the bias")
    found = orders(values)
    if found:
        systems = plural(len({each.system for each in values}), "system")
        for name, which in (("Kendall's tau", "tau"), ("tau_AP, in which the best systems count more", "tau_ap")):
            texts = (f"{each.measure} {coefficient_text(getattr(each, which), 2)}" for each in found)
            notes.append(f"{name}, of the order of {systems}: {', '.join(texts)}")
    several = len({value.system for value in values}) > 2  # of two systems, one is rated lower because the other is not
    significant = [
        favour for favour in favours(values)
        if favour.p is not None and favour.p < 1 - _LEVEL and (several or favour.more > 0)
    ]  # fmt: skip
    notes += [note_line(f"{favour.sentence}.") for favour in significant]
    header = ("measure", "run", "queries", "by people", "by the model", "bias")
    return Table(header, tuple(rows), tuple(notes), labels=2)


def coefficient_text(coefficient: Coefficient, digits: int) -> str:
    """A coefficient of agreement in a table, with its interval."""
    if coefficient.value is None:
        return "undefined"
    return interval_text(coefficient.value, coefficient.interval, "", digits)
