"""The statistical power of a comparison: which difference a number of queries can detect."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from karat.data.caching import cached_property
from karat.errors import KaratError, Parameter
from karat.errors.arguments import as_number
from karat.stats import queries_needed, smallest_difference

POWER = 0.8


@dataclass(frozen=True)
class Power:
    """The statistical power of one comparison.

    It depends on the spread of the differences and not on their mean: power computed from the observed difference
    only restates the p-value. It is the power of the paired t-test, a good approximation for the other tests, at the
    significance level `alpha` of the strictest test in the family.

    Permutation tests also have a smallest possible p-value. It depends on `orders_per_query`, the number of ways to
    reorder the scores of one query (None for other tests), and must be below `p_threshold` for any result to be
    significant.

    >>> import karat
    >>> truth = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> old = {"q1": ["x", "a"], "q2": ["b"], "q3": ["c"]}
    >>> new = {"q1": ["a"], "q2": ["b"], "q3": ["x", "c"]}
    >>> comparison = karat.evaluate_runs(truth, {"old": old, "new": new}, ["RR"]).compare("old")
    >>> power = comparison.power("RR")
    >>> power.queries, power.nonzero, power.queries_needed(0.2)
    (3, 2, 52)
    """

    queries: int
    """the number of compared queries"""
    nonzero: int
    """the number of queries on which the systems differ"""
    spread: float | None
    """the standard deviation of the differences; None if it cannot be estimated"""
    alpha: float
    p_threshold: float
    comparisons: int = 1
    """the number of comparisons that p is corrected for, this one included"""
    orders_per_query: int | None = None
    ranks_disagree: bool = False
    """whether the ranks, which Wilcoxon's test compares, favour a system that the mean does not favour"""
    exact: bool = False
    """whether the randomization test counted all sign patterns, not a random sample of them"""

    @cached_property
    def minimum_detectable_difference(self) -> float | None:
        """The smallest true difference that is detected with power 0.8; None if there is none or it is unknown."""
        if not self.spread or self.queries < self._minimum_queries:
            return None
        return smallest_difference(self.spread, self.queries, self.alpha, POWER)

    def queries_needed(self, difference: float) -> int | None:
        """How many queries are needed to detect a difference with power 0.8; None if unknown or too many."""
        detected = check_difference("difference", difference)
        needed = queries_needed(detected, self.spread, self.alpha, POWER) if self.spread else None
        return None if needed is None else max(needed, self._minimum_queries)

    @property
    def minimum_p(self) -> float:
        """The smallest p-value that the test can return for this number of differing queries."""
        return 0.0 if self.orders_per_query is None else min(1.0, float(self.orders_per_query) ** (1 - self.nonzero))

    @property
    def _minimum_queries(self) -> int:
        """The number of queries that must differ before the test can be significant."""
        if self.orders_per_query is None:
            return 2
        return math.floor(math.log(1 / self.p_threshold, self.orders_per_query)) + 2


def check_difference(name: str, difference: object, measure: str | None = None) -> float:
    """A difference to detect, of all measures or of one, which must be a positive number, as a float."""
    number = as_number(difference)
    if number is None or not 0 < number < sys.float_info.max:
        argument = Parameter(name, difference if measure is None else {measure: difference})
        raise KaratError([argument, " is not a positive number"], hint="Use a difference such as 0.02.")
    return number
