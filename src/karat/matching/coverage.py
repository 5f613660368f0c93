"""The share of a gold passage's words that a chunk contains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from karat.documents.normalization import CACHE_SIZE, Folds, normalized
from karat.documents.words import Occurrences, occurrences, tokens


def coverage(text: str, gold: str) -> float:
    """The share of the gold text's tokens that the text contains, repeats included; 0 if the gold has no tokens."""
    whole = occurrences(tokens(gold))
    return len(whole & occurrences(tokens(text))) / len(whole) if whole else 0.0


class OverlapComparer:
    """Compares the tokens of retrieved and gold texts, one query at a time."""

    slow_pairs = 0

    def __init__(self, threshold: float, folds: Folds) -> None:
        self._threshold = threshold
        self._words = lru_cache(CACHE_SIZE)(lambda text: occurrences(tokens(normalized(text, folds))))
        self._folds = folds

    def pairs(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Pairs of a text and a gold text that it covers or equals, by their positions."""
        in_golds = list(map(self._words, golds))
        gold_words = [(gold, words, len(words)) for gold, words in enumerate(in_golds) if words]
        smallest = min((size for _, _, size in gold_words), default=0)
        all_words: Occurrences = set().union(*in_golds)
        # A text that equals a gold text covers it, unless they have no words: those are compared as text.
        wordless = [(gold, normalized(golds[gold], self._folds)) for gold, words in enumerate(in_golds) if not words]
        for at, text in enumerate(texts):
            if wordless:
                form = normalized(text, self._folds)
                yield from ((at, gold) for gold, content in wordless if content and content == form)
            # n characters have at most (n + 1) / 2 words: most texts are too short to cover a long gold text.
            if not smallest or (text.isascii() and (len(text) + 1) // 2 / smallest < self._threshold):
                continue
            known = self._words(text) & all_words
            most = len(known)
            if most / smallest < self._threshold:
                continue
            for gold, words, size in gold_words:
                if most / size >= self._threshold and len(known & words) / size >= self._threshold:
                    yield at, gold
