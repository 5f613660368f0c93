"""Plots as files: SVG, PNG and PDF for papers, and JSON, which is the specification of the chart in Vega-Lite."""

from __future__ import annotations

import os
from io import BytesIO, StringIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from karat.errors import KaratError, enumeration
from karat.output.files import write_chunks
from karat.plots.style import PIXELS_PER_INCH

if TYPE_CHECKING:
    import altair as alt

SUFFIXES = (".svg", ".png", ".pdf", ".json")
_DOTS_PER_INCH = 300
_POINTS_PER_PIXEL = 72 / PIXELS_PER_INCH
"""vl-convert takes a pixel of PNG and PDF files for a point"""


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The format of a plot, by the name of its file."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in SUFFIXES:
        what = f"a plot cannot be written as {suffix}" if suffix else "the name of a plot needs a suffix"
        raise KaratError(what, where=os.fspath(path), hint=f"Name a file that ends in {enumeration(SUFFIXES, 'or')}.")
    return suffix[1:]


def write_plot(chart: alt.LayerChart | alt.ConcatChart, path: str | os.PathLike[str]) -> None:
    """Write a chart to a file, completely or not at all."""
    form: Any = check_suffix(path)
    options: dict[str, Any] = {"scale_factor": _POINTS_PER_PIXEL} if form in ("png", "pdf") else {}
    if form == "png":
        options["ppi"] = _DOTS_PER_INCH
    data = BytesIO() if form in ("png", "pdf") else StringIO()
    chart.save(data, format=form, **options)
    content = data.getvalue()
    write_chunks(path, [content if isinstance(content, bytes) else content.encode()])
