"""Draw the flowcharts of the documentation as SVG, in the colours of the page.

GitHub draws them from the same text with a script. The site needs none, and no other host. What is drawn is the part of
Mermaid's language that the pages use: `flowchart LR`, boxes `A[text]` and `A([text])`, and arrows
`A & B -->|text| C -. text .-> D`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import NamedTuple

_NODE = re.compile(r"\s*(\w+)(?:\(\[(.*?)\]\)|\[(.*?)\])?\s*")
_ARROW = re.compile(r"\s*(?:-->(?:\|(.*?)\|)?|-\.\s(.*?)\s\.->)\s*")
_SIZE, _LINE, _LETTER = 13, 17, 7.1
_GAP_X, _GAP_Y, _PAD = 34, 14, 9


class Link(NamedTuple):
    """An arrow from each of the sources to each of the targets, with one text."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    text: str
    dotted: bool


@dataclass
class Box:
    """A box with its text; without a text, a point through which an arrow passes."""

    lines: list[str]
    is_round: bool = False
    column: int = 0
    span: float = 0.0
    """how wide a point is: as its column"""
    x: float = 0.0
    y: float = 0.0
    """of its centre"""

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * _LETTER + 2 * _PAD if self.lines else self.span

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + _PAD if self.lines else 4.0


@dataclass
class Flowchart:
    """The boxes and arrows of a flowchart, and where they are."""

    boxes: dict[str, Box] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)

    def ahead(self) -> dict[str, set[str]]:
        """The boxes that the arrows of each box point to."""
        following = defaultdict[str, set[str]](set)
        for link in self.links:
            for source in link.sources:
                following[source] |= {*link.targets}
        return following


def flowchart(text: str) -> str:
    """A flowchart as an SVG element."""
    chart = _parsed(text)
    _choose_columns(chart)
    paths = _paths(chart)
    _place(chart, paths)
    return _drawn(chart, paths)


def _parsed(text: str) -> Flowchart:
    head, *lines = text.strip().splitlines()
    if head.strip() != "flowchart LR":
        raise ValueError(f"only flowcharts from left to right can be drawn: {head}")
    chart = Flowchart()
    for line in lines:
        parts = _ARROW.split(line.strip())
        groups = [tuple(_node(chart, each) for each in part.split("&")) for part in parts[::3]]
        for before, after, label, dotted in zip(groups, groups[1:], parts[1::3], parts[2::3], strict=False):
            chart.links.append(Link(before, after, label or dotted or "", dotted is not None))
    return chart


def _node(chart: Flowchart, text: str) -> str:
    found = _NODE.fullmatch(text)
    if found is None:
        raise ValueError(f"not a box of a flowchart: {text}")
    name, rounded, square = found.groups()
    label = rounded or square
    if label or name not in chart.boxes:
        chart.boxes[name] = Box((label or name).split("<br/>"), rounded is not None)
    return name


def _choose_columns(chart: Flowchart) -> None:
    """Each box is as far right as the boxes that it points to allow."""
    following = chart.ahead()

    def reach(name: str) -> int:
        return 1 + max((reach(each) for each in following[name]), default=0)

    first = {name: reach(name) for name in chart.boxes}
    last = max(first.values())
    for name, box in chart.boxes.items():
        box.column = last - first[name]
    for name, box in chart.boxes.items():  # a box at the end stands next to what points to it
        before = [each for each, targets in following.items() if name in targets]
        if not following[name] and before:
            box.column = max(chart.boxes[each].column for each in before) + 1


def _paths(chart: Flowchart) -> dict[tuple[str, str], list[str]]:
    """The boxes through which each arrow goes: between far columns, points that arrows to the same box share."""
    paths = {}
    for link in chart.links:
        for source in link.sources:
            for target in link.targets:
                between = []
                for column in range(chart.boxes[source].column + 1, chart.boxes[target].column):
                    point = f"{target}/{column}"
                    chart.boxes.setdefault(point, Box([], column=column))
                    between.append(point)
                paths[source, target] = [source, *between, target]
    return paths


def _place(chart: Flowchart, paths: dict[tuple[str, str], list[str]]) -> None:
    columns = defaultdict[int, list[str]](list)
    for name, box in chart.boxes.items():
        columns[box.column].append(name)
    near = defaultdict[str, set[str]](set)
    for path in paths.values():
        for before, after in pairwise(path):
            near[before].add(after)
            near[after].add(before)
    order = sorted(columns)
    for sweep in range(8):
        for column in order if sweep % 2 == 0 else reversed(order):
            names = columns[column]
            if sweep:
                names.sort(key=lambda name: _mean(chart.boxes[each].y for each in near[name]))
            _stack(chart, names)
    _stand(chart, columns)


def _stack(chart: Flowchart, names: list[str]) -> None:
    y = -sum(chart.boxes[name].height + _GAP_Y for name in names) / 2
    for name in names:
        box = chart.boxes[name]
        box.y = y + (box.height + _GAP_Y) / 2
        y += box.height + _GAP_Y


def _stand(chart: Flowchart, columns: dict[int, list[str]]) -> None:
    x = 0.0
    for column in sorted(columns):
        width = max(chart.boxes[name].width for name in columns[column])
        for name in columns[column]:
            chart.boxes[name].x, chart.boxes[name].span = x + width / 2, width
        texts = [link.text for link in chart.links if chart.boxes[link.sources[0]].column == column]
        label = max((max(map(len, text.split("<br/>"))) for text in texts), default=0)
        x += width + _GAP_X + label * _LETTER


def _drawn(chart: Flowchart, paths: dict[tuple[str, str], list[str]]) -> str:
    boxes = list(chart.boxes.values())
    left, right = min(box.x - box.width / 2 for box in boxes) - 2, max(box.x + box.width / 2 for box in boxes) + 2
    top, bottom = min(box.y - box.height / 2 for box in boxes) - 4, max(box.y + box.height / 2 for box in boxes) + 4
    said = "; ".join(f"{_said(chart, link.sources)} → {_said(chart, link.targets)}" for link in chart.links)
    return "".join(
        [
            f'<svg class="flowchart" role="img" aria-label="{escape(said)}" xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}" width="{right - left:.0f}" '
            f'font-size="{_SIZE}">',
            *(_arrow(chart, link, paths) for link in chart.links),
            *(_box(box) for box in boxes if box.lines),
            *(_label(chart, link, paths) for link in chart.links if link.text),
            "</svg>",
        ]
    )


def _said(chart: Flowchart, names: Iterable[str]) -> str:
    return ", ".join(" ".join(chart.boxes[name].lines) for name in names)


def _arrow(chart: Flowchart, link: Link, paths: dict[tuple[str, str], list[str]]) -> str:
    style = ' stroke-dasharray="4 3"' if link.dotted else ""
    drawn = []
    for source in link.sources:
        for target in link.targets:
            *_, end = ends = list(_curve([chart.boxes[name] for name in paths[source, target]]))
            drawn.append(f'<path d="{" ".join(ends)}" fill="none" stroke="currentColor"{style}/>')
            x, y = map(float, end.rsplit(maxsplit=1)[-1].split(","))
            drawn.append(f'<path d="M{x:.1f},{y:.1f} l-7,-4 v8 z" fill="currentColor"/>')
    return "".join(drawn)


def _curve(boxes: list[Box]) -> Iterator[str]:
    yield f"M{boxes[0].x + boxes[0].width / 2:.1f},{boxes[0].y:.1f}"
    for before, after in pairwise(boxes):
        start, end = before.x + before.width / 2, after.x - after.width / 2
        if not before.lines:
            yield f"L{start:.1f},{before.y:.1f}"
        bend = (end - start) / 2
        yield f"C{start + bend:.1f},{before.y:.1f} {end - bend:.1f},{after.y:.1f} {end:.1f},{after.y:.1f}"


def _box(box: Box) -> str:
    radius = box.height / 2 if box.is_round else 4
    rectangle = (
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius:.1f}" class="flowchart-box"/>'
    )
    return rectangle + _text(box.x, box.y, box.lines)


def _label(chart: Flowchart, link: Link, paths: dict[tuple[str, str], list[str]]) -> str:
    places = []
    for source in link.sources:
        for target in link.targets:
            before, after = (chart.boxes[name] for name in paths[source, target][:2])
            places.append(((before.x + before.width / 2 + after.x - after.width / 2) / 2, (before.y + after.y) / 2))
    lines = link.text.split("<br/>")
    x, y = _mean(place[0] for place in places), _mean(place[1] for place in places)
    width, height = max(map(len, lines)) * _LETTER, len(lines) * _LINE
    behind = (
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" '
        'class="flowchart-label"/>'
    )
    return behind + _text(x, y, lines)


def _text(x: float, y: float, lines: list[str]) -> str:
    first = y - (len(lines) - 1) * _LINE / 2 + _SIZE * 0.35
    return "".join(
        f'<text x="{x:.1f}" y="{first + number * _LINE:.1f}" text-anchor="middle" fill="currentColor">'
        f"{escape(line)}</text>"
        for number, line in enumerate(lines)
    )


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every) if every else 0.0
