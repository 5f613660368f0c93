"""Folding away the differences between texts that do not matter, each by choice."""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from karat.errors import KaratError, did_you_mean, shown

Folds = tuple[str, ...]
"""What is folded, in the order of `FOLDS`."""

FOLDS: Folds = ("unicode", "case", "punctuation", "space")

CACHE_SIZE = 4_096
"""So many texts are remembered: those that several queries share are prepared once, and memory stays flat."""


def parse_folds(given: str | bool | Iterable[str] | None) -> Folds:
    """What to fold: `case+space`, a list of such names, `all` (or True), or `none`.

    >>> parse_folds("space+case"), parse_folds("none"), parse_folds(["unicode"])
    (('case', 'space'), (), ('unicode',))
    """
    if given in (None, False, "none", "false", ""):
        return ()
    if given in (True, "all", "true"):
        return FOLDS
    if isinstance(given, str) or not isinstance(given, Iterable):
        names = [name.strip() for name in str(given).split("+")]
    else:
        names = [str(name) for name in given]
    for name in names:
        if name not in FOLDS:
            near = did_you_mean(name, FOLDS)
            hint = f"{near} Fold any of {'+'.join(FOLDS)}, all or none."
            raise KaratError(f"normalize={shown(given)}: there is no fold {shown(name)}", hint=hint.strip())
    return tuple(fold for fold in FOLDS if fold in names)


def format_folds(folds: Folds) -> str:
    """The same as one word: `case+space`, `all` or `none`."""
    return "all" if folds == FOLDS else "+".join(folds) or "none"


def normalized(text: str, folds: Folds) -> str:
    r"""A text with these differences folded away; folding it again changes nothing.

    `unicode` is compatibility form NFKC (ﬁ is fi, ① is 1), `case` is case folding (ß is ss), `punctuation` is left
    out, and `space` makes one blank of any white space, and none at the ends.

    >>> normalized("  The ﬁrst\n“Straße”. ", FOLDS)
    'the first strasse'
    """
    if not folds:
        return text
    folded = _once(text, folds)
    # Only beyond ASCII can one fold bring forth what another one folds.
    while not folded.isascii() and (again := _once(folded, folds)) != folded:
        folded = again
    return folded


def normalizer(folds: Folds) -> Callable[[str], str]:
    """The same as a function of texts that come again and again, as golds do: it remembers the last few thousand."""
    return lru_cache(CACHE_SIZE)(lambda text: normalized(text, folds)) if folds else str


def _once(text: str, folds: Folds) -> str:
    plain = text.isascii()
    for fold in folds:
        if not (plain and fold == "unicode"):
            text = _HOW[fold](text)
    return text


@cache
def _marks() -> re.Pattern[str]:
    """Every mark of punctuation: Unicode's, and those of ASCII that Unicode calls symbols."""
    unicodes = (chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P"))
    return re.compile(f"[{re.escape(''.join({*string.punctuation, *unicodes}))}]+")


_ASCII_MARKS = re.compile(f"[{re.escape(string.punctuation)}]+")


def _without_punctuation(text: str) -> str:
    return (_ASCII_MARKS if text.isascii() else _marks()).sub("", text)


_HOW: dict[str, Callable[[str], str]] = {
    "unicode": lambda text: unicodedata.normalize("NFKC", text),
    "case": str.casefold,
    "punctuation": _without_punctuation,
    "space": lambda text: " ".join(text.split()),
}
