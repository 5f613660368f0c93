"""`karat diff`: which queries changed from one run to another, and what moved in them."""

from __future__ import annotations

from typing import Annotated

import typer

from karat.cli import options as opt


def command(
    truth: opt.TruthOrScores,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN_A RUN_B", help="Two systems: TREC runs, results, or saved scores."),
    ] = None,
    measures: opt.Measures = None,
    query: Annotated[
        str | None, typer.Option(metavar="ID", help="One query in full: every document that moved, and both lists.")
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many queries to show; 0 for all that changed.")] = 10,
    losses: Annotated[bool, typer.Option("--losses", help="Only queries that became worse.")] = False,
    queries: opt.SameQueries = "same",
    match: opt.Match = "id",
    fields: opt.Fields = None,
    output: opt.Format = None,
    file: opt.ReportFile = None,
    missing: opt.MissingQueries = "zero",
    ties: opt.TieOrder = "trec",
    duplicates: opt.Repeats = "error",
    ignore_identical_ids: opt.IdenticalIds = False,
    rel: opt.Relevant = None,
) -> None:
    """Show the queries that changed most from one run to another, worst losses first, and which documents moved."""
    from dataclasses import fields as fields_of

    from karat.analysis.diff import Move, diff
    from karat.cli.output import Request, refuse, refuse_two_inputs, report
    from karat.cli.systems import How, load
    from karat.comparison.alignment import align_systems
    from karat.errors import KaratError

    paths = [truth, *(runs or [])]
    refuse_two_inputs(paths)
    if n < 0:
        raise KaratError(f"-n {n} is no number of queries", hint="Give a whole number; 0 shows all that changed.")
    if query is not None and losses:
        raise KaratError("--query is of one query, and --losses of several", hint="Take one of them.")
    request = Request(output, None if file == "-" else file, scores=False)
    refuse(request, paths)
    how = How(measures or ("nDCG@10",), match, fields or (), missing, ties, duplicates, ignore_identical_ids, rel,
              saved=True)  # fmt: skip
    if len(how.names) > 1:
        raise KaratError("one measure at a time", hint=f"Take -m {how.names[0]} or -m {how.names[1]}.")
    systems = load(paths, how)
    if len(systems) != 2:
        count = "one system has" if len(systems) == 1 else f"{len(systems)} systems have"
        hint = "Name two: karat diff TRUTH RUN_A RUN_B -m nDCG@10."
        raise KaratError(f"{count} no difference to show", hint=hint)
    aligned = align_systems(systems, None, queries)
    (first, before), (second, after) = aligned.systems.items()
    found = diff(before, after, before.measures[0], n or None, (first, second), losses)
    if query is not None:
        change = {"measure": found.measure, "systems": list(found.names), **found[query].to_dict()}
        columns = [field.name for field in fields_of(Move)]
        report(request, found.tables_of(query), whole=change, rows=change["moves"], columns=columns)
    else:
        rows = [
            {"query": change.query, "before": change.before, "after": change.after, "difference": change.difference}
            for change in found.queries
        ]
        columns = ["query", "before", "after", "difference"]
        report(request, [found.table()], whole=found.to_dict(), rows=rows, columns=columns)
