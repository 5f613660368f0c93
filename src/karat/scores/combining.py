"""How the values of all queries become one number: their mean, their sum, or their geometric mean."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from karat.judged import Floats
from karat.measures import meanings
from karat.registry import Combine, Definition
from karat.stats import ROUNDING

# The geometric mean takes no value for less than this, as in trec_eval: one 0 would make all of it 0.
_LEAST = 0.00001


def combination(name: str) -> Combine:
    """How a column is combined; one whose measure is not registered here is averaged."""
    definition = _definition(name)
    return "mean" if definition is None else definition.combine


def higher_is_better(name: str) -> bool:
    """Whether more of it is better, as of all but a few measures."""
    definition = _definition(name)
    return definition is None or definition.higher_is_better


def known_range(name: str) -> tuple[float, float] | None:
    """Where the values of a measure lie; None where it is not known here."""
    definition = _definition(name)
    return None if definition is None else definition.bounds


def unknown_directions(names: Iterable[str]) -> list[str]:
    """A note on each column whose measure is not known here: nothing says what is better."""
    return [
        f"{name} is not a measure of karat: more of it is taken for better." for name in names if not meanings(name)
    ]


def differences(mine: Floats, theirs: Floats) -> Floats:
    """mine − theirs; values that are the same but for rounding differ by nothing."""
    found = np.asarray(mine - theirs)
    size = np.maximum(1, np.maximum(np.abs(mine), np.abs(theirs)))
    found[np.abs(found) <= ROUNDING * size] = 0
    return found


def wins_ties_losses(differences: Floats, name: str) -> tuple[int, int, int]:
    """For how many queries a difference is for the better, nothing, and for the worse; NaN is none of them."""
    more, same, less = (int(count.sum()) for count in (differences > 0, differences == 0, differences < 0))
    return (more, same, less) if higher_is_better(name) else (less, same, more)


def before_mean(values: Floats, combine: Combine) -> Floats:
    """The values that are averaged."""
    return np.log(np.maximum(values, _LEAST)) if combine == "geometric" else values


def after_mean(value: float, combine: Combine, n: int) -> float:
    """The combined value, from the mean of n values."""
    if combine == "sum":
        return value * n
    return math.exp(value) if combine == "geometric" else value


def _definition(name: str) -> Definition | None:
    """The definition of a column's measure; None if it is not registered."""
    return next((measure.definition for measure in meanings(name)), None)
