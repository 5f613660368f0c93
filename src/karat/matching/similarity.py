"""Fuzzy matching by rapidfuzz's partial ratio, computed only for pairs that could reach the threshold."""

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
"""The differences that fuzzy matching ignores by default."""

_CACHED_PAIRS = 1 << 18
# From this threshold on, a first check of long stretches rejects most pairs; below, it would accept nearly all.
_HIGH_THRESHOLD = 85


class Rapidfuzz(NamedTuple):
    """The functions of rapidfuzz that fuzzy matching uses."""

    ratio: Callable[..., float]
    partial_ratio: Callable[..., float]
    common_subsequence: Callable[..., int]
    best_match: Callable[..., tuple[str, float, int] | None]


@cache
def _rapidfuzz() -> Rapidfuzz:
    """Import rapidfuzz when it is first needed."""
    try:
        from rapidfuzz import fuzz, process
        from rapidfuzz.distance import LCSseq
    except ModuleNotFoundError:
        raise KaratError("fuzzy matching needs rapidfuzz", hint='pip install "karat[chunks]"') from None
    return Rapidfuzz(fuzz.ratio, fuzz.partial_ratio, LCSseq.similarity, process.extractOne)


def partial_ratio(one: str, other: str) -> float:
    """The similarity of the shorter text and the best-matching part of the longer one, from 0 to 100."""
    return _rapidfuzz().partial_ratio(one, other)


def check_percentage(name: str, given: object) -> float:
    """The threshold as a number from 0 to 100; an error if it is not one, or if rapidfuzz is not installed."""
    number = Parameter("threshold", float, None, help=Help("", low=0, high=100)).value(given, name)
    threshold = number if isinstance(number, float) else 0.0
    if 0 < threshold <= 1:
        raise KaratError(
            f"{name}: a threshold of {threshold:g} would match nearly everything",
            hint=f"It is a percentage, from 0 to 100: write {100 * threshold:g}.",
        )
    _rapidfuzz()
    return threshold


class FuzzyComparer:
    """Finds similar texts, one query at a time, and caches the results.

    Two texts are similar if they are equal, or if they share a shingle and their partial ratio reaches the threshold.
    """

    def __init__(self, threshold: float, folds: Folds) -> None:
        self._threshold = threshold
        self._shingles = Shingles()
        self._normalize = normalizer(folds)
        self._cached_similar = lru_cache(_CACHED_PAIRS)(self._similar)

    def pairs(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Pairs of a text and a similar gold text, by their positions."""
        forms, gold_forms = list(map(self._normalize, texts)), list(map(self._normalize, golds))
        equal: dict[str, list[int]] = {}
        for gold, form in enumerate(gold_forms):
            if form:
                equal.setdefault(form, []).append(gold)
        for at, form in enumerate(forms):
            yield from ((at, gold) for gold in equal.get(form, ()))
        for at, gold in self._shingles.candidates(forms, gold_forms):
            if forms[at] != gold_forms[gold] and self._cached_similar(forms[at], gold_forms[gold]):
                yield at, gold

    def _similar(self, one: str, other: str) -> bool:
        """Whether the partial ratio of two texts reaches the threshold, and they share a shingle."""
        short, long = sorted((one, other), key=len)
        if short in long:
            return len(short) >= WIDTH
        for steps in (2, 1) if self._threshold >= _HIGH_THRESHOLD else (1,):
            if not _may_reach(short, long, self._threshold / 100, steps):
                return False
        return self._ratio_reaches_threshold(short, long) and have_common_shingle(short, long)

    def _ratio_reaches_threshold(self, short: str, long: str) -> bool:
        """Whether the partial ratio reaches the threshold."""
        rapidfuzz, size = _rapidfuzz(), len(short)
        # If the first or the last piece reaches the threshold, so does the best one. Finding that takes minutes in long
        # texts that are nearly the same.
        if any(rapidfuzz.ratio(short, piece) >= self._threshold for piece in (long[:size], long[-size:])):
            return True
        # rapidfuzz sometimes misses a ratio that exactly equals its cut-off.
        cutoff = max(self._threshold - 1e-6, 0)
        return rapidfuzz.partial_ratio(short, long, score_cutoff=cutoff) >= self._threshold


def _may_reach(short: str, long: str, ratio: float, steps: int) -> bool:
    """Whether a piece of the longer text could be similar enough to the shorter one.

    The ratio of a text of m characters and a piece of w ≤ m is 2·L/(m + w), where L is the length of their longest
    common subsequence, which has at most w characters. To reach t, L must be at least t·m/(2 − t). Every piece lies in
    one of the stretches of (s + 1)·m characters that begin at multiples of s·m, so L is at most that of the stretch.
    Shorter stretches reject more pairs, and take longer.
    """
    size = len(short)
    least = floor(ratio * size / (2 - ratio) - 1e-9)
    if least <= 0:
        return True
    stretches = [long[start : start + (steps + 1) * size] for start in range(0, len(long), steps * size)]
    rapidfuzz = _rapidfuzz()
    return rapidfuzz.best_match(short, stretches, scorer=rapidfuzz.common_subsequence, score_cutoff=least) is not None
