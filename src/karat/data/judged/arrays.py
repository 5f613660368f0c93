"""NumPy arrays with one element per query or row: their types, and functions of them."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Number = TypeVar("Number", np.int64, np.float64)


def read_only(values: NDArray[Number]) -> NDArray[Number]:
    """The same array, which several measures read and none may change."""
    values.setflags(write=False)
    return values


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The distinct values in ascending order: np.unique, which would load numpy.ma."""
    ascending: NDArray[Number] = np.sort(values)
    return ascending[stretches(ascending)[:-1]]


def stretches(values: NDArray[Any]) -> Ints:
    """Where each stretch of equal values begins, and at the end the number of values."""
    is_bound = np.ones(len(values) + 1, bool)
    is_bound[1:-1] = values[1:] != values[:-1]
    return is_bound.nonzero()[0]


def place_in_query(query: Ints) -> Ints:
    """1, 2, 3, … within each run of equal values of a sorted array."""
    bounds = stretches(query)
    starts: Ints = bounds[:-1].repeat(bounds[1:] - bounds[:-1])
    return np.arange(1, len(query) + 1) - starts


def ranges(first: Ints, lengths: Ints) -> Ints:
    """The integers of several ranges, one range after the other."""
    before: Ints = lengths.cumsum() - lengths
    offsets: Ints = (first - before).repeat(lengths)
    return offsets + np.arange(len(offsets))


def share(part: NDArray[np.generic], whole: NDArray[np.generic] | float) -> Floats:
    """part / whole, and 0 where whole is 0."""
    shares: Floats = np.zeros(part.shape)
    np.divide(part, whole, out=shares, where=np.not_equal(whole, 0))
    return shares


def log2(values: NDArray[Number]) -> Floats:
    """The logarithms of numbers that repeat, such as ranks, as the C library computes them.

    NumPy's may differ in the last bit: they depend on the processor.
    """
    largest = int(values.max(initial=0))
    if np.issubdtype(values.dtype, np.integer) and 0 < largest <= len(values):
        table = np.fromiter(map(math.log2, range(1, largest + 1)), np.float64, largest)
        return table[values.astype(np.int64) - 1]
    wanted = distinct(values)
    return np.fromiter(map(math.log2, wanted.tolist()), np.float64, len(wanted))[wanted.searchsorted(values)]
