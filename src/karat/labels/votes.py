"""What people agree on: one label from several."""

from __future__ import annotations

import numpy as np

from karat.judged import Floats, Ints


def majority(thing: Ints, values: Floats) -> tuple[Ints, Floats]:
    """One label for each thing: the most frequent one, and NaN if two are equally frequent; NaN does not count.

    The first array has the position of a label of each thing.
    """
    order = np.argsort(thing, kind="stable")
    if (np.diff(thing[order]) > 0).all():
        return order, values[order]  # one label for each thing
    order = np.lexsort((values, thing))
    thing, values = thing[order], values[order]
    is_first = np.r_[True, thing[1:] != thing[:-1]]
    number = np.cumsum(is_first) - 1
    # Equal labels of a thing stand together, NaN last; each of them is one.
    begins = is_first | np.r_[True, values[1:] != values[:-1]]
    starts = np.flatnonzero(begins)
    votes = np.add.reduceat((~np.isnan(values)).astype(np.int64), starts)
    most = np.zeros(number[-1] + 1, np.int64)
    np.maximum.at(most, number[starts], votes)
    wins = starts[votes == most[number[starts]]]
    chosen = np.full(len(most), np.nan)
    chosen[number[wins]] = values[wins]
    chosen[np.bincount(number[wins], minlength=len(most)) > 1] = np.nan
    return order[is_first], chosen
