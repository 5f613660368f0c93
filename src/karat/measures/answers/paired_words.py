"""The words of many pairs of texts as integers, one per distinct word, so that NumPy compares all pairs at once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress, count
from operator import is_, is_not
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.data.caching import cached_property
from karat.data.judged import Bools, Ints, place_in_query
from karat.measures.answers.normalizers import NORMALIZERS, Normalizer

_WIDTH = 8
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_WIDTH + 1)], np.uint64)
"""`_MASKS[n]` keeps the first n bytes of a little-endian integer."""

_IS_BLANK = np.array([chr(byte).isspace() and byte < 128 for byte in range(256)])
_BLANK = re.compile(r"[^\S\0-\x7f]")  # outside ASCII

_BITS = 63
"""The longest text, in words, that fits into one NumPy integer with a bit per word."""

_STRIP = 16_384
_STEPS = 256
"""Pairs with a longer text, in words, are compared one by one with Python's long integers, which is then faster."""


class Side(NamedTuple):
    """The words of one side of the pairs, in order: the pair and the code of each word, and the words per pair."""

    pair: Ints
    code: Ints
    sizes: Ints

    def words(self, pair: int) -> list[int]:
        """The words of one text."""
        start, stop = np.searchsorted(self.pair, [pair, pair + 1])
        codes: list[int] = self.code[start:stop].tolist()
        return codes

    def select(self, pairs: Bools) -> Side:
        """The words of some of the pairs; the pairs keep their numbers."""
        rows = pairs[self.pair]
        return Side(self.pair[rows], self.code[rows], np.where(pairs, self.sizes, 0))


class PairedWords:
    """The words of gold answers and of the predicted answer to each, after normalization."""

    def __init__(self, golds: Sequence[str], predictions: Sequence[str], normalize: str) -> None:
        text = np.arange(len(predictions))
        if any(map(is_, predictions, predictions[1:])):
            # The same prediction is paired with every gold answer of its question in a row: encode it once.
            is_new = [True, *map(is_not, predictions, predictions[1:])]
            predictions, text = list(compress(predictions, is_new)), np.cumsum(is_new) - 1
        codes, offsets, self._vocabulary = _encode_texts([*golds, *predictions], NORMALIZERS[normalize])
        self.gold = _side(codes, offsets, np.arange(len(golds)))
        self.predicted = _side(codes, offsets, len(golds) + text)

    @cached_property
    def same(self) -> Bools:
        """Whether both texts have the same words in the same order."""
        same: Bools = self.gold.sizes == self.predicted.sizes
        one, other = self.gold.select(same), self.predicted.select(same)
        same[one.pair[one.code != other.code]] = False
        return same

    @cached_property
    def shared(self) -> Ints:
        """How many words both texts share; a repeated word counts as often as it occurs in both."""
        occurrences = np.concatenate([self._occurrences(side) for side in (self.gold, self.predicted)])
        occurrences.sort()
        shared = occurrences[1:][occurrences[1:] == occurrences[:-1]]
        return np.bincount(shared // (self._vocabulary * self._longest), minlength=len(self.gold.sizes))

    @cached_property
    def common_subsequence(self) -> Ints:
        """The length of the longest common subsequence of words."""
        swapped = self.gold.sizes > _BITS
        longer = np.maximum(self.gold.sizes, self.predicted.sizes)
        vectorized = (np.minimum(self.gold.sizes, self.predicted.sizes) <= _BITS) & (longer <= _STEPS)
        lengths = np.zeros(len(self.gold.sizes), np.int64)
        for one, other, pairs in (
            (self.gold, self.predicted, vectorized & ~swapped),
            (self.predicted, self.gold, vectorized & swapped),
        ):
            if pairs.any():
                lengths += self._common_subsequences(one.select(pairs), other.select(pairs))
        for pair in np.flatnonzero(~vectorized).tolist():
            lengths[pair] = common_subsequence(self.gold.words(pair), self.predicted.words(pair))
        return lengths

    @property
    def _longest(self) -> int:
        return int(max(self.gold.sizes.max(initial=1), self.predicted.sizes.max(initial=1)))

    def _occurrences(self, side: Side) -> Ints:
        """A number for each pair, word and occurrence: the second time a word occurs in a text has its own number."""
        keys = np.sort(side.pair * self._vocabulary + side.code)
        return keys * self._longest + place_in_query(keys) - 1

    def _common_subsequences(self, one: Side, other: Side) -> Ints:
        """The lengths of the longest common subsequences, one word of every pair's other text per step.

        The algorithm is that of `common_subsequence`, with a 64-bit integer for the table row of each pair.
        """
        keys = one.pair * self._vocabulary + one.code
        if not len(keys):
            return np.zeros(len(one.sizes), np.int64)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        known = keys[order][first]
        places = np.bitwise_or.reduceat(_bit(place_in_query(one.pair) - 1)[order], first)
        wanted = other.pair * self._vocabulary + other.code
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        hits = known[at] == wanted
        pair, matched = other.pair[hits], places[at[hits]]
        steps = place_in_query(pair) - 1
        order = np.argsort(steps, kind="stable")
        pair, matched = pair[order], matched[order]
        row = np.full(len(one.sizes), ~np.uint64(0))
        for start, stop in _ranges(np.bincount(steps)):
            at = pair[start:stop]
            old = row[at]
            step = old & matched[start:stop]
            row[at] = (old + step) | (old - step)
        used = _bit(one.sizes) - np.uint64(1)
        return one.sizes - np.bitwise_count(row & used).astype(np.int64)


def common_subsequence(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the longest common subsequence, computed a whole table row at a time: a row is one integer.

    Bit i of `row` is 0 if the table grows by one from column i to i + 1 (Hyyrö 2004, after Allison and Dix 1986).

    >>> common_subsequence([1, 2, 3, 4, 1], [1, 3, 2, 4, 5])
    3
    """
    shared = set(one) & set(other)
    one, other = ([word for word in words if word in shared] for words in sorted((one, other), key=len))
    length = 0
    carried = bytearray(len(other))
    # The row of a very long text would be that long for each of its words, so it is cut into strips.
    for start in range(0, len(one), _STRIP):
        strip = one[start : start + _STRIP]
        places: dict[int, int] = {}
        for at, word in enumerate(strip):
            places[word] = places.get(word, 0) | 1 << at
        row = whole = (1 << len(strip)) - 1
        for at, word in enumerate(other):
            matched = row & places.get(word, 0)
            if matched or carried[at]:
                total = row + matched + carried[at]
                carried[at] = total >> len(strip)
                row = (total & whole) | (row - matched)
        length += len(strip) - row.bit_count()
    return length


def _bit(places: Ints) -> NDArray[np.uint64]:
    return np.left_shift(np.uint64(1), places.astype(np.uint64))


def _ranges(sizes: Ints) -> list[tuple[int, int]]:
    """The start and stop of consecutive ranges of these sizes."""
    ends = np.cumsum(sizes).tolist()
    return list(zip([0, *ends], ends, strict=False))


def _encode_texts(texts: Sequence[str], normalizer: Normalizer) -> tuple[Ints, Ints, int]:
    """The word codes of all texts, the offset of each text in them, and the number of distinct words."""
    lines = normalizer.to_lines(texts)
    encoded = _encode_lines(lines, normalizer.ignored_words)
    if not normalizer.keep_wordless:
        return encoded
    wordless = np.flatnonzero(np.diff(encoded[1]) == 0).tolist()
    kept = [at for at in wordless if texts[at] and not texts[at].isspace()]
    for at in kept:
        lines[at] = texts[at].replace("\n", " ")
    return _encode_lines(lines, normalizer.ignored_words) if kept else encoded


def _encode_lines(lines: Sequence[str], ignored: Iterable[str]) -> tuple[Ints, Ints, int]:
    """The same for lines whose words are separated by white space.

    The code of a word of up to eight bytes is these bytes, which are never 0. Only longer words are looked up.
    """
    joined = "\n".join(lines)
    if "\0" in joined:
        unused = next(letter for letter in map(chr, range(0xE000, 0x110000)) if letter not in joined)
        joined = joined.replace("\0", unused)
    if not joined.isascii():
        joined = _BLANK.sub(" ", joined)
    text = joined.encode("utf-8", "surrogatepass")
    data = np.frombuffer(text, np.uint8)
    edges = np.flatnonzero(np.diff(_IS_BLANK[data], prepend=True, append=True))
    starts, stops = edges[::2], edges[1::2]
    sizes = stops - starts
    at_each_byte = np.ndarray(len(text) + 1, "<u8", text + bytes(_WIDTH), strides=(1,))
    codes = at_each_byte[starts] & _MASKS[np.minimum(sizes, _WIDTH)]
    long = np.flatnonzero(sizes > _WIDTH)
    numbers: dict[bytes, int] = defaultdict(count(1).__next__)
    words = map(text.__getitem__, map(slice, starts[long].tolist(), stops[long].tolist()))
    # The lowest byte of these codes is 0, so that they never equal the code of a short word.
    codes[long] = np.fromiter(map(numbers.__getitem__, words), np.uint64, len(long)) << np.uint64(8)
    kept = np.ones(len(codes), bool)
    for word in ignored:
        kept &= codes != int.from_bytes(word.encode(), "little")
    before = np.concatenate([[0], np.cumsum(kept)])
    ends = before[np.searchsorted(starts, np.flatnonzero(data == ord("\n")))]
    distinct, dense = np.unique(codes[kept], return_inverse=True)
    return dense, np.array([0, *ends.tolist(), before[-1]], np.int64), max(len(distinct), 1)


def _side(codes: Ints, offsets: Ints, texts: Ints) -> Side:
    """The words of these texts, one text per pair."""
    sizes = np.diff(offsets)[texts]
    starts = np.repeat(offsets[texts] - (np.cumsum(sizes) - sizes), sizes)
    return Side(np.repeat(np.arange(len(texts)), sizes), codes[starts + np.arange(len(starts))], sizes)
