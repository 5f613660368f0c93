#!/usr/bin/env python3
"""Draw the picture of ``docs/is-the-answer-grounded.md``: one answer with all its labels.

The items and labels are those of ``docs/pictures/grounded.jsonl``, from which the page computes its measures.

Usage::

    python scripts/draw_grounded.py            # write docs/pictures/grounded.svg
    python scripts/draw_grounded.py --check    # write nothing; exit 1 if the picture on disk is not up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from svg import text
from up_to_date import main

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
LABELS = PICTURES / "grounded.jsonl"
PICTURE = PICTURES / "grounded.svg"

QUESTION = "What is 18-karat gold, and how does it compare with pure gold?"
WIDTH, LEFT, ROW, GAP = 960, 24, 26, 30
TEXT, PASSAGES, OTHER, NOTE = LEFT + 36, 510, 680, 740
COLUMN = 56
GREEN, AMBER, RED, GREY = "#16803c", "#b45309", "#b91c1c", "#666666"
SUPPORT = {"full": GREEN, "partial": AMBER, "none": "#999999", "contradicts": RED}

Record = dict[str, Any]


class Labels:
    """The items by type and owner, and the labels by item and what it was compared with."""

    def __init__(self, lines: str) -> None:
        records: list[Record] = [json.loads(line) for line in lines.splitlines()]
        self.items = [each for each in records if each["record"] == "item"]
        self.labels = {
            (each["item"], self.key(each.get("against"))): each["label"]
            for each in records
            if each["record"] == "verdict"
        }
        self.passages: list[str] = [each["id"] for each in self.of_type("passage")]

    @staticmethod
    def key(against: str | list[str] | None) -> str:
        return ",".join(against) if isinstance(against, list) else against or ""

    def of_type(self, kind: str, of: str | None = None) -> list[Record]:
        return [each for each in self.items if each["type"] == kind and of in (None, each.get("of"))]

    def supports(self, passage: str, items: list[Record]) -> bool:
        return any(self.labels.get((item["id"], passage)) == "full" for item in items)


def draw(labels: Labels) -> str:
    parts: list[str] = []
    top = 108
    for section in (passages, sentences, claims, gold_claims, nuggets):
        title, other, rows = section(labels)
        parts += heading(top, title, other, [] if section is passages else labels.passages)
        top += 18
        for at, (name, content, marks) in enumerate(rows):
            parts += row(top + at * ROW, name, content, marks)
        top += len(rows) * ROW + GAP
    height = top - GAP + 24
    described = "; ".join(f"{each['id']}: {each['text']}" for each in labels.items)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            f' role="img" aria-label="{escape(described)}">',
            "<title>One answer, label by label</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            text(LEFT, 36, "One answer, label by label", 18, bold=True),
            text(LEFT, 62, f"Question: {QUESTION}", 13),
            *legend(),
            *parts,
            "</svg>",
            "",
        ]
    )


Marks = list[tuple[int, str]]
"""where something is shown in a row, and what: a label of support, or another text"""
Section = tuple[str, str, list[tuple[str, str, Marks]]]
"""its title, the name of the column behind those of the passages, and its rows"""


def passages(labels: Labels) -> Section:
    rows = [
        (each["id"], each["text"], [(NOTE, f"relevance {labels.labels[each['id'], 'question']}")])
        for each in labels.of_type("passage")
    ]
    return "Passages given to the system", "", rows


def sentences(labels: Labels) -> Section:
    rows = []
    for each in labels.of_type("sentence"):
        valid = [cited for cited in each.get("cites", []) if cited in labels.passages]
        marks = [(column(labels, cited), labels.labels[each["id"], cited]) for cited in valid]
        marks.append((OTHER, labels.labels[each["id"], labels.key(valid)] if valid else "none"))
        wrong = [cited for cited in each.get("cites", []) if cited not in valid]
        note = f"{wrong[0]} points to no passage" if wrong else "" if valid else "cites nothing"
        rows.append((each["id"], each["text"], [*marks, (NOTE, note)]))
    return "Sentences of the answer, against the passages they cite", "together", rows


def claims(labels: Labels) -> Section:
    gold = labels.of_type("claim", "gold")
    rows = []
    for each in labels.of_type("claim", "answer"):
        right = labels.labels[each["id"], "gold"] == "full"
        support = [passage for passage in labels.passages if labels.labels[each["id"], passage] == "full"]
        relevant = any(labels.supports(passage, gold) for passage in support)
        misled = "misled by a relevant passage" if relevant else "misled by another passage"
        wrong = misled if support else "hallucination"
        note = ("right" if support else "self-knowledge") if right else wrong
        rows.append((each["id"], each["text"], [*by_passage(labels, each), (OTHER, "full" if right else "none"),
                                               (NOTE, note)]))  # fmt: skip
    return "Claims of the answer", "gold", rows


def gold_claims(labels: Labels) -> Section:
    return "Claims of the gold answer", "answer", against_answer(labels, labels.of_type("claim", "gold"))


def nuggets(labels: Labels) -> Section:
    return "Nuggets: what a good answer contains", "answer", against_answer(labels, labels.of_type("nugget"))


def against_answer(labels: Labels, items: list[Record]) -> list[tuple[str, str, Marks]]:
    return [
        (
            each["id"],
            each["text"],
            [
                *by_passage(labels, each),
                (OTHER, labels.labels[each["id"], "answer"]),
                (NOTE, each.get("importance", "")),
            ],
        )
        for each in items
    ]


def by_passage(labels: Labels, item: Record) -> Marks:
    return [(column(labels, passage), labels.labels[item["id"], passage]) for passage in labels.passages]


def column(labels: Labels, passage: str) -> int:
    return PASSAGES + labels.passages.index(passage) * COLUMN


def heading(top: int, title: str, other: str, columns: list[str]) -> Iterator[str]:
    yield text(LEFT, top, title, 13, bold=True)
    for at, passage in enumerate(columns):
        yield text(PASSAGES + at * COLUMN, top, passage, 11, anchor="middle", fill=GREY)
    yield text(OTHER, top, other, 11, anchor="middle", fill=GREY)
    yield f'<line x1="{LEFT}" y1="{top + 7}" x2="{WIDTH - LEFT}" y2="{top + 7}" stroke="#dddddd"/>'


def row(top: int, name: str, content: str, marks: Marks) -> Iterator[str]:
    yield text(LEFT, top + 13, name, 12, fill=GREY)
    yield text(TEXT, top + 13, content, 13)
    for x, mark in marks:
        if mark in SUPPORT:
            yield from support(x, top + 9, mark)
        else:
            yield text(x, top + 13, mark, 12, fill=GREY if mark in ("right", "vital", "okay") else "#222222")


def support(x: int, y: int, label: str) -> Iterator[str]:
    """A circle: full, half full, empty, or crossed out."""
    colour = SUPPORT[label]
    fill = colour if label == "full" else "#ffffff"
    yield f'<circle cx="{x}" cy="{y}" r="7" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
    if label == "partial":
        yield f'<path d="M {x} {y - 7} A 7 7 0 0 0 {x} {y + 7} Z" fill="{colour}"/>'
    if label == "contradicts":
        yield f'<path d="M {x - 4} {y - 4} l 8 8 m 0 -8 l -8 8" stroke="{colour}" stroke-width="1.5"/>'


def legend() -> Iterator[str]:
    yield text(PASSAGES - 66, 36, "support:", 12, fill=GREY)
    for at, label in enumerate(SUPPORT):
        x = PASSAGES + 4 + at * 80
        yield from support(x, 32, label)
        yield text(x + 14, 36, label, 12)


if __name__ == "__main__":
    picture = draw(Labels(LABELS.read_text("utf-8")))
    sys.exit(main(__file__, "Draw one answer with all its labels.", [(PICTURE, picture)]))
