"""Method: the options of a comparison, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import get_args

from karat.comparison.power import check_difference
from karat.errors import require, shown
from karat.options import Correction, Family, Queries, Test, check_choice, check_level
from karat.stats import PERMUTATIONS, RESAMPLES, SEED


@dataclass(frozen=True)
class Method:
    """The options of `compare`, which documents them."""

    test: Test = "randomization"
    correction: Correction = "holm"
    family: Family = "measure"
    queries: Queries = "same"
    level: float = 0.95
    detect: float | None = None
    permutations: int = PERMUTATIONS
    resamples: int = RESAMPLES
    seed: int = SEED

    def __post_init__(self) -> None:
        choices = (("test", Test), ("correction", Correction), ("family", Family), ("queries", Queries))
        for option, literal in choices:
            check_choice(option, getattr(self, option), get_args(literal))
        check_level(self.level)
        for option, least in (("permutations", 1), ("resamples", 1), ("seed", 0)):
            count = getattr(self, option)
            is_integer = isinstance(count, Integral) and not isinstance(count, bool)
            require(is_integer and count >= least, f"{option}={shown(count)} is not a whole number of at least {least}")
        require(
            self.test != "tukey" or self.family == "measure",
            "family='all' cannot be combined with Tukey's test, which corrects over the systems of one measure",
            'Use family="measure", or another test.',
        )
        if self.detect is not None:
            check_difference(self.detect, "detect")

    @property
    def alpha(self) -> float:
        """A corrected p-value below alpha is significant."""
        # In floating point, 1 - 0.95 is slightly more than 0.05.
        return round(1 - self.level, 12) or 1 - self.level
