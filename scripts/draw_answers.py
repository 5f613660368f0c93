#!/usr/bin/env python3
"""Draw the picture of ``docs/which-answer-metric.md``: what each metric says of ten answers, as colours.

The numbers are those that stand on the page, where tests hold them to what karat prints.

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
MODELS = ("normalized", "", "", "", "wordllama", "all-MiniLM-L6-v2")
LEFT, TOP, CELL, ROW, GAP = 210, 118, 104, 34, 22
WIDTH = LEFT + len(METRICS) * CELL + 24
# From white to the full colour: a right answer should be as green as can be, a wrong one should stay white.
COLOURS = {"right": (22, 128, 60), "wrong": (200, 38, 38)}


def answers() -> list[tuple[str, str, list[float]]]:
    """Each answer: what it is called, whether it is right, and its scores."""
    line = re.compile(r"^(\w[\w ]*?) +(right|wrong) +((?:\d\.\d\d *)+)$", re.MULTILINE)
    found: dict[str, tuple[str, list[float]]] = {}
    for name, right, numbers in line.findall(PAGE.read_text("utf-8")):
        found.setdefault(name, (right, []))[1].extend(map(float, numbers.split()))
    return [(name, right, scores) for name, (right, scores) in found.items()]


def draw(rows: Sequence[tuple[str, str, Sequence[float]]]) -> str:
    """The sheet: a row for each answer, a column for each metric."""
    height = TOP + len(rows) * ROW + GAP + 26
    said = "; ".join(
        f"{name} ({right}): {', '.join(f'{score:.2f}' for score in scores)}" for name, right, scores in rows
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            f' role="img" aria-label="{escape(said)}">',
            f"<title>{escape('What each metric says of ten answers')}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            text(24, 36, "Ten answers, six metrics", 18, bold=True),
            text(24, 60, "A perfect metric is dark green for every right answer, and white for every wrong one.", 13),
            *heads(),
            *(part for at, row in enumerate(rows) for part in drawn_row(at, *row)),
            "</svg>",
            "",
        ]
    )


def heads() -> Iterator[str]:
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
        ink = "#ffffff" if score > 0.6 else "#222222"
        yield text(left + CELL // 2, top + 22, f"{score:.2f}", 13, anchor="middle", fill=ink)


def shade(right: str, score: float) -> str:
    """White for 0, the full colour for 1."""
    return "#" + "".join(f"{round(255 - (255 - part) * score):02x}" for part in COLOURS[right])


if __name__ == "__main__":
    sys.exit(main(__file__, "Draw what each metric says of ten answers.", [(PICTURE, draw(answers()))]))
