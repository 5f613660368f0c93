"""Normalization of texts: Unicode form, case, punctuation and white space, each optional; and where its parts were."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain, groupby

from karat.errors import KaratError, Parameter, did_you_mean, shown
from karat.errors.arguments import is_list_like

Folds = tuple[str, ...]
"""Names of normalizations, in the order of `FOLDS`."""

FOLDS: Folds = ("unicode", "case", "punctuation", "space")

CACHE_SIZE = 4_096
"""How many texts are cached: texts that several queries share are normalized once, and memory stays flat."""


def parse_folds(value: str | bool | Iterable[str] | None) -> Folds:
    """Parse the option `normalize`: `case+space`, a list of names, `all` (or True), or `none`.

    >>> parse_folds("space+case"), parse_folds("none"), parse_folds(["unicode"])
    (('case', 'space'), (), ('unicode',))
    """
    if value is None or value is False or (isinstance(value, str) and value in ("none", "false", "")):
        return ()
    if value is True or (isinstance(value, str) and value in ("all", "true")):
        return FOLDS
    names: list[object]
    if isinstance(value, str):
        names = [name.strip() for name in value.split("+")]
    else:
        names = list(value) if is_list_like(value) else [value]
    for name in names:
        if not isinstance(name, str) or name not in FOLDS:
            near = did_you_mean(name, FOLDS)
            hint = f"{near} Use any of {'+'.join(FOLDS)}, or all, or none."
            raise KaratError(
                [Parameter("normalize", value), f": {shown(name)} is not a normalization"], hint=hint.strip()
            )
    return tuple(fold for fold in FOLDS if fold in names)


def format_folds(folds: Folds) -> str:
    """The option `normalize` as text: `case+space`, `all` or `none`."""
    return "all" if folds == FOLDS else "+".join(folds) or "none"


def normalized(text: str, folds: Folds) -> str:
    r"""A text in its normalized form. Normalizing it again changes nothing.

    `unicode` converts to NFKC (ﬁ to fi, ① to 1), `case` folds case (ß to ss), `punctuation` removes punctuation, and
    `space` replaces any white space by one space and strips both ends.

    >>> normalized("  The ﬁrst\n“Straße”. ", FOLDS)
    'the first strasse'
    """
    if not folds:
        return text
    folded = _normalize_once(text, folds)
    # Outside ASCII, one step may produce characters that an earlier step would change.
    while not folded.isascii() and (again := _normalize_once(folded, folds)) != folded:
        folded = again
    return folded


def normalizer(folds: Folds) -> Callable[[str], str]:
    """`normalized` as a function of the text, with a cache for texts that appear often, such as golds."""
    return lru_cache(CACHE_SIZE)(lambda text: normalized(text, folds)) if folds else str


def _normalize_once(text: str, folds: Folds) -> str:
    plain = text.isascii()
    for fold in folds:
        if not (plain and fold == "unicode"):
            text = _STEPS[fold](text)
    return text


_ASCII_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")


def _without_punctuation(text: str) -> str:
    """Remove Unicode's category P, and the ASCII punctuation that Unicode classifies as symbols."""
    text = _ASCII_PUNCTUATION.sub("", text)
    if text.isascii():
        return text
    return text.translate({ord(each): None if _is_punctuation(each) else each for each in set(text)})


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


# Python sorts the marks of a letter in quadratic time if they are not in order.
_MANY_SIGNS = re.compile(r"[^\w\s\x00-\x7f]{32,}")


def _in_one_form(text: str) -> str:
    return unicodedata.normalize("NFKC", _MANY_SIGNS.sub(_with_marks_in_order, text))


def _with_marks_in_order(signs: re.Match[str]) -> str:
    """The same signs with combining marks in canonical order, which is the same text to Unicode."""
    runs = groupby(signs[0], lambda sign: unicodedata.combining(sign) > 0)
    return "".join(chain.from_iterable(sorted(run, key=unicodedata.combining) if marks else run for marks, run in runs))


_STEPS: dict[str, Callable[[str], str]] = {
    "unicode": _in_one_form,
    "case": str.casefold,
    "punctuation": _without_punctuation,
    "space": lambda text: " ".join(text.split()),
}


# Where a part of a normalized text is in the text as it was given.


@lru_cache(CACHE_SIZE)
def original_places(text: str, folds: Folds) -> tuple[tuple[int, int], ...] | None:
    """For each character of the normalized text, the start and the end of the characters that it comes from.

    None if the characters of the text do not have a normal form of their own, one after the other.

    >>> original_places("Straße  1", ("case", "space"))[4:7]
    ((4, 5), (4, 5), (5, 6))
    """
    others = tuple(fold for fold in folds if fold != "space")
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    for start, end in _units(text):
        form = normalized(text[start:end], others)
        letters += form
        places += [(start, end)] * len(form)
    if "space" in folds:
        letters, places = _with_single_spaces(letters, places)
    return tuple(places) if "".join(letters) == normalized(text, folds) else None


def original_span(text: str, folds: Folds, start: int, end: int) -> tuple[int, int] | None:
    """The part of a text whose normalized form has these characters, from `start` to `end`; None if it is unknown.

    >>> original_span("Gold  IS soft", ("case", "space"), 5, 12)
    (6, 13)
    """
    if not folds:
        return start, end
    places = original_places(text, folds)
    return None if places is None or start >= end else (places[start][0], places[end - 1][1])


def _units(text: str) -> list[tuple[int, int]]:
    """Characters with the marks that follow them: Unicode may combine these into one."""
    if text.isascii():
        return [(at, at + 1) for at in range(len(text))]
    starts = [at for at, each in enumerate(text) if not at or not _may_combine(each)]
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def _may_combine(character: str) -> bool:
    """Whether a character may become one with the character before it: marks, and the parts of Korean syllables."""
    return unicodedata.category(character).startswith("M") or "\u1160" <= character <= "\u11ff" or character in "ﾞﾟ"


def _with_single_spaces(letters: list[str], places: list[tuple[int, int]]) -> tuple[list[str], list[tuple[int, int]]]:
    """One space for any white space between words, and none at either end; a space is where its first one was."""
    kept: list[int] = []
    for at, letter in enumerate(letters):
        if not letter.isspace() or (kept and not letters[kept[-1]].isspace()):
            kept.append(at)
    if kept and letters[kept[-1]].isspace():
        kept.pop()
    return [" " if letters[at].isspace() else letters[at] for at in kept], [places[at] for at in kept]
