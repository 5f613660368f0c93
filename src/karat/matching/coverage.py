"""How much of a gold passage a chunk covers, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from karat.documents.normalization import CACHE_SIZE, Folds, normalized
from karat.documents.words import Occurrences, occurrences, tokens


def coverage(text: str, gold: str) -> float:
    """The share of the gold's tokens that the text has, each as often as both have it; 0 where the gold has none."""
    whole = occurrences(tokens(gold))
    return len(whole & occurrences(tokens(text))) / len(whole) if whole else 0.0


class OverlapComparer:
    """Compares the tokens of the texts of one query after the other."""

    def __init__(self, threshold: float, folds: Folds) -> None:
        self._threshold = threshold
        self._words = lru_cache(CACHE_SIZE)(lambda text: occurrences(tokens(normalized(text, folds))))
        self._folds = folds

    def pairs(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Which text covers enough of which gold, or is equal to it."""
        in_golds = list(map(self._words, golds))
        wholes = [(gold, words, len(words)) for gold, words in enumerate(in_golds) if words]
        smallest = min((size for _, _, size in wholes), default=0)
        anywhere: Occurrences = set().union(*in_golds)
        # What is equal to a gold covers it; only one without words has to be compared as text.
        wordless = [(gold, normalized(golds[gold], self._folds)) for gold, words in enumerate(in_golds) if not words]
        for at, text in enumerate(texts):
            if wordless:
                form = normalized(text, self._folds)
                yield from ((at, gold) for gold, content in wordless if content and content == form)
            # Words are kept apart by something: most texts are too short to cover half of a long gold.
            if not smallest or (text.isascii() and (len(text) + 1) // 2 / smallest < self._threshold):
                continue
            known = self._words(text) & anywhere
            most = len(known)
            if most / smallest < self._threshold:
                continue
            for gold, whole, size in wholes:
                if most / size >= self._threshold and len(known & whole) / size >= self._threshold:
                    yield at, gold
