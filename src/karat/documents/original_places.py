"""Where a part of a normalized text is in the text as it was given."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from karat.documents.normalization import CACHE_SIZE, Folds, normalized


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
