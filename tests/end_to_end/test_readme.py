"""The examples in README.md and docs/ run, and print what is shown below them."""

from __future__ import annotations

import ast
import re
import shlex
from glob import glob
from itertools import chain
from pathlib import Path

import pytest
from paste_outputs import PAGES, ROOT, in_bash, pasted

import karat
from tests.end_to_end.in_process import Done, run_code_here, run_here
from tests.platforms import on_posix
from tests.restored_registry import restored_registry

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page
@on_posix
def test_the_examples_on_a_page_print_what_is_shown_below_them(page: Path) -> None:
    assert page.read_text("utf-8") == pasted(page, shell, python), "run `make docs` to update the outputs"


def shell(command: str, folder: Path) -> Done:
    """Run a command of karat in this process if it needs no shell but for the names of files."""
    if not re.fullmatch(r"karat [^|&;<>$`\\]*", command):
        return in_bash(command, folder)
    words = shlex.split(command, comments=True)[1:]
    files = [sorted(glob(word, root_dir=folder)) or [word] for word in words]
    return run_here(folder, *chain(*files), merged=True)


def python(code: str, folder: Path) -> Done:
    """Run Python code in this process, where more is imported than in a new one: check that it imports what it uses."""
    tree = ast.parse(code)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "karat":
            assert node.attr in karat.__all__ or f"karat.{node.attr}" in imported, f"import karat.{node.attr}"
    with restored_registry():
        return run_code_here(code, folder)


@each_page
def test_links_between_pages_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^):]+)\)", page.read_text("utf-8")):
        path, _, heading = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        assert not heading or heading in headings(linked), target


def headings(page: Path) -> list[str]:
    """The anchors that GitHub gives the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def test_every_page_is_listed_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for page in sorted((ROOT / "docs").glob("*.md")):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 170
