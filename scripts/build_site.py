#!/usr/bin/env python3
"""Build the web site in site/: the pages of docs/ and about the project, and the reference written from karat itself.

Nothing is fetched: neither by this script nor by the pages. A link or an anchor that leads nowhere is an error. Usage::

    python scripts/build_site.py              # write site/
    python scripts/build_site.py FOLDER       # write it elsewhere
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from site_gallery import gallery_page, write_reports
from site_reference import reference_pages
from site_sources import COLOURS, ROOT, Section, sections, write_pages

SETTINGS = ROOT / "docs" / "site"
WITHOUT_SIDEBAR = "---\nhide: [navigation]\n---\n"  # no other page is in the part of the first page


def build(folder: Path) -> int:
    """Write the site into a folder, which it replaces; return the exit status."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        write_source(home)
        if faults := generate(home):
            print(faults, file=sys.stderr)
            return 1
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(home / "site", folder)
    print(f"wrote {folder}: {len(list(folder.rglob('*.html')))} pages")
    return 0


def write_source(home: Path) -> None:
    """Write the pages and the settings of the site into a folder."""
    pages = home / "pages"
    pages.mkdir(parents=True)
    write_pages(pages)
    reference = Section("Reference", [("Gallery", "gallery.md")])
    (pages / "gallery.md").write_text(gallery_page(), "utf-8")
    for title, place, text in reference_pages():
        (pages / place).write_text(text, "utf-8")
        reference.pages.append((title, place))
    write_reports(pages / "reports")
    for name in ("site.css", "site.js"):
        shutil.copy(SETTINGS / name, pages)
    _finish_first_page(pages / "index.md", reference)
    (home / "zensical.toml").write_text(_settings([*sections(), reference]), "utf-8")


def generate(home: Path) -> str:
    """Make the site of the pages in a folder; return what is wrong with them, such as links that lead nowhere."""
    words = [str(Path(sys.executable).parent / "zensical"), "build", "--strict"]
    made = subprocess.run(words, cwd=home, text=True, capture_output=True, check=False)
    return COLOURS.sub("", made.stdout + made.stderr.partition("Traceback")[0]) if made.returncode else ""


def _settings(parts: list[Section]) -> str:
    """The settings with the navigation, in TOML, whose texts and lists are written as in JSON."""
    entries = ['{ "karat" = "index.md" }']
    for section in parts:
        inside = ", ".join(f"{{ {json.dumps(title)} = {json.dumps(place)} }}" for title, place in section.pages)
        entries.append(f"{{ {json.dumps(section.title)} = [{inside}] }}")
    text = (SETTINGS / "zensical.toml").read_text("utf-8")
    return text.replace("nav = []", f"nav = [{', '.join(entries)}]")


def _finish_first_page(page: Path, reference: Section) -> None:
    """What only the site has: the report that the picture opens, and the pages of the reference."""
    text = page.read_text("utf-8")
    start, end = text.index("!["), text.index("\n\n", text.index("!["))
    listed = "\n".join(f"- [{title}]({place})" for title, place in reference.pages)
    picture = f'[{text[start:end]}](reports/search.html){{ target="_blank" }}'
    page.write_text(f"{WITHOUT_SIDEBAR}{text[:start]}{picture}{text[end:]}\n\n### Reference\n\n{listed}\n", "utf-8")


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
