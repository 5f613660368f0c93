"""What is in the site: all pages, with all their parts, and no link that leads nowhere."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
from build_site import WITHOUT_SIDEBAR, generate, write_source
from flowchart import flowchart
from markdown_it import MarkdownIt
from public_api import MODULES, public_names
from site_sources import ROOT, pages

from karat import Measure
from karat.measures import definitions
from karat.report.plots.kinds import KINDS
from tests.site.conftest import Site

PARTS = {"h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "tr", "pre", "blockquote", "img"}


class Parts(HTMLParser):
    """The parts of an HTML page: how often each is in the article, the links, what is loaded, and the anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts = Counter[str]()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self._article = not re.search("<article", text)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._article = self._article or tag == "article"
        if tag in PARTS and self._article:
            self.parts[tag] += 1
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if tag in ("script", "img", "iframe", "source") and values.get("src"):
            self.loaded.append(str(values["src"]))
        if tag == "link" and values.get("href"):
            self.loaded.append(str(values["href"]))
        self.anchors |= {str(values[name]) for name in ("id", "name") if values.get(name)}

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._article = False


def html_pages(folder: Path) -> list[Path]:
    return [
        path for path in sorted(folder.rglob("*.html")) if path.parent.name != "reports" and path.name != "404.html"
    ]


def test_every_page_of_the_project_is_in_the_site_and_in_its_navigation(site: Site) -> None:
    first = Parts((site.folder / "index.html").read_text("utf-8"))
    hidden = {"index.md", "demo-data.md", "code-of-conduct.md"}  # linked from other pages only
    for place in pages().values():
        html = place.replace(".md", ".html")
        assert (site.folder / html).is_file()
        assert place in hidden or html in first.links, place


def test_pages_have_the_lists_tables_and_code_that_they_have_on_github(site: Site) -> None:
    read = MarkdownIt("commonmark", {"html": True}).enable("table")
    for path in html_pages(site.folder):
        source = site.pages / f"{path.stem}.md"
        expected = Parts(read.render(source.read_text("utf-8").removeprefix(WITHOUT_SIDEBAR))).parts
        assert Parts(path.read_text("utf-8")).parts == expected, path.name


def test_no_link_leads_nowhere_and_nothing_is_loaded_from_another_host(site: Site) -> None:
    known = {path: Parts(path.read_text("utf-8")) for path in html_pages(site.folder)}
    for path, page in known.items():
        assert [each for each in page.loaded if urlsplit(each).netloc] == []
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.netloc or parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.name}: {link}"
            if parts.fragment and target in known:
                assert unquote(parts.fragment) in {*known[target].anchors, "__skip"}, f"{path.name}: {link}"


@pytest.mark.parametrize("link", ["nowhere.md", "judges.md#nowhere"])
def test_a_dead_link_fails_the_build_with_its_place(link: str, tmp_path: Path) -> None:
    write_source(tmp_path)
    page = tmp_path / "pages" / "index.md"
    page.write_text(f"{page.read_text('utf-8')}\n[a link]({link})\n", "utf-8")
    assert re.search(r"index\.md:\d+", generate(tmp_path))


def test_a_link_to_a_file_that_does_not_exist_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text("[a link](../nowhere.py)\n", "utf-8")
    monkeypatch.setattr("site_sources.ROOT", tmp_path)
    monkeypatch.setattr("site_sources._ELSEWHERE", {})
    with pytest.raises(FileNotFoundError, match=r"a page links to nowhere\.py"):
        write_source(tmp_path / "built")


def test_every_public_name_and_every_measure_is_explained(site: Site) -> None:
    for module in MODULES:
        if module == "karat.measures":
            continue
        page = Parts((site.folder / f"{module.replace('.', '-')}.html").read_text("utf-8"))
        names = {name.name for name in public_names(module) if not isinstance(name.value, ModuleType | Measure | str)}
        assert {f"{module}.{name}" for name in names} <= page.anchors
    for definition in definitions():
        text = (site.pages / f"measures-{definition.takes}.md").read_text("utf-8")
        section = text.partition(f"## {definition.name} {{")[2].partition("\n## ")[0]
        for part in (definition.summary, definition.formula, *definition.parameters, ">>> ", "- range: "):
            assert part in section, definition.name


def test_the_first_page_has_a_way_for_four_readers_and_opens_a_report(site: Site) -> None:
    page = (site.folder / "index.html").read_text("utf-8")
    for reader in ("build a RAG system", "tune a search engine", "run a platform", "do research"):
        assert f"<strong>You {reader}.</strong>" in page
    assert "reports/search.html" in Parts(page).links
    assert "bm25-rm3" in (site.folder / "reports" / "search.html").read_text("utf-8")


def test_the_gallery_has_every_kind_of_plot(site: Site) -> None:
    page = (site.pages / "gallery.md").read_text("utf-8")
    for kind in KINDS:
        assert f"--plot-kind {kind}\n" in page


@pytest.mark.parametrize(
    ("text", "message"),
    [("flowchart TD\n A --> B", "from left to right"), ("flowchart LR\n A{choice} --> B", "not a box"),
     ("flowchart LR\n A -->|a", "not a box")],
)  # fmt: skip
def test_a_diagram_that_cannot_be_drawn_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flowchart(text)


def boxes_of(drawn: str) -> list[tuple[float, float, float, float]]:
    found = re.findall(r'<rect x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)" rx=', drawn)
    return [(float(x), float(y), float(x) + float(width), float(y) + float(height)) for x, y, width, height in found]


def test_boxes_of_the_diagrams_do_not_overlap() -> None:
    diagrams = [
        diagram
        for path in (ROOT / "docs").glob("*.md")
        for diagram in re.findall(r"```mermaid\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    ]
    assert len(diagrams) >= 3
    for diagram in diagrams:
        boxes = boxes_of(flowchart(diagram))
        for number, (left, top, right, bottom) in enumerate(boxes):
            for other in boxes[:number]:
                assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def test_a_diagram_can_be_read_without_seeing_it_and_its_texts_are_no_markup() -> None:
    drawn = flowchart("flowchart LR\n A[what is<br/>read] & B[x<y] -->|so| C([Scores])\n A -. later .-> D")
    assert 'aria-label="what is read, x&lt;y → Scores; what is read → D"' in drawn
    assert ">x&lt;y</text>" in drawn
    assert "x<y" not in drawn
