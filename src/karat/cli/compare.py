"""`karat compare`: is one system really better than another?"""

from __future__ import annotations

from typing import Annotated

import typer

from karat.cli import options as opt
from karat.options import Family


def command(
    truth: opt.TruthOrScores,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="The systems: TREC runs, results, or saved scores (.parquet, .json, .csv)."),
    ] = None,
    measures: opt.Measures = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="The run that the others are compared with; without it, each with each."),
    ] = None,
    test: opt.TestName = "randomization",
    correction: opt.CorrectionName = "holm",
    family: Annotated[
        Family, typer.Option(help="Correct over the comparisons of one measure, or over all of them.")
    ] = "measure",
    queries: opt.SameQueries = "same",
    level: opt.Level = 0.95,
    detect: Annotated[
        float | None, typer.Option(metavar="D", help="Say how many queries would show a difference of D.")
    ] = None,
    permutations: Annotated[
        int, typer.Option(metavar="N", help="Random permutations, where an exact test would take too long.")
    ] = 100_000,
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
    """Compare systems query by query: differences with their uncertainty, tests, and a sentence that says it."""
    from dataclasses import asdict

    from karat.cli.output import Request, refuse, refuse_two_inputs, report
    from karat.cli.systems import How, load, named_system
    from karat.comparison import Method, compare_with
    from karat.errors import KaratError

    paths = [truth, *(runs or [])]
    refuse_two_inputs(paths)
    request = Request(output, None if file == "-" else file, scores=False)
    refuse(request, paths)
    method = Method(test, correction, family, queries, level, detect, permutations)
    how = How(measures or (), match, fields or (), missing, ties, duplicates, ignore_identical_ids, rel, saved=True)
    systems = {name: scores.without_evidence() for name, scores in load(paths, how, baseline).items()}
    # The files of the systems, without a truth before them.
    baseline = None if baseline is None else named_system(paths[-len(systems) :], baseline)
    if len(systems) < 2:
        raise KaratError("one system cannot be compared", hint="Name another one: karat compare TRUTH RUN RUN.")
    comparison = compare_with(method, systems, baseline)
    report(
        request,
        [comparison.table()],
        whole=comparison.to_dict(),
        rows=[asdict(row) for row in comparison.rows],
        latex=comparison.to_latex,
    )
