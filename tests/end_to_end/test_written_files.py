"""What commands say about the files that they write: one line each, on standard error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from karat.cli import demo_data as demo
from tests.end_to_end.in_process import run_here

RUNS = (demo.TRUTH, demo.HERE / "runs" / "bm25.trec", demo.HERE / "runs" / "bm25-rm3.trec")
WRITTEN: dict[str, tuple[list[str | Path], str]] = {
    "evaluate": (["evaluate", *RUNS, "-o", "out.json"], "out.json: 2 systems, 50 queries, 5 measures"),
    "parquet": (
        ["evaluate", *RUNS[:2], "-m", "AP", "-o", "out.parquet"],
        "out.parquet: 1 system, 50 queries, 1 measure",
    ),
    "compare": (["compare", *RUNS, "-m", "AP", "-o", "out.md"], "out.md: 2 systems, 50 queries, 1 measure"),
    "plot": (
        ["evaluate", *RUNS, "-m", "AP", "--plot", "out.svg"],
        "out.svg: a plot (intervals) of 2 systems, 50 queries, 1 measure",
    ),
    "gate": (["gate", *RUNS[:2], "--min", "AP=0.1", "-o", "out.md"], "out.md: 1 rule"),
    "junit": (["gate", *RUNS[:2], "--min", "AP=0.1", "--junit", "out.xml"], "out.xml: 1 rule"),
    "export": (["verdicts", demo.VERDICTS, "--export", "out.csv"], "out.csv: 2,178 labels"),
    "convert": (["convert", RUNS[1], "-o", "out.csv"], "out.csv: "),
    "diff": (["diff", *RUNS, "-o", "out.md"], "out.md: "),
    "report": (["report", *RUNS, "-o", "out.html"], "out.html: a report, "),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_command_says_what_it_wrote(name: str, tmp_path: Path) -> None:
    words, expected = WRITTEN[name]
    done = run_here(tmp_path, *words)
    lines = [line for line in done.stderr.splitlines() if line.startswith("wrote ")]
    assert done.returncode == 0, done.stderr
    assert len(lines) == 1
    assert lines[0].startswith(f"wrote {expected}")
    assert "wrote" not in done.stdout


@pytest.mark.parametrize("target", ["-", "/dev/stdout", os.devnull])
def test_nothing_is_said_about_standard_output_and_what_is_not_a_file(target: str, tmp_path: Path) -> None:
    done = run_here(tmp_path, "evaluate", *RUNS, "-m", "AP", "--format", "json", "-o", target)
    assert (done.returncode, done.stderr) == (0, "")
