"""What a comparison of so many queries could show at all."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

from karat.errors import KaratError, shown
from karat.stats import queries_needed, smallest_difference

POWER = 0.8


@dataclass(frozen=True)
class Power:
    """How many queries were compared, how many of them differ, and how widely the differences spread.

    It is about the test and not about its outcome: power that is computed from the difference that was observed only
    says the p-value once more. It is that of the t-test, which the others come near, at the level `alpha` of the
    strictest test of the family. But tests by reordering have a least p: a query's scores have so many `orders`, and p
    must be below `reach` at least. `contrary` says that ranks, which Wilcoxon's test is about, and mean disagree.
    """

    queries: int
    differing: int
    spread: float | None
    alpha: float
    reach: float
    orders: int | None = None
    contrary: bool = False

    @cached_property
    def smallest(self) -> float | None:
        """The smallest difference that so many queries show four times of five; None where they show none."""
        if not self.spread or self.queries < self._least_queries:
            return None
        return smallest_difference(self.spread, self.queries, self.alpha, POWER)

    def needed(self, difference: float) -> int | None:
        """How many queries show a difference four times of five."""
        refuse_no_difference(difference, "difference")
        needed = queries_needed(float(difference), self.spread, self.alpha, POWER) if self.spread else None
        return None if needed is None else max(needed, self._least_queries)

    @property
    def least_p(self) -> float:
        """The smallest p that the test can give where so few queries differ."""
        return 0.0 if self.orders is None else min(1.0, float(self.orders) ** (1 - self.differing))

    @property
    def _least_queries(self) -> int:
        """How many queries must differ at least, for a p that is small enough."""
        return 2 if self.orders is None else math.floor(math.log(1 / self.reach, self.orders)) + 2


def refuse_no_difference(difference: object, name: str) -> None:
    """A difference that somebody wants to see is a positive number."""
    known = isinstance(difference, Real) and not isinstance(difference, bool)
    if not known or not 0 < difference < sys.float_info.max:  # type: ignore[operator]  # just checked
        raise KaratError(f"{name}={shown(difference)} is no difference", hint="Give a positive number, as 0.02.")
