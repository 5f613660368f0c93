"""Method: the options of a comparison, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from karat.comparison.power import check_difference
from karat.errors import Message, Parameter, require, shown
from karat.errors.arguments import check_switch
from karat.options import Correction, Family, Test, check_choice, check_level, check_random
from karat.registry import Measure
from karat.stats import PERMUTATIONS, RESAMPLES, SEED, Criterion

IntervalMethod = Literal["randomization", "t", "tukey", "bca"]
"""how the interval of a difference is computed: by inverting a test, or by the BCa bootstrap"""

Margins = float | Mapping[str, float]
"""differences that do not matter: one for all measures, or one for each"""


MARGIN = Parameter("equivalence", {"nDCG@10": 0.02})
"""an example"""
WRITE_MARGINS: Message = ["Write ", Parameter("equivalence", 0.02), ", or ", MARGIN, "."]


@dataclass(frozen=True)
class Method:
    """The options of `compare`, which documents them, with all defaults filled in."""

    test: Test = "randomization"
    correction: Correction = "holm"
    family: Family = "measure"
    common_queries: bool = False
    level: float = 0.95
    detect: float | None = None
    equivalence: Margins | None = None
    permutations: int = PERMUTATIONS
    resamples: int = RESAMPLES
    seed: int = SEED
    force: bool = False

    def __post_init__(self) -> None:
        for option, literal in (("test", Test), ("correction", Correction), ("family", Family)):
            object.__setattr__(self, option, check_choice(option, getattr(self, option), get_args(literal)))
        checked: dict[str, object] = {"level": check_level(self.level)}
        for option in ("common_queries", "force"):
            checked[option] = check_switch(option, getattr(self, option))
        for option in ("permutations", "resamples", "seed"):
            checked[option] = check_random(option, getattr(self, option))
        if self.detect is not None:
            checked["detect"] = check_difference("detect", self.detect)
        if self.equivalence is not None:
            checked["equivalence"] = _check_margins(self.equivalence)
        for option, value in checked.items():  # a Fraction or a NumPy number becomes a float or an int
            object.__setattr__(self, option, value)

    @property
    def alpha(self) -> float:
        """A corrected p-value below alpha is significant."""
        # In floating point, 1 - 0.95 is slightly more than 0.05.
        return round(1 - self.level, 12) or 1 - self.level

    def family_of(self, measure: str) -> str:
        """What comparisons on a measure are corrected together with: those of the same name."""
        return measure if self.family == "measure" else ""

    def criterion(self, comparisons: int) -> Criterion:
        """The p-values that the interval of a difference excludes 0 for, in a family of so many comparisons.

        Only Bonferroni's correction, and Tukey's p-values, give each comparison a level of its own.
        """
        return Criterion(self.alpha, comparisons if self.correction == "bonferroni" else 1)


def choose_method(
    test: Test | str = "randomization",
    correction: Correction | str | None = None,
    family: Family | None = None,
    *,
    permutations: int | None = None,
    **others: Any,
) -> Method:
    """The options of a comparison, in which None is not given. Options that change nothing for a test are refused.

    >>> choose_method("fisher").correction, choose_method("tukey").correction
    ('holm', 'none')
    """
    chosen = cast("Test", check_choice("test", test, get_args(Test)))
    method = Method(
        chosen,
        cast("Correction", correction) if correction is not None else "none" if chosen == "tukey" else "holm",
        "measure" if family is None else family,
        permutations=PERMUTATIONS if permutations is None else permutations,
        **others,
    )
    if chosen == "tukey":
        own = "Tukey's test, which corrects over all systems of a measure itself"
        require(method.correction == "none", *_unused("correction", correction, own))
        require(method.family == "measure", *_unused("family", family, own))
        what = "Tukey's test is about the range of all systems, and cannot show that two of them are equivalent"
        require(method.equivalence is None, what, "Use another test, such as randomization.")
    elif method.correction == "none":
        require(family is None, *_unused("family", family, "p-values that are not corrected", "correction"))
    if chosen not in ("randomization", "tukey"):
        require(permutations is None, *_unused("permutations", permutations, f"the {chosen} test"))
    return method


def _check_margins(margins: object) -> Margins:
    """The margins of equivalence, which must be positive numbers, as floats by the names of measures."""
    if not isinstance(margins, Mapping):
        return check_difference("equivalence", margins)
    require(margins, [Parameter("equivalence"), " names no measure"], WRITE_MARGINS)
    for name in margins:
        what: Message = [Parameter("equivalence"), f" names {shown(name)}, which is not a measure"]
        require(isinstance(name, str | Measure), what, WRITE_MARGINS)
    return {str(name): check_difference("equivalence", margin, str(name)) for name, margin in margins.items()}


def _unused(option: str, value: object, on: str, other: str = "test") -> tuple[Message, Message]:
    """What is wrong with an option that changes nothing, and a hint."""
    hint: Message = ["Leave ", Parameter(option), " out, or choose another ", Parameter(other), "."]
    return [Parameter(option, value), f" has no effect on {on}"], hint
