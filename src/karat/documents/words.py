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
TYPOGRAPHIC = re.compile("[\u2000-\u206f]+")
"""Dashes, curly quotes, dots and blanks: what makes most English text more than ASCII. No letter is among them."""

_CHARACTER = re.compile(f"[{_CJK}]")
_WORD = re.compile(r"\w+")
_BEYOND_LATIN = re.compile("[^\0-\u02ff]")  # where signs begin that belong to the letter before them
_ASCII_WORDS = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in map(chr, range(128)))

Occurrences = AbstractSet[str | tuple[str, int]]
"""The tokens of a text, each occurrence a thing of its own: the word, and (word, 2) where it comes again."""


def tokens(text: str) -> list[str]:
    """The words of a text: letters and digits that stand together; of Chinese and Japanese, each character.

    >>> tokens("It's 3.5 kg, 金は・重い")
    ['It', 's', '3', '5', 'kg', '金', 'は', '重', 'い']
    """
    if not text.isascii():
        text = TYPOGRAPHIC.sub(" ", text)
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    return (_token() if _BEYOND_LATIN.search(text) else _WORD).findall(text)


def words_and_symbols(text: str) -> list[str]:
    """The same words, and each symbol beyond ASCII by itself: €, ½ or 👍 may be what a text is about.

    >>> words_and_symbols("5€ 👍👍, o.k.")
    ['5', '€', '👍', '👍', 'o', 'k']
    """
    return tokens(text) if text.isascii() else _token_or_symbol().findall(text)


def separate_cjk_characters(text: str) -> str:
    """A text in which each Chinese or Japanese character stands between blanks: there, every one begins a word.

    >>> separate_cjk_characters("その 金は gold")
    'そ の 金 は gold'
    """
    return text if text.isascii() else " ".join(_CHARACTER.sub(r" \g<0> ", text).split())


@cache
def _token() -> re.Pattern[str]:
    """A token. Accents and vowel signs that are characters of their own belong to the letter before them."""
    letter, signs = rf"[^\W{_CJK}]", f"[{_of_category('M')}]"
    return re.compile(rf"(?=\w)[{_CJK}]|{letter}+(?:{signs}+{letter}*)*")


@cache
def _token_or_symbol() -> re.Pattern[str]:
    return re.compile(rf"{_token().pattern}|(?![\w\x00-\x7f])[{_of_category('S')}]")


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
