"""Chart: one view as a Vega-Lite specification, and its rows; for the report, or as an altair chart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from karat.errors import KaratError, printable
from karat.plots.style import COLUMN, paper_config

if TYPE_CHECKING:
    import altair as alt

Columns = Mapping[str, Sequence[Any]]
Spec = dict[str, Any]

DATA = "rows"
"""the name of the data source of a specification"""
_GAP = 12
_LABEL_LIMIT = 110
_LONGEST_LABEL = 60
# Characters that XML does not allow, for which vl-convert ends the process, and those of two UTF-16 units: Vega may
# shorten a text between the two, which is an error.
_NOT_DRAWN = re.compile("[\ufffe\uffff\U00010000-\U0010ffff]")
_PLACEHOLDER = re.compile(r"\{(a|b|measure)\}")


@dataclass(frozen=True)
class Chart:
    """A view, and the rows it shows: `rows` is None if the page makes them, for the measure and systems it shows.

    `title` and `about` are its heading and how to read it. In these and in the titles of axes, `{a}`, `{b}` and
    `{measure}` stand for names: `names`, or those of a panel. With `panels`, there is a view for each value of this
    column, with that value as its heading if the titles of the axes do not say it; `across` of them are side by side in
    a paper. If `by` is set, a page shows only the rows of one measure.
    """

    title: str
    about: str
    view: Spec
    columns: tuple[str, ...]
    rows: Columns | None
    by: str | None = None
    panels: str | None = None
    headings: bool = False
    across: int = 1
    is_square: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    panel_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    panel_notes: Mapping[str, str] = field(default_factory=dict)
    """what is left out of a panel; a page says so itself"""

    def with_measures(self, names: Mapping[str, str]) -> Chart:
        """The chart with other names of measures."""

        def renamed(placeholders: Mapping[str, str]) -> dict[str, str]:
            return {each: names.get(name, name) if each == "measure" else name for each, name in placeholders.items()}

        rows = self.rows
        if rows is not None and "measure" in rows:
            rows = {**rows, "measure": [names.get(name, name) for name in rows["measure"]]}
        panels = {panel: renamed(placeholders) for panel, placeholders in self.panel_names.items()}
        return replace(self, rows=rows, names=renamed(self.names), panel_names=panels)

    def for_page(self) -> dict[str, Any]:
        """The chart as the report embeds it: as wide as its container."""
        spec = {**self.view, "data": {"name": DATA}, "width": "container"}
        rows = None if self.rows is None else {name: list(self.rows[name]) for name in self.columns}
        about = {"title": self.title, "about": self.about, "spec": spec, "rows": rows, "columns": list(self.columns)}
        return {**about, "by": self.by, "panels": None if self.by == self.panels else self.panels}

    def for_paper(self) -> alt.LayerChart | alt.ConcatChart:
        """An altair chart that is as wide as a column of a paper."""
        altair = load_altair()
        spec = self.paper_spec()
        rows = spec.pop("datasets")  # checking thousands of rows would take minutes
        kind = altair.ConcatChart if "concat" in spec else altair.LayerChart
        chart: alt.LayerChart | alt.ConcatChart = kind.from_dict(spec)
        chart.datasets = rows
        return chart

    def paper_spec(self) -> Spec:
        """A specification with data that is as wide as a column of a paper."""
        rows = self.rows or {}
        lines = zip(*(rows[name] for name in self.columns), strict=True)
        records = [dict(zip(self.columns, line, strict=True)) for line in lines]
        values = list(dict.fromkeys(record[self.panels] for record in records)) if self.panels else []
        value = values[0] if values else ""
        first = self._names(value)
        top = {"config": paper_config(), "description": filled(self.about, first)}
        if len(values) < 2:
            fit = {"width": round(COLUMN), "autosize": {"type": "fit-x", "contains": "padding"}}
            view = {**filled(self.view, first), **self._heading(value)}
            return _drawable({**view, "data": {"name": DATA}, **fit, **top, "datasets": {DATA: records}})
        across = min(self.across, len(values))
        width = round((COLUMN - _GAP * (across - 1)) / across - self._axis_width(records))
        size = {"width": width, **({"height": width} if self.is_square else {})}
        panels, datasets = [], {}
        for at, value in enumerate(values):
            view = {**filled(self.view, self._names(value)), **self._heading(value)}
            panels.append({**view, "data": {"name": f"{DATA}{at}"}, **size})
            datasets[f"{DATA}{at}"] = [record for record in records if record[self.panels or ""] == value]
        shared = dict.fromkeys(("color", "shape", "strokeDash"), "shared")
        concat = {"concat": panels, "columns": across, "spacing": _GAP, "resolve": {"scale": shared, "legend": shared}}
        return _drawable({**concat, **top, "datasets": datasets})

    def _names(self, panel: str) -> dict[str, str]:
        names = {**self.names, self.panels or "": panel, **self.panel_names.get(panel, {})}
        return {placeholder: label(name) for placeholder, name in names.items()}

    def _heading(self, panel: str) -> Spec:
        """The title of a panel, if the titles of its axes do not say what it shows, and what is left out of it."""
        title, note = panel if self.headings else "", self.panel_notes.get(panel, "")
        if title and note:
            return {"title": {"text": title, "subtitle": note}}
        return {"title": title or note} if title or note else {}

    def _axis_width(self, records: Sequence[Mapping[str, Any]]) -> float:
        """About the width of the labels of the vertical axis."""
        field = self.view["layer"][0]["encoding"]["y"]["field"]
        is_name = self.view["layer"][0]["encoding"]["y"]["type"] == "nominal"
        longest = max((len(str(record[field])) for record in records), default=0) if is_name else 4
        return min(_LABEL_LIMIT, 6 * longest) + 8


def label(text: str) -> str:
    """A name as it is shown in a chart: without control characters and, because Vega is slow at that, shortened."""
    text = printable(text)
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 20]}…{text[-19:]}"


def labels(names: Iterable[str]) -> dict[str, str]:
    """The label of each name; names whose labels would be the same are numbered."""
    found: dict[str, str] = {}
    for name in names:
        text = label(name)
        numbered = (f"{text} ({number})" for number in count(2))
        taken = set(found.values())
        found[name] = next(each for each in chain([text], numbered) if each not in taken)
    return found


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """A text, or a specification, in whose titles names replace `{a}`, `{b}` and `{measure}`.

    Other texts of a specification may be names from users' files.
    """

    def fill(text: str, key: str) -> str:
        return _PLACEHOLDER.sub(lambda found: names.get(found[1], found[0]), text) if key == "title" else text

    return _with_texts(value, fill, "title")


def _drawable(value: Spec) -> Spec:
    """A specification whose texts can be drawn: other characters become escapes or replacement characters."""
    found: Spec = _with_texts(value, lambda text, _: _NOT_DRAWN.sub("\ufffd", printable(text)))
    return found


def _with_texts(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:
    """A specification with other texts, which depend on the keys that they have."""
    if isinstance(value, str):
        return change(value, key)
    if isinstance(value, list):
        return [_with_texts(each, change, key) for each in value]
    if isinstance(value, dict):
        return {name: _with_texts(each, change, name) for name, each in value.items()}
    return value


def load_altair() -> Any:
    """The library that checks specifications and shows them in notebooks, or an error that says how to install it."""
    try:
        import altair
    except ImportError:
        raise missing_extra() from None
    return altair


def missing_extra() -> KaratError:
    """The error if the libraries of plots are not installed."""
    return KaratError("plots need altair and vl-convert", hint='pip install "karat[report]"')
