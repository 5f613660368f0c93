"""The answer, the table of systems, and how the report was made."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from karat.report.rendering import render_page
from tests.report import contents
from tests.report.conftest import OpenPage


def test_the_answer_comes_first(open_page: OpenPage) -> None:
    page = open_page(contents.small())
    assert page.inner_text("main").splitlines()[2] == contents.small()["answer"][0]


def test_a_click_on_a_heading_sorts_the_systems_and_says_so(open_page: OpenPage) -> None:
    page = open_page(contents.small())
    names = page.locator("table.results tbody th bdi")
    heading = page.locator("table.results thead th", has_text="nDCG@10")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert names.all_inner_texts() == ["dense", "bm25", "overlap"]
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert names.all_inner_texts() == ["overlap", "bm25", "dense"]
    page.get_by_role("button", name="Unjudged top").click()
    assert names.all_inner_texts() == ["bm25", "dense", "overlap"]


def test_without_scripts_answer_table_and_definitions_can_be_read(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_page(contents.small()), "utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    text = page.inner_text("body")
    context.close()
    for expected in (
        "dense is best",
        "0.4120 – 0.5620",
        "DCG@k / ideal DCG@k",
        "The table of queries needs JavaScript",
    ):
        assert expected in text
    assert "Export as CSV" not in text


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("content", [contents.small, contents.hostile, contents.alone])
def test_nothing_is_wider_than_the_window(open_page: OpenPage, content: contents.MakeContent, width: int) -> None:
    page = open_page(content(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("table.queries tbody a").first.click()
    assert page.evaluate("document.querySelector('#query').scrollWidth") <= width


def test_the_page_and_an_open_query_can_be_printed(open_page: OpenPage) -> None:
    page = open_page(contents.small())
    assert page.pdf().startswith(b"%PDF")
    page.locator("table.queries tbody a").first.click()
    page.emulate_media(media="print")
    assert page.locator("main").is_hidden()
    assert page.locator("#query .lists").is_visible()
    assert page.pdf().startswith(b"%PDF")
