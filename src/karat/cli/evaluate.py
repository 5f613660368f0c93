"""`karat evaluate`: the scores of one or several runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath
from typing import Annotated

import typer


class Output(StrEnum):
    """The formats of the output."""

    TABLE = "table"
    TSV = "tsv"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    LATEX = "latex"


class Missing(StrEnum):
    """What becomes of a query that the run lacks."""

    ZERO = "zero"
    SKIP = "skip"


class Ties(StrEnum):
    """Who comes first among equals."""

    TREC = "trec"
    INPUT = "input"
    BEST = "best"
    WORST = "worst"


class Duplicates(StrEnum):
    """What becomes of a document that comes twice."""

    ERROR = "error"
    FIRST = "first"


def command(
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="TREC qrels, plain or gzip; - is standard input.")],
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="One or more TREC runs.")],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--measure", metavar="MEASURE", help="A measure, such as nDCG@10 or 'AP(rel=2)'; repeatable."
        ),
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Show every query.")] = False,
    output: Annotated[
        Output | None, typer.Option("--output", help="The format; table, or what the name of FILE says, if not given.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("-o", metavar="FILE", help="Write to a file: .csv, .json, .parquet, .md, .tex, ...")
    ] = None,
    ci: Annotated[bool, typer.Option("--ci", help="Show 95% confidence intervals (bootstrap).")] = False,
    missing: Annotated[
        Missing, typer.Option(help="Score queries that a run lacks 0, or leave them out.")
    ] = Missing.ZERO,
    ties: Annotated[
        Ties, typer.Option(help="The order of equal scores: by id as trec_eval, as given, relevant first or last.")
    ] = Ties.TREC,
    duplicates: Annotated[
        Duplicates, typer.Option(help="A document twice in a query: an error, or keep the one ranked first.")
    ] = Duplicates.ERROR,
    ignore_identical_ids: Annotated[
        bool, typer.Option("--ignore-identical-ids", help="Leave out documents that have the id of their query.")
    ] = False,
    rel: Annotated[
        float | None, typer.Option(metavar="N", help="The grade from which a document is relevant [default: 1].")
    ] = None,
) -> None:
    """Measure how well runs answer a truth; several runs make one table."""
    from karat.cli.output import Request, deliver, refuse
    from karat.cli.progress import progress_bar
    from karat.errors import KaratError
    from karat.evaluate import DEFAULT_MEASURES, chosen_measures, evaluate_runs
    from karat.names import split_names

    if [truth, *runs].count("-") > 1:
        raise KaratError("standard input can be read once", mend="Give - for the truth or for one run.")
    names = [name for text in measures or DEFAULT_MEASURES for name in split_names(text)]
    chosen_measures(names, rel)
    request = Request(output.value if output else None, None if file == "-" else file, per_query, 0.95 if ci else None)
    refuse(request, [truth, *runs])
    with progress_bar() as progress:
        scores = evaluate_runs(
            truth,
            dict(zip(run_names(runs), runs, strict=True)),
            names,
            ties=ties.value,
            missing=missing.value,
            duplicates=duplicates.value,
            ignore_identical_ids=ignore_identical_ids,
            rel=rel,
            progress=progress,
        )
    deliver(scores, request)


def run_names(paths: list[str]) -> list[str]:
    """What to call each run: its file's name, and as much of the path as tells it from the others.

    >>> run_names(["runs/bm25.trec", "runs/dense.trec.gz"]), run_names(["a/run.txt", "b/run.txt"])
    (['bm25', 'dense'], ['a/run', 'b/run'])
    """
    parts = [_short(path).split("/") for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{path} ({at})" if paths.count(path) > 1 else path for at, path in enumerate(paths, 1)]


def _short(path: str) -> str:
    if path == "-":
        return "stdin"
    pure = PurePath(path)
    while pure.suffix.lower() in {".gz", ".trec", ".run", ".txt", ".tsv", ".res", ".out"} and pure.stem:
        pure = pure.with_suffix("")
    return pure.as_posix()
