"""The partial ratio of long texts: the ratio of the shorter text and the most similar window of the longer one.

The windows that rapidfuzz compares with a text of m characters are all those of m characters, and all shorter ones at
the two ends of the longer text. The ratio of a window of w characters is 2·L/(m + w), where L is the length of the
longest common subsequence. rapidfuzz compares the windows one by one, in time proportional to the cube of the lengths.
Here, two algorithms find the best window:

- `search` compares the text with ranges of windows. The L of a window is at most that of the range, and smaller by at
  most as many characters as the range has besides the window. So most ranges are ruled out, or decide the result.
- `best_windows` computes L for all windows at once, in time proportional to the product of the lengths, if too many
  ranges are left: usually because the texts repeat themselves. It is the semi-local longest common subsequence of
  A. Tiskin, *Semi-local string comparison*, 2008.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from karat.data.judged import Ints
from karat.errors import KaratError
from karat.errors.installing import pip_install
from karat.output.progress import progress_bar

# How many ranges are compared for each range of the length of the text: in about as much time as `best_windows` takes.
_COMPARISONS = 128
# Larger than any error of rounding in the number of characters that a ratio needs.
_ROUNDING = 1e-6


class Rapidfuzz(NamedTuple):
    """The functions of rapidfuzz that fuzzy matching uses."""

    ratio: Callable[..., float]
    partial_ratio: Callable[..., float]
    common_subsequence: Callable[..., int]
    best_match: Callable[..., tuple[str, float, int] | None]
    alignment: Callable[..., Any]


@cache
def rapidfuzz() -> Rapidfuzz:
    """Import rapidfuzz when it is first needed."""
    try:
        from rapidfuzz import fuzz, process
        from rapidfuzz.distance import LCSseq
    except ModuleNotFoundError:
        raise KaratError("fuzzy matching needs rapidfuzz", hint=pip_install("chunks")) from None
    return Rapidfuzz(
        fuzz.ratio, fuzz.partial_ratio, LCSseq.similarity, process.extractOne, fuzz.partial_ratio_alignment
    )


class Windows(NamedTuple):
    """A range of windows of a text: the first one, and how its start and its stop change from one to the next."""

    start: int
    stop: int
    start_step: int
    stop_step: int
    size: int

    @property
    def last(self) -> tuple[int, int]:
        """The start and the stop of the last window."""
        more = self.size - 1
        return self.start + more * self.start_step, self.stop + more * self.stop_step

    @property
    def shortest(self) -> int:
        """The length of the shortest window, which needs the fewest characters in common."""
        start, stop = self.last
        return min(self.stop - self.start, stop - start)

    @property
    def longest(self) -> tuple[int, int]:
        """The start and the stop of the longest window."""
        return self.last if self.stop_step > self.start_step else (self.start, self.stop)

    def halves(self) -> tuple[Windows, Windows]:
        """The first half of the windows, and the second."""
        half = self.size // 2
        start, stop = self.start + half * self.start_step, self.stop + half * self.stop_step
        return self._replace(size=half), self._replace(start=start, stop=stop, size=self.size - half)


def windows_of(size: int, long_size: int) -> list[Windows]:
    """The windows that a text of `size` characters is compared with, in ranges."""
    full = long_size - size + 1
    starts = range(0, full, size)
    return [
        *(Windows(start, start + size, 1, 1, min(size, full - start)) for start in starts),
        Windows(0, 1, 0, 1, size - 1),
        Windows(long_size - size + 1, long_size, 1, 0, size - 1),
    ]


def search(short: str, long: str, least: float, enough: float) -> float | None:
    """The partial ratio, or any ratio of at least `enough` that is found before; 0 if it is below `least`.

    None if too many ranges of windows would have to be compared to find out.
    """
    ranges = _Ranges(least)
    for windows in windows_of(len(short), len(long)):
        ranges.compare(windows, short, long)
    if len(short) == len(long):
        # Either of the two may be the shorter one, and their only window of the full length was compared above.
        for windows in windows_of(len(long), len(short))[1:]:
            ranges.compare(windows, long, short)
    most = _COMPARISONS * (1 + len(long) // len(short))
    with progress_bar("comparisons") as progress:
        while ranges.left and ranges.best < enough:
            if ranges.compared > most:
                return None
            ranges.split()
            if progress:
                progress(ranges.compared, most)
    return ranges.best if ranges.best >= least else 0.0


class _Ranges:
    """The ranges of windows that are left to look at, and the best ratio of the windows so far."""

    def __init__(self, least: float) -> None:
        self.best = 0.0
        self.compared = 0
        self.left: list[tuple[float, int, Windows, str, str]] = []
        self._least = least
        self._rapidfuzz = rapidfuzz()

    def split(self) -> None:
        """Compare both halves of the range that may have the highest ratio."""
        highest, _, windows, text, other = heapq.heappop(self.left)
        if -highest > self.best:
            for half in windows.halves():
                self.compare(half, text, other)

    def compare(self, windows: Windows, text: str, other: str) -> None:
        """Compare a text with a range of windows of the other one, and keep the range if it may have a better ratio."""
        if not windows.size:
            return
        self.compared += 1
        start, stop = windows.start, windows.last[1]
        size = len(text) + windows.shortest
        needed = max(self._least, self.best) / 200 * size - _ROUNDING
        # rapidfuzz misses some subsequences whose length equals its cut-off.
        cutoff = max(ceil(needed) - 1, 0)
        common = self._rapidfuzz.common_subsequence(text, other[start:stop], score_cutoff=cutoff)
        if common < needed:
            return
        first, end = windows.longest
        in_longest = common - (stop - start) + (end - first)
        if 200 * in_longest > max(self._least, self.best) * (len(text) + end - first):
            self.best = max(self.best, self._rapidfuzz.ratio(text, other[first:end]))
        if windows.size > 1:
            heapq.heappush(self.left, (-200 * common / size, self.compared, windows, text, other))


def partial_ratio_of_all_windows(short: str, long: str) -> float:
    """The partial ratio, in time proportional to the product of both lengths for any texts."""
    pairs = [(short, long), (long, short)] if len(short) == len(long) else [(short, long)]
    ratio = rapidfuzz().ratio
    return max(ratio(text, other[start:stop]) for text, other in pairs for start, stop in best_windows(text, other))


def best_windows(short: str, long: str) -> Iterator[tuple[int, int]]:
    """The start and the stop of the best window of full length, at the beginning, and at the end of the longer text."""
    size, long_size = len(short), len(long)
    origins = _origins(short, long)
    ends = np.flatnonzero(origins >= 0)
    starts = origins[ends]
    # L of the window from i to j is j − i, less the seaweeds that start at i or later and end before j.
    change = np.zeros(long_size + 2, np.int64)
    first = np.maximum(ends - size + 1, 0)
    within = first <= starts
    np.add.at(change, first[within], 1)
    np.add.at(change, starts[within] + 1, -1)
    at = int(np.argmin(np.cumsum(change)[: long_size - size + 1]))
    yield at, at + size
    sizes = np.arange(1, size + 1)
    before = sizes - np.cumsum(origins[:size] >= 0)
    yield 0, int(np.argmax(before / (size + sizes))) + 1
    later = np.cumsum(np.bincount(starts, minlength=long_size)[::-1])[:size]
    yield long_size - int(np.argmax((sizes - later) / (size + sizes))) - 1, long_size


def _origins(short: str, long: str) -> Ints:
    """The column in which the seaweed that ends in each column of the longer text starts, or a negative number.

    In the table of both texts, a seaweed starts at each row and each column, and moves right and down. Two of them
    that meet in a cell cross, but only once, and not if the characters there are equal. The cells of a diagonal do not
    depend on each other.
    """
    size, long_size = len(short), len(long)
    codes = np.frombuffer((short[::-1] + long).encode("utf-32-le", "surrogatepass"), "<u4")
    codes = codes.astype(np.uint8) if codes.max() < 256 else codes
    row_codes, column_codes = codes[:size], codes[size:]
    kind = np.int16 if size + long_size < 1 << 15 else np.int32
    rows, columns = np.arange(-size, 0, dtype=kind), np.arange(long_size, dtype=kind)
    # The results of each step are written to arrays that exist: creating them takes longer than the step.
    swapped, crossed, differences, factors = (np.empty(size, dtype) for dtype in (bool, bool, kind, kind))
    diagonals = size + long_size - 1
    with progress_bar("characters") as progress:
        for diagonal in range(diagonals):
            low, high = max(size - 1 - diagonal, 0), min(size, diagonals - diagonal)
            shift = diagonal - size + 1
            row, column = rows[low:high], columns[low + shift : high + shift]
            swap, cross, difference, factor = (each[: high - low] for each in (swapped, crossed, differences, factors))
            np.equal(row_codes[low:high], column_codes[low + shift : high + shift], swap)
            np.greater(row, column, cross)
            np.logical_or(swap, cross, swap)
            np.subtract(column, row, difference)
            np.copyto(factor, swap)
            np.multiply(difference, factor, difference)
            np.add(row, difference, row)
            np.subtract(column, difference, column)
            if progress and not diagonal % 256:
                progress(diagonal, diagonals)
    return columns.astype(np.int64)
