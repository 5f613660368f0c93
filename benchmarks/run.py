"""karat and its peers, side by side: one table of ratios.

    .venv-bench/bin/python benchmarks/run.py [--small] [--only NAME]

Every time is taken in a fresh process (tasks.py says what the clock covers): the best of three, or the only one where
it takes over five seconds, or is scaled to that from a sample. No ratio is printed unless both found the same means,
to 1e-4, or p-values as near to each other as random tests can be held to. A full run is kept in results.md.
"""

import argparse
import functools
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from answer_tasks import CONTAINING, FOR_SAS, REWRITTEN
from matching_tasks import CHANGED, CHUNKS, CUT, GOLDS, SAMPLE
from significance_tasks import MORE_PERMUTED, MOST, PERMUTED, SAME, chance
from sizes import FULL, SMALL, Size

HERE = Path(__file__).resolve().parent
SLOW = 5.0
"""From this many seconds on, once is enough."""


@dataclass(frozen=True)
class Measured:
    seconds: float
    peak_mb: float
    means: dict[str, float]


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    task: str
    peer: str
    faster: float | None = None
    """How many times faster than the peer karat should be."""
    below: float | None = None
    """How many seconds karat should stay below."""
    memory: bool = False
    """Compare the peak of memory, not time."""
    within: float = 1e-4
    """How far apart the means may be that both found, or the p-values."""

    @property
    def target(self) -> str:
        if self.faster is not None:
            return f"≥ {self.faster:g}×"
        return f"< {self.below:g} s" if self.below is not None else ""


ROWS = (
    Row("pytrec-eval-terrier", "file to scores", "", "pytrec-eval-terrier", faster=15),
    Row("ir-measures", "file to scores", "", "ir-measures", faster=15),
    Row("ranx", "file to scores", "", "ranx", faster=50),
    Row("ranx-first", "file to scores, nothing compiled yet", "first", "ranx", faster=50),
    Row("dict", "dict of dicts to scores", "dict", "pytrec-eval-terrier", faster=5),
    Row("import", "import", "import", "ranx", below=0.1),
    Row("memory", "file to scores, peak memory", "", "ranx", memory=True),
    Row("documents", "200,000 documents made", "documents", "haystack-ai", faster=10),
    Row("evaluators", "five evaluators, 5 gold documents a question", "evaluators 5", "haystack-ai", faster=3),
    Row("evaluators-100", "five evaluators, 100 gold documents", "evaluators 100", "haystack-ai", faster=10),
    Row("pipeline", "five evaluators, 5 gold documents, both in a pipeline", "pipeline 5", "haystack-ai", faster=3),
    Row("chunk", "chunk matching (peer: a double loop over in)", "chunk", "python", faster=2),
    Row("fuzzy", "fuzzy matching (peer: a double loop over a sample, scaled)", "fuzzy", "rapidfuzz", faster=20),
    Row("answers", "EM and F1 of answers (peer: SQuAD's definitions in Python)", "answers", "squad", faster=3),
    Row("rouge", "ROUGE-L of answers", "rouge", "rouge-score", faster=5),
    Row("sas", "SAS of answers, both by wordllama", "sas", "wordllama"),
    Row(
        "randomization",
        "randomization test, 100,000 permutations",
        PERMUTED,
        "ranx",
        within=chance(PERMUTED, "ranx"),
    ),
    Row(
        "randomization-scipy",
        "randomization test, 100,000 permutations (peer: scaled)",
        PERMUTED,
        "scipy",
        within=chance(PERMUTED, "scipy"),
    ),
    Row(
        "randomization-million",
        "randomization test, 1,000,000 permutations (peer: scaled)",
        MORE_PERMUTED,
        "ranx",
        below=10,
        within=chance(MORE_PERMUTED, "ranx"),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="200 queries instead of 6,980, for trying out")
    parser.add_argument("--only", metavar="NAME", choices=[row.name for row in ROWS], help="one row of the table")
    options = parser.parse_args()
    size = SMALL if options.small else FULL
    subprocess.run([sys.executable, str(HERE / "data.py"), *(["--small"] if options.small else [])], check=True)

    measure = functools.cache(lambda task: best_of(task, size))
    lines, problems = [], []
    for row in ROWS:
        if options.only in (None, row.name):
            cells, problem = compare(row, measure)
            lines.append(cells)
            problems += [f"{row.name}: {problem}"] if problem else []
    text = "\n\n".join([machine(), workload(size), table(lines), *problems])
    print(text)
    if size is FULL and not options.only:
        command = "`make bench`, which runs `.venv-bench/bin/python benchmarks/run.py`"
        (HERE / "results.md").write_text(f"# karat and its peers\n\nMade by {command}.\n\n{text}\n")
    return 1 if problems else 0


def compare(row: Row, measure: Callable[[str], Measured | str]) -> tuple[list[str], str]:
    """The cells of a row of the table, and what went wrong, if anything did."""
    print(f"… {row.what}, {row.peer}", file=sys.stderr)
    karat = measure(f"karat {row.task}".strip())
    if isinstance(karat, str):
        return [row.what, row.peer, "failed", "", "", row.target, "no"], f"karat failed: {karat}"
    ours = amount(row, karat)
    reached = None if row.below is None else karat.seconds < row.below
    if not installed(row.peer):
        return [row.what, row.peer, ours, "no build for this platform", "", row.target, verdict(reached)], ""
    peer = measure(f"{row.peer} {row.task}".strip())
    if isinstance(peer, str):
        return [row.what, row.peer, ours, "failed", "", row.target, verdict(reached)], f"{row.peer} failed: {peer}"
    if difference := disagreement(karat.means, peer.means, row.within):
        return [row.what, row.peer, ours, amount(row, peer), "they disagree", row.target, "no"], difference
    ratio = peer.peak_mb / karat.peak_mb if row.memory else peer.seconds / karat.seconds
    if row.faster is not None:
        reached = ratio >= row.faster
    return [
        row.what,
        row.peer,
        ours,
        amount(row, peer),
        f"{ratio:.1f}×",
        row.target,
        verdict(reached) if row.target else "",
    ], ""


def amount(row: Row, measured: Measured) -> str:
    return f"{measured.peak_mb:,.0f} MB" if row.memory else f"{measured.seconds:.3g} s"


def verdict(reached: bool | None) -> str:
    return "not measured" if reached is None else "yes" if reached else "no"


def disagreement(ours: dict[str, float], theirs: dict[str, float], within: float) -> str:
    apart = [name for name in ours if not abs(ours[name] - theirs.get(name, float("nan"))) <= within]
    return ", ".join(f"{name} is {ours[name]:.6f} here and {theirs.get(name)} there" for name in apart)


def installed(peer: str) -> bool:
    # A plain loop needs nothing but the language, and neither do SQuAD's definitions.
    return peer in ("python", "squad") or version(peer) is not None


def version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def best_of(task: str, size: Size) -> Measured | str:
    """The fastest of three processes, or of one where it is slow; a text says how it failed."""
    best: Measured | None = None
    for _ in range(3):
        with tempfile.TemporaryDirectory() as empty:
            outcome = in_new_process(task, size, empty)
        if isinstance(outcome, str):
            return outcome
        best = outcome if best is None else min(best, outcome, key=lambda measured: measured.seconds)
        if best.seconds > SLOW:
            break
    assert best is not None
    return best


def in_new_process(task: str, size: Size, empty: str) -> Measured | str:
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else an import would time the compilation of sources
    environment["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    if task.endswith(" first"):
        environment["NUMBA_CACHE_DIR"] = empty
    command = [sys.executable, str(HERE / "tasks.py"), task, size.name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return said[-1] if said else f"status {done.returncode}"
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def machine() -> str:
    peers = ("pytrec-eval-terrier", "ir-measures", "ranx", "haystack-ai", "rapidfuzz", "rouge-score", "wordllama")
    libraries = ("karat", *peers, "numpy", "scipy", "pyarrow", "numba")
    versions = ", ".join(f"{name} {version(name)}" for name in libraries if installed(name))
    system = f"{platform.system()} {platform.machine()}"
    return f"{processor()}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}\n{versions}"


def processor() -> str:
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("Model name"))
    except (OSError, subprocess.CalledProcessError, StopIteration):
        return platform.processor() or "unknown processor"


def workload(size: Size) -> str:
    lines = f"{size.queries:,} queries × {size.documents:,} documents, {size.run.stat().st_size / 1e6:,.0f} MB"
    dicts = f"{size.dict_queries:,} × {size.documents:,}, 25 judged each"
    evaluators = (
        f"{size.questions:,} questions × 100 retrieved documents of about 200 characters, half of the gold documents"
        " among them; recall, MAP, MRR, nDCG and exact match, karat's in one pipeline, the peer's one after the other,"
        " or in a pipeline where the row says so"
    )
    matching = (
        f"{size.questions:,} questions × {CHUNKS} chunks of about 200 characters × {GOLDS} gold documents of 2,000"
        f" characters; {CUT} chunks of a question are cut out of its gold documents, and in {CHANGED} of these some"
        f" characters are changed; R, RR and P@10. rapidfuzz compares the pairs of {SAMPLE} questions, 1 in"
        f" {size.questions // SAMPLE}, its time is multiplied by that, and the means are compared on these questions"
    )
    answers = (
        f"{size.answers:,} pairs (SAS: {size.answers // FOR_SAS:,}) of a gold answer of 1 to 10 words and a predicted"
        " one, of words that are as frequent as in a language, a few with a dash or an apostrophe beyond ASCII;"
        f" {REWRITTEN}% of the predicted answers are the gold one with other case, punctuation or article,"
        f" {CONTAINING}% are sentences of 5 to 30 words around it, the rest other sentences"
    )
    significance = (
        f"the scores of two systems for {size.queries:,} queries, {SAME}% of them the same, with means so far apart"
        " that p is 0.05. karat computes in one thread, and its test is called by itself, without the intervals of"
        " karat.compare; ranx computes on all cores; scipy's permutation_test is vectorized. ranx makes at most"
        f" {MOST['ranx']:,} permutations and scipy {MOST['scipy']:,}, and their time is multiplied to get that of all."
        " Each draws signs of its own, so p-values agree that are no further apart than five standard errors:"
        f" {chance(PERMUTED, 'ranx'):.2g} for ranx, with 1,000,000 permutations {chance(MORE_PERMUTED, 'ranx'):.2g},"
        f" and {chance(PERMUTED, 'scipy'):.2g} for scipy"
    )
    return (
        f"File: {lines}. Dict of dicts: {dicts}. Measures: AP, nDCG@10, RR, R@100.\n\nEvaluators: {evaluators}."
        f"\n\nMatching: {matching}.\n\nAnswers: {answers}.\n\nSignificance: {significance}."
    )


def table(rows: list[list[str]]) -> str:
    """Aligned for a terminal, and Markdown as it is."""
    head = ["what", "against", "karat", "peer", "ratio", "target", "reached"]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (head, rule, *rows)
    )


if __name__ == "__main__":
    sys.exit(main())
