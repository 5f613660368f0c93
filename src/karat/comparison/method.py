"""How systems are compared: everything that can be chosen, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import get_args

from karat.comparison.power import refuse_no_difference
from karat.errors import KaratError, shown
from karat.options import Correction, Family, Queries, Test, check_choice, check_level
from karat.stats import PERMUTATIONS, RESAMPLES, SEED


@dataclass(frozen=True)
class Method:
    """The options of `compare`, which says what each is."""

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
        for option, known in (
            ("test", Test), ("correction", Correction), ("family", Family), ("queries", Queries),
        ):  # fmt: skip
            check_choice(option, getattr(self, option), get_args(known))
        check_level(self.level)
        for option, least in (("permutations", 1), ("resamples", 1), ("seed", 0)):
            count = getattr(self, option)
            if isinstance(count, bool) or not isinstance(count, Integral) or count < least:
                raise KaratError(f"{option}={shown(count)}", hint=f"Give a whole number from {least} on.")
        if self.test == "tukey" and self.family == "all":
            hint = 'Take family="measure", or another test.'
            raise KaratError("Tukey's test corrects over the systems of a measure, not over measures", hint=hint)
        if self.detect is not None:
            refuse_no_difference(self.detect, "detect")

    @property
    def alpha(self) -> float:
        """A corrected p below this is significant."""
        # 1 - 0.95 is a little more than 0.05.
        return round(1 - self.level, 12) or 1 - self.level
