"""What comes from users' files is shown as text, wherever it is shown."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.report import contents
from tests.report.conftest import OpenPage

CASES = {"markup": contents.HOSTILE, "long": "x" * 9_000 + "<b>word</b> " * 90}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_hostile_texts_are_shown_and_nothing_runs(open_page: OpenPage, text: str) -> None:
    page = open_page(contents.hostile(text))
    use_everything(page)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main b, dialog script, dialog img, dialog b").count() == 0
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#query").is_visible()  # its link can be followed


def test_control_and_direction_characters_are_shown_as_escapes(open_page: OpenPage) -> None:
    page = open_page(contents.hostile())
    use_everything(page)
    text = page.inner_text("#query") + page.inner_text("main")
    assert not set(text) & set("\x00\x1b\u202e\u2066\u2028\ud800\ufffd")
    expect(page.locator("#query-heading .id")).to_contain_text(r"\u202egnp.exe\u2066 \x00\x1b[2J\u2028 \ud800 =1+1q")
    expect(page.locator("h1")).to_contain_text(r"\u202egnp.exe\u2066 \x00\x1b[2J\u2028 \ud800 =1+1Questions")


def use_everything(page: Page) -> None:
    page.locator("table.results thead button").nth(1).click()
    page.select_option("#choose-measure", index=1)
    page.select_option("#filter", "better")
    page.select_option("#filter", "all")
    page.select_option("#slice", index=1)
    with page.expect_download():
        page.get_by_role("button", name="Export as CSV").click()
    page.locator("table.queries tbody a").first.click()
    page.locator("#query details summary").first.click()
