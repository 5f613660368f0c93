"""How charts look: sizes and fonts for a two-column paper, colours that differ in greyscale too, and short names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, count
from typing import Any

from karat.errors import printable
from karat.output.widths import width_of

PIXELS_PER_INCH = 96
COLUMN = 3.3 * PIXELS_PER_INCH
"""the width of a column of a two-column paper"""
PADDING, TITLE_PADDING = 2, 4
TEXT = 8 / 72 * PIXELS_PER_INCH
"""a font size of 8 points"""
FONT = "Arial, Helvetica, Liberation Sans, sans-serif"

# Okabe and Ito (2008), Color Universal Design, ordered so that neighbours differ in lightness too; black comes first.
SYSTEMS = ("#000000", "#E69F00", "#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#B8A800")
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3], [10, 3], [6, 2, 1, 2, 1, 2])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
MAX_SYSTEMS = len(SYSTEMS)
"""the number of systems that colours, dashes and shapes can tell apart"""
BETTER, WORSE, SAME = "#0072B2", "#E69F00", "#999999"
RANKS = ("#08306b", "#2b63a0", "#5b95c6", "#92bfde", "#c6dcec", "#eeeeee")
"""from the first rank to queries without a relevant document"""

_LONGEST = 60  # characters of a label
_LONGEST_END = 19
_NARROW, _WIDE = frozenset(" fijlrtI.,:;'`|!()[]{}-/\\"), frozenset("mwMW@%…")


def page_config() -> dict[str, Any]:
    """The colours of a chart on a light page; the report passes its own, for light and dark."""
    return {
        "background": None,
        "view": {"stroke": None},
        "range": {"category": list(SYSTEMS), "ordinal": list(RANKS)},
        "style": {
            "better": {"color": BETTER},
            "worse": {"color": WORSE},
            "same": {"color": SAME},
            "count": {"color": "#333333"},
            "zero": {"color": "#333333"},
            "guide": {"color": "#555555"},
            "interval": {"color": "#333333"},
            "mean": {"color": "#000000"},
            "range": {"color": "#a9c4d9"},
            "other": {"color": "#bbbbbb"},
        },
    }


def paper_config(ticks: int, title: int, heading: int) -> dict[str, Any]:
    """The colours of a page, and fonts and lines for a column of a paper, with titles of at most these widths."""
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"}
    lines = {"domainColor": "#333333", "tickColor": "#333333", "gridColor": "#e4e4e4", "gridWidth": 0.6}
    dark = {"labelColor": "#000000", "titleColor": "#000000"}
    return {
        **page_config(),
        "background": "#ffffff",
        "font": FONT,
        "axis": {
            **text, **lines, **dark, "tickSize": 3, "titlePadding": TITLE_PADDING, "titleLimit": title,
            "labelFlush": False,  # which would move the first and the last label away from their ticks
        },
        "axisXQuantitative": {"tickCount": ticks},
        "legend": {**text, **dark, "columnPadding": 8, "rowPadding": 1, "offset": 6},
        "title": {
            "fontSize": TEXT, "fontWeight": "normal", "anchor": "start", "frame": "group", "offset": 4,
            "limit": heading, "subtitleFontSize": TEXT,
        },
        "text": {"fontSize": TEXT},
        "padding": PADDING,
    }  # fmt: skip


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
    chosen: dict[str, str] = {}
    for name in names:
        text = shorten(name)
        numbered = (f"{text} ({number})" for number in count(2))
        taken = set(chosen.values())
        chosen[name] = next(candidate for candidate in chain([text], numbered) if candidate not in taken)
    return chosen


def fit_to_width(text: str, width: float) -> str:
    """A name that is about as wide as that, in pixels: its beginning and its end, which often tell names apart."""
    text = printable(text)
    shorter = (label(text, longest) for longest in range(min(len(text), _LONGEST), 3, -1))
    return next((name for name in shorter if text_width(name) <= width), label(text, 3))


def text_width(text: str) -> float:
    """About how wide a text of a plot is, in pixels: whatever must fit has a limit in Vega, too."""
    ems = (0.33 if each in _NARROW else 0.95 if each in _WIDE else 0.7 if each.isupper() else 0.56 for each in text)
    return TEXT * sum(em * width_of(each) for em, each in zip(ems, text, strict=True))
