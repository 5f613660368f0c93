"""How much of a gold passage a chunk covers, in words."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache

from karat.normalization import REMEMBERED, Folds, normalized

# Chinese and Japanese write no blanks between words: there, each character is a token.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ASCII_WORDS = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in map(chr, range(128)))

Occurrences = AbstractSet[str | tuple[str, int]]
"""The tokens of a text, each occurrence a thing of its own: the word, and (word, 2) where it comes again."""


def tokens(text: str) -> list[str]:
    """The words of a text: letters and digits that stand together; of Chinese and Japanese, each character.

    >>> tokens("It's 3.5 kg, 金は・重い")
    ['It', 's', '3', '5', 'kg', '金', 'は', '重', 'い']
    """
    return text.translate(_ASCII_WORDS).split() if text.isascii() else _token().findall(text)


@cache
def _token() -> re.Pattern[str]:
    """A token. Accents and vowel signs that are characters of their own belong to the letter before them."""
    signs = (chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("M"))
    return re.compile(rf"(?=\w)[{_CJK}]|(?:[^\W{_CJK}][{re.escape(''.join(signs))}]*)+")


def coverage(text: str, gold: str) -> float:
    """The share of the gold's tokens that the text has, each as often as both have it; 0 where the gold has none."""
    whole = _occurrences(tokens(gold))
    return len(whole & _occurrences(tokens(text))) / len(whole) if whole else 0.0


def _occurrences(words: Sequence[str]) -> Occurrences:
    different = set(words)
    if len(different) == len(words):
        return different
    all_of_them: set[str | tuple[str, int]] = set()
    times: dict[str, int] = {}
    for word in words:
        if word in all_of_them:
            times[word] = times.get(word, 1) + 1
            all_of_them.add((word, times[word]))
        else:
            all_of_them.add(word)
    return all_of_them


class Covering:
    """Compares the tokens of the texts of one query after the other."""

    def __init__(self, threshold: float, folds: Folds) -> None:
        self._threshold = threshold
        self._words = lru_cache(REMEMBERED)(lambda text: _occurrences(tokens(normalized(text, folds))))
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
