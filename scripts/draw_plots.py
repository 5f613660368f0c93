#!/usr/bin/env python3
"""Draw the pictures of ``docs/plots.md``: a plot of each kind, of the demo data.

Where texts are placed depends on the fonts of the machine, so ``make lint`` does not check these pictures.

Usage::

    python scripts/draw_plots.py            # write docs/pictures/plot-*.svg
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from up_to_date import main

from karat import compare, evaluate_runs
from karat.cli import demo_data as demo
from karat.report.plots.kinds import KINDS, Subject, draw
from karat.report.plots.paper import paper_spec
from karat.report.plots.pictures import picture

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def pictures() -> Iterator[tuple[Path, str]]:
    """A picture of each kind of plot."""
    systems = evaluate_runs(demo.TRUTH, demo.runs(), ["nDCG@10", "AP"])
    comparison = compare({name: systems[name] for name in ("bm25", "bm25-rm3")}, "bm25")
    for kind, each in KINDS.items():
        if each.needs == "two systems":
            subject = Subject(comparison.systems, None, comparison.pairs(), comparison)
        else:
            subject = Subject(systems, grouping={"by": "relevant", "bins": 3})
        yield PICTURES / f"plot-{kind}.svg", picture(paper_spec(draw(kind, subject)), "svg").decode()


if __name__ == "__main__":
    sys.exit(main(__file__, "Draw a plot of each kind, of the demo data.", pictures()))
