"""Measure how long commands take on small files, which is mostly the time to start: one table.

    .venv-bench/bin/python benchmarks/start.py

Every command is run 15 times, all commands in turn, and its best time counts. `make bench` writes this table into
results.md.
"""

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from markdown import table, verdict

SEED = 20_240_601
RUNS = 15
QUERIES, DOCUMENTS = 50, 40
IMPORT_NUMPY = "python -c 'import numpy'"
HEAD = ("start", "time", "× import numpy", "target", "reached")
WORKLOAD = (
    f"Start: commands on files of {QUERIES} queries × {DOCUMENTS} documents (answers: {QUERIES} questions), the whole"
    f" process, the best of {RUNS}. The reference is `{IMPORT_NUMPY}` in the same run."
)


@dataclass(frozen=True)
class Row:
    what: str
    command: tuple[str, ...]
    below: float | None = None
    """Target: fewer seconds than this."""
    times: float | None = None
    """Target: and at most so many times as long as importing NumPy."""


KARAT = ("-m", "karat")
ROWS = (
    Row("python -c pass", ("-c", "pass")),
    Row(IMPORT_NUMPY, ("-c", "import numpy")),
    Row("ir_measures", ("-m", "ir_measures", "truth.qrels", "one.trec", "AP nDCG@10 RR R@100")),
    Row("karat --version", (*KARAT, "--version")),
    Row("karat --help", (*KARAT, "--help")),
    Row("karat evaluate", (*KARAT, "evaluate", "truth.qrels", "one.trec"), 0.3, 2.2),
    Row("karat trec", (*KARAT, "trec", "truth.qrels", "one.trec"), 0.3),
    Row("karat compare, two systems", (*KARAT, "compare", "truth.qrels", "one.trec", "two.trec"), 0.4),
    Row("karat gate, minimum", (*KARAT, "gate", "truth.qrels", "one.trec", "--min", "nDCG@10=0.1"), 0.4),
    Row(
        "karat gate, against a baseline",
        (*KARAT, "gate", "truth.qrels", "two.trec", "--baseline", "one.trec", "--max-drop", "nDCG@10=0.5"),
        0.4,
    ),
    Row("karat diff", (*KARAT, "diff", "truth.qrels", "one.trec", "two.trec")),
    Row("karat answers", (*KARAT, "answers", "gold.json", "predicted.json")),
    Row(
        "karat answers -m ROUGE-L, in Greek",
        (*KARAT, "answers", "gold-greek.json", "predicted-greek.json", "-m", "ROUGE-L"),
    ),
)


def measured() -> tuple[str, list[str]]:
    """The table of the start, and its problems."""
    problems = {}
    best: dict[Row, float] = {}
    rows = [row for row in ROWS if row.command[0] == "-c" or importlib.util.find_spec(row.command[1])]
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        for _ in range(RUNS):
            for row in rows:
                seconds, message = clocked(row, folder)
                best[row] = min(seconds, best.get(row, seconds))
                if message:
                    problems[row.what] = f"{row.what} failed: {message}"
    reference = next(seconds for row, seconds in best.items() if row.what == IMPORT_NUMPY)
    return table(HEAD, [cells_of(row, seconds, reference) for row, seconds in best.items()]), list(problems.values())


def clocked(row: Row, folder: str) -> tuple[float, str]:
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise imports would include compiling the sources
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *row.command], cwd=folder, capture_output=True, text=True, errors="replace", env=environment
    )
    seconds = time.perf_counter() - begin
    return seconds, (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1] if done.returncode else ""


def cells_of(row: Row, seconds: float, reference: float) -> list[str]:
    goals = [f"≤ {row.below:g} s"] if row.below is not None else []
    goals += [f"≤ {row.times:g}×"] if row.times is not None else []
    reached = (row.below is None or seconds <= row.below) and (row.times is None or seconds <= row.times * reference)
    return [
        f"`{row.what}`" if row.command[0] == "-c" else row.what,
        f"{seconds:.3f} s",
        f"{seconds / reference:.1f}×",
        " and ".join(goals),
        verdict(reached) if goals else "",
    ]


def write_files(folder: Path) -> None:
    source = random.Random(SEED)
    judged = [f"q{query} 0 d{document} {source.randrange(3)}\n" for query in range(QUERIES) for document in range(20)]
    (folder / "truth.qrels").write_text("".join(judged))
    for name in ("one", "two"):
        lines = [
            f"q{query} Q0 d{document} 1 {source.random():.6f} {name}\n"
            for query in range(QUERIES)
            for document in source.sample(range(DOCUMENTS), DOCUMENTS)
        ]
        (folder / f"{name}.trec").write_text("".join(lines))
    for ending, word in (("", "gold"), ("-greek", "χρυσός")):
        answers = {f"q{query}": f"the {word} of {source.randrange(9)}" for query in range(QUERIES)}
        (folder / f"gold{ending}.json").write_text(json.dumps(answers), "utf-8")
        answers = {query: f"It is {answer}." for query, answer in answers.items()}
        (folder / f"predicted{ending}.json").write_text(json.dumps(answers), "utf-8")


def main() -> int:
    text, problems = measured()
    print("\n\n".join([WORKLOAD, text, *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
