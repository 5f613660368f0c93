"""What people agree on: one label from several."""

from __future__ import annotations

import numpy as np

from karat.judged import Floats, Ints


def majority(positions: Ints, values: Floats) -> tuple[Ints, Floats]:
    """One label for each thing: the most frequent one, and unknown if two are equally frequent."""
    order = np.lexsort((values, *positions.T[::-1]))
    positions, values = positions[order], values[order]
    new_thing = np.r_[True, (positions[1:] != positions[:-1]).any(axis=1)][: len(values)]
    if new_thing.all():
        return positions, values
    thing = np.cumsum(new_thing) - 1
    known = ~np.isnan(values)
    new_label = new_thing | np.r_[True, values[1:] != values[:-1]][: len(values)]
    starts = np.flatnonzero(new_label)
    votes = np.add.reduceat(known.astype(np.int64), starts)
    most = np.zeros(int(thing[-1]) + 1, np.int64)
    np.maximum.at(most, thing[starts], votes)
    wins = votes == most[thing[starts]]
    winners = np.bincount(thing[starts[wins]], minlength=len(most))
    chosen = np.full(len(most), np.nan)
    chosen[thing[starts[wins]]] = values[starts[wins]]
    chosen[(winners > 1) | (most == 0)] = np.nan
    return positions[new_thing], chosen
