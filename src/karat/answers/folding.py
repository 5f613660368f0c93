"""What does not count when answers are compared: SQuAD's normalisation, one for any language, or none.

Each takes many texts at once and gives each as one line, its words between blanks.
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
        "what does not count: case, punctuation, a/an/the and white space (true, as SQuAD); case, punctuation and white"
        " space of any language (neutral); nothing (false)"
    ),
]

Fold = Callable[[Sequence[str]], list[str]]

# White space becomes a blank, but for line breaks, and marks of punctuation nothing.
_PUNCTUATION = str.maketrans(dict.fromkeys("\t\r\v\f\x1c\x1d\x1e\x1f", " ") | dict.fromkeys(string.punctuation))
_MARKS = re.compile(f"[{re.escape(string.punctuation)}]+")
_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(a|an|the)\b")
# A letter in its small form, a digit as it is, a line break, and a blank for the rest of ASCII.
_ROUGE = "".join(letter.lower() if letter.isalnum() or letter == "\n" else " " for letter in map(chr, range(128)))


class Folding(NamedTuple):
    """Texts as they are compared: one line each, and the words in it that do not count.

    Where `itself` is true, a text in which no word is left is compared as it is.
    """

    fold: Fold
    dropped: frozenset[str] = frozenset()
    itself: bool = False

    def words(self, line: str) -> list[str]:
        """The words that count."""
        return [word for word in line.split() if word not in self.dropped]


def squad(texts: Sequence[str]) -> list[str]:
    """Each text in small letters, without ASCII punctuation; articles are left to be dropped: SQuAD's definition.

    >>> [FOLDINGS["true"].words(line) for line in squad(["The  Eiffel Tower!", "an eiffel-tower", ""])]
    [['eiffel', 'tower'], ['eiffeltower'], []]
    """
    return _apart(lines(texts), _squad_of_ascii, _squad_of_any)


def _squad_of_ascii(whole: str) -> str:
    bare = whole.lower().translate(_PUNCTUATION)
    # Letters, digits and blanks are left: an article is a word, and is dropped as such. Or it touches something else.
    return bare if bare.replace("\n", " ").isprintable() else _ARTICLE.sub(" ", bare)


def _squad_of_any(whole: str) -> str:
    return _ARTICLE.sub(" ", _MARKS.sub("", whole.lower()))


def neutral(texts: Sequence[str]) -> list[str]:
    """Each text folded as any language allows: Unicode form, case, any punctuation, white space.

    >>> neutral(["¿La  Torre  Eiffel?", "die Straße", "重さは3kg"])
    ['la torre eiffel', 'die strasse', '重 さ は 3kg']
    """
    return [" ".join(words_and_symbols(normalized(text, FOLDS))) for text in texts]


def lines(texts: Sequence[str]) -> list[str]:
    """Each text as it is, in one line."""
    broken = "\n" in "".join(texts)
    return [text.replace("\n", " ") for text in texts] if broken else list(texts)


def rouge(texts: Sequence[str]) -> list[str]:
    """The runs of letters and digits of each text, in small letters.

    >>> [line.split() for line in rouge(["It's 5_kg.", "Überall – dort!", "?!"])]
    [['it', 's', '5', 'kg'], ['überall', 'dort'], []]
    """
    return _apart(lines(texts), _rouge_of_ascii, _rouge_of_any)


def _rouge_of_ascii(whole: str) -> str:
    return whole.translate(_ROUGE)


def _rouge_of_any(whole: str) -> str:
    plain = TYPOGRAPHIC.sub(" ", whole.lower().replace("_", " "))
    if plain.isascii():
        return _rouge_of_ascii(plain)
    return "\n".join(" ".join(tokens(line)) for line in plain.split("\n"))


def _apart(texts: list[str], of_ascii: Callable[[str], str], of_any: Callable[[str], str]) -> list[str]:
    """Fold the texts that are ASCII, as most are, all at once, and then the others.

    One after the other takes five times as long. What is done to them does not go beyond a line.
    """
    plain = list(map(str.isascii, texts))
    if all(plain):
        return of_ascii("\n".join(texts)).split("\n") if texts else []
    folded = (
        iter(of_any("\n".join(compress(texts, map(not_, plain)))).split("\n")),
        iter(of_ascii("\n".join(compress(texts, plain))).split("\n")),
    )
    return [next(folded[is_plain]) for is_plain in plain]


FOLDINGS = {
    "true": Folding(squad, _ARTICLES),
    "neutral": Folding(neutral),
    "false": Folding(lines),
    "rouge": Folding(rouge, itself=True),
}
"""How texts are compared, by what does not count."""
