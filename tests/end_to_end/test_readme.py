"""What the README and the pages under docs/ show is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
KARAT = str(Path(sys.executable).with_name("karat"))


def output_of(*command: str, cwd: Path = ROOT) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd).stdout


def test_the_demo_prints_what_the_readme_shows() -> None:
    (shown,) = re.findall(r"## What it prints\n\n```text\n(.*?)```", README, re.DOTALL)
    assert output_of(KARAT, "demo").startswith(shown)


def test_the_command_prints_the_markdown_that_the_readme_shows() -> None:
    (shown,) = re.findall(r"--output markdown\n(.*?)\$ ", README, re.DOTALL)
    demo = ROOT / "src" / "karat" / "demo"
    runs = sorted(str(path.relative_to(demo)) for path in demo.glob("runs/*.trec"))
    command = (KARAT, "evaluate", "truth.qrels", *runs, "-m", "nDCG@10", "-m", "AP(rel=2)", "--output", "markdown")
    assert output_of(*command, cwd=demo) == shown


each_page = pytest.mark.parametrize(
    "page", [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))], ids=lambda page: page.name
)


@each_page
def test_the_code_on_a_page_runs_and_prints_what_stands_below_it(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", page.read_text("utf-8"), re.DOTALL)
    for code, shown in blocks:
        assert output_of(sys.executable, "-c", code) == shown or not shown


@each_page
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
