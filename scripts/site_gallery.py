"""The gallery of the site: reports that can be opened, and a plot of each kind, all of the demo's data."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from site_sources import ROOT

sys.path.insert(0, str(ROOT))

from karat.report.plots.kinds import KINDS
from karat.report.rendering import render_page
from tests.report.examples import demo_content, labelled_content, rag_content

_REPORTS = {
    "search": (
        demo_content,
        "report",
        "Three search engines on 50 questions: which is best, and on which questions not.",
    ),
    "rag": (rag_content, "report-query", "Two RAG systems: what each retrieved and answered for a question."),
    "labels": (
        labelled_content,
        "report-labels",
        "Answers with labels by people and a model: which claims are supported.",
    ),
}
_COMMANDS = {
    "": "karat evaluate truth.qrels runs/*.trec",
    "run data": "karat evaluate truth.qrels runs/*.trec",
    "two systems": "karat compare truth.qrels runs/bm25.trec runs/bm25-rm3.trec --baseline bm25",
    "groups of queries": "karat evaluate truth.qrels runs/*.trec --by relevant",
}


def write_reports(folder: Path) -> None:
    """Write the reports of the gallery into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (content, _, _) in _REPORTS.items():
        (folder / f"{name}.html").write_text(render_page(content()), "utf-8")


def gallery_page() -> str:
    """The gallery; what a plot shows is said in docs/plots.md."""
    parts = [
        "# Gallery",
        "Reports and plots of the [demo's data](demo-data.md). Run the commands in its folder: `karat demo` begins with"
        " its path.",
        "## Reports",
        "Click on a picture to open the report. Each is one file, which needs no network.",
    ]
    for name, (_, picture, what) in _REPORTS.items():
        image = f"![Part of a report. {what}](docs/pictures/{picture}.png)"
        parts += [f"**{what}**", f'[{image}](reports/{name}.html){{ target="_blank" }}']
    parts += ["## Plots", "[Plots](plots.md) says more about each."]
    shown = dict(
        re.findall(r"^\| `([\w-]+)` \| (.*?)[;|]", (ROOT / "docs" / "plots.md").read_text("utf-8"), re.MULTILINE)
    )
    for kind, needs in ((kind, each.needs) for kind, each in KINDS.items()):
        what = shown[kind].strip()
        command = f"{_COMMANDS[needs]} --plot {kind}.svg --plot-kind {kind}"
        parts += [f"### {kind}", f"{what[0].upper()}{what[1:]}.", f"![{what}](docs/pictures/plot-{kind}.svg)"]
        parts.append(f"```console\n$ {command}\n```")
    return "\n\n".join([*parts, ""])
