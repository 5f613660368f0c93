"""Measure how karat's time grows with its input: one table with the times for n, 10 n and 100 n.

    .venv-bench/bin/python benchmarks/growth.py [--only NAME]

Every time is measured in a new process (growth_tasks.py). It is the best of three, or a single run if that takes more
than five seconds. A run that takes more than a minute is stopped. `make bench` writes this table into results.md.
"""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from growth_tasks import LIMIT
from markdown import table, verdict

TASKS = Path(__file__).resolve().parent / "growth_tasks.py"
SLOW = 5.0
"""A task that takes more seconds than this is run once."""
TOO_LONG = f"> {LIMIT} s"
STEP = 15.0
"""Target: ten times the input should take at most this many times as long."""
NOISE = 0.02
"""A step to fewer seconds than this says more about the machine than about karat."""
HEAD = ("growth", "n", "time of n", "10 n", "100 n", "largest step", "memory", "target", "reached")


@dataclass(frozen=True)
class Row:
    task: str
    what: str
    sizes: tuple[int, int, int]
    unit: str
    below: float | None = None
    """Target: the largest size should take at most this many seconds."""
    memory: float | None = None
    """Target: and at most this many megabytes."""
    times: tuple[float, str] | None = None
    """Target: and at most so many times as long as another task."""


@dataclass(frozen=True)
class Measured:
    seconds: float
    peak_mb: float


RUN = (70_000, 698_000, 6_980_000)
LARGE = (698_000, 6_980_000, 69_800_000)
PAIRS = (45, 496, 4_950)
"""All pairs of 10, 32 and 100 systems."""
ROWS = (
    Row("grouped", "TREC run", RUN, "lines"),
    Row("trec", "TREC run, `karat trec`", RUN, "lines", times=(1.5, "grouped")),
    Row("convert", "TREC run to Parquet, `karat.convert`", RUN, "lines", memory=1000),
    Row("check", "findings on a TREC run, `karat.check`", RUN, "lines", memory=1_000, times=(3, "grouped")),
    Row("large", "large TREC run", LARGE, "lines", memory=1_000),
    Row("large-parquet", "large run in Parquet", LARGE, "rows", memory=1_000),
    Row("scattered", "TREC run, lines in random order", RUN, "lines", times=(3, "grouped")),
    Row("judgments", "ground truth, 1,000 documents per query", (100_000, 1_000_000, 10_000_000), "lines", 8, 1_200),
    Row("arrow", "Arrow table", RUN, "rows", 0.8),
    Row("pandas", "pandas data frame", RUN, "rows", 0.8),
    Row("dicts", "dict of dicts", (20_000, 200_000, 2_000_000), "documents"),
    Row("evaluator", "RelevanceEvaluator, 100 documents per query", (70, 700, 7_000), "queries"),
    Row("ties", "one query, scores tied in pairs", (10_000, 100_000, 1_000_000), "documents", 4),
    Row("chunks", "chunk matching", (20, 200, 2_000), "questions"),
    Row(
        "fuzzy",
        "fuzzy matching of one pair of texts, a tenth replaced",
        (50_000_000, 500_000_000, 5_000_000_000),
        "character pairs",
        10,
    ),
    Row("answers", "EM and F1", (1_000, 10_000, 100_000), "answers"),
    Row(
        "verdicts",
        "verdict file to all measures of claims, 121 labels each",
        (100, 1_000, 10_000),
        "questions",
        10,
        250,
    ),
    Row("replayed", "correctness by a judge, replayed", (1_000, 10_000, 100_000), "questions", memory=200),
    Row("intervals", "intervals of five measures", (10_000, 100_000, 1_000_000), "queries", 10),
    Row("bounds", "bounds of AP, 1,000 documents per query", RUN, "lines", 10),
    Row("bounds-one", "bounds of AP, one query", (100, 1_000, 10_000), "documents"),
    Row("systems", "comparison of all pairs of systems, 50 queries", PAIRS, "pairs", 5),
    Row("wilcoxon", "the same, 12 queries with ties, Wilcoxon", PAIRS, "pairs", 10),
    Row("queries", "comparison of two systems", (1_000, 10_000, 100_000), "queries"),
    Row("json", "loading saved scores, JSON", (3_000, 30_000, 300_000), "queries"),
    Row("csv", "loading saved scores, CSV", (3_000, 30_000, 300_000), "queries"),
    Row("parquet", "loading saved scores, Parquet", (3_000, 30_000, 300_000), "queries"),
    Row("names", "the name `AP(,,,…)`, refused", (200, 2_000, 20_000), "commas"),
)
WORKLOAD = (
    "Growth: the same work for n, 10 n and 100 n, after the import. The largest step is the largest ratio of two"
    f" neighbouring times, without steps to less than {NOISE:g} s; the target of every row is that no step is above"
    f" {STEP:g}×. Memory is the peak of the whole process with the largest input. For fuzzy matching, n is the product"
    " of the lengths of both texts; for comparisons, it is the number of pairs, up to 4,950 pairs of 100 systems."
)


def measured(only: str | None = None) -> tuple[str, list[str]]:
    """The table of growth, and its problems."""
    outcomes: dict[str, list[Measured | str]] = {}
    cells = []
    for row in ROWS:
        if only in (None, row.task):
            print(f"… growth, {row.what}", file=sys.stderr)
            outcomes[row.task] = list(times_of(row))
            cells.append(cells_of(row, outcomes))
    problems = [f"growth, {task}: {time}" for task, times in outcomes.items() for time in times if failed(time)]
    return table(HEAD, cells), problems


def times_of(row: Row) -> Iterable[Measured | str]:
    """The time of each size; a text says why there is none."""
    outcome: Measured | str | None = None
    for size in row.sizes:
        outcome = "not tried" if isinstance(outcome, str) else best_of(row.task, size)
        yield outcome


def best_of(task: str, size: int) -> Measured | str:
    best: Measured | None = None
    for _ in range(3):
        command = [sys.executable, str(TASKS), task, str(size)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == -signal.SIGALRM:
            return TOO_LONG
        if done.returncode:
            return f"failed: {(done.stderr.strip().splitlines() or [f'status {done.returncode}'])[-1]}"
        outcome = Measured(**json.loads(done.stdout.splitlines()[-1]))
        best = outcome if best is None else min(best, outcome, key=lambda one: one.seconds)
        if best.seconds > SLOW:
            break
    assert best is not None
    return best


def failed(time: Measured | str) -> bool:
    return isinstance(time, str) and time.startswith("failed")


def cells_of(row: Row, outcomes: Mapping[str, list[Measured | str]]) -> list[str]:
    times = outcomes[row.task]
    last = times[-1]
    steps = [
        large.seconds / small.seconds
        for small, large in pairwise(times)
        if isinstance(small, Measured) and isinstance(large, Measured) and large.seconds > NOISE
    ]
    goals, reached = targets(row, outcomes)
    return [
        row.what,
        f"{row.sizes[0]:,} {row.unit}",
        *(time if isinstance(time, str) else f"{time.seconds:.3g} s" for time in times),
        f"{max(steps):.1f}×" if steps else "",
        f"{last.peak_mb:,.0f} MB" if isinstance(last, Measured) else "",
        " and ".join(goals),
        verdict(all(reached) and max(steps, default=0) <= STEP and isinstance(last, Measured)),
    ]


def targets(row: Row, outcomes: Mapping[str, list[Measured | str]]) -> tuple[list[str], list[bool]]:
    """The targets of a row beside the steps, and whether each was reached."""
    last = outcomes[row.task][-1]
    goals, reached = [], []
    if row.below is not None:
        goals.append(f"≤ {row.below:g} s")
        reached.append(isinstance(last, Measured) and last.seconds <= row.below)
    if row.memory is not None:
        goals.append(f"≤ {row.memory:,} MB")
        reached.append(isinstance(last, Measured) and last.peak_mb <= row.memory)
    if row.times is not None and row.times[1] in outcomes:
        other = outcomes[row.times[1]][-1]
        goals.append(f"≤ {row.times[0]:g} × the {row.times[1]} run")
        reached.append(
            isinstance(last, Measured) and isinstance(other, Measured) and last.seconds <= row.times[0] * other.seconds
        )
    return goals, reached


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", metavar="NAME", choices=[row.task for row in ROWS], help="one row of the table")
    text, problems = measured(parser.parse_args().only)
    print("\n\n".join([WORKLOAD, text, *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
