"""Fuzzy matching by rapidfuzz's partial ratio, computed only for pairs that could reach the threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil

import numpy as np

from karat.documents.normalization import Folds, normalizer, original_span
from karat.errors import KaratError
from karat.matching.qgrams import may_be_similar
from karat.matching.windows import partial_ratio_of_all_windows, rapidfuzz, search
from karat.output.progress import progress_bar
from karat.registry.parameters import Help, MeasureParameter

FUZZY_FOLDS: Folds = ("unicode", "case", "space")
"""The differences that fuzzy matching ignores by default."""

SHORTEST = 12
"""Texts of fewer characters match only if they are equal: `of` is contained in nearly every text."""

_CACHED_PAIRS = 1 << 18
# Larger than any error of rounding in a ratio.
_ROUNDING = 1e-6
_WORD = 64
# Windows of longer texts are not compared one by one.
_LONG = 512
# Texts whose lengths have such a product take seconds, if all windows are compared or if they are searched.
_SLOW, _SLOW_TO_SEARCH = 10**9, 10**10
# How many runs of characters are searched for, to find out where a text begins in another one.
_ANCHORS = 8


def check_percentage(name: str, value: object) -> float:
    """The threshold as a number from 0 to 100; an error if it is not one, or if rapidfuzz is not installed."""
    number = MeasureParameter("threshold", float, None, help=Help("", low=0, high=100)).value(value, name)
    threshold = number if isinstance(number, float) else 0.0
    if 0 < threshold <= 1:
        raise KaratError(
            f"{name}: a threshold of {threshold:g} would match nearly everything",
            hint=f"It is a percentage, from 0 to 100: write {100 * threshold:g}.",
        )
    rapidfuzz()
    return threshold


class FuzzyComparer:
    """Finds similar texts, one query at a time, and caches the results.

    Two texts are similar if they are equal, or if both have at least 12 characters and rapidfuzz's partial ratio of
    them is at least the threshold.
    """

    def __init__(self, threshold: float, folds: Folds) -> None:
        self._threshold = threshold
        # A little less, so that rounding never rules out a pair.
        self._ratio = max(threshold - _ROUNDING, 0) / 100
        self._folds = folds
        self._normalize = normalizer(folds)
        self.slow_pairs = 0
        """How many pairs of texts were so long that comparing them took seconds."""
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
        candidates = list(self._candidates(forms, gold_forms))
        with progress_bar("pairs") as progress:
            for done, (at, gold) in enumerate(candidates):
                if progress:
                    progress(done, len(candidates))
                if forms[at] != gold_forms[gold] and self._cached_similar(forms[at], gold_forms[gold]):
                    yield at, gold

    def reason(self, text: str, gold: str) -> str:
        """How similar a text is to a gold text, in words."""
        one, other = self._normalize(text), self._normalize(gold)
        if one == other:
            return "the same text"
        if one in other or other in one:
            return "contained"
        return f"partial ratio {self._partial_ratio(one, other):.1f}"

    def location(self, text: str, gold: str) -> tuple[int, int] | None:
        """The part of a gold text, as given, that is most similar to a text; None if that takes long to find.

        Of a long text, it is the most similar of the parts that begin where a few characters agree.
        """
        one, other = self._normalize(text), self._normalize(gold)
        start, end = other.find(one), other.find(one) + len(one)
        if start < 0:
            if len(one) > len(other):
                start, end = 0, len(other)
            elif len(one) > _LONG:
                start, end = self._likely_place(one, other)
            else:
                alignment = rapidfuzz().alignment(one, other)
                start, end = (0, 0) if alignment is None else (alignment.dest_start, alignment.dest_end)
        return original_span(gold, self._folds, start, end) if start < end else None

    def _likely_place(self, short: str, long: str) -> tuple[int, int]:
        """The likely piece of the longer text that is most similar to the shorter one; empty if none is similar."""
        ratio, size = rapidfuzz().ratio, len(short)
        ratios = {start: ratio(short, long[start : start + size]) for start in _likely_starts(short, long)}
        start = max(ratios, key=lambda start: (ratios[start], -start), default=0)
        return (start, start + size) if ratios.get(start, 0.0) >= self._threshold else (0, 0)

    def _candidates(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Pairs of texts that may be similar: either of the two may be the shorter one."""
        rows = [row for row, text in enumerate(texts) if len(text) >= SHORTEST]
        gold_rows = [row for row, gold in enumerate(golds) if len(gold) >= SHORTEST]
        texts, golds = [texts[row] for row in rows], [golds[row] for row in gold_rows]
        passed = may_be_similar(texts, golds, self._ratio) | may_be_similar(golds, texts, self._ratio).T
        for one, others in enumerate(passed):
            yield from ((rows[one], gold_rows[other]) for other in np.flatnonzero(others).tolist())

    def _similar(self, one: str, other: str) -> bool:
        """Whether the partial ratio of two texts reaches the threshold."""
        short, long = sorted((one, other), key=len)
        if not self._threshold or short in long:
            return True
        # rapidfuzz compares a text of up to 64 characters, the bits of a word, faster than any filter.
        if len(short) > _WORD:
            # If any piece clearly reaches the threshold, so does the best one.
            ratio, clearly = rapidfuzz().ratio, self._threshold + _ROUNDING
            pieces = (long[start : start + len(short)] for start in _likely_starts(short, long))
            if any(ratio(short, piece, score_cutoff=clearly) for piece in pieces):
                return True
            if len(short) <= _LONG and not _may_reach(short, long, self._ratio):
                return False
        return self._partial_ratio(short, long, enough=self._threshold) >= self._threshold

    def _partial_ratio(self, one: str, other: str, enough: float = 100) -> float:
        """The partial ratio of two texts, or any ratio of `enough`; if the threshold is not reached, that or 0."""
        short, long = sorted((one, other), key=len)
        if len(short) <= _LONG:
            # rapidfuzz misses a ratio that equals its cut-off, so the cut-off is lower, by about one character.
            cutoff = max(self._threshold - 100 / len(short), 0)
            return rapidfuzz().partial_ratio(short, long, score_cutoff=cutoff)
        ratio = search(short, long, 100 * self._ratio, enough)
        size = len(short) * len(long)
        self.slow_pairs += size >= (_SLOW if ratio is None else _SLOW_TO_SEARCH)
        return partial_ratio_of_all_windows(short, long) if ratio is None else ratio


def _may_reach(short: str, long: str, ratio: float) -> bool:
    """Whether a piece of the longer text could be similar enough to the shorter one.

    The pieces of a text of n characters that are compared with a text of m are all those of m characters, and all
    shorter ones at its two ends. The ratio of a piece of w characters is 2·L/(m + w), where L is the length of the
    longest common subsequence. To reach t, L must be at least t·m for w = m, and t·m/(2 − t) for any w, as L ≤ w.
    Every piece is within one of the stretches of 2·m characters that begin at multiples of m, so L is at most that of
    the stretch.
    """
    size = len(short)
    of_any, of_full = (ceil(bound - 1e-6) for bound in (ratio * size / (2 - ratio), ratio * size))
    if of_any <= 0:
        return True
    stretches = [long[start : start + 2 * size] for start in range(0, max(len(long) - size, 1), size)]
    best = _longest_subsequence(short, stretches, of_any)
    return best >= of_full or (best > 0 and _longest_subsequence(short, [long[:size], long[-size:]], of_any) > 0)


def _longest_subsequence(text: str, others: Sequence[str], least: int) -> int:
    """The length of the longest subsequence that a text has in common with one of the others; 0 if below `least`."""
    functions = rapidfuzz()
    # rapidfuzz misses some subsequences whose length equals its cut-off.
    best = functions.best_match(text, others, scorer=functions.common_subsequence, score_cutoff=least - 1)
    return int(best[1]) if best and best[1] >= least else 0


def _likely_starts(short: str, long: str) -> set[int]:
    """Where pieces of the longer text begin in which the shorter one may begin, if a few characters in a row agree."""
    size, starts = len(short), set()
    for at in range(0, size, max(size // _ANCHORS, _WORD)):
        place = long.find(short[at : at + SHORTEST])
        if place >= 0:
            starts.add(min(max(place - at, 0), len(long) - size))
    return starts
