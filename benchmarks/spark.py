"""Measure karat on Spark against the local engine, on this machine: three tables, and what they mean for a cluster.

    .venv-spark/bin/python benchmarks/spark.py [--small]

Every evaluation runs once, in a new process (spark_tasks.py). Its values, means, intervals and findings have to be
those of the local engine in every bit. A full run takes about ten minutes and 4 GB of disk, most of which are freed at
its end. It writes the tables into results.md and into docs/beyond-one-machine.md. `make bench` ends with it, and
`make bench-spark` runs it alone.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown import replace_part, table, verdict
from run import processor, version
from sizes import FOLDER

HERE = Path(__file__).resolve().parent
TASKS = HERE / "spark_tasks.py"
RESULTS = HERE / "results.md"
PAGE = HERE.parent / "docs" / "beyond-one-machine.md"
SMALL, MIDDLE, LARGE = 698_000, 6_980_000, 69_800_000
RUNS = (
    (SMALL, "Parquet", ("karat", "local[2]", "frame[2]")),
    (MIDDLE, "TREC", ("karat", "local[2]")),
    (MIDDLE, "Parquet", ("karat", "local[1]", "local[2]", "cluster[1]", "cluster[2]")),
    (LARGE, "TREC", ("karat", "local[2]")),
    (LARGE, "Parquet", ("karat", "local[1]", "local[2]", "cluster[2]", "frame[2]")),
)
NAMES = {
    "karat": "local engine",
    "local[1]": "Spark, 1 thread",
    "local[2]": "Spark, 2 threads",
    "cluster[1]": "Spark, 1 worker",
    "cluster[2]": "Spark, 2 workers",
    "frame[2]": "Spark, 2 threads, DataFrame",
}
TRIAL = ((SMALL, "TREC", ("karat", "local[2]")), (SMALL, "Parquet", tuple(NAMES)))
SPEED = ("run", "engine", "start", "evaluation", "rows per second", "driver", "executor", "Python worker")
STAGES = ("run", "engine", "counting", "shuffle", "judging", "of that Python", "rest", "shuffled", "to Python")
TARGETS = (
    ("Parquet", "local[2]", 2.0),
    ("Parquet", "cluster[2]", 2.0),
    ("TREC", "local[2]", 2.5),
)
"""times that of the local engine with as many threads; the start of the session is not a part of an evaluation"""
MOST_SECONDS, MOST_CORES, MOST_MEMORY = 35, 5, 400_000_000
"""of a DataFrame; that equal the local engine on this machine; of a Python worker"""
EFFICIENCY = 0.7
CLUSTERS = (16, 64, 256)
SIZES = (100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000)
WORKLOAD = (
    "Spark: runs of 698, 6,980 and 69,800 queries × 1,000 documents, to AP, nDCG@10, RR and R@100, with Spark's default"
    " settings. Executors read ranges of the files; a DataFrame is that of a Parquet file, which is grouped by query,"
    " and is cached before the clock starts. With threads, everything is in the process of the driver; workers are"
    " processes of a standalone cluster with one core each. Start is a new session until its first job is done. Columns"
    " of memory are the peaks of the driver (its Python and its Java), and of the largest executor and Python worker."
    " All values, means, intervals and findings are those of the local engine in every bit."
)
ABOUT_STAGES = (
    "Where the time of these evaluations went, from Spark's event log. Judging is the stage in which executors read the"
    " ranges of a file, the partitions of a DataFrame, or rows that were shuffled, and evaluate them in Python. Of"
    " DataFrames, judgments are counted, and the first rows are looked at. Only rows that are not grouped by query are"
    " shuffled, which none of these are. Rest is everything outside of stages: planning,"
    " reading the ground truth on the driver, and putting the scores together. The last columns are bytes per row of"
    " the run."
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
    with large_file_deleted():
        measured, problems = measure(TRIAL if small else RUNS)
    stages = [ABOUT_STAGES, stage_table(measured)]
    parts = [machine(), WORKLOAD, speed_table(measured), target_table(measured), *stages, *problems]
    print("\n\n".join(parts))
    costs = row_costs(measured)
    if costs and not problems:
        replace_part(RESULTS, "benchmarks/spark.py", "\n\n".join(parts))
        replace_part(PAGE, "benchmarks/spark.py", on_a_cluster(measured, costs))
    return 1 if problems else 0


@contextmanager
def large_file_deleted() -> Iterator[None]:
    """Delete the largest text file in the end, if it was not there before: it has 2.5 GB, and is written in seconds."""
    path = FOLDER / f"growth-{LARGE}.trec"
    existed = path.exists()
    try:
        yield
    finally:
        if not existed:
            path.unlink(missing_ok=True)


def measure(runs: tuple[tuple[int, str, tuple[str, ...]], ...]) -> tuple[list[Measured], list[str]]:
    """What each evaluation took, and the problems."""
    measured: list[Measured] = []
    problems: list[str] = []
    for rows, file_format, names in runs:
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
            times = [each.stages[name] for name in ("counting", "shuffle", "judging")]
            times += [each.stages["python"], each.seconds - sum(times)]
            cells = [f"{seconds:.1f} s" if seconds else "" for seconds in times]
            has_rows = each.engine.startswith("frame")
            amounts = [each.stages[name] / each.rows if has_rows else 0 for name in ("shuffled", "sent")]
            rows.append([*each.cells, *cells, *(f"{amount:.1f} B" if amount else "" for amount in amounts)])
    return table(STAGES, rows)


def target_table(measured: list[Measured]) -> str:
    """What was to be reached with the largest run."""
    seconds = {(each.file_format, each.engine): each.seconds for each in measured if each.rows == LARGE}
    rows: list[tuple[str, float | None, float | None, str]] = []
    for file_format, engine, times in TARGETS:
        local = seconds.get((file_format, "karat"))
        what = f"{file_format}, {NAMES[engine]}: at most {times:g}× the local engine"
        rows.append((what, seconds.get((file_format, engine)), None if local is None else times * local, "s"))
    rows.append(("a cached DataFrame, 2 threads", seconds.get(("Parquet", "frame[2]")), MOST_SECONDS, "s"))
    costs = row_costs(measured)
    cores = None if costs is None else costs.equal_cores
    rows.append(("cores that equal the local engine on this machine", cores, MOST_CORES, "cores"))
    worker = max((each.memory.get("Python worker", 0) for each in measured), default=0)
    rows.append(("memory of a Python worker", worker / 1e6, MOST_MEMORY / 1e6, "MB"))
    cells = []
    for what, value, most, unit in rows:
        texts = ["" if number is None else f"{number:.3g} {unit}" for number in (value, most)]
        cells.append([what, *texts, verdict(None if value is None or most is None else value <= most)])
    return table(("69.8 million rows", "measured", "at most", "reached"), cells)


@dataclass(frozen=True)
class RowCosts:
    """What follows from the times of a small and of a large run in Parquet."""

    per_row: float
    """seconds of a core on Spark"""
    per_row_of_frame: float
    overhead: float
    """seconds of an evaluation on Spark before its rows cost anything"""
    local_speed: float
    """rows per second, on this machine"""

    @property
    def equal_cores(self) -> float:
        """How many cores of a cluster are as fast as the local engine on this machine."""
        return self.local_speed * self.per_row / EFFICIENCY


def row_costs(measured: list[Measured]) -> RowCosts | None:
    """None if the runs that it needs were not measured."""
    by_size = {(each.rows, each.engine): each for each in measured if each.file_format == "Parquet"}
    needed = [(size, engine) for size in (SMALL, LARGE) for engine in ("local[2]", "frame[2]")]
    if not {*needed, (LARGE, "karat")} <= set(by_size):
        return None

    def per_row(engine: str) -> float:
        return 2 * (by_size[LARGE, engine].seconds - by_size[SMALL, engine].seconds) / (LARGE - SMALL)

    small = by_size[SMALL, "local[2]"]
    local_speed = LARGE / by_size[LARGE, "karat"].seconds
    return RowCosts(per_row("local[2]"), per_row("frame[2]"), small.seconds + (small.start or 0), local_speed)


def megabytes(amount: int | None) -> str:
    return "" if amount is None else f"{amount / 1e6:,.0f} MB"


def on_a_cluster(measured: list[Measured], costs: RowCosts) -> str:
    """The measured speeds, and times on clusters that follow from them on paper."""
    head = ("rows", "local engine, this machine", *(f"Spark, {cores} cores" for cores in CLUSTERS))
    cells = [
        [f"{size:,}", duration(size / costs.local_speed)]
        + [duration(costs.overhead + size * costs.per_row / (cores * EFFICIENCY)) for cores in CLUSTERS]
        for size in SIZES
    ]
    shown = [each for each in measured if each.rows == LARGE]
    speeds = [
        [each.file_format, NAMES[each.engine], f"{each.seconds:.3g} s", f"{each.rows / each.seconds:,.0f}"]
        for each in shown
    ]
    return "\n\n".join(
        [
            f"70 million rows, on a machine with {os.cpu_count()} cores ({processor()}), without the start of Spark:",
            table(("file", "engine", "time", "rows per second"), speeds),
            f"A row of a Parquet file costs Spark {costs.per_row * 1e6:.2g} µs of one core, a row of a DataFrame"
            f" {costs.per_row_of_frame * 1e6:.2g} µs, and each evaluation {costs.overhead:.0f} s of overhead (the start"
            " of the session, planning, the start of Python). So, on paper, for Parquet files:",
            table(head, cells),
            f"Spark is as fast as the local engine on this machine with about {costs.equal_cores:.0f} cores.",
        ]
    )


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


def machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("karat-eval", "pyspark", "numpy", "pyarrow"))
    java = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.partition("\n")[0]
    system = f"{platform.system()} {platform.machine()}"
    command = "`make bench-spark` (`.venv-spark/bin/python benchmarks/spark.py`)"
    return (
        f"Written by {command}, which `make bench` runs at its end.\n\n"
        f"{processor()}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}\n{versions}, {java}"
    )


if __name__ == "__main__":
    sys.exit(main())
