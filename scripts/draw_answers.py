#!/usr/bin/env python3
"""Draw the picture of ``docs/which-answer-metric.md``: the scores of ten answers as colours.

The numbers are read from the page, where tests check that they are what karat prints.

Usage::

    python scripts/draw_answers.py            # write docs/pictures/answer-metrics.svg
    python scripts/draw_answers.py --check    # write nothing; exit 1 if the picture on disk is not up to date
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from svg import text
from up_to_date import main

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "which-answer-metric.md"
PICTURE = DOCS / "pictures" / "answer-metrics.svg"

METRICS = ("EM", "TokenF1", "RougeL", "Contains", "SAS", "SAS")
MODELS = ("normalize=true", "", "", "", "wordllama", "all-MiniLM-L6-v2")
LEFT, TOP, CELL, ROW, GAP = 210, 118, 104, 34, 22
WIDTH = LEFT + len(METRICS) * CELL + 24
# From white (score 0) to the full colour (score 1): right answers should be green, wrong ones white.
COLOURS = {"right": (22, 128, 60), "wrong": (200, 38, 38)}


def answers() -> list[tuple[str, str, list[float]]]:
    """The name of each answer, whether it is right, and its scores."""
    line = re.compile(r"^(\w[\w ]*?) +(right|wrong) +((?:\d\.\d\d *)+)$", re.MULTILINE)
    found: dict[str, tuple[str, list[float]]] = {}
    for name, right, numbers in line.findall(PAGE.read_text("utf-8")):
        found.setdefault(name, (right, []))[1].extend(map(float, numbers.split()))
    return [(name, right, scores) for name, (right, scores) in found.items()]


def draw(rows: Sequence[tuple[str, str, Sequence[float]]]) -> str:
    """A table of colours: a row per answer, a column per metric."""
    height = TOP + len(rows) * ROW + GAP + 26
    description = "; ".join(
        f"{name} ({right}): {', '.join(f'{score:.2f}' for score in scores)}" for name, right, scores in rows
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            f' role="img" aria-label="{escape(description)}">',
            f"<title>{escape('The scores of ten answers by each metric')}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            text(24, 36, "Ten answers, six scores each", 18, bold=True),
            text(
                24, 60, "A perfect metric scores 1 for right answers (dark green) and 0 for wrong answers (white).", 13
            ),
            *headers(),
            *(part for at, row in enumerate(rows) for part in drawn_row(at, *row)),
            "</svg>",
            "",
        ]
    )


def headers() -> Iterator[str]:
    for at, (metric, model) in enumerate(zip(METRICS, MODELS, strict=True)):
        middle = LEFT + at * CELL + CELL // 2
        yield text(middle, TOP - 26, metric, 13, bold=True, anchor="middle")
        yield text(middle, TOP - 10, model, 10, anchor="middle", fill="#666666")


def drawn_row(at: int, name: str, right: str, scores: Sequence[float]) -> Iterator[str]:
    top = TOP + at * ROW + (GAP if right == "wrong" else 0)
    yield text(24, top + 22, right, 11, fill=shade(right, 1.0), bold=True)
    yield text(72, top + 22, name, 13)
    for column, score in enumerate(scores):
        left = LEFT + column * CELL
        yield (
            f'<rect x="{left + 2}" y="{top + 2}" width="{CELL - 4}" height="{ROW - 4}" rx="4"'
            f' fill="{shade(right, score)}" stroke="#dddddd"/>'
        )
        ink = "#ffffff" if score > 0.75 else "#222222"
        yield text(left + CELL // 2, top + 22, f"{score:.2f}", 13, anchor="middle", fill=ink)


def shade(right: str, score: float) -> str:
    """White for 0, the full colour for 1."""
    return "#" + "".join(f"{round(255 - (255 - part) * score):02x}" for part in COLOURS[right])


if __name__ == "__main__":
    sys.exit(main(__file__, "Draw the scores of ten answers by each metric.", [(PICTURE, draw(answers()))]))
