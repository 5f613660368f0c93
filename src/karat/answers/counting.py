"""Pairs of texts as numbers, one for each word that is another, so that NumPy counts them for many pairs at once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import compress, count
from operator import is_, is_not
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.answers.folding import FOLDINGS, Folding
from karat.judged import Bools, Ints, place_in_query

_WIDTH = 8
_FIRST = np.array([(1 << 8 * size) - 1 for size in range(_WIDTH + 1)], np.uint64)
"""What leaves the first so many bytes of an integer."""

_IS_BLANK = np.array([chr(byte).isspace() and byte < 128 for byte in range(256)])
_BLANK = re.compile(f"[{''.join(letter for letter in map(chr, range(128, 0x3001)) if letter.isspace())}]")

_BITS = 63
"""So many words of a text fit into one integer of NumPy's."""

_STRIP = 16_384
_STEPS = 256
"""Beyond so many words in both texts of a pair there is more to gain from long integers than from many pairs."""


class Side(NamedTuple):
    """The words of one side of the pairs: a row per word, in order, with its pair and its number."""

    pair: Ints
    code: Ints
    sizes: Ints

    def words(self, pair: int) -> list[int]:
        """The words of one text."""
        start, stop = np.searchsorted(self.pair, [pair, pair + 1])
        codes: list[int] = self.code[start:stop].tolist()
        return codes

    def of(self, pairs: Bools) -> Side:
        """The same of some pairs, by their own numbers."""
        kept = pairs[self.pair]
        return Side(self.pair[kept], self.code[kept], np.where(pairs, self.sizes, 0))


class Counted:
    """Pairs of a gold answer and a predicted one, once normalised in some way."""

    def __init__(self, golds: Sequence[str], said: Sequence[str], normalize: str) -> None:
        reads = np.arange(len(said))
        if any(map(is_, said, said[1:])):
            # The same answer goes with every gold of its question, one after the other: it is read once.
            new = [True, *map(is_not, said, said[1:])]
            said, reads = list(compress(said, new)), np.cumsum(new) - 1
        codes, offsets, self._words = _coded([*golds, *said], FOLDINGS[normalize])
        self.gold = _side(codes, offsets, np.arange(len(golds)))
        self.predicted = _side(codes, offsets, len(golds) + reads)

    @cached_property
    def same(self) -> Bools:
        """Whether both have the same words in the same order."""
        same: Bools = self.gold.sizes == self.predicted.sizes
        one, other = self.gold.of(same), self.predicted.of(same)
        same[one.pair[one.code != other.code]] = False
        return same

    @cached_property
    def both(self) -> Ints:
        """How many words they share, each as often as both have it."""
        found = np.concatenate([self._occurrences(side) for side in (self.gold, self.predicted)])
        found.sort()
        shared = found[1:][found[1:] == found[:-1]]
        return np.bincount(shared // (self._words * self._longest), minlength=len(self.gold.sizes))

    @cached_property
    def common_subsequence(self) -> Ints:
        """The length of the longest sequence of words that stands in both in this order, not always side by side."""
        swapped = self.gold.sizes > _BITS
        long = np.maximum(self.gold.sizes, self.predicted.sizes)
        at_once = (np.minimum(self.gold.sizes, self.predicted.sizes) <= _BITS) & (long <= _STEPS)
        found = np.zeros(len(self.gold.sizes), np.int64)
        for one, other, pairs in (
            (self.gold, self.predicted, at_once & ~swapped),
            (self.predicted, self.gold, at_once & swapped),
        ):
            if pairs.any():
                found += self._in_steps(one.of(pairs), other.of(pairs))
        for pair in np.flatnonzero(~at_once).tolist():
            found[pair] = common_subsequence(self.gold.words(pair), self.predicted.words(pair))
        return found

    @property
    def _longest(self) -> int:
        return int(max(self.gold.sizes.max(initial=1), self.predicted.sizes.max(initial=1)))

    def _occurrences(self, side: Side) -> Ints:
        """A number for each word of each text, and another one for each time that it comes again in it."""
        keys = np.sort(side.pair * self._words + side.code)
        return keys * self._longest + place_in_query(keys) - 1

    def _in_steps(self, one: Side, other: Side) -> Ints:
        """The common subsequences of all pairs in step: the next word of the other text, of all of them at a time.

        `common_subsequence` says how; here an integer of 64 bits is the row of a pair.
        """
        keys = one.pair * self._words + one.code
        if not len(keys):
            return np.zeros(len(one.sizes), np.int64)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        known = keys[order][first]
        places = np.bitwise_or.reduceat(_bit(place_in_query(one.pair) - 1)[order], first)
        wanted = other.pair * self._words + other.code
        found = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        hits = known[found] == wanted
        pair, matched = other.pair[hits], places[found[hits]]
        steps = place_in_query(pair) - 1
        order = np.argsort(steps, kind="stable")
        pair, matched = pair[order], matched[order]
        row = np.full(len(one.sizes), ~np.uint64(0))
        for now, then in _stretches(np.bincount(steps)):
            at = pair[now:then]
            old = row[at]
            step = old & matched[now:then]
            row[at] = (old + step) | (old - step)
        used = _bit(one.sizes) - np.uint64(1)
        return one.sizes - np.bitwise_count(row & used).astype(np.int64)


def common_subsequence(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the longest common subsequence, a whole row of the table in one step: a row is one integer.

    Bit i of `row` is 0 where the table grows by one from column i to i + 1 (Hyyrö 2004, after Allison and Dix 1986).

    >>> common_subsequence([1, 2, 3, 4, 1], [1, 3, 2, 4, 5])
    3
    """
    shared = set(one) & set(other)
    one, other = ([word for word in words if word in shared] for words in sorted((one, other), key=len))
    length = 0
    carried = bytearray(len(other))
    # A row of a whole book would be as long as the book, for each of its words: it is cut into strips.
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


def _stretches(sizes: Ints) -> list[tuple[int, int]]:
    ends = np.cumsum(sizes).tolist()
    return list(zip([0, *ends], ends, strict=False))


def _coded(texts: Sequence[str], folding: Folding) -> tuple[Ints, Ints, int]:
    """The words of all texts as numbers, where each text's begin, and how many different ones there are."""
    lines = folding.fold(texts)
    found = _numbered(lines, folding.dropped)
    wordless = np.flatnonzero(np.diff(found[1]) == 0).tolist() if folding.itself else ()
    if said := [at for at in wordless if texts[at] and not texts[at].isspace()]:
        for at in said:
            lines[at] = texts[at].replace("\n", " ")
        found = _numbered(lines, folding.dropped)
    return found


def _numbered(lines: Sequence[str], dropped: Iterable[str]) -> tuple[Ints, Ints, int]:
    """The words between the blanks of each line.

    A word of up to eight bytes is a number as it stands: its bytes, which are never 0. Only longer ones are looked up.
    """
    whole = "\n".join(lines)
    if "\0" in whole:
        whole = whole.replace("\0", next(letter for letter in map(chr, range(0xE000, 0x110000)) if letter not in whole))
    if not whole.isascii():
        whole = _BLANK.sub(" ", whole)
    text = whole.encode("utf-8", "surrogatepass")
    data = np.frombuffer(text, np.uint8)
    edges = np.flatnonzero(np.diff(_IS_BLANK[data], prepend=True, append=True))
    starts, stops = edges[::2], edges[1::2]
    sizes = stops - starts
    at_each_byte = np.ndarray(len(text) + 1, "<u8", text + bytes(_WIDTH), strides=(1,))
    codes = at_each_byte[starts] & _FIRST[np.minimum(sizes, _WIDTH)]
    long = np.flatnonzero(sizes > _WIDTH)
    numbers: dict[bytes, int] = defaultdict(count(1).__next__)
    words = map(text.__getitem__, map(slice, starts[long].tolist(), stops[long].tolist()))
    # With a last byte of 0, no short word has the same number.
    codes[long] = np.fromiter(map(numbers.__getitem__, words), np.uint64, len(long)) << np.uint64(8)
    kept = np.ones(len(codes), bool)
    for word in dropped:
        kept &= codes != int.from_bytes(word.encode(), "little")
    before = np.concatenate([[0], np.cumsum(kept)])
    ends = before[np.searchsorted(starts, np.flatnonzero(data == ord("\n")))]
    different, dense = np.unique(codes[kept], return_inverse=True)
    return dense, np.array([0, *ends.tolist(), before[-1]], np.int64), max(len(different), 1)


def _side(codes: Ints, offsets: Ints, texts: Ints) -> Side:
    """The words of these texts, one after the other."""
    sizes = np.diff(offsets)[texts]
    starts = np.repeat(offsets[texts] - (np.cumsum(sizes) - sizes), sizes)
    return Side(np.repeat(np.arange(len(texts)), sizes), codes[starts + np.arange(len(starts))], sizes)
