"""Rule out pairs of texts that have too few q-grams in common to be similar.

A q-gram is a run of q characters. Let a text of m characters be compared with a piece of w ≤ m characters, and let L be
the length of their longest common subsequence. Each of the m − L other characters of the text is in at most q of its
m − q + 1 q-grams, and each of the w − L other characters of the piece interrupts at most q − 1 of them. All others are
in the piece as well:

    common ≥ m − q + 1 − q·(m − L) − (q − 1)·(w − L)

The ratio is 2·L/(m + w). If it is at least t, the right-hand side is smallest either for w = m and L = t·m, or for a
piece without other characters, w = L = t·m/(2 − t).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from karat.data.judged import Bools, Ints

_WIDTHS = range(8, 3, -1)
# If fewer q-grams are needed than this share, most texts of a language have them by chance.
_SMALLEST_SHARE = 0.2
_SHORTEST_BLOCK = 256
_MOST_BITS = 24
_CHARACTERS_AT_ONCE = 1 << 20
_BASE = np.uint64(0x9E3779B97F4A7C15)


def may_be_similar(shorts: Sequence[str], longs: Sequence[str], ratio: float) -> Bools:
    """Which of the first texts may be as similar as `ratio`, from 0 to 1, to a piece of which of the second texts.

    False only where that is ruled out. Pairs in which the first text is longer than the second are False, too.
    """
    sizes, long_sizes = _sizes(shorts), _sizes(longs)
    passed: Bools = sizes[:, None] <= long_sizes
    width = next((each for each in _WIDTHS if _share(each, ratio) >= _SMALLEST_SHARE), None)
    if width is None or not passed.any():
        return passed
    least = sizes * _share(width, ratio) - width + 1 - 1e-6
    for batch in _batches(sizes, least > 0):
        block = max(int(sizes[batch].max()), _SHORTEST_BLOCK)
        bits = min(max(16, block.bit_length() + 5), _MOST_BITS)
        places = _places("".join([shorts[at] for at in batch.tolist()]), width, bits)
        for at in np.flatnonzero(passed[batch].any(axis=0)).tolist():
            in_long = _places(longs[at], width, bits)
            left = passed[batch, at] & (_common(places, sizes[batch], in_long, bits) >= least[batch])
            if left.any() and len(in_long) > 2 * block:
                # A piece of at most `block` characters is within two adjacent blocks.
                starts = range(0, len(in_long) - block, block)
                some, some_sizes = places[np.repeat(left, sizes[batch])], sizes[batch][left]
                counts = (_common(some, some_sizes, in_long[start : start + 2 * block], bits) for start in starts)
                left[left] = functools.reduce(np.maximum, counts) >= least[batch][left]
            passed[batch, at] = left
    return passed


def _common(places: Ints, sizes: Ints, others: Ints, bits: int) -> Ints:
    """How many q-grams of each text, given by their places in a table, are among those of another text."""
    table = np.zeros(1 << bits, np.uint8)
    table[others] = 1
    return np.add.reduceat(table.take(places), np.cumsum(sizes) - sizes, dtype=np.int64)


def _share(width: int, ratio: float) -> float:
    """The share of a text's q-grams that must be in a piece that is similar enough, for long texts."""
    return 1 - max((2 * width - 1) * (1 - ratio), 2 * width * (1 - ratio) / (2 - ratio))


def _sizes(texts: Sequence[str]) -> Ints:
    return np.fromiter(map(len, texts), np.int64, len(texts))


def _batches(sizes: Ints, chosen: Bools) -> Iterator[Ints]:
    """The positions of the chosen texts, in batches of similar lengths and limited size."""
    order = np.flatnonzero(chosen)
    order = order[np.argsort(sizes[order], kind="stable")]
    start = total = 0
    for end, size in enumerate(sizes[order].tolist()):
        if total and (size > 2 * sizes[order[start]] or total + size > _CHARACTERS_AT_ONCE):
            yield order[start:end]
            start, total = end, 0
        total += size
    if total:
        yield order[start:]


def _places(text: str, width: int, bits: int) -> Ints:
    """A position in a table of 2 ** bits for the q-gram that begins at each character; the end is padded."""
    if text.isascii():
        codes = np.frombuffer(text.encode(), np.uint8)
    else:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    hashes = codes.astype(np.uint64)
    for at in range(1, width):
        hashes *= _BASE
        hashes[:-at] += codes[at:]
    # NumPy would convert unsigned indices, which takes three times as long.
    return ((hashes * _BASE) >> np.uint64(64 - bits)).view(np.int64)
