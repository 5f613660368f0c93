"""The charts of the page, drawn by Vega on canvas."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.report import contents, examples
from tests.report.conftest import OpenPage
from tests.report.test_accessibility import violations


@pytest.fixture(scope="module")
def demo() -> dict[str, Any]:
    return examples.demo_content()


def shown(page: Page, kind: str) -> Page:
    page.locator(f"figure[data-kind={kind}]").scroll_into_view_if_needed()
    page.wait_for_selector(f"figure[data-kind={kind}].drawn canvas", timeout=15_000)
    return page


def test_every_chart_is_drawn_when_it_is_scrolled_into_view(open_page: OpenPage, demo: dict[str, Any]) -> None:
    page = open_page(demo)
    kinds = [figure.get_attribute("data-kind") for figure in page.locator("figure").all()]
    assert sorted(map(str, kinds)) == sorted(demo["charts"])
    assert page.locator("figure.drawn").count() < len(kinds)
    for kind in kinds:
        shown(page, str(kind))
        canvas = page.locator(f"figure[data-kind={kind}] canvas").first
        assert (
            canvas.evaluate(
                "(canvas) => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size"
            )
            > 2
        )
        assert page.locator(f"figure[data-kind={kind}] h3").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert violations(page) == []


def test_charts_of_two_systems_say_how_many_queries_they_leave_out(open_page: OpenPage, demo: dict[str, Any]) -> None:
    values = copy.deepcopy(demo["queries"]["values"])
    values[0][0][:2] = [None, None]
    page = open_page({**demo, "queries": {**demo["queries"], "values": values}})
    for kind in ("differences", "scatter"):
        caption = page.locator(f"figure[data-kind={kind}] figcaption")
        expect(caption).to_contain_text("It is without 2 queries that A or B has no value for.")
    page.select_option("#choose-measure", index=1)
    expect(caption).not_to_contain_text("It is without")


def test_a_point_names_its_query_and_a_click_opens_it(open_page: OpenPage, demo: dict[str, Any]) -> None:
    page = shown(open_page(demo), "differences")
    box = page.locator("figure[data-kind=differences] canvas").bounding_box()
    assert box
    # The rightmost bar is the worst loss, which is also the first row of the table.
    worst = page.locator("table.queries tbody a").first.inner_text()
    for x in range(int(box["width"]) - 8, 0, -4):
        page.mouse.move(box["x"] + x, box["y"] + box["height"] * 0.78)
        if page.locator("#tooltip").is_visible():
            break
    expect(page.locator("#tooltip")).to_contain_text(worst)
    page.mouse.click(box["x"] + x, box["y"] + box["height"] * 0.78)
    expect(page.locator("#query-heading .id")).to_have_text(worst)
    expect(page.locator("#tooltip")).to_be_hidden()


def test_charts_follow_the_measure_the_pair_and_the_colour_scheme(open_page: OpenPage, demo: dict[str, Any]) -> None:
    page = shown(open_page(demo), "scatter")
    canvas = page.locator("figure[data-kind=scatter] canvas")
    pictures = {canvas.evaluate("(canvas) => canvas.toDataURL()")}
    page.select_option("#choose-measure", label="RR")
    page.wait_for_timeout(400)
    pictures.add(canvas.evaluate("(canvas) => canvas.toDataURL()"))
    page.select_option("#choose-a", label="bm25")
    page.wait_for_timeout(400)
    pictures.add(canvas.evaluate("(canvas) => canvas.toDataURL()"))
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(400)
    pictures.add(canvas.evaluate("(canvas) => canvas.toDataURL()"))
    assert len(pictures) == 4
    expect(page.locator("figure[data-kind=scatter] figcaption")).to_contain_text("RR of bm25")


def test_all_charts_are_printed_in_light_colours_also_from_a_dark_page(
    open_page: OpenPage, demo: dict[str, Any]
) -> None:
    page = open_page(demo, dark=True)
    page.wait_for_function("Boolean(window.vegaEmbed)")
    assert page.locator("figure.drawn").count() < len(demo["charts"])
    page.evaluate(
        """() => addEventListener("beforeprint", () => {
            const canvas = document.querySelector("figure[data-kind=differences] canvas");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const colours = new Set();
            for (let at = 0; at < data.length; at += 4) colours.add([...data.slice(at, at + 4)].join());
            window.printed = { drawn: document.querySelectorAll("figure.drawn").length, colours: [...colours] };
        })"""
    )
    page.pdf()
    printed = page.evaluate("window.printed")
    light, dark = "0,103,168,255", "116,189,242,255"  # of bars that are better
    assert printed["drawn"] == len(demo["charts"])
    assert light in printed["colours"]
    assert dark not in printed["colours"]
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--better')") == "#74bdf2"


def test_the_values_of_a_chart_are_a_table_that_follows_the_measure(open_page: OpenPage, demo: dict[str, Any]) -> None:
    page = shown(open_page(demo), "intervals")
    figure = page.locator("figure[data-kind=intervals]")
    figure.get_by_text("Values").click()
    values = demo["charts"]["intervals"]["rows"]
    rows = figure.locator("tbody tr")
    expect(rows).to_have_count(3)
    assert rows.first.locator("td").all_inner_texts()[:3] == ["nDCG@10", "overlap", f"{values['mean'][0]:.4f}"]
    page.select_option("#choose-measure", label="RR")
    expect(rows.first.locator("td").first).to_have_text("RR")
    label = shown(page, "scatter").locator("figure[data-kind=scatter] canvas").get_attribute("aria-label")
    assert label
    assert label.endswith(" worse. The table of queries has the values.")


def test_hostile_names_in_charts_are_texts(open_page: OpenPage) -> None:
    content = examples.hostile_content()
    page = open_page(content)
    for kind in content["charts"]:
        shown(page, kind)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main b").count() == 0


def test_without_charts_the_library_is_not_in_the_page(open_page: OpenPage) -> None:
    page = open_page(contents.small())
    assert page.evaluate("window.vegaEmbed") is None
    assert page.get_by_role("heading", name="Charts").count() == 0


def test_panels_of_the_page_share_their_scale(open_page: OpenPage) -> None:
    content = examples.demo_content(by={"length": "length", "relevant": "relevant"})
    page = open_page(content)
    page.wait_for_function("Boolean(window.vegaEmbed)")
    page.evaluate(
        """() => {
            const draw = window.vegaEmbed;
            window.specs = [];
            window.vegaEmbed = (target, spec, options) => {
                window.specs.push(spec);
                return draw(target, spec, options);
            };
        }"""
    )
    shown(page, "slices")
    specs = page.evaluate("window.specs")
    domains = [spec["layer"][0]["encoding"]["x"]["scale"]["domain"] for spec in specs if "yOffset" in str(spec)]
    rows = content["charts"]["slices"]["rows"]
    of_measure = [at for at, measure in enumerate(rows["measure"]) if measure == "nDCG@10"]
    ends = [min(rows["low"][at] for at in of_measure), max(rows["high"][at] for at in of_measure)]
    assert domains == [ends, ends]
