"""The differences of a comparison as an image, for a notebook."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from karat.report.plots.files import picture
from karat.report.plots.kinds import MAX_PAIRS, Subject, draw
from karat.report.plots.paper import paper_spec

if TYPE_CHECKING:
    from karat.comparison import Comparison


def differences_image(comparison: Comparison) -> str:
    """An image as HTML; empty if there are too many pairs of systems, or if the library that draws is not installed.

    It is a picture and not a chart, so that it is shown beside the table and wherever the notebook is opened.
    """
    pairs = comparison.pairs()
    if len(pairs) > MAX_PAIRS or find_spec("vl_convert") is None:
        return ""
    spec = paper_spec(draw("differences", Subject(comparison.systems, None, pairs, comparison)))
    data = b64encode(picture(spec, "svg")).decode()
    return f'<img alt="{escape(spec["description"])}" src="data:image/svg+xml;base64,{data}">'
