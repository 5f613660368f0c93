"""Plots in notebooks: pictures that are in the notebook, and need no network and no scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair
import pytest
from playwright.sync_api import Browser

from karat import evaluate_runs
from karat.cli import demo_data as demo

CELLS = """
import karat
from karat import demo
systems = karat.evaluate_runs(demo.TRUTH, demo.runs(), ["nDCG@10", "AP"])
---
systems.plot()
---
systems["bm25"].plot("cutoffs")
---
karat.compare(systems, "bm25").plot("scatter").properties(title="Both systems")
---
karat.compare(systems, "bm25")
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each cell of an executed notebook shows in the end, as it is saved; before it, there may be progress."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    path = tmp_path_factory.mktemp("notebook") / "plots.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS.split("---\n")])
    nbclient.NotebookClient(notebook, timeout=120).execute()
    nbformat.write(notebook, path)
    return [dict(cell.outputs[-1].data) for cell in nbformat.read(path, as_version=4).cells[1:]]


def test_a_saved_notebook_shows_plots_without_a_network_and_without_scripts(
    outputs: list[dict[str, Any]], browser: Browser, tmp_path: Path
) -> None:
    requests: list[str] = []
    context = browser.new_context(java_script_enabled=False)
    context.route("**/*", lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    page = context.new_page()
    page.on("request", lambda request: requests.append(request.url))
    shown = tmp_path / "notebook.html"
    shown.write_text("".join(f"<div>{data['text/html']}</div>" for data in outputs), "utf-8")
    page.goto(shown.as_uri())
    images = page.locator("img")
    assert images.count() == 4
    for at in range(4):
        box = images.nth(at).bounding_box()
        assert box is not None
        assert (box["width"] >= 300, box["height"] >= 40) == (True, True)
    assert {url.partition(":")[0] for url in requests} <= {"file", "data"}
    context.close()


def test_a_plot_is_described_and_has_no_script(outputs: list[dict[str, Any]]) -> None:
    assert outputs[0]["text/html"].startswith('<img alt="The mean of each system on nDCG@10, with its 95% confidence')
    for data in outputs:
        assert set(data) == {"text/html", "text/plain"}
        assert "<script" not in data["text/html"]


def test_a_chart_that_altair_makes_of_a_plot_is_shown_by_altair() -> None:
    plot = evaluate_runs(demo.TRUTH, demo.runs(), ["AP"]).plot()
    again = altair.Chart.from_dict(plot.to_dict())
    assert type(again).__module__.startswith("altair.")
    assert again.to_dict() == plot.to_dict()
