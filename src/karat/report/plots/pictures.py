"""Charts as pictures: SVG, PNG and PDF files, JSON (the specification in Vega-Lite), and an image for a notebook."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from html import escape
from importlib.util import find_spec
from pathlib import PurePath
from typing import TYPE_CHECKING

from karat.errors import KaratError, enumeration
from karat.output.files import json_text, write_chunks
from karat.report.plots.chart import Chart, Spec
from karat.report.plots.kinds import MAX_PAIRS, Subject, draw
from karat.report.plots.paper import missing_extra, paper_spec
from karat.report.plots.style import PIXELS_PER_INCH

if TYPE_CHECKING:
    from karat.comparison import Comparison

_SUFFIXES = (".svg", ".png", ".pdf", ".json")
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_DOTS_PER_INCH = 300
_POINTS_PER_PIXEL = 72 / PIXELS_PER_INCH
_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The format of a plot, by the name of its file."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in _SUFFIXES:
        what = f"a plot cannot be written as {suffix}" if suffix else "the name of a plot needs a suffix"
        raise KaratError(what, place=os.fspath(path), hint=f"Name a file that ends in {enumeration(_SUFFIXES, 'or')}.")
    return suffix[1:]


def check_installed() -> None:
    """Raise the error that drawing would raise if the library that draws is not installed."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        raise missing_extra() from None


def write_plot(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Write a chart to a file, completely or not at all."""
    form = check_suffix(path)
    spec = {"$schema": _SCHEMA, **paper_spec(chart)}
    write_chunks(path, [json_text(spec).encode(errors="backslashreplace") if form == "json" else picture(spec, form)])


def differences_image(comparison: Comparison) -> str:
    """An image as HTML; empty if there are too many pairs of systems, or if the library that draws is not installed."""
    pairs = comparison.pairs()
    if len(pairs) > MAX_PAIRS or find_spec("vl_convert") is None:
        return ""
    return html_image(paper_spec(draw("differences", Subject(comparison.systems, None, pairs, comparison))))


def html_image(spec: Spec) -> str:
    """A specification drawn as an image in HTML, which is shown wherever a notebook is opened."""
    data = b64encode(picture(spec, "svg")).decode()
    return f'<img alt="{escape(spec.get("description", "a chart"))}" src="data:image/svg+xml;base64,{data}">'


def picture(spec: Spec, form: str) -> bytes:
    """A specification drawn as SVG, PNG or PDF; an inch is an inch."""
    check_installed()
    import vl_convert

    if form == "png":
        return vl_convert.vegalite_to_png(spec, scale=_POINTS_PER_PIXEL, ppi=_DOTS_PER_INCH)
    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg.encode() if form == "svg" else vl_convert.svg_to_pdf(_SIZE.sub(_in_points, svg, count=1))


def _in_points(size: re.Match[str]) -> str:
    """The size of an SVG picture, which becomes a PDF file of as many points as it has pixels."""
    width, height = (_POINTS_PER_PIXEL * int(pixels) for pixels in size.groups())
    return f'width="{width}" height="{height}"'
