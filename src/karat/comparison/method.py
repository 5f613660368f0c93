"""How systems are compared: everything that can be chosen, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

from karat.comparison.power import refuse_no_difference
from karat.errors import KaratError, shown
from karat.evaluation.choosing import refuse_unknown
from karat.options import Correction, Family, Queries, Test
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
            refuse_unknown(option, getattr(self, option), known)
        level = self.level
        if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
            raise KaratError(f"level={shown(level)} is not between 0 and 1", mend="For 95% write level=0.95.")
        for option, least in (("permutations", 1), ("resamples", 1), ("seed", 0)):
            count = getattr(self, option)
            if isinstance(count, bool) or not isinstance(count, Integral) or count < least:
                raise KaratError(f"{option}={shown(count)}", mend=f"Give a whole number from {least} on.")
        if self.test == "tukey" and self.family == "all":
            mend = 'Take family="measure", or another test.'
            raise KaratError("Tukey's test corrects over the systems of a measure, not over measures", mend=mend)
        if self.detect is not None:
            refuse_no_difference(self.detect, "detect")

    @property
    def alpha(self) -> float:
        """A corrected p below this is significant."""
        # 1 - 0.95 is a little more than 0.05.
        return round(1 - self.level, 12) or 1 - self.level
