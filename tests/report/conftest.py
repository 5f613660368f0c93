"""A real browser, and pages that are watched while a test uses them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from karat.report.rendering import render_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium is installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Opens a content as a page; fails if the page asks for anything, or writes to the console."""
    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(5_000)
    requests: list[str] = []
    messages: list[str] = []

    def watch(route: Route) -> None:
        if route.request.url.startswith("file:") and route.request.is_navigation_request():
            route.continue_()
        else:
            requests.append(route.request.url)
            route.abort()

    context.route("**/*", watch)

    def opened(content: dict[str, Any], fragment: str = "", *, width: int = 1280, dark: bool = False) -> Page:
        path = tmp_path / "report.html"
        path.write_text(render_page(content), "utf-8")
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: messages.append(dialog.message))
        page.goto(f"{path.as_uri()}{fragment}")
        page.wait_for_selector("html[data-ready]")
        return page

    yield opened
    context.close()
    assert requests == []
    assert messages == []
