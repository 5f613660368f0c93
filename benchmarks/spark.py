"""Measure karat on Spark against the local engine, on this machine: two tables, and what they mean for a cluster.

    .venv-spark/bin/python benchmarks/spark.py [--small]

Every evaluation runs once, in a new process (spark_tasks.py). Its values, means, intervals and findings have to be
those of the local engine in every bit. A full run takes about ten minutes and writes the tables into results.md and
into docs/beyond-one-machine.md. `make bench` ends with it, and `make bench-spark` runs it alone.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown import replace_part, table
from run import processor, version

HERE = Path(__file__).resolve().parent
TASKS = HERE / "spark_tasks.py"
RESULTS = HERE / "results.md"
PAGE = HERE.parent / "docs" / "beyond-one-machine.md"
SMALL, MIDDLE, LARGE = 698_000, 6_980_000, 69_800_000
ENGINES = (
    (SMALL, "Parquet", ("karat", "local[2]")),
    (MIDDLE, "TREC", ("karat", "local[2]")),
    (MIDDLE, "Parquet", ("karat", "local[1]", "local[2]", "cluster[1]", "cluster[2]")),
    (LARGE, "Parquet", ("karat", "local[1]", "local[2]", "cluster[2]")),
)
NAMES = {
    "karat": "local engine",
    "local[1]": "Spark, 1 thread",
    "local[2]": "Spark, 2 threads",
    "cluster[1]": "Spark, 1 worker",
    "cluster[2]": "Spark, 2 workers",
}
SPEED = ("run", "engine", "start", "evaluation", "rows per second", "driver", "executor", "Python worker")
STAGES = ("run", "engine", "counting", "reading, shuffle", "buckets", "of that Python", "rest", "shuffled", "to Python")
EFFICIENCY = 0.7
CLUSTERS = (16, 64, 256)
SIZES = (100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000)
WORKLOAD = (
    "Spark: runs of 698, 6,980 and 69,800 queries × 1,000 documents, to AP, nDCG@10, RR and R@100, with Spark's default"
    " settings. With threads, everything is in the process of the driver; workers are processes of a standalone cluster"
    " with one core each. Start is a new session until its first job is done. Columns of memory are the peaks of the"
    " driver (its Python and its Java), and of the largest executor and Python worker. All values, means, intervals and"
    " findings are those of the local engine in every bit."
)
ABOUT_STAGES = (
    "Where the time of these evaluations went, from Spark's event log. Counting the rows decides on the number of"
    " buckets. Buckets is the stage that hands the shuffled rows to Python, where the local engine"
    " evaluates them. Rest is everything outside of stages: planning, and putting the scores together. The last"
    " columns are bytes per row of the run."
)


@dataclass(frozen=True)
class Measured:
    rows: int
    file_format: str
    engine: str
    seconds: float
    memory: dict[str, int]
    start: float | None
    stages: dict[str, float] | None

    @property
    def cells(self) -> list[str]:
        return [f"{self.rows / 1e6:.3g} million rows, {self.file_format}", NAMES[self.engine]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="only the smallest run, with every engine, for trying out")
    small: bool = parser.parse_args().small
    measured, problems = measure(((SMALL, "Parquet", tuple(NAMES)),) if small else ENGINES)
    parts = [machine(), WORKLOAD, speed_table(measured), ABOUT_STAGES, stage_table(measured), *problems]
    print("\n\n".join(parts))
    if not small and not problems:
        replace_part(RESULTS, "benchmarks/spark.py", "\n\n".join(parts))
        replace_part(PAGE, "benchmarks/spark.py", on_a_cluster(measured))
    return 1 if problems else 0


def measure(engines: tuple[tuple[int, str, tuple[str, ...]], ...]) -> tuple[list[Measured], list[str]]:
    """What each evaluation took, and the problems."""
    measured: list[Measured] = []
    problems: list[str] = []
    for rows, file_format, names in engines:
        in_new_process("data", rows, file_format)
        expected = None
        for engine in names:
            print(f"… {rows:,} rows, {file_format}, {NAMES[engine]}", file=sys.stderr)
            found = in_new_process(engine, rows, file_format)
            if isinstance(found, str):
                problems.append(f"{rows:,} rows, {file_format}, {NAMES[engine]}: {found}")
                continue
            expected = expected or found["digest"]
            if found["digest"] != expected:
                problems.append(f"{rows:,} rows, {file_format}, {NAMES[engine]}: other values than the local engine")
            stages, start = found.get("stages"), found.get("start")
            measured.append(Measured(rows, file_format, engine, found["seconds"], found["memory"], start, stages))
    return measured, problems


def in_new_process(engine: str, rows: int, file_format: str) -> Any:
    """What a task prints; a text is an error message."""
    command = [sys.executable, str(TASKS), engine, str(rows), file_format]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


def speed_table(measured: list[Measured]) -> str:
    rows = []
    for each in measured:
        start = f"{each.start:.1f} s" if each.start else ""
        memory = [megabytes(each.memory.get(name)) for name in ("driver", "executor", "Python worker")]
        speed = f"{each.rows / each.seconds:,.0f}"
        rows.append([*each.cells, start, f"{each.seconds:.3g} s", speed, *memory])
    return table(SPEED, rows)


def stage_table(measured: list[Measured]) -> str:
    rows = []
    for each in measured:
        if each.stages:
            times = [each.stages[name] for name in ("counting", "scanning", "buckets")]
            times += [each.stages["python"], each.seconds - sum(times)]
            amounts = [f"{each.stages[name] / each.rows:.1f} B" for name in ("shuffled", "sent")]
            rows.append([*each.cells, *(f"{seconds:.1f} s" for seconds in times), *amounts])
    return table(STAGES, rows)


def megabytes(amount: int | None) -> str:
    return "" if amount is None else f"{amount / 1e6:,.0f} MB"


def on_a_cluster(measured: list[Measured]) -> str:
    """The measured speeds, and times on clusters that follow from them on paper."""
    by_size = {(each.rows, each.engine): each for each in measured if each.file_format == "Parquet"}
    small, large = by_size[SMALL, "local[2]"], by_size[LARGE, "local[2]"]
    per_row = 2 * (large.seconds - small.seconds) / (LARGE - SMALL)  # core seconds
    overhead = small.seconds + (small.start or 0)
    local_speed = LARGE / by_size[LARGE, "karat"].seconds
    head = ("rows", "local engine, this machine", *(f"Spark, {cores} cores" for cores in CLUSTERS))
    cells = [
        [f"{size:,}", duration(size / local_speed)]
        + [duration(overhead + size * per_row / (cores * EFFICIENCY)) for cores in CLUSTERS]
        for size in SIZES
    ]
    shown = [each for each in measured if each.rows == LARGE]
    speeds = [[NAMES[each.engine], f"{each.seconds:.3g} s", f"{each.rows / each.seconds:,.0f}"] for each in shown]
    equal = local_speed * per_row / EFFICIENCY
    return "\n\n".join(
        [
            f"70 million rows in Parquet, on a machine with {os.cpu_count()} cores ({processor()}):",
            table(("engine", "time", "rows per second"), speeds),
            f"A row costs Spark {per_row * 1e6:.1f} µs of one core, and an evaluation {overhead:.0f} s before that"
            " (the start of the session, planning, the start of Python). So, on paper:",
            table(head, cells),
            f"Spark is as fast as the local engine on this machine with about {equal:.0f} cores.",
        ]
    )


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


def machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("karat", "pyspark", "numpy", "pyarrow"))
    java = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.partition("\n")[0]
    system = f"{platform.system()} {platform.machine()}"
    command = "`make bench-spark` (`.venv-spark/bin/python benchmarks/spark.py`)"
    return (
        f"Written by {command}, which `make bench` runs at its end.\n\n"
        f"{processor()}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}\n{versions}, {java}"
    )


if __name__ == "__main__":
    sys.exit(main())
