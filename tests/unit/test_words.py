"""Words and punctuation in any script: Unicode's categories decide, for every character."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator

from karat.documents.normalization import normalized
from karat.documents.words import TYPOGRAPHIC, tokens, words_and_symbols


def blocks() -> Iterator[str]:
    """Every character of the first 49 blocks, and every 61st of all others, 512 at a time."""
    codes = (*range(0x3100), *range(0x3100, 0x110000, 61))
    for start in range(0, len(codes), 512):
        yield "".join(map(chr, codes[start : start + 512]))


def test_punctuation_is_what_unicode_classifies_as_such_and_all_ascii_punctuation() -> None:
    for block in blocks():
        kept = (each for each in block if unicodedata.category(each)[0] != "P" and each not in string.punctuation)
        assert normalized(block, ("punctuation",)) == "".join(kept)


def test_combining_marks_of_any_script_belong_to_the_letter_before_them() -> None:
    for block in blocks():
        marks = [each for each in TYPOGRAPHIC.sub("", block) if unicodedata.category(each)[0] == "M"]
        assert tokens(" ".join(f"и{mark}и" for mark in marks)) == [f"и{mark}и" for mark in marks]
        others = [each for each in block if each not in marks and not re.match(r"\w", each)]
        assert set(tokens("".join(f"и{other}и" for other in others))) <= {"и", "ии"}


def test_each_symbol_of_any_script_is_a_token() -> None:
    for block in blocks():
        apart = [each for each in block if not each.isascii() and not re.match(r"\w", each)]
        symbols = [each for each in apart if unicodedata.category(each)[0] == "S"]
        assert words_and_symbols("".join(apart)) == symbols
