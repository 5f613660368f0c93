"""Benchmark karat against its peers, then its start (start.py), report (report.py) and growth (growth.py): four tables.

    .venv-bench/bin/python benchmarks/run.py [--small] [--only NAME]

Every time is measured in a new process; tasks.py describes what is included. It is the best of three, or a single run
if that takes more than five seconds. A ratio is printed only if both libraries found the same means to 1e-4 (for
randomization tests, p-values within the expected random error). A full run updates results.md and the table in
README.md; the other tables are only part of a full run.
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
from shutil import which

import growth
import report
import start
from answer_tasks import CONTAINING, FOR_SAS, REWRITTEN
from judge_tasks import AT_ONCE, SECONDS, judged
from markdown import part_of, replace_part, table, verdict
from matching_tasks import CHANGED, CHUNKS, CUT, GOLDS, SAMPLE
from significance_tasks import MORE_PERMUTED, MOST, PERMUTED, SAME, chance
from sizes import FULL, SMALL, Size
from small_tasks import CALLS
from verdict_tasks import CLAIMS, PASSAGES, questions

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
HEAD = ("task", "peer", "karat", "time of peer", "ratio", "target", "reached")
SLOW = 5.0
"""A task that takes more seconds than this is run once."""


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
    """Target: how many times faster than the peer karat should be."""
    below: float | None = None
    """Target: karat should take fewer seconds than this."""
    memory: bool = False
    """Compare peak memory instead of time."""
    within: float = 1e-4
    """The largest accepted difference between the means, or p-values, of both libraries."""
    readme: str = ""
    """The name of this row in README.md, if it is shown there."""

    @property
    def target(self) -> str:
        if self.faster is not None:
            return f"≥ {self.faster:g}×"
        return f"< {self.below:g} s" if self.below is not None else ""


ROWS = (
    Row("pytrec-eval-terrier", "file to scores", "", "pytrec-eval-terrier", faster=15, readme="TREC file to scores"),
    Row("ir-measures", "file to scores", "", "ir-measures", faster=15, readme="TREC file to scores"),
    Row("ranx", "file to scores", "", "ranx", faster=50, readme="TREC file to scores, ranx already compiled"),
    Row("ranx-first", "file to scores, nothing compiled yet", "first", "ranx", faster=50),
    Row("trec", "TREC files to trec_eval's official measures (karat trec)", "trec", "pytrec-eval-terrier", faster=9),
    Row("dict", "dict of dicts to scores", "dict", "pytrec-eval-terrier", faster=5),
    Row("evaluator", "RelevanceEvaluator, 698 × 1,000 documents", "evaluator 1000", "pytrec-eval-terrier", faster=3),
    Row("evaluator-beir", "RelevanceEvaluator, as in BEIR", "evaluator 100", "pytrec-eval-terrier", faster=3),
    Row("two-queries", "two queries in memory, 5 measures", "two-queries 5", "pytrec-eval-terrier", below=0.002),
    Row("two-queries-91", "two queries in memory, 91 measures", "two-queries 91", "pytrec-eval-terrier", below=0.015),
    Row("import", "import", "import", "ranx", below=0.1),
    Row("gzip", "gzip file to scores (peer: gzip -dc to nowhere)", "gzip", "gzip", faster=0.95),
    Row("parquet", "Parquet file to scores (peer: karat, from the TREC file)", "parquet", "TREC", faster=1.5),
    Row("check", "TREC files to findings, karat check (peer: karat evaluate)", "check", "evaluate", faster=0.33),
    Row("memory", "file to scores, peak memory", "", "ranx", memory=True),
    Row("documents", "creating 200,000 documents", "documents", "haystack-ai", faster=10),
    Row(
        "evaluators",
        "five evaluators, 5 gold documents per question",
        "evaluators 5",
        "haystack-ai",
        faster=3,
        readme="five evaluators, 2,000 questions × 100 documents",
    ),
    Row(
        "evaluators-100", "five evaluators, 100 gold documents per question", "evaluators 100", "haystack-ai", faster=10
    ),
    Row("pipeline", "five evaluators, 5 gold documents, both in a pipeline", "pipeline 5", "haystack-ai", faster=3),
    Row("chunk", "chunk matching (peer: nested loops over `in`)", "chunk", "python", faster=2),
    Row(
        "fuzzy",
        "fuzzy matching (peer: nested loops, extrapolated)",
        "fuzzy",
        "rapidfuzz",
        faster=20,
        readme="fuzzy matching of a million pairs, peer extrapolated",
    ),
    Row("json", "JSON mapping of mappings, read and checked (peer: only json.load)", "json", "python", faster=2.5),
    Row("json-answers", "answers from JSON lines (peer: json.loads per line)", "json-answers", "python", faster=2),
    Row("answers", "EM and F1 of answers (peer: SQuAD's script in Python)", "answers", "squad", faster=3),
    Row(
        "verdicts",
        "a million verdicts, from file to all measures of claims (peer: json.loads, one measure)",
        "verdicts",
        "python",
        below=10,
    ),
    Row("judge", "FaithfulnessEvaluator, the model takes 200 ms for each reply", "judge", "haystack-ai", below=6),
    Row("rouge", "ROUGE-L of answers", "rouge", "rouge-score", faster=5),
    Row("sas", "SAS of answers, both with wordllama", "sas", "wordllama"),
    Row(
        "randomization",
        "randomization test, 100,000 permutations",
        PERMUTED,
        "ranx",
        within=chance(PERMUTED, "ranx"),
    ),
    Row(
        "randomization-scipy",
        "randomization test, 100,000 permutations (peer: extrapolated)",
        PERMUTED,
        "scipy",
        within=chance(PERMUTED, "scipy"),
    ),
    Row(
        "randomization-million",
        "randomization test, 1,000,000 permutations (peer: extrapolated)",
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
    rows, problems = {}, []
    for row in ROWS:
        if options.only in (None, row.name):
            rows[row], problem = compare(row, measure)
            problems += [f"{row.name}: {problem}"] if problem else []
    parts = [machine(), workload(size), table(HEAD, list(rows.values()))]
    whole = size is FULL and not options.only
    if whole:
        for part in (start, report, growth):
            text, more = part.measured()
            parts += [part.WORKLOAD, text]
            problems += more
    text = "\n\n".join([*parts, *problems])
    print(text)
    if whole:
        command = "`make bench` (`.venv-bench/bin/python benchmarks/run.py`)"
        results = HERE / "results.md"
        on_spark = part_of(results.read_text("utf-8"), "benchmarks/spark.py")
        results.write_text(f"# Benchmarks\n\nWritten by {command}.\n\n{text}\n\n{on_spark}", "utf-8")
        update_readme(rows)
    return 1 if problems else 0


def update_readme(rows: dict[Row, list[str]]) -> None:
    """Write the rows that README.md shows into its table."""
    lines = ["| | karat | peer | time of peer | ratio |", "| --- | ---: | --- | ---: | ---: |"]
    for row, (_, peer, ours, theirs, ratio, *_) in rows.items():
        if row.readme:
            lines.append(f"| {row.readme} | {ours} | {peer} {version(peer) or ''} | {theirs} | {ratio} |")
    replace_part(README, "benchmarks/run.py", "\n".join(lines))


def compare(row: Row, measure: Callable[[str], Measured | str]) -> tuple[list[str], str]:
    """The cells of a row of the table, and the problem, or an empty text."""
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
        f"{ratio:.{1 if ratio >= 2 else 2}f}×",
        row.target,
        verdict(reached) if row.target else "",
    ], ""


def amount(row: Row, measured: Measured) -> str:
    return f"{measured.peak_mb:,.0f} MB" if row.memory else f"{measured.seconds:.3g} s"


def disagreement(ours: dict[str, float], theirs: dict[str, float], within: float) -> str:
    different = [name for name in ours if not abs(ours[name] - theirs.get(name, float("nan"))) <= within]
    return ", ".join(f"{name} is {ours[name]:.6f} in karat and {theirs.get(name)} in the peer" for name in different)


def installed(peer: str) -> bool:
    # Python and SQuAD's script are written in the tasks, gzip is a program, and karat reads TREC files and evaluates.
    return (
        peer in ("python", "squad", "TREC", "evaluate")
        or (peer == "gzip" and bool(which("gzip")))
        or version(peer) is not None
    )


def version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def best_of(task: str, size: Size) -> Measured | str:
    """The fastest of three processes, or of one if it is slow; a text is an error message."""
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
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise imports would include compiling the sources
    environment["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    if task.endswith(" first"):
        environment["NUMBA_CACHE_DIR"] = empty
    command = [sys.executable, str(HERE / "tasks.py"), task, size.name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        messages = done.stderr.strip().splitlines()
        return messages[-1] if messages else f"status {done.returncode}"
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def machine() -> str:
    peers = ("pytrec-eval-terrier", "ir-measures", "ranx", "haystack-ai", "rapidfuzz", "rouge-score", "wordllama")
    libraries = ("karat-eval", *peers, "numpy", "scipy", "pyarrow", "numba")
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
    megabytes = size.run.stat().st_size / 1e6
    files = (
        f"Files: a TREC run of {size.queries:,} queries × {size.documents:,} documents ({megabytes:,.0f} MB), to AP,"
        f" nDCG@10, RR and R@100. Dicts: {size.dict_queries:,} queries × {size.documents:,} documents, 25 judged"
        " documents per query, the same measures. Two queries of these dicts: the time of a call, over"
        f" {CALLS} calls in one process, with measures of trec_eval."
    )
    evaluators = (
        f"Evaluators: {size.questions:,} questions × 100 retrieved documents of about 200 characters; half of the gold"
        " documents are retrieved. Recall, MAP, MRR, nDCG and exact match. karat's evaluators run in one pipeline."
        " Haystack's run one after the other, which is faster than a pipeline for them, unless the row says otherwise."
    )
    matching = (
        f"Matching: {size.questions:,} questions × {CHUNKS} chunks of about 200 characters × {GOLDS} gold documents of"
        f" 2,000 characters, to R, RR and P@10. {CUT} chunks per question are cut out of its gold documents, and"
        f" {CHANGED} of these have some characters changed. rapidfuzz compares the pairs of {SAMPLE} questions"
        f" (1 in {size.questions // SAMPLE}); its time is multiplied accordingly, and means are compared on these"
        " questions."
    )
    answers = (
        f"Answers: {size.answers:,} pairs of a gold answer of 1 to 10 words and a predicted answer (SAS:"
        f" {size.answers // FOR_SAS:,}). Word frequencies are like those of natural language, and a few words have a"
        f" dash or an apostrophe beyond ASCII. {REWRITTEN}% of the predicted answers differ from the gold answer only"
        f" in case, punctuation or articles, {CONTAINING}% are sentences of 5 to 30 words that contain it, and the rest"
        " are other sentences.\n\n"
        f"Verdicts: {questions(size):,} questions × {CLAIMS} claims × {PASSAGES} passages. Each claim is also labelled"
        " against the gold answer, and a claim of the gold answer against each passage and the answer."
    )
    ideal = judged(size) * SECONDS / AT_ONCE
    judges = (
        f"Judges: FaithfulnessEvaluator on {judged(size):,} answers, with a server that takes {SECONDS:g} s for each"
        f" reply. karat starts with {AT_ONCE} requests at a time, which would take {ideal:g} s, and sends more as long"
        " as the server keeps up. Haystack's evaluator sends one at a time."
    )
    significance = (
        f"Significance: the scores of two systems for {size.queries:,} queries, {SAME}% of them equal, with means that"
        " give p = 0.05. karat's test runs in one thread, without the confidence intervals of karat.compare; ranx uses"
        " all cores; scipy's permutation_test is vectorized. ranx makes at most"
        f" {MOST['ranx']:,} permutations and scipy {MOST['scipy']:,}; their times are multiplied accordingly. Each"
        " library draws its own random signs, so p-values may differ by up to five standard errors:"
        f" {chance(PERMUTED, 'ranx'):.2g} for ranx, {chance(MORE_PERMUTED, 'ranx'):.2g} with 1,000,000 permutations,"
        f" and {chance(PERMUTED, 'scipy'):.2g} for scipy."
    )
    return "\n\n".join([files, evaluators, matching, answers, judges, significance])


if __name__ == "__main__":
    sys.exit(main())
