"""`karat diff`: which queries changed from one run to another, and which documents moved."""

from __future__ import annotations

from typing import Any

import click

from karat.cli import comparison_options as comparing
from karat.cli import options as opt
from karat.cli.joined_options import joined_options
from karat.cli.parser import OUTPUT, Command


@click.command("diff", cls=Command, example="karat diff truth.qrels runs/bm25.trec runs/bm25-rm3.trec -m nDCG@10")
@opt.truth_or_system
@opt.file_argument(
    "runs",
    "RUN...",
    "Two systems: runs, results, or saved scores. runs.json:bm25 is one of several in a file.",
    repeatable=True,
)
@opt.measures
@opt.system_options()
@joined_options
@opt.lower_is_better
@comparing.common_queries
@comparing.force
@opt.option(
    "--query",
    group=OUTPUT,
    metavar="QUERY",
    help="Show one query in full: every document that moved, and both result lists.",
)
@opt.number_shown("queries", "all that changed")
@opt.option("--losses", group=OUTPUT, is_flag=True, help="Show only queries that got worse.")
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
@opt.digits
@opt.plot_options("differences")
@opt.safe_csv
def command(
    truth: str,
    runs: tuple[str, ...],
    query: str | None,
    n: int | None,
    losses: bool,
    common_queries: bool,
    **values: Any,
) -> None:
    """Show the queries that changed most from one run to another, largest losses first, and which documents moved."""
    from karat.analysis.diff import diff
    from karat.cli.inputs import Inputs
    from karat.cli.output import Output
    from karat.cli.settings import Settings
    from karat.cli.systems import SystemFiles
    from karat.comparison.alignment import align_systems
    from karat.errors import KaratError, require

    if query is not None and losses:
        raise KaratError("--query and --losses cannot be combined", hint="Leave one of them out.")
    output = Output.of(values, is_scores=False)
    settings = Settings.of(values, measures=values["measures"] or ("nDCG@10",))
    inputs = Inputs.of(values, shows_texts=True, accepts_saved=True)
    files = SystemFiles([truth, *runs], inputs, settings)
    if not values["measures"] and (common := files.saved_measures()) and "nDCG@10" not in common:
        require(len(common) == 1, "a diff shows one measure at a time", f"Use -m {' or -m '.join(common)}.")
        files = files.with_measures(common)
    systems = files.load()
    names = next(iter(systems.values())).measures
    if len(names) > 1:
        raise KaratError("a diff shows one measure at a time", hint=f"Use -m {names[0]} or -m {names[1]}.")
    if len(systems) != 2:
        hint = "Name two systems: karat diff TRUTH RUN_A RUN_B -m nDCG@10, or karat diff runs.json:A runs.json:B."
        raise KaratError(f"a diff needs two systems, not {len(systems)}", hint=hint)
    aligned = align_systems(systems, None, common_queries, values["force"])
    (first, before), (second, after) = aligned.systems.items()
    differences = diff(
        before,
        after,
        before.measures[0],
        n,
        (first, second),
        losses,
        aligned.notes,
        queries=inputs.queries or None,
        corpus=inputs.corpus_to_show(values["match"]),
    )
    output.save_plot("differences", aligned.systems, inputs, settings)
    output.print(differences if query is None else differences.in_full(query))
