"""What a comparison of so many queries could show at all."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from numbers import Real

from karat.errors import KaratError, shown
from karat.stats import queries_needed, smallest_difference

POWER = 0.8


@dataclass(frozen=True)
class Power:
    """How many queries were compared, how many of them differ, and how widely the differences spread.

    It is about the test and not about its outcome: power that is computed from the difference that was observed only
    says the p-value once more. `alpha` is the chance of a false alarm of the strictest test of its family.
    """

    queries: int
    differing: int
    spread: float | None
    alpha: float

    @property
    def smallest(self) -> float | None:
        """The smallest difference that so many queries show four times of five."""
        return smallest_difference(self.spread, self.queries, self.alpha, POWER) if self.spread else None

    def needed(self, difference: float) -> int | None:
        """How many queries show a difference four times of five."""
        refuse_no_difference(difference, "difference")
        return queries_needed(difference, self.spread, self.alpha, POWER) if self.spread else None

    @property
    def least_p(self) -> float:
        """The smallest p that a test of signs can give where so few queries differ."""
        return min(1.0, 2.0 ** (1 - self.differing))


def refuse_no_difference(difference: object, name: str) -> None:
    """A difference that somebody wants to see is a positive number."""
    known = isinstance(difference, Real) and not isinstance(difference, bool)
    if not known or not 0 < difference < sys.float_info.max:  # type: ignore[operator]  # just checked
        raise KaratError(f"{name}={shown(difference)} is no difference", mend="Give a positive number, as 0.02.")
