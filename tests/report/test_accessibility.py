"""axe-core finds nothing serious."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from tests.report import contents
from tests.report.conftest import OpenPage

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")


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


def violations(page: Page) -> list[str]:
    page.evaluate(AXE)
    found = page.evaluate("axe.run().then((results) => results.violations)")
    return [f"{rule['impact']}: {rule['id']}: {rule['nodes'][0]['html']}" for rule in found]
