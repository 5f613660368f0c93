"""The site, built once, and served on this machine to a real browser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from build_site import generate, write_source
from playwright.sync_api import Browser, Page, Route

from tests.report.conftest import browser

__all__ = ["browser"]

OpenPage = Callable[..., Page]


class Site(NamedTuple):
    """The folder of the pages in Markdown, and that of the site."""

    pages: Path
    folder: Path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    home = tmp_path_factory.mktemp("site")
    write_source(home)
    assert generate(home) == ""
    return Site(home / "pages", home / "site")


@pytest.fixture(scope="session")
def address(site: Site) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site.folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[OpenPage]:
    """Opens a page of the site; fails if the page asks another host, or if something is missing or fails in it."""
    context = browser.new_context()
    context.set_default_timeout(10_000)
    wrong: list[str] = []

    def watch(route: Route) -> None:
        if route.request.url.startswith((f"{address}/", "blob:", "data:")):
            route.continue_()
        else:
            wrong.append(route.request.url)
            route.abort()

    context.route("**/*", watch)

    def opened(place: str, *, dark: bool = False, width: int = 1400) -> Page:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("response", lambda reply: wrong.append(f"{reply.status} {reply.url}") if reply.status >= 400 else None)
        page.goto(f"{address}/{place}")
        page.wait_for_selector("article h1")
        return page

    yield opened
    context.close()
    assert wrong == []
