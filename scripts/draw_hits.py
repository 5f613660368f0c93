#!/usr/bin/env python3
"""Draw the pictures of ``docs/what-counts-as-a-hit.md``: one query, its chunks and gold documents, under each matcher.

The query is the one line of ``docs/pictures/hits.jsonl``. karat evaluates it once for each picture, and every line
between a chunk and a gold, every label and every score in a picture is computed by karat.

Usage::

    python scripts/draw_hits.py            # write docs/pictures/hits-*.svg
    python scripts/draw_hits.py --check    # write nothing; exit 1 if a picture on disk is not up to date
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from up_to_date import main

from karat import evaluate_results
from karat.analysis.explain import Explanation, ExplanationRow
from karat.matching.matchers import Match

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
QUERY = PICTURES / "hits.jsonl"
CUT = 5
MEASURES = (f"R@{CUT}", "RR", f"nDCG@{CUT}", f"P@{CUT}")

Document = dict[str, Any]


def same_page(retrieved: Document, gold: Document) -> bool:
    """The example of a function as matcher: the chunk is from a page of the gold passage."""
    return retrieved["meta"].get("page") in gold["meta"]["pages"]


@dataclass(frozen=True)
class Picture:
    """The name of a file, the matcher it shows, and a caption."""

    name: str
    match: Match
    caption: str

    @property
    def title(self) -> str:
        return f'match="{self.match}"' if isinstance(self.match, str) else f"match={same_page.__name__}"


SHOWN = (
    Picture("id", "id", "The same id. Most chunks have ids of their own and are not hits."),
    Picture("content", "content", "The same text, character by character. A part of it is not enough."),
    Picture(
        "content-normalize",
        "content(normalize=all)",
        "The same text, ignoring case, punctuation, white space and Unicode form.",
    ),
    Picture(
        "prefix", "prefix", "The id is the gold document's id, or starts with it and “::”. The text does not matter."
    ),
    Picture("chunk", "chunk", "The gold document contains the exact chunk, without the prefixes of a chat log."),
    Picture(
        "chunk-normalize",
        "chunk(normalize=space)",
        "The gold document contains the chunk, ignoring spaces and line breaks.",
    ),
    Picture(
        "fuzzy",
        "fuzzy(threshold=90)",
        "The text is nearly the same as a part of the gold document. Prefixes of a chat log count as text.",
    ),
    Picture(
        "overlap",
        "overlap(threshold=0.5)",
        "The chunk contains at least half of the gold document's words. It can match two gold documents.",
    ),
    Picture("function", same_page, "Your own function: here, the chunk is from a page of the gold document."),
)

# Layout in pixels. Text widths are for DejaVu Sans, which is wider than most fonts.
WIDTH = 900
EDGE = 24
TOP = 116
LEFT, LEFT_WIDTH = EDGE, 336
RIGHT, RIGHT_WIDTH = 662, WIDTH - EDGE - 662
ROW, ROW_GAP, CUT_GAP = 60, 8, 24
BENDS = 606  # lines run straight up to here, so that they do not cross the labels of other rows
GOLD_GAP = 24
TILE = 62

SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
INK, FAINT, LINE, PAPER, CARD = "#1f2933", "#616e7c", "#cbd2d9", "#ffffff", "#f7f9fb"
COLOURS = ("#b26a00", "#2563a8", "#2f7d4f", "#8b3fa0")


def draw(record: Document, explanation: Explanation, picture: Picture) -> str:
    """One query under one matcher, as SVG."""
    golds = [gold["id"] for gold in record["truth"]]
    rows = [row for row in explanation.rows if row.rank is not None and row.reason]
    middles, bottom = row_middles(len(record["retrieved"]))
    heights = gold_places(len(golds), bottom)
    height = bottom + 36 + TILE + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        f' role="img" font-family="{SANS}" font-size="12" fill="{INK}">',
        f"<title>{escape(picture.title)}</title>",
        f"<desc>{escape(in_words(explanation))}</desc>",
        rect(0.5, 0.5, WIDTH - 1, height - 1, fill=PAPER, stroke=LINE, rx=14),
        text(EDGE, 40, picture.title, size=19, weight="bold", font=MONO),
        text(EDGE, 64, picture.caption, size=13, fill=FAINT),
        text(WIDTH - EDGE, 40, f"“{record['question']}”", size=14, anchor="end", style="italic"),
        text(LEFT, TOP - 14, "retrieved chunks, best first", fill=FAINT),
        text(RIGHT, TOP - 14, "gold documents", fill=FAINT),
        *lines(rows, golds, middles, heights),
    ]
    for rank, document in enumerate(record["retrieved"], 1):
        colours = [colour(row, golds) for row in rows if row.rank == rank]
        parts += chunk_card(rank, document, middles[rank - 1], colours)
    parts += cut_line(middles)
    for at, gold in enumerate(record["truth"]):
        parts += gold_card(gold, [row for row in rows if gold_id(row) == gold["id"]], heights[at], COLOURS[at])
    parts += score_tiles(explanation, bottom + 36)
    return "\n".join([*parts, "</svg>", ""])


def lines(
    rows: Sequence[ExplanationRow], golds: Sequence[str], middles: Sequence[int], heights: Sequence[range]
) -> Iterator[str]:
    """A line from each hit to its golds, with the reason as label."""
    for row in rows:
        assert row.rank is not None
        of_rank = [other for other in rows if other.rank == row.rank]
        of_gold = [other for other in rows if other.gold == row.gold]
        start = middles[row.rank - 1] + spread(of_rank.index(row), len(of_rank), 26)
        place = heights[golds.index(gold_id(row))]
        end = (place.start + place.stop) // 2 + spread(of_gold.index(row), len(of_gold), 22)
        shade = colour(row, golds)
        look = 'stroke-dasharray="5 4" stroke-opacity="0.55"' if row.repeated else ""
        label = f"{row.reason}, again" if row.repeated else row.reason
        width = round(6.2 * len(label) + 16)
        left = LEFT + LEFT_WIDTH + 10
        bend = (RIGHT - BENDS) // 2
        yield (
            f'<path d="M {LEFT + LEFT_WIDTH} {start} H {BENDS}'
            f' C {BENDS + bend} {start}, {RIGHT - bend} {end}, {RIGHT} {end}"'
            f' fill="none" stroke="{shade}" stroke-width="2" {look}/>'
        )
        yield rect(left, start - 11, width, 22, fill=PAPER, stroke=shade, rx=11, more=look)
        yield text(left + width / 2, start + 4, label, size=11, fill=shade, anchor="middle")


def chunk_card(rank: int, document: Document, middle: int, colours: Sequence[str]) -> Iterator[str]:
    """A retrieved chunk: its rank, id, page, what is special about it, and the start of its text."""
    top = middle - ROW // 2
    hit = bool(colours)
    yield rect(LEFT, top, LEFT_WIDTH, ROW, fill=CARD, stroke=colours[0] if hit else LINE, rx=8)
    yield text(LEFT + 18, middle + 6, str(rank), size=17, weight="bold", anchor="middle", fill=INK if hit else FAINT)
    yield text(LEFT + 36, top + 17, document["id"], size=11.5, weight="bold", font=MONO)
    yield text(LEFT + LEFT_WIDTH - 10, top + 17, document["meta"]["note"], size=10.5, anchor="end", fill=FAINT)
    page = f" (page {document['meta']['page']})" if "page" in document["meta"] else ""
    for at, line in enumerate(beginning(document["content"], 50, 2, page)):
        yield text(LEFT + 36, top + 34 + 15 * at, line, size=11, fill=INK if hit else FAINT)


def gold_card(gold: Document, rows: Sequence[ExplanationRow], place: range, shade: str) -> Iterator[str]:
    """A gold: its id, pages, the start of its text, and the ranks where it was found."""
    top, height = place.start, len(place)
    look = "" if rows else 'stroke-dasharray="5 4"'
    yield rect(RIGHT, top, RIGHT_WIDTH, height, fill=CARD, stroke=shade if rows else LINE, rx=8, more=look)
    yield rect(RIGHT, top + 8, 4, height - 16, fill=shade if rows else LINE)
    pages = gold["meta"]["pages"]
    numbers = f"pages {pages[0]} and {pages[-1]}" if len(pages) > 1 else f"page {pages[0]}"
    yield text(RIGHT + 16, top + 20, gold["id"], size=11.5, weight="bold", font=MONO)
    yield text(RIGHT + RIGHT_WIDTH - 10, top + 20, numbers, size=10.5, anchor="end", fill=FAINT)
    for at, line in enumerate(beginning(gold["content"], 30, (height - 58) // 15)):
        yield text(RIGHT + 16, top + 40 + 15 * at, line, size=11, fill=INK if rows else FAINT)
    ranks = [str(row.rank) for row in rows]
    again = f", again at {' and '.join(ranks[1:])}" if ranks[1:] else ""
    found = f"rank {ranks[0]}{again}" if ranks else "not retrieved"
    yield text(RIGHT + 16, top + height - 11, found, size=11, weight="bold", fill=shade if rows else FAINT)


def cut_line(middles: Sequence[int]) -> Iterator[str]:
    """A line at the cut-off of the measures."""
    at = (middles[CUT - 1] + middles[CUT]) // 2
    label = f"@{CUT} ends here"
    end, width = LEFT + LEFT_WIDTH, 150
    yield f'<path d="M {LEFT} {at} H {end}" stroke="{FAINT}" stroke-dasharray="2 4"/>'
    yield rect(LEFT + (LEFT_WIDTH - width) / 2, at - 8, width, 16, fill=PAPER)
    yield text(LEFT + LEFT_WIDTH / 2, at + 4, label, size=10.5, anchor="middle", fill=FAINT)


def score_tiles(explanation: Explanation, top: int) -> Iterator[str]:
    """The score of each measure."""
    gap = 12
    width = (WIDTH - 2 * EDGE - gap * (len(explanation.scores) - 1)) / len(explanation.scores)
    for at, (name, value) in enumerate(explanation.scores.items()):
        left = EDGE + at * (width + gap)
        score = value or 0.0
        yield rect(left, top, width, TILE, fill=CARD, stroke=LINE, rx=8)
        yield text(left + 14, top + 32, name, size=14, font=MONO, fill=FAINT)
        yield text(left + width - 14, top + 34, f"{score:.4f}", size=20, weight="bold", anchor="end")
        yield rect(left + 14, top + 46, width - 28, 5, fill="#e4e7eb", rx=2.5)
        if score:
            yield rect(left + 14, top + 46, (width - 28) * score, 5, fill=INK, rx=2.5)


def in_words(explanation: Explanation) -> str:
    """The picture in words, for screen readers."""
    found = [
        f"Rank {row.rank} matches {gold_id(row)}{' again' if row.repeated else ''}: {row.reason}."
        for row in explanation.rows
        if row.rank is not None and row.reason
    ]
    missed = [f"{gold_id(row)} is not retrieved." for row in explanation.rows if row.rank is None]
    scores = ", ".join(f"{name} {value:.4f}" for name, value in explanation.scores.items() if value is not None)
    return " ".join([*found, *missed, f"Scores: {scores}."])


# Positions.


def row_middles(count: int) -> tuple[list[int], int]:
    """The middle of each rank's card, and the bottom of the last one."""
    middles = [TOP + ROW // 2 + at * (ROW + ROW_GAP) + (CUT_GAP if at >= CUT else 0) for at in range(count)]
    return middles, middles[-1] + ROW // 2


def gold_places(count: int, bottom: int) -> list[range]:
    """Top and bottom of each gold's card: together they are as high as the ranks."""
    height = (bottom - TOP - GOLD_GAP * (count - 1)) // count
    return [range(top, top + height) for top in range(TOP, TOP + count * (height + GOLD_GAP), height + GOLD_GAP)]


def spread(at: int, count: int, step: int) -> int:
    """The offset of one of several lines from their middle."""
    return round((at - (count - 1) / 2) * step)


def beginning(content: str, width: int, most: int, after: str = "") -> list[str]:
    """The first lines of a text, with visible line breaks; `after` follows the ellipsis if the text is cut."""
    return textwrap.wrap(re.sub(r"\s*\n\s*", " ↵ ", content), width, max_lines=most, placeholder=f" …{after}")


# Golds and their colours.


def gold_id(row: ExplanationRow) -> str:
    """The id of a row's gold; explanations show the id and the start of the text."""
    return row.gold.partition(": ")[0]


def colour(row: ExplanationRow, golds: Sequence[str]) -> str:
    return COLOURS[golds.index(gold_id(row))]


# SVG elements.


def rect(
    x: float, y: float, width: float, height: float, *, fill: str, stroke: str = "none", rx: float = 0, more: str = ""
) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{rx:g}" fill="{fill}" stroke="{stroke}"'
        f" {more}/>"
    )


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = 12,
    fill: str = INK,
    weight: str = "normal",
    style: str = "normal",
    anchor: str = "start",
    font: str = SANS,
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{fill}" font-weight="{weight}" font-style="{style}"'
        f' text-anchor="{anchor}" font-family="{font}">{escape(content)}</text>'
    )


def build() -> Iterable[tuple[Path, str]]:
    """The files and what they should contain."""
    record: Document = json.loads(QUERY.read_text(encoding="utf-8"))
    for picture in SHOWN:
        scores = evaluate_results([record], MEASURES, match=picture.match)
        explanation = scores.explain(record["query"])
        yield PICTURES / f"hits-{picture.name}.svg", draw(record, explanation, picture)


if __name__ == "__main__":
    sys.exit(main(__file__, "Draw one query under each matcher.", build()))
