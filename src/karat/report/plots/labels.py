"""Names as charts show them: without control characters, short enough, and different from each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, count

from karat.errors import printable
from karat.output.widths import width_of
from karat.report.plots.style import TEXT

_LONGEST = 60
_LONGEST_END = 19
_NARROW, _WIDE = frozenset(" fijlrtI.,:;'`|!()[]{}-/\\"), frozenset("mwMW@%…")


def label(text: str, longest: int = _LONGEST) -> str:
    """A name as it is shown in a chart: without control characters and, because Vega is slow at that, shortened.

    >>> label("bm25 with feedback, k1=0.9", 15)
    'bm25 wi… k1=0.9'
    """
    text = printable(text)
    if len(text) <= longest:
        return text
    end = min(_LONGEST_END, (longest - 1) // 2)
    return f"{text[: longest - 1 - end]}…{text[-end:]}"


def labels(names: Iterable[str], shorten: Callable[[str], str] = label) -> dict[str, str]:
    """The label of each name; names whose labels would be the same are numbered."""
    found: dict[str, str] = {}
    for name in names:
        text = shorten(name)
        numbered = (f"{text} ({number})" for number in count(2))
        taken = set(found.values())
        found[name] = next(each for each in chain([text], numbered) if each not in taken)
    return found


def fitted(text: str, width: float) -> str:
    """A name that is about as wide as that, in pixels: its beginning and its end, which often tell names apart."""
    text = printable(text)
    shorter = (label(text, longest) for longest in range(min(len(text), _LONGEST), 3, -1))
    return next((name for name in shorter if text_width(name) <= width), label(text, 3))


def text_width(text: str) -> float:
    """About how wide a text of a plot is, in pixels: whatever must fit has a limit in Vega, too."""
    ems = (0.33 if each in _NARROW else 0.95 if each in _WIDE else 0.7 if each.isupper() else 0.56 for each in text)
    return TEXT * sum(em * width_of(each) for em, each in zip(ems, text, strict=True))
