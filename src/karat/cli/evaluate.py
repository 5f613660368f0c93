"""`karat evaluate`: the scores of one or several runs."""

from __future__ import annotations

from typing import Annotated

import typer

from karat.cli import options as opt


def command(
    truth: opt.Truth,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="TREC runs; or more results, to compare.")
    ] = None,
    measures: opt.Measures = None,
    match: opt.Match = "id",
    fields: opt.Fields = None,
    explain: opt.Explain = None,
    per_query: opt.PerQuery = False,
    output: opt.Format = None,
    file: opt.File = None,
    ci: opt.Intervals = False,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Show the least and the greatest score that unjudged documents allow.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP",
            help="Show the scores by group of queries: length, relevant (how many documents are), or a column of a"
            " file, as queries.csv:language.",
        ),
    ] = None,
    texts: Annotated[
        str | None,
        typer.Option(metavar="FILE:COLUMN", help="The texts of the queries, for --by length: queries.jsonl:text."),
    ] = None,
    missing: opt.MissingQueries = "zero",
    ties: opt.TieOrder = "trec",
    duplicates: opt.Repeats = "error",
    ignore_identical_ids: opt.IdenticalIds = False,
    rel: opt.Relevant = None,
) -> None:
    """Measure how well runs answer a truth; several runs make one table. Results may hold answers as well."""
    from karat.cli.bounds import show_bounds
    from karat.cli.output import Request, deliver, refuse, refuse_two_inputs
    from karat.cli.slices import grouping, show_slices
    from karat.cli.systems import How, load
    from karat.errors import KaratError
    from karat.matching.matchers import matcher_of

    paths = [truth, *(runs or [])]
    refuse_two_inputs(paths)
    matcher_of(match)
    target = None if file == "-" else file
    request = Request(output, target, per_query, 0.95 if ci else None, explain, scores=not (bounds or by))
    views = {"--bounds": bounds, "--by": by is not None, "--explain": explain is not None, "--ci": ci and not by}
    asked = [option for option, there in views.items() if there]
    if (bounds or by is not None) and (len(asked) > 1 or (by is not None and per_query)):
        both = " and ".join([*asked, *(["--per-query"] if len(asked) == 1 else [])])
        raise KaratError(f"{both} do not go together", hint="Take one of them.")
    refuse(request, paths)
    how = How(measures or (), match, fields or (), missing, ties, duplicates, ignore_identical_ids, rel)
    if texts is not None and by != "length":
        raise KaratError("--texts are for groups by length", hint="Write --by length, or leave --texts out.")
    group = None if by is None else grouping(by, texts)
    scores = load(paths, how)
    if bounds:
        show_bounds(scores, request)
    elif group is not None:
        show_slices(scores, group, request)
    else:
        deliver(scores, request)
