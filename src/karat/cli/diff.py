"""`karat diff`: which queries changed from one run to another, and which documents moved."""

from __future__ import annotations

from typing import Any

import click

from karat.cli import options as opt
from karat.cli.parser import Command


@click.command("diff", cls=Command)
@opt.truth_or_system
@opt.file_argument(
    "runs",
    "RUN...",
    "Two systems: runs, results, or saved scores. runs.json:bm25 is one of several in a file.",
    several=True,
)
@opt.measures
@click.option(
    "--query", metavar="QUERY", help="Show one query in full: every document that moved, and both result lists."
)
@click.option(
    "-n", default=10, metavar="N", show_default=True, help="Number of queries to show; 0 shows all that changed."
)
@click.option("--losses", is_flag=True, help="Show only queries that got worse.")
@opt.common_queries
@opt.queries
@opt.corpus
@opt.force
@opt.digits
@opt.lower_is_better
@opt.plot_options("differences")
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
@opt.verdict_options
@opt.fields
@opt.input_options
@opt.evaluation_options
def command(
    truth: str, runs: tuple[str, ...], query: str | None, n: int, losses: bool, common_queries: bool, **given: Any
) -> None:
    """Show the queries that changed most from one run to another, largest losses first, and which documents moved."""
    from dataclasses import fields

    from karat.analysis.diff import Move, diff
    from karat.analysis.label_rows import LabelChange
    from karat.cli.output import Output, print_report
    from karat.cli.plots import plot_file
    from karat.cli.requests import Request
    from karat.cli.systems import SystemFiles
    from karat.comparison.alignment import align_systems
    from karat.errors import KaratError, require

    measures = given["measures"]
    if n < 0:
        raise KaratError(f"-n {n} is negative", hint="Use a number of queries; 0 shows all that changed.")
    if query is not None and losses:
        raise KaratError("--query and --losses cannot be combined", hint="Leave one of them out.")
    output = Output.of(given, is_scores=False)
    plotted = plot_file(given)
    request = Request.of({**given, "measures": measures or ("nDCG@10",)}, shows_texts=True, accepts_saved=True)
    files = SystemFiles([truth, *runs], request.evaluation)
    if not measures and (common := files.saved_measures()) and "nDCG@10" not in common:
        require(len(common) == 1, "a diff shows one measure at a time", f"Use -m {' or -m '.join(common)}.")
        files = files.with_measures(common)
    systems = files.load()
    names = next(iter(systems.values())).measures
    if len(names) > 1:
        raise KaratError("a diff shows one measure at a time", hint=f"Use -m {names[0]} or -m {names[1]}.")
    if len(systems) != 2:
        hint = "Name two systems: karat diff TRUTH RUN_A RUN_B -m nDCG@10, or karat diff runs.json:A runs.json:B."
        raise KaratError(f"a diff needs two systems, not {len(systems)}", hint=hint)
    aligned = align_systems(systems, None, common_queries, given["force"])
    (first, before), (second, after) = aligned.systems.items()
    found = diff(
        before,
        after,
        before.measures[0],
        n or None,
        (first, second),
        losses,
        aligned.notes,
        queries=request.texts.queries or None,
        corpus=request.texts.corpus_to_show(given["match"]),
    )
    if plotted is not None:
        plotted.save("differences", aligned.systems)
    if query is None:
        print_report(
            output,
            [found.table(output.decimals)],
            document=found.to_dict,
            rows=lambda: [each.values() for each in found.queries],
            columns=["query", "before", "after", "difference"],
        )
        return
    tables = found.query_tables(query, output.decimals)
    about = {"measure": found.measure, "systems": list(found.names)}
    change = {**about, **found[query].to_dict(), "notes": found.all_notes}
    # What moved cannot be shown for saved scores.
    shown, columns = ("labels", fields(LabelChange)) if "labels" in change else ("moves", fields(Move))
    rows = change[shown] if found.limitation is None else [found[query].values()]
    header = [field.name for field in columns] if found.limitation is None else []
    print_report(output, tables, document=lambda: change, rows=lambda: rows, columns=header)
