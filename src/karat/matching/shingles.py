"""Find texts that may share a run of characters (a shingle), as a cheap filter before a costly comparison.

The shingles of a query's gold texts set bits in a table, and the shingles of the retrieved texts are looked up in it,
by two hashes each. Hashes may collide: the caller checks whether a shingle is really shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

WIDTH = 12
"""How many characters a shingle has."""

_Hashes = NDArray[np.uint64]
_Places = NDArray[np.int64]

# A table of 2 ** 20 bytes stays in the cache of a core.
_TABLE_BITS = 20
_GOLDS_AT_ONCE = 8
_CHARACTERS_AT_ONCE = 1 << 20
_BASE = 0x9E3779B97F4A7C15
_BASES = {step: np.uint64(pow(_BASE, step, 1 << 64)) for step in (1, 2, 4)}
_PROBES = (np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93))
_SHIFT = np.uint64(64 - _TABLE_BITS)


def have_common_shingle(one: str, other: str) -> bool:
    """Whether two texts share a shingle.

    >>> have_common_shingle("the quick brown fox", "a quick brown fox")
    True
    >>> have_common_shingle("quick brown", "quick brown")
    False
    """
    short, long = sorted((one, other), key=len)
    # Looked up in a set, as a search for each run would take time proportional to the product of both lengths.
    runs = {short[at : at + WIDTH] for at in range(len(short) - WIDTH + 1)}
    return bool(runs) and any(long[at : at + WIDTH] in runs for at in range(len(long) - WIDTH + 1))


class Shingles:
    """Finds the pairs of texts that may share a shingle, one query at a time."""

    @cached_property
    def _table(self) -> NDArray[np.uint8]:
        return np.zeros(1 << _TABLE_BITS, np.uint8)

    def candidates(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Pairs of a text and a gold text that may share a shingle: all that do, and a few by collision."""
        longest = max(map(len, texts), default=0), max(map(len, golds), default=0)
        if min(longest) < WIDTH:
            return
        for start, stop in _slices(texts):
            probes = _probes("\0".join(texts[start:stop]) + "\0")
            starts = np.cumsum([0, *(len(text) + 1 for text in texts[start : stop - 1])])
            for first in range(0, len(golds), _GOLDS_AT_ONCE):
                marked = self._marked(golds[first : first + _GOLDS_AT_ONCE], probes)
                combined = np.bitwise_or.reduceat(marked, starts)
                for at in np.flatnonzero(combined).tolist():
                    bits = int(combined[at])
                    yield from ((start + at, first + gold) for gold in range(_GOLDS_AT_ONCE) if bits >> gold & 1)

    def _marked(self, golds: Sequence[str], probes: tuple[_Places, ...]) -> NDArray[np.uint8]:
        """For each position in the texts, one bit per gold text that may contain the run that begins there."""
        of_golds = [_probes(gold) for gold in golds]
        for gold, places in enumerate(of_golds):
            for probe in places:
                self._table[probe] |= np.uint8(1 << gold)
        marked = self._table.take(probes[0])
        # Few runs pass the first lookup.
        passed = np.flatnonzero(marked)
        marked[passed] &= self._table.take(probes[1].take(passed))
        for places in of_golds:
            for probe in places:
                self._table[probe] = 0
        return marked


def _slices(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Ranges of texts that are hashed at once, to limit the memory for their hashes."""
    start = size = 0
    for at, text in enumerate(texts):
        if size and size + len(text) > _CHARACTERS_AT_ONCE:
            yield start, at
            start, size = at, 0
        size += len(text)
    yield start, len(texts)


def _probes(text: str) -> tuple[_Places, ...]:
    """Two positions in the table for the run that begins at each character; the text is padded at its end."""
    hashes = _hashes(text + "\0" * (WIDTH - 1))
    # NumPy would convert unsigned indices, which takes three times as long.
    return tuple(((hashes * factor) >> _SHIFT).view(np.int64) for factor in _PROBES)


def _hashes(text: str) -> _Hashes:
    """A hash of each run of WIDTH characters, combined from hashes of runs of 1, 2, 4 and 8 characters."""
    if text.isascii():
        one: _Hashes = np.frombuffer(text.encode(), np.uint8).astype(np.uint64)
    else:
        one = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    two = one[:-1] * _BASES[1] + one[1:]
    four = two[:-2] * _BASES[2] + two[2:]
    eight = four[:-4] * _BASES[4] + four[4:]
    return eight[:-4] * _BASES[4] + four[8:]
