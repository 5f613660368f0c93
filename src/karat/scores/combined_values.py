"""CombinedValues: the value of each measure over all queries, by any name of the measure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from karat.errors import KaratError
from karat.measures import Measure


class CombinedValues(ABC):
    """The value of each measure over all queries: their mean, sum or geometric mean, as the measure defines."""

    @property
    @abstractmethod
    def measures(self) -> tuple[str, ...]:
        """The names of the columns, in the order given to the evaluation."""

    @abstractmethod
    def column_name(self, measure: str | Measure) -> str:
        """The name of a measure's column, from any name of the measure."""

    @abstractmethod
    def combined(self, measure: str | Measure) -> float | None:
        """The value over all queries, as `scores[measure]`, but None if no query has a value."""

    @property
    def means(self) -> dict[str, float | None]:
        """The value of each measure over all queries."""
        return {name: self.combined(name) for name in self.measures}

    def __getitem__(self, measure: str | Measure) -> float:
        """The value over all queries: their mean, sum or geometric mean, as the measure defines."""
        value = self.combined(measure)
        if value is None:
            raise without_value(self.column_name(measure))
        return value

    def __contains__(self, measure: str | Measure) -> bool:
        try:
            return self.column_name(measure) in self.measures
        except KaratError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    def keys(self) -> tuple[str, ...]:
        """The names of the columns, so that `dict(scores)` is the value of each measure over all queries."""
        return self.measures

    def _means_in_a_line(self) -> str:
        return ", ".join(f"{name}={'null' if mean is None else f'{mean:.4f}'}" for name, mean in self.means.items())


def without_value(measure: str) -> KaratError:
    """The error for a measure that is null for every query."""
    return KaratError(f"{measure} has no value for any query")


def without_interval(measure: str, value: float | None) -> KaratError:
    """The error for a measure without a confidence interval, by its combined value."""
    if value is None:
        return without_value(measure)
    what = f"{measure} has no confidence interval"
    return KaratError(f"{what}: it needs two values, which differ if the range of the measure is not known")
