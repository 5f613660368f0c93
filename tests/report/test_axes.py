"""The axes of charts: at least two ticks whose labels differ and say where they are, whatever the values are."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from playwright.sync_api import expect

import karat.report
from karat import Scores, compare
from karat.report import report_content
from karat.report.plots.axes import axis_domain
from karat.report.plots.chart import Chart
from karat.report.plots.charts import intervals
from karat.report.plots.paper import paper_spec
from karat.report.plots.pictures import picture
from karat.report.plots.rows import columns_of
from tests.report.conftest import OpenPage

SVG = "{http://www.w3.org/2000/svg}"
FINITE = st.floats(-1e9, 1e9, allow_subnormal=False)


def chart_of(means: list[float]) -> Chart:
    """The means of systems, without intervals."""
    rows = [("AP", f"s{at}", mean, None, None) for at, mean in enumerate(means)]
    return intervals(columns_of(("measure", "system", "mean", "low", "high"), rows), 0.95)


def ticks(chart: Chart) -> list[tuple[float, str]]:
    """The places of the ticks of the horizontal axis in pixels, and their labels."""
    root = ElementTree.fromstring(picture(paper_spec(chart), "svg"))
    axes = [group for group in root.iter(f"{SVG}g") if "X-axis" in group.get("aria-label", "")]
    found = []
    for group in axes[0].iter(f"{SVG}g"):
        if "role-axis-label" in group.get("class", ""):
            for text in group.iter(f"{SVG}text"):
                place = re.search(r"translate\(([-\d.e]+)", text.get("transform", ""))
                assert place is not None
                found.append((float(place[1]), text.text or ""))
    return sorted(found)


def number(label: str) -> float:
    return float(label.replace("−", "-").replace(",", ""))


@given(st.lists(st.one_of(FINITE, st.floats(0, 1), st.just(math.nan)), min_size=1, max_size=4))
@example([0.25])
@example([0.0])
@example([1.0, 1.0])
@example([math.nan])
@example([0.25, 0.25 + 1e-15])
@example([0.25, 0.2500001])
@example([300.0])
@example([0.0, 5e-324])
@example([600440966.0, -771322028.0])
@example([-5.0, -5.0])
@example([1e9, 1e9 + 1e-6])
@settings(max_examples=40, deadline=None)
def test_an_axis_has_at_least_two_ticks_with_different_labels_each_where_it_says(means: list[float]) -> None:
    labelled = ticks(chart_of(means))
    values = [number(label) for _, label in labelled]
    assert len(values) >= 2
    assert all(one < other for one, other in pairwise(values))
    per_pixel = (values[-1] - values[0]) / (labelled[-1][0] - labelled[0][0])
    step = (values[-1] - values[0]) / (len(values) - 1)
    for (place, _), value in zip(labelled, values, strict=True):
        assert value == pytest.approx(values[0] + per_pixel * (place - labelled[0][0]), abs=step / 10)


@given(st.lists(FINITE, max_size=5), st.booleans(), st.booleans())
def test_a_domain_contains_its_values_and_is_never_a_single_one(
    values: list[float], with_zero: bool, signed: bool
) -> None:
    low, high = axis_domain(values, with_zero=with_zero, signed=signed)
    assert low < high
    assert all(low <= value <= high for value in values)
    assert not with_zero or low <= 0 <= high


def test_the_page_decides_on_domains_as_plots_do(open_page: OpenPage) -> None:
    chance = np.random.default_rng(5)
    cases = [
        ([], True, False), ([0.25], False, False), ([1.0], False, False), ([0.0], True, True), ([-3.0], False, True),
        ([0.5, 0.5 + 1e-9], False, False), ([300.0, 300.0], False, False), ([-0.2, -0.2], False, False),
        ([0.0, 5e-324], False, False),
        *((chance.normal(size=3).tolist(), bool(at % 2), bool(at % 3)) for at in range(30)),
    ]  # fmt: skip
    source = (Path(karat.report.__file__).parent / "page" / "axes.js").read_text("utf-8")
    page = open_page(report_content(Scores(("q",), {"AP": np.array([0.25])})))
    found = page.evaluate(
        f"(cases) => {{ {source}; return cases.map(([values, zero, signed]) => axisDomain(values, zero, signed)); }}",
        [list(case) for case in cases],
    )
    assert found == [axis_domain(values, with_zero=zero, signed=signed) for values, zero, signed in cases]


@pytest.mark.parametrize("value", [0.0, 0.25, 1.0, math.nan])
def test_charts_of_systems_that_are_all_the_same_are_drawn(open_page: OpenPage, value: float) -> None:
    scores = Scores(tuple("abcde"), {"AP": np.full(5, value)})
    page = open_page(report_content({"one": scores, "two": scores}))
    for kind in ("differences", "scatter", "intervals"):
        figure = page.locator(f"figure[data-kind={kind}]")
        figure.scroll_into_view_if_needed()
        if math.isnan(value) and kind != "intervals":
            expect(figure).to_contain_text("No query has a value for both systems on AP.")
        else:
            expect(figure.locator("canvas")).to_be_visible()


def test_a_plot_of_differences_that_are_all_0_has_0_in_its_middle() -> None:
    scores = Scores(tuple("abcde"), {"AP": np.full(5, 0.25)})
    svg = picture(compare({"one": scores, "two": scores}).plot().to_dict(), "svg").decode()
    labels = re.findall(r">(−?[\d.]+)</text>", svg)
    assert labels == ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
