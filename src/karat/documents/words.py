"""The words of a text, in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

# Chinese and Japanese have no spaces between words, so each character is a token.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
TYPOGRAPHIC = re.compile("[\u2000-\u206f]+")
"""Dashes, curly quotes, ellipses and spaces: the only characters outside ASCII in most English text. No letters."""

# An accent and a symbol that stand for all others.
_SIGN, _SYMBOL = "\u0301", "\xa4"
_LETTER = rf"[^\W{_CJK}]"
# Compiled by `re` when they are first used, which takes some milliseconds.
_TOKEN = rf"(?=\w)[{_CJK}]|{_LETTER}+(?:{_SIGN}+{_LETTER}*)*"
_TOKEN_OR_SYMBOL = f"{_TOKEN}|{_SYMBOL}"
_CHARACTER = f"[{_CJK}]"
_WORD = re.compile(r"\w+")
_BEYOND_LATIN = re.compile("[^\0-\u02ff]")  # may contain combining marks, which belong to the letter before them
_ASCII_WORDS = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in map(chr, range(128)))

Occurrences = AbstractSet[str | tuple[str, int]]
"""The tokens of a text with repeats kept apart: the word, then (word, 2) for its second occurrence, and so on."""


def tokens(text: str) -> list[str]:
    """The words of a text: sequences of letters and digits; each character of Chinese and Japanese.

    >>> tokens("It's 3.5 kg, 金は・重い")
    ['It', 's', '3', '5', 'kg', '金', 'は', '重', 'い']
    """
    if not text.isascii():
        text = TYPOGRAPHIC.sub(" ", text)
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    return _find(_TOKEN, text) if _BEYOND_LATIN.search(text) else _WORD.findall(text)


def words_and_symbols(text: str) -> list[str]:
    """The words of a text, and each symbol outside ASCII (€, 👍) as a token of its own.

    >>> words_and_symbols("5€ 👍👍, o.k.")
    ['5', '€', '👍', '👍', 'o', 'k']
    """
    return tokens(text) if text.isascii() else _find(_TOKEN_OR_SYMBOL, text)


def separate_cjk_characters(text: str) -> str:
    """A text with spaces around each Chinese or Japanese character, so that each is a word.

    >>> separate_cjk_characters("その 金は gold")
    'そ の 金 は gold'
    """
    return text if text.isascii() else " ".join(re.sub(_CHARACTER, r" \g<0> ", text).split())


def _find(token: str, text: str) -> list[str]:
    """The tokens of a text. Combining accents and vowel signs belong to the letter before them."""
    stand_ins = {ord(each): _stand_in(each) for each in set(text)}
    if all(ord(stand_in) == each for each, stand_in in stand_ins.items()):
        return re.findall(token, text)
    return [text[slice(*found.span())] for found in re.finditer(token, text.translate(stand_ins))]


def _stand_in(character: str) -> str:
    category = unicodedata.category(character)[0]
    if category == "M":
        return _SIGN
    return _SYMBOL if category == "S" and not character.isascii() and not character.isalnum() else character


def occurrences(words: Sequence[str]) -> Occurrences:
    """The words as a set that keeps repeats apart, so that the intersection of two sets counts repeated words.

    >>> sorted(map(str, occurrences(["to", "be", "or", "not", "to", "be"])))
    ["('be', 2)", "('to', 2)", 'be', 'not', 'or', 'to']
    """
    distinct = set(words)
    if len(distinct) == len(words):
        return distinct
    numbered: set[str | tuple[str, int]] = set()
    counts: dict[str, int] = {}
    for word in words:
        if word in numbered:
            counts[word] = counts.get(word, 1) + 1
            numbered.add((word, counts[word]))
        else:
            numbered.add(word)
    return numbered
