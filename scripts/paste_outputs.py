#!/usr/bin/env python3
"""Run the examples of README.md and docs/*.md and paste what they print below them.

- All examples of a page run in one copy of the demo data (``src/karat/cli/demo_data``), with a link to ``docs`` in it.
- The output of a ``python`` block goes into the ``text`` block right below it, if there is one.
- The output of each ``$ command`` of a ``console`` block replaces the lines below the command.
- A block whose first line is ``'''toml karat.toml`` (with backticks) is written to that file in the copy.
- A block whose first line ends with ``not-run`` is left as it is, and so is one whose first line ends with ``spark``:
  ``paste_spark_outputs.py`` runs it, where pyspark is installed. Markdown renderers do not show these words.

Usage::

    python scripts/paste_outputs.py            # update the pages
    python scripts/paste_outputs.py --check    # write nothing; exit 1 if a page is not up to date
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from up_to_date import main

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "src" / "karat" / "cli" / "demo_data"
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))
NOT_RUN = "not-run"
ON_SPARK = "spark"
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```\n(?:(\n```text\n).*?^```\n)?", re.DOTALL | re.MULTILINE)
CHANGE_OUTPUT = ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS")
"""Environment variables that would change what karat prints."""
SHOWN_FOLDER = "site-packages/karat/cli/demo_data"

Done = subprocess.CompletedProcess[str]
Runner = Callable[[str, Path], Done]
"""Runs a command line or Python code in a folder."""


def in_bash(command: str, folder: Path) -> Done:
    """Run a command line, with standard error in the output."""
    return run(["bash", "-c", command], folder, stderr=subprocess.STDOUT)


def in_python(code: str, folder: Path) -> Done:
    return run([sys.executable, "-c", code], folder, stderr=subprocess.PIPE)


def pasted(page: Path, shell: Runner = in_bash, python: Runner = in_python, *, on_spark: bool = False) -> str:
    """The text of a page with the outputs of its examples as they are now: of those on Spark, or of the others."""
    with tempfile.TemporaryDirectory() as folder:
        demo = shutil.copytree(DEMO, Path(folder) / "demo")
        (demo / "docs").symlink_to(ROOT / "docs")
        return BLOCK.sub(lambda block: with_output(block, demo, shell, python, on_spark), page.read_text("utf-8"))


def with_output(block: re.Match[str], demo: Path, shell: Runner, python: Runner, on_spark: bool) -> str:
    language, note, content, text_fence = block.groups()
    if note == NOT_RUN or (language in ("python", "console") and (note == ON_SPARK) != on_spark):
        return block[0]
    if language == "python":
        done = python(content, demo)
        if done.returncode:
            raise RuntimeError(f"an example failed:\n{content}\n{done.stderr}")
        first = f"```python {note}" if note else "```python"
        return f"{first}\n{content}```\n" + (f"{text_fence}{done.stdout}```\n" if text_fence else "")
    if language == "console":
        return block[0].replace(content, with_outputs_of_commands(content, demo, shell), 1)
    if note:
        (demo / note).parent.mkdir(parents=True, exist_ok=True)
        (demo / note).write_text(content, "utf-8")
    return block[0]


def with_outputs_of_commands(content: str, demo: Path, shell: Runner) -> str:
    lines, status = [], 0
    for line in content.splitlines(keepends=True):
        if line.startswith("$ "):
            # `echo $?` shows the exit status of the command before it, as in a shell.
            done = shell(f"(exit {status}); {line[2:]}" if "$?" in line else line[2:], demo)
            status = done.returncode
            if "Traceback" in done.stdout or status == 127:
                raise RuntimeError(f"{line}{done.stdout}")
            lines += [line, done.stdout.replace(str(DEMO), SHOWN_FOLDER)]
    return "".join(lines)


def run(command: list[str], folder: Path, stderr: int) -> Done:
    """Run a command with its output in a pipe, and without colour."""
    environment = {name: value for name, value in os.environ.items() if name not in CHANGE_OUTPUT} | {
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # where the karat command is
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONUNBUFFERED": "1",  # standard output and standard error in the order in which they were written
    }
    return subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        encoding="utf-8",
        cwd=folder,
        env=environment,
    )


if __name__ == "__main__":
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        sys.exit(main(__file__, "Paste the outputs of examples.", zip(PAGES, threads.map(pasted, PAGES), strict=True)))
