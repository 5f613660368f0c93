"""Measure the report: how long `karat report` takes, how large the page is, and how fast a browser opens it: one table.

    .venv-bench/bin/python benchmarks/report.py

Every time is the best of three, or a single run if that takes more than five seconds. Without chromium, pages are not
opened. `make bench` writes this table into results.md.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown import table, verdict

SEED = 20_240_601
SIZES = (50, 700, 7_000)
SYSTEMS = ("one", "two", "three")
DEPTH = 100
WORDS = 60
SLOW = 5.0
MOST_SECONDS = 2.0
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HEAD = ("report", "written", "size", "opened", "two charts", "target", "reached")
WORKLOAD = (
    f"Report: `karat report` of {len(SYSTEMS)} systems with {DEPTH} documents per query, default measures, questions of"
    f" 7 words and documents of {WORDS} words, all from files; the whole process, with the chart library in the cache."
    " Opened is the time until the page can be used, in headless chromium; two charts is the time from scrolling to"
    " the charts of differences and of one system against the other, with a mark per query, until both are drawn. The"
    " size includes the chart library (0.9 MB)."
    + ("" if CHROMIUM else " No chromium is installed here (Debian: apt-get install chromium): pages were not opened.")
)


@dataclass(frozen=True)
class Measured:
    written: float
    megabytes: float
    opened: float | None = None
    charts: float | None = None


def measured() -> tuple[str, list[str]]:
    """The table of reports, and its problems."""
    cells, problems = [], []
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        for queries in SIZES:
            print(f"… report, {queries:,} queries", file=sys.stderr)
            what = f"{queries:,} queries × {len(SYSTEMS)} systems"
            outcome = measure(Path(folder), queries, chromium)
            if isinstance(outcome, str):
                problems.append(f"report, {what}: {outcome}")
            else:
                cells.append([what, *cells_of(outcome, 2.4 if queries == SIZES[0] else 10)])
    return table(HEAD, cells), problems


def measure(folder: Path, queries: int, chromium: Any) -> Measured | str:
    """What a report of so many queries takes; a text is an error message."""
    write_files(folder, queries)
    page = folder / "report.html"
    runs = [f"{system}.trec" for system in SYSTEMS]
    texts = ["--queries", "queries.jsonl", "--corpus", "corpus.jsonl"]
    command = [sys.executable, "-m", "karat", "report", "truth.qrels", *runs, *texts, "-o", page.name]
    written: list[float] = []
    # The first report makes the chart library, if it is not in the cache yet.
    for _ in range(4 if queries == SIZES[0] else 3):
        begin = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        written.append(time.perf_counter() - begin)
        if done.returncode:
            return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        if written[-1] > SLOW:
            break
    megabytes = page.stat().st_size / 1e6
    if chromium is None:
        return Measured(min(written), megabytes)
    opened, charts = zip(*(open_page(chromium, page) for _ in range(3)), strict=True)
    return Measured(min(written), megabytes, min(opened), min(charts))


def open_page(chromium: Any, path: Path) -> tuple[float, float]:
    """The seconds until a page is ready, and from there until the two charts with a mark per query are drawn."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    begin = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    ready = time.perf_counter()
    page.locator("figure[data-kind=differences]").scroll_into_view_if_needed()
    for kind in ("differences", "scatter"):
        page.wait_for_selector(f"figure[data-kind={kind}].drawn canvas")
    drawn = time.perf_counter()
    page.close()
    return ready - begin, drawn - ready


@contextmanager
def browser() -> Iterator[Any]:
    """A browser; None if there is none."""
    if CHROMIUM is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def cells_of(outcome: Measured, most_megabytes: float) -> list[str]:
    times = [f"{seconds:.2f} s" if seconds is not None else "" for seconds in (outcome.opened, outcome.charts)]
    is_fast = outcome.opened is None or outcome.opened <= MOST_SECONDS
    goal = f"≤ {most_megabytes:g} MB, opened in ≤ {MOST_SECONDS:g} s"
    size = f"{outcome.megabytes:.2f} MB"
    return [f"{outcome.written:.2f} s", size, *times, goal, verdict(outcome.megabytes <= most_megabytes and is_fast)]


def write_files(folder: Path, queries: int) -> None:
    source = random.Random(SEED)
    vocabulary = ["".join(source.choices("abcdefghijklmnoprstuvwy", k=source.randint(2, 9))) for _ in range(5_000)]
    documents = [f"doc{at:06}" for at in range(10 * queries)]
    judged: list[str] = []
    runs: dict[str, list[str]] = {system: [] for system in SYSTEMS}
    for query in range(queries):
        pool = source.sample(documents, min(2 * DEPTH, len(documents)))
        judged += [f"q{query} 0 {doc} {source.choice((0, 0, 1, 2))}\n" for doc in pool[:15]]
        for at, (system, lines) in enumerate(runs.items()):
            likely = {doc: source.random() + 0.3 * (query % 5 > at) for doc in pool[:15]}
            scored = likely | {doc: source.random() for doc in source.sample(pool[15:], DEPTH - 15)}
            ranked = sorted(scored.items(), key=lambda pair: -pair[1])
            lines += [f"q{query} Q0 {doc} {rank} {score:.6f} {system}\n" for rank, (doc, score) in enumerate(ranked, 1)]
    (folder / "truth.qrels").write_text("".join(judged))
    for system, lines in runs.items():
        (folder / f"{system}.trec").write_text("".join(lines))
    texts = {
        "queries": ((f"q{query}", 7) for query in range(queries)),
        "corpus": ((document, WORDS) for document in documents),
    }
    for name, sizes in texts.items():
        records = ({"_id": each, "text": " ".join(source.choices(vocabulary, k=words))} for each, words in sizes)
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def main() -> int:
    text, problems = measured()
    print("\n\n".join([WORKLOAD, text, *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
