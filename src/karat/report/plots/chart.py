"""Chart: one view as a Vega-Lite specification, and its rows; `paper.py` makes it a figure of a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Columns = Mapping[str, Sequence[Any]]
Spec = dict[str, Any]

DATA = "rows"
"""the name of the data source of a specification"""


@dataclass(frozen=True)
class Chart:
    """A view, and the rows it shows: `rows` is None if the page makes them, for the measure and systems it shows.

    `title` and `about` are its heading and how to read it. In these and in the titles of axes, `{a}`, `{b}` and
    `{measure}` stand for names: `names`, or those of a panel. With `panels`, there is a view for each value of this
    column, with that value as its heading if the titles of the axes do not say it; `across` of them are side by side in
    a paper. `scales` are the columns that the values of an axis come from: panels with values of the same unit have the
    same axis. If `by` is set, a page shows only the rows of one measure.
    """

    title: str
    about: str
    view: Spec
    rows: Columns | None
    by: str | None = None
    panels: str | None = None
    headings: bool = False
    scales: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    across: int = 1
    is_square: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    panel_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    panel_notes: Mapping[str, str] = field(default_factory=dict)
    """what is left out of a panel; a page says so itself"""
    made_by_page: tuple[str, ...] = ()
    """the columns of the rows that the page makes"""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.made_by_page if self.rows is None else tuple(self.rows)

    def has_units(self, channel: str) -> bool:
        """Whether panels are of measures, or of their units, which do not all share an axis."""
        return self.panels == "unit" or self.view["layer"][0]["encoding"][channel]["title"] == "{measure}"

    def with_measures(self, names: Mapping[str, str]) -> Chart:
        """The chart with other names of measures."""

        def renamed(placeholders: Mapping[str, str]) -> dict[str, str]:
            return {key: names.get(name, name) if key == "measure" else name for key, name in placeholders.items()}

        rows = self.rows
        if rows is not None and "measure" in rows:
            rows = {**rows, "measure": [names.get(name, name) for name in rows["measure"]]}
        panels = {panel: renamed(placeholders) for panel, placeholders in self.panel_names.items()}
        return replace(self, rows=rows, names=renamed(self.names), panel_names=panels)

    def for_page(self) -> dict[str, Any]:
        """The chart as the report embeds it: as wide as its container."""
        spec = {**self.view, "data": {"name": DATA}, "width": "container"}
        rows = None if self.rows is None else {name: list(values) for name, values in self.rows.items()}
        about = {"title": self.title, "about": self.about, "spec": spec, "rows": rows, "columns": list(self.columns)}
        panels = None if self.by == self.panels else self.panels
        return {**about, "by": self.by, "panels": panels, "scales": dict(self.scales)}
