"""Normalization of answers before they are compared: SQuAD's, one for any language, ROUGE's, or none.

Each normalizer takes many texts at once and returns one line per text, with its words separated by spaces.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from itertools import compress
from operator import not_
from typing import Annotated, Literal, NamedTuple

from karat.documents.normalization import FOLDS, normalized
from karat.documents.words import TYPOGRAPHIC, tokens, words_and_symbols
from karat.registry import Help

Normalize = Annotated[
    Literal["true", "neutral", "false"],
    Help(
        "which differences to ignore: case, punctuation, a/an/the and white space (true, as in SQuAD); case,"
        " punctuation and white space of any language (neutral); none (false)"
    ),
]

# Punctuation is deleted, and white space other than line breaks becomes a space.
_PUNCTUATION = str.maketrans(dict.fromkeys("\t\r\v\f\x1c\x1d\x1e\x1f", " ") | dict.fromkeys(string.punctuation))
_MARKS = re.compile(f"[{re.escape(string.punctuation)}]+")
_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(a|an|the)\b")
# Letters in lower case, digits and line breaks unchanged, and a space for all other ASCII characters.
_ROUGE = "".join(letter.lower() if letter.isalnum() or letter == "\n" else " " for letter in map(chr, range(128)))


class Normalizer(NamedTuple):
    """A function that turns texts into lines of words, and the words to ignore in these lines.

    With `keep_wordless`, a text without any words is compared as it is.
    """

    to_lines: Callable[[Sequence[str]], list[str]]
    ignored_words: frozenset[str] = frozenset()
    keep_wordless: bool = False

    def words(self, line: str) -> list[str]:
        """The words of a line that are not ignored."""
        return [word for word in line.split() if word not in self.ignored_words]


def squad_lines(texts: Sequence[str]) -> list[str]:
    """Each text in lower case and without ASCII punctuation, as SQuAD defines it; articles are ignored later.

    >>> [NORMALIZERS["true"].words(line) for line in squad_lines(["The  Eiffel Tower!", "an eiffel-tower", ""])]
    [['eiffel', 'tower'], ['eiffeltower'], []]
    """
    return _by_encoding(unchanged_lines(texts), _squad_ascii, _squad_unicode)


def _squad_ascii(text: str) -> str:
    bare = text.lower().translate(_PUNCTUATION)
    # If only letters, digits and spaces are left, articles are whole words, which are ignored later. Otherwise an
    # article may touch a control character.
    return bare if bare.replace("\n", " ").isprintable() else _ARTICLE.sub(" ", bare)


def _squad_unicode(text: str) -> str:
    return _ARTICLE.sub(" ", _MARKS.sub("", text.lower()))


def neutral_lines(texts: Sequence[str]) -> list[str]:
    """Each text in one Unicode form, case-folded and without punctuation, in any language.

    >>> neutral_lines(["¿La  Torre  Eiffel?", "die Straße", "重さは3kg"])
    ['la torre eiffel', 'die strasse', '重 さ は 3kg']
    """
    return [" ".join(words_and_symbols(normalized(text, FOLDS))) for text in texts]


def unchanged_lines(texts: Sequence[str]) -> list[str]:
    """Each text as it is, on one line."""
    broken = "\n" in "".join(texts)
    return [text.replace("\n", " ") for text in texts] if broken else list(texts)


def rouge_lines(texts: Sequence[str]) -> list[str]:
    """The runs of letters and digits of each text, in lower case.

    >>> [line.split() for line in rouge_lines(["It's 5_kg.", "Überall – dort!", "?!"])]
    [['it', 's', '5', 'kg'], ['überall', 'dort'], []]
    """
    return _by_encoding(unchanged_lines(texts), _rouge_ascii, _rouge_unicode)


def _rouge_ascii(text: str) -> str:
    return text.translate(_ROUGE)


def _rouge_unicode(text: str) -> str:
    plain = TYPOGRAPHIC.sub(" ", text.lower().replace("_", " "))
    if plain.isascii():
        return _rouge_ascii(plain)
    return "\n".join(" ".join(tokens(line)) for line in plain.split("\n"))


def _by_encoding(texts: list[str], if_ascii: Callable[[str], str], otherwise: Callable[[str], str]) -> list[str]:
    """Normalize all ASCII texts (usually most of them) in one call, and all others in another.

    One call per text takes five times as long. Both functions work line by line, so joined texts do not mix.
    """
    plain = list(map(str.isascii, texts))
    if all(plain):
        return if_ascii("\n".join(texts)).split("\n") if texts else []
    lines = (
        iter(otherwise("\n".join(compress(texts, map(not_, plain)))).split("\n")),
        iter(if_ascii("\n".join(compress(texts, plain))).split("\n")),
    )
    return [next(lines[is_plain]) for is_plain in plain]


NORMALIZERS = {
    "true": Normalizer(squad_lines, _ARTICLES),
    "neutral": Normalizer(neutral_lines),
    "false": Normalizer(unchanged_lines),
    "rouge": Normalizer(rouge_lines, keep_wordless=True),
}
"""The normalizers by the value of `normalize`, and the one of ROUGE."""
