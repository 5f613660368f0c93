"""Charts for a paper: as wide as a column whatever the names, and panels of the same quantity with the same scale."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import Any

from karat.errors import KaratError, printable
from karat.errors.installing import pip_install
from karat.output.widths import shared_widths
from karat.report.plots.axes import axis_domain, unit
from karat.report.plots.chart import DATA, Chart, Spec
from karat.report.plots.style import (
    COLUMN,
    PADDING,
    TEXT,
    TITLE_PADDING,
    fit_to_width,
    label,
    labels,
    paper_config,
    text_width,
)

Record = dict[str, Any]

_GAP = 11
_INNER = round(COLUMN) - 2 * PADDING
_WIDEST_LABEL = 120
_WIDEST_NUMBER = 60
_MOST_TICKS = 7
_TICK = 5
"""from the end of a label to its axis"""
_SYMBOL = 26
"""the symbol of a legend, and the gaps around it"""
# Characters that XML does not allow, for which vl-convert ends the process, and those of two UTF-16 units: Vega may
# shorten a text between the two, which is an error.
_NOT_DRAWN = re.compile("[\ufffe\uffff\U00010000-\U0010ffff]")
_PLACEHOLDER = re.compile(r"\{(a|b|measure)\}")


def missing_extra() -> KaratError:
    """The error if the libraries of plots are not installed."""
    return KaratError("plots need altair and vl-convert", hint=pip_install("report"))


def paper_spec(chart: Chart) -> Spec:
    """A specification with data that is as wide as a column of a paper."""
    rows = chart.rows or {}
    records = [dict(zip(rows, line, strict=True)) for line in zip(*rows.values(), strict=True)]
    panels: dict[str, list[Record]] = {}
    for record in records:
        panels.setdefault(record[chart.panels] if chart.panels else "", []).append(record)
    panels = panels or {next(iter(chart.panel_names), ""): []}
    room = _room(chart, records, across=min(chart.across, len(panels)))
    names = {name: label(text) for name, text in _names(chart, next(iter(panels))).items()}
    config = paper_config(room.ticks, room.title, room.heading)
    if room.is_scientific:
        config["numberFormat"] = "~g"
    top = {"config": config, "description": _fill_in(chart.about, names)}
    views = [{**_panel(chart, panel, records, room), **_heading(chart, panel, room)} for panel in panels]
    domains = _domains(chart, panels)
    if len(views) == 1:
        views[0]["layer"] = _with_domains(views[0]["layer"], *domains.values())
        fit = {"width": round(COLUMN), "autosize": {"type": "fit-x", "contains": "padding"}}
        return {**_drawable({**views[0], "data": {"name": DATA}, **fit, **top, "datasets": {DATA: records}})}
    size = {"width": room.plot, **({"height": room.plot} if chart.is_square else {})}
    datasets = {f"{DATA}{at}": members for at, members in enumerate(panels.values())}
    concat = []
    for view, data, of_panel in zip(views, datasets, domains.values(), strict=True):
        layer = [*_with_domains(view["layer"], of_panel), room.strut()]
        concat.append({**view, "layer": layer, "data": {"name": data}, **size})
    shared = dict.fromkeys(("color", "shape", "strokeDash"), "shared")
    layout = {"columns": room.across, "spacing": _GAP, "resolve": {"scale": shared, "legend": shared}}
    return {**_drawable({"concat": concat, **layout, **top, "datasets": datasets})}


@dataclass(frozen=True)
class _Room:
    """The widths of the parts of a panel, in pixels."""

    across: int
    """panels side by side"""
    labels: int
    """the labels of the vertical axis"""
    left: int
    """all that is left of the plot"""
    plot: int
    right: int
    """half of a label of the horizontal axis"""
    is_scientific: bool
    """whether numbers would be too wide otherwise"""

    @property
    def heading(self) -> int:
        """From the plot to the right end of the panel."""
        return self.plot + self.right

    @property
    def title(self) -> int:
        """The title of an axis, which is in its middle."""
        return self.plot + 2 * self.right

    @property
    def ticks(self) -> int:
        """About how many ticks of the horizontal axis have room for their labels."""
        return max(2, round(self.plot / max(45, 3.2 * self.right)))

    def strut(self) -> Spec:
        """A layer that nobody sees, as wide as its panel: Vega makes only single views as wide as they should be."""
        ends = {"x": {"value": -self.left}, "x2": {"value": self.heading}, "y": {"value": 0}, "y2": {"value": 0}}
        return {"data": {"values": [{}]}, "mark": {"type": "rect", "opacity": 0, "aria": False}, "encoding": ends}


def _room(chart: Chart, records: Sequence[Record], across: int) -> _Room:
    y = chart.view["layer"][0]["encoding"]["y"]
    is_name = y["type"] == "nominal"
    numbers = {channel: _number_width(chart, records, channel) for channel in ("x", "y")}
    widths = [text_width(record[y["field"]]) for record in records] if is_name else [numbers["y"]]
    label_width = math.ceil(min(_WIDEST_LABEL if is_name else _WIDEST_NUMBER, max(widths, default=0) + 2))
    left = label_width + _TICK + (math.ceil(TEXT + TITLE_PADDING) if y["title"] else 0)
    right = math.ceil(min(_WIDEST_NUMBER, numbers["x"]) / 2)
    panel = (_INNER - _GAP * (across - 1)) // across
    is_scientific = max(numbers.values()) > _WIDEST_NUMBER
    return _Room(across, label_width, left, panel - left - right, right, is_scientific)


def _number_width(chart: Chart, records: Iterable[Record], channel: str) -> float:
    """About the width of the widest number on an axis."""
    columns = chart.scales.get(channel, ())
    low, high = axis_domain(_values(records, columns), with_zero=True, signed="difference" in columns)
    low, high = 1.2 * low, 1.2 * high  # an axis may end at the next round number
    step = (high - low) / _MOST_TICKS
    digits = max(0, math.ceil(-math.log10(step))) if 0 < step < math.inf else 0
    return max(text_width(f"{value:,.{digits}f}".replace("-", "−")) for value in (low, high, 1.0))


def _panel(chart: Chart, panel: str, records: Sequence[Record], room: _Room) -> Spec:
    """The view of a panel, with its names, which are shortened to the room that they have."""
    names = _names(chart, panel)
    layers = []
    for layer in chart.view["layer"]:
        encoding = dict(layer["encoding"])
        for channel in encoding.keys() & {"x", "y"}:
            if title := encoding[channel].get("title"):
                limit = room.title if channel == "x" or chart.is_square else chart.view["height"]
                encoding[channel] = {**encoding[channel], "title": _title(title, names, limit)}
        for channel, definition in encoding.items():
            if channel == "y" and definition.get("type") == "nominal":
                texts = [record[definition["field"]] for record in records]
                encoding["y"] = {**definition, "axis": {**definition["axis"], **_label_limit(texts, room.labels)}}
                if chart.panels == "unit":
                    members = dict.fromkeys(record["measure"] for record in records if record["unit"] == panel)
                    encoding["y"]["scale"] = {"domain": list(members)}
            elif channel != "tooltip" and "domain" in definition.get("scale", {}) and definition.get("legend"):
                legend = _legend(definition["legend"], definition["scale"]["domain"], _INNER - room.left)
                encoding[channel] = {**definition, "legend": legend}
        layers.append({**layer, "encoding": encoding})
    return {**chart.view, "layer": layers}


def _legend(legend: Spec, names: Sequence[str], width: int) -> Spec:
    """A legend that is not wider than that: with fewer columns, or shorter names in a single one."""
    longest = max(map(text_width, names), default=0)
    columns = max(1, min(legend["columns"], int(width / (longest + _SYMBOL))))
    return {**legend, "columns": columns, **_label_limit(names, width // columns - _SYMBOL)}


def _title(template: str, names: Mapping[str, str], width: int) -> str:
    """A title with names that are short enough to stand in one line."""
    placeholders = [name for name in _PLACEHOLDER.findall(template) if name in names]
    room = int(width - text_width(_PLACEHOLDER.sub("", template)))
    widths = shared_widths([math.ceil(text_width(names[name])) for name in placeholders], room)
    short = {name: fit_to_width(names[name], limit) for name, limit in zip(placeholders, widths, strict=True)}
    return _fill_in(template, short)


def _label_limit(names: Iterable[str], limit: int) -> Spec:
    """Properties of an axis or a legend whose labels are the beginnings and ends of long names; tooltips are whole."""
    different = dict.fromkeys(names)
    short = labels(different, partial(fit_to_width, width=limit))
    if any(text_width(text) > limit for text in short.values()):  # numbered, because they would be the same
        short = labels(different, partial(fit_to_width, width=limit - text_width(" (99)")))
    changed = {name: text for name, text in short.items() if name != text}
    if not changed:
        return {"labelLimit": limit}
    before, after = (json.dumps(list(texts), ensure_ascii=False) for texts in (changed, changed.values()))
    return {"labelLimit": limit, "labelExpr": f"{after}[indexof({before}, datum.label)] || datum.label"}


def _names(chart: Chart, panel: str) -> dict[str, str]:
    """What the placeholders of a panel stand for."""
    return {**chart.names, chart.panels or "": panel, **chart.panel_names.get(panel, {})}


def _heading(chart: Chart, panel: str, room: _Room) -> Spec:
    """The title of a panel, if the titles of its axes do not say what it shows, and what is left out of it."""
    names = chart.panel_names.get(panel)
    title = "" if not chart.headings else panel
    if title and names:
        title = _title("{b} − {a}", names, room.heading)
    note = wrap(chart.panel_notes.get(panel, ""), int(room.heading / text_width("n")))
    shown = note if len(note) > 1 else "".join(note)
    if title and shown:
        return {"title": {"text": title, "subtitle": shown}}
    return {"title": title or shown} if title or shown else {}


def _domains(chart: Chart, panels: Mapping[str, Sequence[Record]]) -> dict[str, dict[str, list[float]]]:
    """The domain of each axis of each panel: the values of all panels that have the same unit there.

    The axis of a single panel has one only if its values are all the same; Vega knows the others.
    """
    domains: dict[str, dict[str, list[float]]] = {panel: {} for panel in panels}
    for channel, columns in chart.scales.items():
        axis = chart.view["layer"][0]["encoding"][channel]
        scale = axis.get("scale", {})
        if "domain" in scale:
            continue
        values = {panel: _values(records, columns) for panel, records in panels.items()}
        units = {panel: unit(panel, values[panel]) if chart.has_units(channel) else "" for panel in panels}
        with_zero = scale.get("zero", scale.get("type") != "log")
        for panel in panels:
            alike = [value for other in panels if units[other] == units[panel] for value in values[other]]
            domain = axis_domain(alike, with_zero=with_zero, signed="difference" in columns)
            known = {*alike, *([0.0] if with_zero else [])}
            if len(panels) > 1 or not known or domain != [min(known), max(known)]:
                domains[panel][channel] = domain
    return domains


def _values(records: Iterable[Record], columns: Iterable[str]) -> list[float]:
    return [record[name] for record in records for name in columns if record[name] is not None]


def _with_domains(layers: Sequence[Spec], domains: Mapping[str, list[float]]) -> list[Spec]:
    """Layers whose axes have these domains, widened to round numbers."""
    changed = []
    for layer in layers:
        encoding = dict(layer["encoding"])
        for channel in encoding.keys() & domains.keys():
            if "value" not in encoding[channel]:  # a place in pixels
                scale = {"nice": True, **encoding[channel].get("scale", {}), "domain": domains[channel]}
                encoding[channel] = {**encoding[channel], "scale": scale}
        changed.append({**layer, "encoding": encoding})
    return changed


def _fill_in(template: str, names: Mapping[str, str]) -> str:
    """A text in which names replace `{a}`, `{b}` and `{measure}`."""
    return _PLACEHOLDER.sub(lambda match: names.get(match[1], match[0]), template)


def _drawable(value: Any) -> Any:
    """A specification whose texts can be drawn: other characters become escapes or replacement characters."""
    if isinstance(value, str):
        return _NOT_DRAWN.sub("\ufffd", printable(value))
    if isinstance(value, list):
        return [_drawable(each) for each in value]
    if isinstance(value, dict):
        return {name: _drawable(each) for name, each in value.items()}
    return value
