"""The pages of the site that are written by hand: docs/, the notebooks, and the pages about the project."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from flowchart import flowchart

ROOT = Path(__file__).resolve().parent.parent
INDEX = "docs/README.md"
_ELSEWHERE = {  # pages outside of docs/, and where they are in the site
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/results.md": "benchmarks.md",
    "src/karat/cli/demo_data/README.md": "demo-data.md",
}
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^\n]*)\n(.*?)^\1\2 *$\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?!https?:|mailto:)([^)\s#]*)(#[^)\s]*)?\)")
_SOURCE = re.compile(r'(src=")(?!https?:|data:)([^"#]*)"')
COLOURS = re.compile("\x1b\\[[0-9;]*m")
_ENTRY = re.compile(r"\[(.*?)\]\((.*?)\)")


class Section(NamedTuple):
    """A part of the navigation: its title, and the titles and places of its pages."""

    title: str
    pages: list[tuple[str, str]]


def pages() -> dict[str, str]:
    """Where each file of the project that is a page of the site is: `docs/judges.md` is `judges.md`."""
    docs = {f"docs/{path.name}": path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    notebooks = {f"examples/{path.name}": f"{path.stem}.md" for path in sorted((ROOT / "examples").glob("*.ipynb"))}
    return {**docs, INDEX: "index.md", **_ELSEWHERE, **notebooks}


def sections() -> Iterator[Section]:
    """The navigation, which is the list in docs/README.md."""
    places = pages()
    for part in (ROOT / INDEX).read_text("utf-8").split("\n### ")[1:]:
        title, _, entries = part.partition("\n")
        yield Section(
            title,
            [(_title(name), places[_target(INDEX, link)]) for name, link in _ENTRY.findall(entries)],
        )


def _title(name: str) -> str:
    """A name as it begins a line; that of the project has no capital letter."""
    return name if name.startswith("karat") else name[0].upper() + name[1:]


def write_pages(folder: Path) -> None:
    """Write each page into a folder, and what it links to that is not a page beside it."""
    places = pages()
    for source, place in places.items():
        text = (ROOT / source).read_text("utf-8")
        if source.endswith(".ipynb"):
            text = notebook_page(json.loads(text))
        (folder / place).write_text(_page(text, source, place, places, folder), "utf-8")


def _page(text: str, source: str, place: str, places: dict[str, str], folder: Path) -> str:
    def place_of(target: str) -> str:
        path = _target(source, target)
        if path not in places:
            _copy(path, folder)
        return os.path.relpath(places.get(path, path), PurePosixPath(place).parent)

    def linked(match: re.Match[str]) -> str:
        label, target, anchor = match.groups()
        return f"{label}({place_of(target)}{anchor or ''})" if target else match[0]

    def prose(part: str) -> str:
        return _SOURCE.sub(lambda match: f'{match[1]}{place_of(match[2])}"', _LINK.sub(linked, part))

    return outside_of_code(text, prose, _code)


def outside_of_code(text: str, prose: Callable[[str], str], code: Callable[[re.Match[str]], str]) -> str:
    """A text whose blocks of code are replaced by one function, and the rest by another."""
    parts, end = [], 0
    for match in _FENCE.finditer(text):
        parts += [prose(text[end : match.start()]), code(match)]
        end = match.end()
    return "".join([*parts, prose(text[end:])])


def _code(match: re.Match[str]) -> str:
    """A block of code as the site's Markdown reads it: only a language behind the fence, and diagrams drawn."""
    indent, fence, about, content = match.groups()
    language = about.split()[0] if about.split() else "text"
    if language == "mermaid":
        return f"{indent}<div>{flowchart(content)}</div>\n"
    return f"{indent}{fence}{language}\n{content}{indent}{fence}\n"


def _target(source: str, link: str) -> str:
    """The file of the project that a link in another file points to."""
    return os.path.normpath(PurePosixPath(source).parent / link.partition("#")[0])


def _copy(path: str, folder: Path) -> None:
    """Put a file that is linked to, such as a picture, into the site, at the place that it has in the project."""
    file = ROOT / path
    if not file.is_file():
        raise FileNotFoundError(f"a page links to {path}, which is not a file of the project")
    copy = folder / path
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(file.read_bytes())


def notebook_page(notebook: dict[str, Any]) -> str:
    """A notebook as a page: texts, code, and what the code showed when it was run."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source:
            parts += [f"```python\n{source}\n```", *map(_output, cell["outputs"])]
    return "\n\n".join([*filter(None, parts), ""])


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in data:
        lines = "".join(data["text/html"]).splitlines()
        return f'<div class="notebook-output">{" ".join(filter(str.strip, lines))}</div>'  # an empty line would end it
    text = COLOURS.sub("", "".join(data.get("text/plain", ""))).rstrip()
    return f"```text\n{text}\n```" if text else ""
