"""How charts look: sizes and fonts for a two-column paper, and colours that differ in greyscale too."""

from __future__ import annotations

from typing import Any

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
