"""The words of a text, in any script."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache

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


def words_and_symbols(text: str) -> list[str]:
    """The same words, and each symbol beyond ASCII by itself: €, ½ or 👍 may be what a text is about.

    >>> words_and_symbols("5€ 👍👍, o.k.")
    ['5', '€', '👍', '👍', 'o', 'k']
    """
    return tokens(text) if text.isascii() else _token_or_symbol().findall(text)


@cache
def _token() -> re.Pattern[str]:
    """A token. Accents and vowel signs that are characters of their own belong to the letter before them."""
    return re.compile(rf"(?=\w)[{_CJK}]|(?:[^\W{_CJK}][{_of_category('M')}]*)+")


@cache
def _token_or_symbol() -> re.Pattern[str]:
    return re.compile(rf"{_token().pattern}|(?!\w)[{_of_category('S')}]")


def _of_category(category: str) -> str:
    """Every character of a category of Unicode, as they stand in a regular expression."""
    signs = (chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(category))
    return re.escape("".join(signs))


def occurrences(words: Sequence[str]) -> Occurrences:
    """The same words as a set, in which those that come again are others: what two texts share is what both sets have.

    >>> sorted(map(str, occurrences(["to", "be", "or", "not", "to", "be"])))
    ["('be', 2)", "('to', 2)", 'be', 'not', 'or', 'to']
    """
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
