"""The options that correct the labels of a model by those of people: `--correct` and `--width`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.cli.options import in_order, option
from karat.cli.parser import STATISTICS
from karat.errors import require

LEVEL = 0.95
"""the level of corrected intervals"""

correct = option(
    "--correct",
    group=STATISTICS,
    is_flag=True,
    help="Correct values by a model's labels with those of people, who labelled queries that were drawn at random"
    " (`karat verdicts template --sample`).",
)
correction_options = in_order(
    correct,
    option(
        "--width",
        group=STATISTICS,
        type=float,
        metavar="W",
        help="With --correct: show how many queries people have to label for an interval of this width, such as 0.05.",
    ),
)


def check_correction(values: Mapping[str, Any]) -> None:
    """Reject a width without a correction."""
    what = "--width is about corrected intervals"
    require(values["correct"] or values["width"] is None, what, "Add --correct, or leave it out.")
