"""The site in a real browser: accessible, searchable, light and dark, and with nothing from another host."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from tests.site.conftest import OpenPage, Site
from tests.site.test_pages import html_pages

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
IN_COLOUR = ["index", "judges", "architecture", "changelog", "3-labels-and-a-judge", "measures-judged", "gallery"]


def violations(page: Page, *, colours: bool = True) -> list[tuple[str, list[str]]]:
    """What axe finds, and up to three places of each. Comparing the colours takes most of its time."""
    page.evaluate(AXE)
    options = {"rules": {"color-contrast": {"enabled": colours}}}
    found = page.evaluate("(options) => axe.run(options).then((results) => results.violations)", options)
    return [(each["id"], [node["target"] for node in each["nodes"]][:3]) for each in found]


@pytest.mark.parametrize("quarter", range(4))  # so that two processes share the pages
def test_axe_finds_no_violation_on_any_page(quarter: int, site: Site, open_page: OpenPage) -> None:
    for path in html_pages(site.folder)[quarter::4]:
        page = open_page(path.name)
        assert violations(page, colours=False) == [], path.name
        page.close()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", IN_COLOUR)
def test_axe_finds_no_violation_in_light_and_dark_colours(name: str, dark: bool, open_page: OpenPage) -> None:
    assert violations(open_page(f"{name}.html", dark=dark)) == []


def test_axe_finds_no_violation_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("index.html", width=390)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_is_wider_than_the_page_can_be_scrolled_with_the_keyboard(open_page: OpenPage) -> None:
    page = open_page("benchmarks.html", width=390)
    box = page.locator(".md-typeset__scrollwrap[tabindex='0']").first
    box.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")


def test_the_search_finds_a_measure_and_opens_it(open_page: OpenPage) -> None:
    page = open_page("index.html")
    page.get_by_role("button", name="Search").first.click()
    page.locator('input[aria-label="Search"][type="text"]').fill("rank-biased precision")
    page.locator("[role=option]").filter(has_text="RBP").first.click()
    page.wait_for_url("**/measures-judged.html*")


def test_the_colours_follow_the_system_and_the_button(open_page: OpenPage) -> None:
    def colour(page: object) -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")  # type: ignore[attr-defined, no-any-return]

    light, dark = open_page("index.html"), open_page("index.html", dark=True)
    assert colour(light) != colour(dark)
    before = colour(light)
    light.locator("label[title='Switch to light mode']").click()
    light.locator("label[title='Switch to dark mode']").click()
    light.wait_for_function(f"getComputedStyle(document.body).backgroundColor != '{before}'")
    assert colour(light) == colour(dark)


def test_the_picture_on_the_first_page_opens_the_report(open_page: OpenPage) -> None:
    page = open_page("index.html")
    with page.context.expect_page() as opened:
        page.locator("article img").first.click()
    opened.value.wait_for_selector("html[data-ready]")
    assert "bm25-rm3 has the best mean" in opened.value.inner_text("body")
