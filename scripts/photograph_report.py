#!/usr/bin/env python3
"""Take pictures of reports in a browser: those of the documentation, or all sizes and colour schemes to look at.

Needs chromium, and the packages of the dependency group ``test-report``. Usage::

    python scripts/photograph_report.py             # write the pictures of docs/read-the-report.md
    python scripts/photograph_report.py FOLDER      # write all reports in both widths, light and dark, into a folder
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from karat.report.rendering import render_page  # noqa: E402
from tests.report.examples import demo_content, labelled_content, rag_content  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
REPORTS = {"demo": demo_content, "rag": rag_content, "labelled": labelled_content}
HEIGHTS = {1280: 900, 390: 844}


class Picture(NamedTuple):
    """What is photographed: a report, at a fragment, scrolled to an element."""

    name: str
    report: str
    fragment: str = ""
    scroll_to: str = "body"
    width: int = 1280
    scheme: Literal["light", "dark"] = "light"


OF_THE_DOCS = (
    Picture("report", "demo"),
    Picture("report-charts", "demo", scroll_to="#charts"),
    Picture("report-query", "rag", "#query=q21"),
    Picture("report-chunks", "rag", "#query=q21", "#query section:last-of-type", scheme="dark"),
    Picture("report-labels", "labelled", "#query=q41"),
    Picture("report-phone", "demo", width=390, scheme="dark"),
)


def all_pictures() -> Iterator[Picture]:
    places = {
        "top": ("", "body"),
        "charts": ("", "#charts"),
        "queries": ("", "#queries"),
        "query": ("#query=q21", "body"),
    }
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for report, width, scheme, (place, (fragment, target)) in product(REPORTS, HEIGHTS, schemes, places.items()):
        yield Picture(f"{report}-{width}-{scheme}-{place}", report, fragment, target, width, scheme)


def photograph(browser: Browser, picture: Picture, page_file: Path, folder: Path) -> None:
    """Write a picture of what the window shows."""
    size: Any = {"width": picture.width, "height": HEIGHTS[picture.width]}
    context = browser.new_context(viewport=size, color_scheme=picture.scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{page_file.as_uri()}{picture.fragment}")
    page.wait_for_selector("html[data-ready]")
    page.locator(picture.scroll_to).first.evaluate("(target) => target.scrollIntoView()")
    page.wait_for_timeout(2_000)  # until the charts in view are drawn
    page.screenshot(path=folder / f"{picture.name}.png")
    context.close()


def main(folder: Path | None) -> None:
    """Photograph the reports of the demo."""
    pictures = OF_THE_DOCS if folder is None else tuple(all_pictures())
    target = folder or PICTURES
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        files = {name: Path(temporary, f"{name}.html") for name in REPORTS}
        for name, content in REPORTS.items():
            files[name].write_text(render_page(content()), "utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for picture in pictures:
            photograph(browser, picture, files[picture.report], target)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
