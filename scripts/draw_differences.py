#!/usr/bin/env python3
"""Draw the picture of ``docs/is-the-difference-real.md``: two means that overlap, and their difference, which is clear.

Usage::

    python scripts/draw_differences.py            # write docs/pictures/paired-differences.svg
    python scripts/draw_differences.py --check    # write nothing; exit 1 if the picture on disk is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from svg import text
from up_to_date import main

from karat import Comparison, compare, demo, evaluate_runs
from karat.comparison import ComparisonRow

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "paired-differences.svg"

MEASURE, WEAK, STRONG = "nDCG@10", "overlap", "bm25"
WIDTH, HEIGHT = 780, 290
# The means: how far right of MEANS a value stands. The differences: how far above ZERO.
MEANS, PER_POINT, FIRST_MEAN, NEXT_MEAN = 24, 560, 130, 80
BARS, BAR, ZERO, TALL = 404, 7, 206, 230
GREEN, RED, GREY, BLUE = "#16803c", "#c82626", "#666666", "#2456a6"


def compared() -> Comparison:
    """Two systems of the demo on one measure."""
    runs = {name: demo.runs()[name] for name in (WEAK, STRONG)}
    return compare(evaluate_runs(demo.TRUTH, runs, MEASURE), WEAK)


def draw(comparison: Comparison) -> str:
    """Left the means with their intervals, right the difference of each query."""
    alone, against = comparison.rows
    said = (
        f"{WEAK} {alone.mean:.3f} [{alone.low:.3f}, {alone.high:.3f}],"
        f" {STRONG} {against.mean:.3f} [{against.low:.3f}, {against.high:.3f}]; difference {against.difference:.3f}"
        f" [{against.difference_low:.3f}, {against.difference_high:.3f}]: {against.wins} queries better,"
        f" {against.ties} the same, {against.losses} worse"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            f' role="img" aria-label="{escape(said)}">',
            f"<title>{escape('Two intervals that overlap, and a difference that is clear')}</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            text(MEANS, 36, "Each mean by itself", 16, bold=True),
            text(MEANS, 58, f"{MEASURE} of {len(comparison.queries)} queries: the intervals overlap.", 12),
            *overlap(against, alone),
            *(part for at, row in enumerate((against, alone)) for part in interval(row, FIRST_MEAN + at * NEXT_MEAN)),
            text(BARS, 36, "The difference, query by query", 16, bold=True),
            text(BARS, 58, f"{STRONG} is better for {against.wins}, worse for {against.losses}: hardly by chance.", 12),
            *differences(comparison, against),
            "</svg>",
            "",
        ]
    )


def overlap(upper: ComparisonRow, lower: ComparisonRow) -> Iterator[str]:
    """The values that both intervals hold."""
    left, right = along(upper.low), along(lower.high)
    yield box(left, FIRST_MEAN - 40, right - left, NEXT_MEAN + 80, "#eeeeee")


def interval(row: ComparisonRow, y: int) -> Iterator[str]:
    left, middle, right = along(row.low), along(row.mean), along(row.high)
    yield text(MEANS, y + 5, row.system, 13, bold=True)
    yield line(left, y, right, y, BLUE, 3)
    for end in (left, right):
        yield line(end, y - 7, end, y + 7, BLUE, 3)
    yield f'<circle cx="{middle:.1f}" cy="{y}" r="6" fill="{BLUE}"/>'
    yield text(middle, y + 26, f"{row.mean:.3f} [{row.low:.3f}, {row.high:.3f}]", 12, anchor="middle", fill=GREY)


def differences(comparison: Comparison, row: ComparisonRow) -> Iterator[str]:
    """A bar per query, largest gain first, and the mean with its interval behind them."""
    mine, theirs = (comparison.systems[system].column(MEASURE) for system in (STRONG, WEAK))
    values: Sequence[float] = sorted((mine - theirs).tolist(), reverse=True)
    end = BARS + len(values) * BAR
    top, bottom = above(row.difference_high), above(row.difference_low)
    yield box(BARS, top, end - BARS, bottom - top, "#dde8f8")
    for at, value in enumerate(values):
        size = abs(value) * TALL
        y = ZERO - size if value > 0 else ZERO
        yield box(BARS + at * BAR + 1, y, BAR - 2, size, GREEN if value > 0 else RED)
    yield line(BARS, ZERO, end, ZERO, GREY, 1)
    yield line(BARS, above(row.difference), end, above(row.difference), BLUE, 2)
    mean = f"mean {row.difference:+.3f} [{row.difference_low:.3f}, {row.difference_high:.3f}]"
    yield text(end, top - 8, mean, 12, anchor="end", fill=BLUE)
    yield text(BARS, ZERO + 24, f"{len(values)} queries, largest gain first", 12, fill=GREY)


def along(value: float | None) -> float:
    return MEANS + (value or 0.0) * PER_POINT


def above(value: float | None) -> float:
    return ZERO - (value or 0.0) * TALL


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


if __name__ == "__main__":
    sys.exit(main(__file__, "Draw two means that overlap, and their difference.", [(PICTURE, draw(compared()))]))
