"""Charts as altair charts, which can be changed, and which a notebook shows as pictures.

altair itself shows a chart by a script from another host: nothing without a network, or where scripts are not run.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from karat.report.plots.chart import Chart
from karat.report.plots.paper import missing_extra, paper_spec
from karat.report.plots.pictures import html_image

if TYPE_CHECKING:
    import altair as alt


def paper_chart(chart: Chart) -> alt.LayerChart | alt.ConcatChart:
    """An altair chart that is as wide as a column of a paper."""
    try:
        import altair  # noqa: F401
    except ImportError:
        raise missing_extra() from None
    spec = paper_spec(chart)
    rows = spec.pop("datasets")  # checking thousands of rows would take minutes
    drawn: alt.LayerChart | alt.ConcatChart = _classes()["concat" if "concat" in spec else "layer"].from_dict(spec)
    drawn.datasets = rows
    return drawn


@cache
def _classes() -> dict[str, Any]:
    """altair's classes of charts, with other pictures in notebooks."""
    import altair

    class LayerChart(altair.LayerChart):
        _repr_mimebundle_ = _mime_bundle

    class ConcatChart(altair.ConcatChart):
        _repr_mimebundle_ = _mime_bundle

    return {"layer": LayerChart, "concat": ConcatChart}


def _mime_bundle(chart: alt.TopLevelMixin, *_: object, **__: object) -> dict[str, str]:
    """What a notebook shows: an image, which needs neither a script nor a network."""
    return {"text/html": html_image(chart.to_dict()), "text/plain": f"<altair.{type(chart).__name__}>"}
