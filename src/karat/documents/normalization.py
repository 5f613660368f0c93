"""Normalization of texts: Unicode form, case, punctuation and white space, each optional."""

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


def parse_folds(given: str | bool | Iterable[str] | None) -> Folds:
    """Parse the option `normalize`: `case+space`, a list of names, `all` (or True), or `none`.

    >>> parse_folds("space+case"), parse_folds("none"), parse_folds(["unicode"])
    (('case', 'space'), (), ('unicode',))
    """
    if given is None or given is False or (isinstance(given, str) and given in ("none", "false", "")):
        return ()
    if given is True or (isinstance(given, str) and given in ("all", "true")):
        return FOLDS
    names: list[object]
    if isinstance(given, str):
        names = [name.strip() for name in given.split("+")]
    else:
        names = list(given) if is_list_like(given) else [given]
    for name in names:
        if not isinstance(name, str) or name not in FOLDS:
            near = did_you_mean(name, FOLDS)
            hint = f"{near} Use any of {'+'.join(FOLDS)}, or all, or none."
            raise KaratError(
                [Parameter("normalize", given), f": {shown(name)} is not a normalization"], hint=hint.strip()
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


def _with_marks_in_order(found: re.Match[str]) -> str:
    """The same signs with combining marks in canonical order, which is the same text to Unicode."""
    runs = groupby(found[0], lambda sign: unicodedata.combining(sign) > 0)
    return "".join(chain.from_iterable(sorted(run, key=unicodedata.combining) if marks else run for marks, run in runs))


_STEPS: dict[str, Callable[[str], str]] = {
    "unicode": _in_one_form,
    "case": str.casefold,
    "punctuation": _without_punctuation,
    "space": lambda text: " ".join(text.split()),
}
