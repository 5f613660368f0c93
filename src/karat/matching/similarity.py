"""Texts that are nearly the same: rapidfuzz's partial ratio, asked only of pairs that could reach the threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import floor
from typing import NamedTuple

from karat.errors import KaratError
from karat.matching.shingles import WIDTH, Shingles, share
from karat.normalization import Folds, normalized


class Rapidfuzz(NamedTuple):
    """The functions of rapidfuzz that are used here."""

    partial_ratio: Callable[..., float]
    subsequence: Callable[..., int]
    best_of: Callable[..., tuple[str, float, int] | None]


_HIGH = 85


def require_rapidfuzz() -> None:
    """An error that says what to install, where rapidfuzz is not."""
    _rapidfuzz()


@cache
def _rapidfuzz() -> Rapidfuzz:
    """What is used of rapidfuzz, where it is installed."""
    try:
        from rapidfuzz import fuzz, process
        from rapidfuzz.distance import LCSseq
    except ModuleNotFoundError:
        raise KaratError("fuzzy matching needs rapidfuzz", mend='pip install "karat[chunks]"') from None
    return Rapidfuzz(fuzz.partial_ratio, LCSseq.similarity, process.extractOne)


def ratio(one: str, other: str) -> float:
    """How much of the shorter text is in the best matching piece of the longer one, from 0 to 100."""
    return _rapidfuzz().partial_ratio(one, other)


def similar(one: str, other: str, threshold: float) -> bool:
    """Whether two normalised texts are nearly the same, which is: equal, or sharing a shingle and a ratio that high."""
    return bool(one and other) and (one == other or (share(one, other) and ratio(one, other) >= threshold))


class Similar:
    """Compares the texts of one query after the other; what was compared is remembered."""

    def __init__(self, threshold: float, folds: Folds) -> None:
        self._threshold = threshold
        self._folds = folds
        self._shingles = Shingles()
        self._form = cache(lambda text: normalized(text, folds)) if folds else str
        self._reaches = cache(self._compared)

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
        # Long stretches take less time, and tell of most pairs where the threshold is high.
        for steps in (2, 1) if self._threshold >= _HIGH else (1,):
            if not _may_reach(short, long, self._threshold / 100, steps):
                return False
        if short in long:
            return len(short) >= WIDTH
        high = _rapidfuzz().partial_ratio(short, long, score_cutoff=self._threshold) >= self._threshold
        return high and share(short, long)


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
