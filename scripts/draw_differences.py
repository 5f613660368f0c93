#!/usr/bin/env python3
"""Draw the picture of ``docs/is-the-difference-real.md``: two overlapping intervals and the paired differences.

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

from karat import Comparison, compare, evaluate_runs
from karat.cli import demo_data as demo
from karat.comparison import ComparisonRow

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "paired-differences.svg"

MEASURE, BASELINE, SYSTEM = "nDCG@10", "bm25", "bm25-rm3"
WIDTH, HEIGHT = 780, 290
# Left: where value 0 is, pixels per point, and the rows of the two means. Right: where the bars start, the width of a
# bar, the height of difference 0, and pixels per point.
MEANS, PER_POINT, FIRST_MEAN, NEXT_MEAN = 24, 530, 130, 80
BARS, BAR, ZERO, TALL = 404, 7, 214, 145
GREEN, RED, GREY, BLUE = "#16803c", "#c82626", "#666666", "#2456a6"


def demo_comparison() -> Comparison:
    """Two systems of the demo on one measure."""
    runs = {name: demo.runs()[name] for name in (BASELINE, SYSTEM)}
    return compare(evaluate_runs(demo.TRUTH, runs, MEASURE), BASELINE)


def draw(comparison: Comparison) -> str:
    """Left, the means with their intervals; right, the difference of each query."""
    baseline, system = comparison.rows
    description = (
        f"{BASELINE} {baseline.mean:.3f} [{baseline.low:.3f}, {baseline.high:.3f}],"
        f" {SYSTEM} {system.mean:.3f} [{system.low:.3f}, {system.high:.3f}]; difference {system.difference:.3f}"
        f" [{system.difference_low:.3f}, {system.difference_high:.3f}]: {system.wins} queries better,"
        f" {system.ties} the same, {system.losses} worse"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            f' role="img" aria-label="{escape(description)}">',
            f"<title>{escape('Two overlapping intervals, and a significant difference')}</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            text(MEANS, 36, "Mean of each system", 16, bold=True),
            text(MEANS, 58, f"{MEASURE}, {len(comparison.queries)} queries: the confidence intervals overlap", 12),
            *overlap(system, baseline),
            *(part for at, row in enumerate((system, baseline)) for part in interval(row, FIRST_MEAN + at * NEXT_MEAN)),
            text(BARS, 36, "Difference per query", 16, bold=True),
            text(
                BARS, 58, f"{SYSTEM} better on {system.wins} queries, worse on {system.losses}, p = {system.p:.4f}", 12
            ),
            *differences(comparison, system),
            "</svg>",
            "",
        ]
    )


def overlap(upper: ComparisonRow, lower: ComparisonRow) -> Iterator[str]:
    """The range that is in both intervals."""
    left, right = along(upper.low), along(lower.high)
    yield box(left, FIRST_MEAN - 40, right - left, NEXT_MEAN + 80, "#eeeeee")
    yield text((left + right) / 2, FIRST_MEAN + NEXT_MEAN + 54, "overlap", 11, anchor="middle", fill=GREY)


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
    mine, theirs = (comparison.systems[system].column(MEASURE) for system in (SYSTEM, BASELINE))
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
    mean = f"mean difference {row.difference:+.3f} [{row.difference_low:.3f}, {row.difference_high:.3f}]"
    yield text(end, top - 8, mean, 12, anchor="end", fill=BLUE)
    yield text(BARS, ZERO + 24, "one bar per query, largest gain first", 12, fill=GREY)


def along(value: float | None) -> float:
    return MEANS + (value or 0.0) * PER_POINT


def above(value: float | None) -> float:
    return ZERO - (value or 0.0) * TALL


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


if __name__ == "__main__":
    sys.exit(
        main(
            __file__, "Draw two overlapping intervals and the paired differences.", [(PICTURE, draw(demo_comparison()))]
        )
    )
