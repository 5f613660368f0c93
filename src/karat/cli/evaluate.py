"""`karat evaluate`: the scores of one or several runs."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated

import typer

from karat.options import Duplicates, Missing, Output, Ties

EXPLAIN = typer.Option(metavar="QUERY", help="Show what stands behind the scores of one query.")
PER_QUERY = typer.Option("--per-query", help="Show every query.")
OUTPUT = typer.Option("--output", help="The format; without it, a table, or what the name of FILE says.")
FILE = typer.Option("-o", metavar="FILE", help="Write to a file: .csv, .json, .md, ... (.parquet holds every query).")
CI = typer.Option("--ci", help="Show 95% confidence intervals (bootstrap).")


def command(
    truth: Annotated[
        str,
        typer.Argument(
            metavar="TRUTH",
            help="TREC qrels; or results of RAG, one JSON object a line, which need no RUN. Plain or gzip; - is"
            " standard input.",
        ),
    ],
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="TREC runs; or more results, to compare.")
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--measure", metavar="MEASURE", help="A measure, such as nDCG@10 or 'AP(rel=2)'; repeatable."
        ),
    ] = None,
    match: Annotated[
        str,
        typer.Option(
            metavar="MATCH",
            help="What counts as a hit: id, content, meta.NAME, prefix, chunk, fuzzy, overlap, with parameters as in"
            " 'fuzzy(threshold=85)' or 'content(normalize=case+space)'.",
        ),
    ] = "id",
    fields: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="NAME=THEIRS", help="What results call a field: retrieved=source_nodes."),
    ] = None,
    explain: Annotated[str | None, EXPLAIN] = None,
    per_query: Annotated[bool, PER_QUERY] = False,
    output: Annotated[Output | None, OUTPUT] = None,
    file: Annotated[str | None, FILE] = None,
    ci: Annotated[bool, CI] = False,
    missing: Annotated[Missing, typer.Option(help="Score queries that a run lacks 0, or leave them out.")] = "zero",
    ties: Annotated[
        Ties, typer.Option(help="The order of equal scores: by id as trec_eval, as given, relevant first or last.")
    ] = "trec",
    duplicates: Annotated[
        Duplicates, typer.Option(help="A document twice in a query: an error, or keep the one ranked first.")
    ] = "error",
    ignore_identical_ids: Annotated[
        bool, typer.Option("--ignore-identical-ids", help="Leave out documents that have the id of their query.")
    ] = False,
    rel: Annotated[
        float | None, typer.Option(metavar="N", help="The grade from which a document is relevant [default: 1].")
    ] = None,
) -> None:
    """Measure how well runs answer a truth; several runs make one table. Results may hold answers as well."""
    from karat.cli.models import noted, with_static_model
    from karat.cli.output import Request, deliver, refuse, refuse_two_inputs
    from karat.errors import KaratError
    from karat.evaluation import DEFAULT_MEASURES, Options, evaluate_results, evaluate_runs
    from karat.matching.choice import matcher_of
    from karat.names import split_names
    from karat.progress import progress_bar
    from karat.sources.pieces import TextSource
    from karat.sources.results import is_results

    paths = [truth, *(runs or [])]
    refuse_two_inputs(paths)
    names, notes = with_static_model([name for text in measures or [] for name in split_names(text)])
    matcher = matcher_of(match)
    request = Request(output, None if file == "-" else file, per_query, 0.95 if ci else None, explain)
    refuse(request, paths)
    options: Options = {
        "ties": ties,
        "missing": missing,
        "duplicates": duplicates,
        "ignore_identical_ids": ignore_identical_ids,
        "match": matcher,
    }
    first = TextSource(truth)
    if is_results(first):
        theirs = fields_named(fields or [])
        sources = [first, *map(TextSource, paths[1:])]
        scores = {
            name: evaluate_results(source, names or None, fields=theirs, rel=rel, name=name, **options)
            for name, source in zip(run_names(paths), sources, strict=True)
        }
    elif not runs:
        raise KaratError(
            "a truth alone cannot be evaluated",
            where=first.name,
            mend="Name a run after it; or give a file of results, one JSON object a line.",
        )
    elif fields:
        raise KaratError("--field is for results, one JSON object a line", where=first.name, mend="Leave it out.")
    else:
        with progress_bar("bytes") as progress:
            by_name = dict(zip(run_names(runs), runs, strict=True))
            options["progress"] = progress
            scores = evaluate_runs(first, by_name, names or DEFAULT_MEASURES, rel=rel, **options)
    deliver(noted(scores, notes), request)


def fields_named(given: list[str]) -> dict[str, str]:
    """What results call their fields, from `retrieved=source_nodes`.

    >>> fields_named(["query=id", "retrieved=response.source_nodes"])
    {'query': 'id', 'retrieved': 'response.source_nodes'}
    """
    from karat.errors import KaratError, shown

    names: dict[str, str] = {}
    for text in given:
        role, equals, name = (part.strip() for part in text.partition("="))
        if not (role and equals and name) or names.get(role, name) != name:
            problem = "twice" if role in names else "is not NAME=THEIRS"
            raise KaratError(f"--field {shown(text)} {problem}", mend="Write --field retrieved=source_nodes.")
        names[role] = name
    return names


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


_KNOWN = {".gz", ".trec", ".run", ".txt", ".tsv", ".csv", ".res", ".out", ".json", ".jsonl", ".ndjson"}


def _short(path: str) -> str:
    if path == "-":
        return "stdin"
    pure = PurePath(path)
    while pure.suffix.lower() in _KNOWN and pure.stem:
        pure = pure.with_suffix("")
    return pure.as_posix()
