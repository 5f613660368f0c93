"""axe-core finds nothing serious."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from tests.report import contents, examples
from tests.report.conftest import OpenPage

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def rag() -> dict[str, Any]:
    return examples.rag_content()


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 390)], ids=["light", "dark"])
def test_axe_finds_no_violation_on_the_overview_and_in_an_open_query(
    open_page: OpenPage, dark: bool, width: int
) -> None:
    page = open_page(contents.small(), dark=dark, width=width)
    assert violations(page) == []
    page.locator("table.queries tbody a").first.click()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert violations(page) == []


@pytest.mark.parametrize(("dark", "width"), [(False, 390), (True, 1280)], ids=["light", "dark"])
def test_axe_finds_no_violation_on_charts_answers_and_chunks(
    open_page: OpenPage, rag: dict[str, Any], dark: bool, width: int
) -> None:
    page = open_page(rag, dark=dark, width=width)
    page.locator("figure[data-kind=cutoffs]").scroll_into_view_if_needed()
    page.wait_for_selector("figure[data-kind=cutoffs].drawn canvas", timeout=15_000)
    page.locator("figure[data-kind=cutoffs] summary").click()
    assert violations(page) == []
    page.locator("table.queries tbody a").first.click()
    assert violations(page) == []


def test_every_control_is_reached_by_tab_and_shows_that_it_has_the_focus(open_page: OpenPage) -> None:
    page = open_page(contents.small())
    controls = page.evaluate(
        """() => [...document.querySelectorAll(":is(main, header) :is(button, select, input, a, pre, .scroll)")]
            .filter((control) => control.checkVisibility() && !control.disabled)
            .map((control, at) => (control.dataset.control = String(at)))"""
    )
    reached = {}
    for _ in range(len(controls) + 5):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.dataset.control, getComputedStyle(document.activeElement).outlineStyle]"
        )
        reached[name] = outline
    assert set(controls) <= set(reached)
    assert {reached[name] for name in controls} <= {"solid", "auto"}


def violations(page: Page) -> list[str]:
    page.evaluate(AXE)
    found = page.evaluate("axe.run().then((results) => results.violations)")
    return [f"{rule['impact']}: {rule['id']}: {rule['nodes'][0]['html']}" for rule in found]
