"""What each kind of chart looks like: Vega-Lite specifications of one view, without colours of their own.

Colours are those of the configuration: the range `category` for systems, `ordinal` for ranks, and named styles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from karat.options import level_text
from karat.report.plots.axes import SHARES, units
from karat.report.plots.chart import Chart, Columns, Spec
from karat.report.plots.style import DASHES, SHAPES

_ROW = 15
"""the height of a row with the name of a system"""
_MANY = 300
"""with more queries than this, bars become an area and points are small"""
_NUMBER = ".3f"
_SYSTEM: Spec = {"field": "system", "type": "nominal", "sort": None, "title": None}
_GROUP: Spec = {
    "field": "group",
    "type": "nominal",
    "sort": None,
    "title": None,
    "axis": {"ticks": False, "grid": True, "tickBand": "extent"},  # lines between groups, where no label stands
}
_SCORE: Spec = {"type": "quantitative", "title": "{measure}", "scale": {"zero": False, "padding": 6}}
_DASHED = [4, 3]
_FILLED = {"filled": True, "opacity": 1, "strokeWidth": 0}
_DOT = {**_FILLED, "size": 34}


def intervals(rows: Columns, level: float) -> Chart:
    """A row per system, or per measure of one system: its mean, and a line for its confidence interval."""
    tooltip = _tooltip("system", "measure", mean=_NUMBER, low=_NUMBER, high=_NUMBER)
    about = f"with its {level_text(level)} confidence interval."
    means = ("of each system on {measure}", "on {measure}", "on each measure")
    abouts = tuple(f"The mean {which}, {about}" for which in means)
    line = ("rule", "interval", {"strokeWidth": 1.5})
    chart = _ranges("Means with their intervals", abouts, rows, "mean", line, tooltip)
    return chart if chart.by is None else replace(chart, panels="measure")


def bounds(rows: Columns, names: Mapping[str, str]) -> Chart:
    """A row per system, or per measure of one system: its score, and a band of the values that are possible.

    These depend on `unjudged` documents, or on labels that are `unknown`, whichever the rows have.
    """
    missing = "unknown" if "unknown" in rows else "unjudged"
    title, score, cause = _BOUNDS[missing]
    tooltip = _tooltip("system", "measure", value=_NUMBER, low=_NUMBER, high=_NUMBER, **{missing: ",d"})
    abouts = tuple(f"{what}, {score}; {cause}." for what in ("{measure} of each system", "{measure}", "Each measure"))
    return replace(_ranges(title, abouts, rows, "value", ("bar", "range", {"height": 7}), tooltip), names=names)


_BOUNDS = {
    "unjudged": (
        "Range that unjudged documents allow",
        "with unjudged documents counted as not relevant",
        "the band is the range that is possible if the unjudged documents that were retrieved were judged",
    ),
    "unknown": (
        "Range that unknown labels allow",
        "without the answers that lack labels",
        "the band is the range that is possible with them, whatever the labels are",
    ),
}
"""of a chart of bounds: its title, what its points are, and what its bands are"""


def _ranges(
    title: str,
    abouts: Sequence[str],
    rows: Columns,
    value: str,
    line: tuple[str, str, Mapping[str, Any]],
    tooltip: list[Spec],
) -> Chart:
    """A point in each row, and a line or band from `low` to `high`.

    Of several systems, a row is a system, and a page shows one measure. Of one system with several measures, a row is a
    measure; measures in different units have axes of their own. `abouts` are about several systems, one system with
    one measure, and one with several.
    """
    is_one = len(set(rows["system"])) == 1
    is_alone = is_one and len(set(rows["measure"])) > 1
    columns = (value, "low", "high")
    unit_of = units(rows["measure"], [rows[name] for name in columns])
    has_units = is_alone and len(set(unit_of.values())) > 1
    if has_units:
        rows = {**rows, "unit": [unit_of[measure] or SHARES for measure in rows["measure"]]}
    y = _names_of_rows(rows, "measure" if is_alone else "system")
    x = {**_SCORE, "title": None} if is_alone else _SCORE
    mark, style, look = line
    layers = [
        _layer(mark, style, x={"field": "low", **x}, x2={"field": "high"}, y=y, tooltip=tooltip, **look),
        _layer("point", "mean", x={"field": value, **x}, y=y, tooltip=tooltip, **_DOT),
    ]
    view = {"height": {"step": _ROW}, "layer": layers}
    chart = Chart(title, abouts[is_one + is_alone], view, rows, scales={"x": columns})
    if not is_alone:
        return replace(chart, by="measure")
    return replace(chart, panels="unit" if has_units else None, headings=has_units)


def differences(rows: Columns | None, queries: int, panel_names: Mapping[str, Mapping[str, str]]) -> Chart:
    """A bar per query, largest difference first, the mean, and how many queries are better and worse.

    The bars of many queries are drawn as one area. On a page, a bar is selected anywhere above or below it.
    """
    axis = {"labels": False, "ticks": False, "grid": False, "domain": False}
    # The bars of very few queries are not wider than those of a few; a page may show fewer queries than there are.
    scale = {"nice": False, "domainMin": 0, **({} if rows is None else {"domainMax": max(queries, 8)})}
    x = {"type": "quantitative", "title": "queries, largest difference first", "scale": scale, "axis": axis}
    y = {"field": "difference", "type": "quantitative", "title": "difference in {measure}"}
    tooltip = _tooltip("query", a=_NUMBER, b=_NUMBER, difference="+.3f")
    layers = []
    for change in ("better", "worse"):
        if queries > _MANY:
            layers.append(_layer("area", change, [_change(change)], x={"field": "place", **x}, y=y))
        else:
            bar = {"x": {"field": "left", **x}, "x2": {"field": "right"}, "y": y, "y2": {"datum": 0}}
            layers.append(_layer("rect", change, [_change(change), *_edges(0.1)], **bar, tooltip=tooltip))
    layers += [
        _layer("rule", "zero", y={"datum": 0}),
        _layer("rule", "guide", y={**y, "aggregate": "mean"}, strokeDash=_DASHED),
        _count(
            "datum.difference > 0", x={"value": "width"}, y={"value": 0}, align="right", baseline="top", dx=-2, dy=3
        ),
        _count(
            "datum.difference < 0", x={"value": 0}, y={"value": "height"}, align="left", baseline="bottom", dx=4, dy=-3
        ),
        _count("datum.difference == 0", x={"field": "middle", **x}, y={"datum": 0}, baseline="top", dy=4),
    ]
    if rows is None:
        column = {"x": {"field": "left", **x}, "x2": {"field": "right"}, "y": {"value": 0}, "y2": {"value": "height"}}
        layers.append(_layer("rect", "selectable", _edges(0), **column, tooltip=tooltip, color="transparent"))
    about = "How {b} differs from {a} on {measure}: a bar per query, largest difference first; dashed: their mean."
    return Chart(
        "Difference of each query",
        about,
        {"height": 150, "layer": layers},
        rows,
        panels=None if rows is None else "pair",
        headings=True,
        scales={"y": ("difference",)},
        panel_names=panel_names,
        made_by_page=("query", "a", "b", "difference", "change", "place"),
    )


def scatter(rows: Columns | None, queries: int, panel_names: Mapping[str, Mapping[str, str]]) -> Chart:
    """A point per query: its value in one system against that in the other; on the diagonal, both are equal."""
    x = {"field": "a", "type": "quantitative", "title": "{measure} of {a}"}
    y = {"field": "b", "type": "quantitative", "title": "{measure} of {b}"}
    look = {"fillOpacity": 0.35, "size": 9} if queries > _MANY else {"fillOpacity": 0.75, "size": 24}
    ends = [{"op": op, "field": field, "as": f"{op}_{field}"} for op in ("min", "max") for field in ("a", "b")]
    diagonal = [
        {"aggregate": ends},
        {"calculate": "min(0, datum.min_a, datum.min_b)", "as": "low"},
        {"calculate": "max(datum.max_a, datum.max_b)", "as": "high"},
    ]
    line = {"x": {**x, "field": "low"}, "y": {**y, "field": "low"}, "x2": {"field": "high"}, "y2": {"field": "high"}}
    layers = [_layer("rule", "guide", diagonal, strokeDash=_DASHED, **line)]
    tooltip = _tooltip("query", a=_NUMBER, b=_NUMBER)
    for change, shape in (("same", "circle"), ("better", "triangle-up"), ("worse", "triangle-down")):
        layers.append(
            _layer("point", change, [_change(change)], x=x, y=y, tooltip=tooltip, shape=shape, **_FILLED, **look)
        )
    about = "A point per query: {measure} of {a} and of {b}. On the dashed line, both are equal."
    return Chart(
        "{b} against {a}",
        about,
        {"height": 265, "layer": layers},
        rows,
        panels=None if rows is None else "pair",
        scales={"x": ("a", "b"), "y": ("a", "b")},
        across=2,
        is_square=True,
        panel_names=panel_names,
        made_by_page=("query", "a", "b", "change"),
    )


def cutoffs(rows: Columns) -> Chart:
    """A line per system: a measure at each cut-off."""
    values = [1, 3, 10, 30, 100, 300, 1000]
    axis = {"values": values, "format": "d", "tickCount": len(values)}
    scale = {"type": "log", "nice": False}
    x = {"field": "k", "type": "quantitative", "title": "cut-off k", "scale": scale, "axis": axis}
    y = {"field": "value", "type": "quantitative", "title": None, "scale": {"domain": [0, 1]}}
    view = _lines(x, y, rows, _tooltip("system", "measure", "k", value=_NUMBER))
    about = f"nDCG, recall and precision at each cut-off k.{_on_others(rows)}"
    scales = {"x": ("k",), "y": ("value",)}
    return Chart("Scores by cut-off", about, view, rows, panels="measure", headings=True, scales=scales, across=3)


def precision_recall(rows: Columns) -> Chart:
    """A line per system: interpolated precision at levels of recall."""
    x = {"field": "recall", "type": "quantitative", "title": "recall"}
    y = {"field": "precision", "type": "quantitative", "title": "interpolated precision", "scale": {"domain": [0, 1]}}
    view = _lines(x, y, rows, _tooltip("system", "recall", precision=_NUMBER))
    about = f"The highest precision at any rank with at least this recall, averaged over queries.{_on_others(rows)}"
    scales = {"x": ("recall",), "y": ("precision",)}
    return Chart("Precision and recall", about, view, rows, scales=scales)


def first(rows: Columns) -> Chart:
    """A bar per system: the share of queries whose first relevant document is at these ranks."""
    legend = {"orient": "top", "symbolSize": 60, "columns": 6 if _longest(rows["system"]) < 10 else 3}
    colour = {"field": "rank", "type": "ordinal", "sort": None, "title": None, "legend": legend}
    x = {"field": "queries", "type": "quantitative", "stack": "normalize", "title": "queries", "axis": {"format": "%"}}
    order = {"field": "place", "type": "quantitative"}
    tooltip = _tooltip("system", "rank", "queries")
    bar = _layer("bar", "rank", y=_names_of_rows(rows, "system"), x=x, color=colour, order=order, tooltip=tooltip)
    about = (
        "The share of queries whose first relevant document is at these ranks; none: no relevant document retrieved."
    )
    view = {"height": {"step": _ROW}, "layer": [bar]}
    return Chart("Rank of the first relevant document", about, view, rows)


def slices(rows: Columns, level: float, left_out: int, names: Mapping[str, str]) -> Chart:
    """A row per group and system: its mean, and a line for its confidence interval; some systems may be left out."""
    offset = {"field": "system", "type": "nominal", "sort": None}
    tooltip = _tooltip("group", "queries", "system", "measure", mean=_NUMBER, low=_NUMBER, high=_NUMBER)
    color, _, shape = _looks(rows["system"], rows["group"])
    same = {"y": _GROUP, "yOffset": offset, "tooltip": tooltip, "color": color}
    layers = [
        _layer("rule", "line", x={"field": "low", **_SCORE}, x2={"field": "high"}, strokeWidth=1.5, **same),
        _layer("point", "dot", x={"field": "mean", **_SCORE}, shape=shape, **_DOT, **same),
    ]
    about = (
        f"{{measure}} of each group of queries (and their number), with its {level_text(level)} confidence interval."
    )
    if left_out:
        about += f" The best systems are shown, and {left_out:,} others are not."
    view = {"height": {"step": 9, "for": "offset"}, "layer": layers}
    scales = {"x": ("mean", "low", "high")}
    return Chart("Scores by group", about, view, rows, "measure", "slice", scales=scales, names=names)


def group_differences(rows: Columns, levels: Sequence[float], panel_names: Mapping[str, Mapping[str, str]]) -> Chart:
    """A row per group of queries: the difference of two systems, and a line for its confidence interval."""
    x = {"type": "quantitative", "title": "difference in {measure}", "scale": {"padding": 6}}
    same = {"y": _GROUP, "tooltip": _tooltip("group", difference="+.3f", low="+.3f", high="+.3f")}
    layers = [
        _layer("rule", "interval", x={"field": "low", **x}, x2={"field": "high"}, strokeWidth=1.5, **same),
        _layer("point", "mean", x={"field": "difference", **x}, **_DOT, **same),
        _layer("rule", "zero", x={"datum": 0}),
    ]
    percent = " to ".join(dict.fromkeys(level_text(level, 4) for level in (*levels[:1], *levels[-1:])))
    about = "How {b} differs from {a} on {measure}, in each group of queries (and their number)" + (
        f", with its {percent} confidence interval if it has one." if levels else "."
    )
    view = {"height": {"step": _ROW}, "layer": layers}
    return Chart(
        "Difference by group",
        about,
        view,
        rows,
        panels="pair",
        headings=True,
        scales={"x": ("difference", "low", "high")},
        panel_names=panel_names,
    )


def _lines(x: Spec, y: Spec, rows: Columns, tooltip: list[Spec]) -> Spec:
    """A line with points per emphasized system, over thin lines of the others."""
    emphasized, others = [{"filter": "datum.emphasized"}], [{"filter": "!datum.emphasized"}]
    names = [name for name, has in zip(rows["system"], rows["emphasized"], strict=True) if has]
    color, dash, shape = _looks(names)
    layers = [
        _layer("line", "other", others, x=x, y=y, detail={"field": "system", "type": "nominal"}, strokeWidth=0.6),
        _layer("line", "line", emphasized, x=x, y=y, color=color, strokeDash=dash, strokeWidth=1.5),
        _layer("point", "dot", emphasized, x=x, y=y, color=color, shape=shape, tooltip=tooltip, **_DOT),
    ]
    return {"height": 130, "layer": layers}


def _looks(systems: Sequence[str], axis: Sequence[str] = ()) -> tuple[Spec, Spec, Spec]:
    """The colour, the dashes and the shape of each system; the legend shows its colour and shape."""
    names = list(dict.fromkeys(systems))
    # As many columns as fit into the width that the labels of the vertical axis leave.
    columns = max(1, (50 - min(_longest(axis), 18)) // (4 + min(_longest(names), 22)))
    symbol = {"symbolSize": 40, "symbolDash": [1, 0], "symbolStrokeWidth": 0}
    legend = {"legend": None if len(names) == 1 else {"orient": "bottom", "columns": columns, **symbol}}
    color = {**_SYSTEM, **legend, "scale": {"domain": names}}
    dash = {**_SYSTEM, **legend, "scale": {"domain": names, "range": list(DASHES)}}
    return color, dash, {**_SYSTEM, **legend, "scale": {"domain": names, "range": list(SHAPES)}}


def _longest(texts: Sequence[str]) -> int:
    return max(map(len, texts), default=0)


def _names_of_rows(rows: Columns, field: str) -> Spec:
    """A row per system or measure, also for those without a value."""
    scale = {"domain": list(dict.fromkeys(rows[field]))}
    return {**_SYSTEM, "field": field, "scale": scale, "axis": {"domain": False, "ticks": False, "grid": False}}


def _edges(gap: float) -> list[Spec]:
    """The left and the right edge of the bar of a query."""
    places = {"left": gap, "right": 1 - gap}
    return [{"calculate": f"datum.place + {at}", "as": name} for name, at in places.items()]


def _change(change: str) -> Spec:
    return {"filter": f"datum.change == '{change}'"}


def _count(test: str, **properties: object) -> Spec:
    """How many queries are better, worse or the same, and the middle of their places."""
    counted = [{"op": "count", "as": "queries"}, {"op": "mean", "field": "place", "as": "middle"}]
    transform = [
        {"filter": test},
        {"aggregate": counted, "groupby": ["change"]},
        {"calculate": "format(datum.queries, ',d') + ' ' + datum.change", "as": "text"},
    ]
    return _layer("text", "count", transform, text={"field": "text", "type": "nominal"}, **properties)


def _on_others(rows: Columns) -> str:
    """What is said about the systems without a colour of their own, if there are any."""
    others = len({name for name, has in zip(rows["system"], rows["emphasized"], strict=True) if not has})
    return f" The other {others:,} systems are the thin lines." if others else ""


def _layer(mark: str, style: str, transform: list[Any] | None = None, /, **properties: Any) -> Spec:
    """A layer: channels, which are mappings or the tooltip, and properties of its mark."""
    channels = {name: value for name, value in properties.items() if isinstance(value, dict) or name == "tooltip"}
    of_mark = {name: value for name, value in properties.items() if name not in channels}
    # Vega-Lite would put the titles of axes, which contain names, into an expression that describes each mark.
    layer = {"mark": {"type": mark, "style": style, "aria": False, **of_mark}, "encoding": channels}
    return layer if transform is None else {"transform": transform, **layer}


def _tooltip(*names: str, **formats: str) -> list[Spec]:
    """The fields that are shown while the pointer is over a mark: as they are, or as numbers of this format."""
    titles = {"a": "A", "b": "B"}
    numbers = [
        {"field": name, "type": "quantitative", "format": form, "title": titles.get(name, name)}
        for name, form in formats.items()
    ]
    return [*({"field": name, "type": "nominal"} for name in names), *numbers]
