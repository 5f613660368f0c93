"""Whether one of several groups is weak, or chance alone makes one look so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from karat.judged import Floats
from karat.stats.bootstrap import SEED

_SHUFFLES = 999


def weak_group(columns: Sequence[Floats], least: int = 5, seed: int = SEED) -> tuple[int, float] | None:
    """Which of several groups of values is most surely below the others, and how often chance makes one as low.

    The values are dealt at random to groups of the same sizes; p is the share of deals in which any group, since there
    are many to choose from, is as far below the others in standard errors. Groups of less than `least` values are not
    looked at; None where there is nothing to compare.
    """
    sizes = np.array([len(column) for column in columns], np.int64)
    n = int(sizes.sum())
    asked = np.flatnonzero((sizes >= least) & (sizes < n))
    if not len(asked) or np.ptp(values := np.concatenate(columns)) == 0 or not np.isfinite(values).all():
        return None
    values = values - values.mean()
    stops = np.cumsum(sizes)[asked]
    # Of centred values, the difference of two means over its standard error is the group's sum times this.
    scale = np.sqrt(n / (sizes[asked] * (n - sizes[asked])))

    def below(dealt: Floats) -> Floats:
        sums = np.append(0.0, np.cumsum(dealt))
        return np.asarray((sums[stops - sizes[asked]] - sums[stops]) * scale)

    at = int(np.argmax(below(values)))
    # The same values summed in another order may differ in the last digits.
    reached = below(values)[at] - 1e-9 * np.abs(values).max()
    random = np.random.default_rng(seed)
    as_low = sum(bool(below(random.permutation(values)).max() >= reached) for _ in range(_SHUFFLES))
    return int(asked[at]), (1 + as_low) / (1 + _SHUFFLES)
