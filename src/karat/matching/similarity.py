"""Texts that are nearly the same: rapidfuzz's partial ratio, asked only of pairs that could reach the threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from math import floor
from typing import NamedTuple

from karat.documents.normalization import Folds, normalizer
from karat.errors import KaratError
from karat.matching.shingles import WIDTH, Shingles, have_common_shingle
from karat.registry.parameters import Help, Parameter

FUZZY_FOLDS: Folds = ("unicode", "case", "space")
"""What nearly equal texts are compared without, unless something else is asked for."""

_PAIRS_REMEMBERED = 1 << 18
# From this threshold on, a first look at long stretches rejects most pairs; below, it would let nearly all through.
_HIGH = 85


class Rapidfuzz(NamedTuple):
    """The functions of rapidfuzz that are used here."""

    ratio: Callable[..., float]
    partial_ratio: Callable[..., float]
    subsequence: Callable[..., int]
    best_of: Callable[..., tuple[str, float, int] | None]


@cache
def _rapidfuzz() -> Rapidfuzz:
    """What is used of rapidfuzz, where it is installed."""
    try:
        from rapidfuzz import fuzz, process
        from rapidfuzz.distance import LCSseq
    except ModuleNotFoundError:
        raise KaratError("fuzzy matching needs rapidfuzz", hint='pip install "karat[chunks]"') from None
    return Rapidfuzz(fuzz.ratio, fuzz.partial_ratio, LCSseq.similarity, process.extractOne)


def ratio(one: str, other: str) -> float:
    """How much of the shorter text is in the best matching piece of the longer one, from 0 to 100."""
    return _rapidfuzz().partial_ratio(one, other)


def percentage(name: str, given: object) -> float:
    """A threshold from 0 to 100, if it is one, and rapidfuzz is there to reach it."""
    number = Parameter("threshold", float, None, help=Help("", low=0, high=100)).value(given, name)
    least = float(number or 0)
    if 0 < least <= 1:
        raise KaratError(
            f"{name}: a threshold of {least:g} would take nearly anything",
            hint=f"It is a percentage, from 0 to 100: write {100 * least:g}.",
        )
    _rapidfuzz()
    return least


class FuzzyComparer:
    """Compares the texts of one query after the other; what was compared is remembered.

    Two texts are nearly the same if they are equal, or share a shingle and have a partial ratio that reaches the
    threshold.
    """

    def __init__(self, threshold: float, folds: Folds) -> None:
        self._threshold = threshold
        self._shingles = Shingles()
        self._form = normalizer(folds)
        self._reaches = lru_cache(_PAIRS_REMEMBERED)(self._compared)

    def pairs(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Which text is nearly the same as which gold."""
        forms, gold_forms = list(map(self._form, texts)), list(map(self._form, golds))
        equal: dict[str, list[int]] = {}
        for gold, form in enumerate(gold_forms):
            if form:
                equal.setdefault(form, []).append(gold)
        for at, form in enumerate(forms):
            yield from ((at, gold) for gold in equal.get(form, ()))
        for at, gold in self._shingles.hints(forms, gold_forms):
            if forms[at] != gold_forms[gold] and self._reaches(forms[at], gold_forms[gold]):
                yield at, gold

    def _compared(self, one: str, other: str) -> bool:
        """Whether the ratio of two texts reaches the threshold, and they share a shingle."""
        short, long = sorted((one, other), key=len)
        if short in long:
            return len(short) >= WIDTH
        for steps in (2, 1) if self._threshold >= _HIGH else (1,):
            if not _may_reach(short, long, self._threshold / 100, steps):
                return False
        return self._is_high(short, long) and have_common_shingle(short, long)

    def _is_high(self, short: str, long: str) -> bool:
        """Whether the partial ratio reaches the threshold."""
        rapidfuzz, size = _rapidfuzz(), len(short)
        # No piece of the longer text has a higher ratio than the best one. Of long texts that are nearly the same, one
        # of these is, and the best one takes minutes to find.
        if any(rapidfuzz.ratio(short, piece) >= self._threshold for piece in (long[:size], long[-size:])):
            return True
        # A cut-off that is just the ratio makes rapidfuzz miss it now and then.
        cutoff = max(self._threshold - 1e-6, 0)
        return rapidfuzz.partial_ratio(short, long, score_cutoff=cutoff) >= self._threshold


def _may_reach(short: str, long: str, share_of: float, steps: int) -> bool:
    """Whether any piece of the longer text could be like the shorter one.

    The ratio of a text of m characters and a piece of w ≤ m is 2·L/(m + w), L being their longest common subsequence,
    which has at most w characters. To reach t, L must be at least t·m/(2 − t). Every piece lies in one of the
    stretches of (s + 1)·m characters that begin at every s·m-th one, and has no longer subsequence than its stretch.
    Shorter stretches tell more.
    """
    size = len(short)
    least = floor(share_of * size / (2 - share_of) - 1e-9)
    if least <= 0:
        return True
    stretches = [long[start : start + (steps + 1) * size] for start in range(0, len(long), steps * size)]
    rapidfuzz = _rapidfuzz()
    return rapidfuzz.best_of(short, stretches, scorer=rapidfuzz.subsequence, score_cutoff=least) is not None
