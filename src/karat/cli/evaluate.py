"""`karat evaluate`: the scores of one or several runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from karat.cli import options as opt
from karat.cli.parser import Command
from karat.cli.spark import check_engine, engine_options


@click.command("evaluate", cls=Command)
@opt.file_argument(
    "truth",
    "TRUTH",
    "Ground truth: TREC, CSV, TSV, JSON, JSON lines, Parquet, Feather, or a BEIR folder. Or RAG results, which need no"
    " RUN. Plain or compressed; - is standard input.",
    required=True,
)
@opt.file_argument(
    "runs", "RUN...", "Runs, in the same formats. After a results file: more results files.", several=True
)
@opt.measures
@opt.per_query
@opt.names
@opt.intervals
@opt.digits
@opt.sort
@click.option(
    "--explain",
    metavar="QUERY",
    help="Show which documents of a query were hits, rank by rank; its answer, and the labels of the answer.",
)
@click.option(
    "--bounds",
    is_flag=True,
    help="Show the lowest and highest possible scores if unjudged documents were judged, and missing labels known.",
)
@opt.by
@opt.queries
@opt.corpus
@opt.plot_options("intervals")
@opt.output_options(opt.FORMATS, ".csv, .md, .tex, ..., or .json and .parquet for the scores of every query")
@opt.report
@opt.verdict_options
@opt.fields
@opt.input_options
@opt.evaluation_options
@engine_options
def command(truth: str, runs: tuple[str, ...], sort: str | None, bounds: bool, **given: Any) -> None:
    """Evaluate runs against ground truth. Several runs are shown in one table."""
    from karat.cli.bounds import print_bounds
    from karat.cli.output import Output, check_sort, print_scores
    from karat.cli.plots import plot_file
    from karat.cli.requests import Request
    from karat.cli.slices import print_slices
    from karat.cli.spark import print_stored, scores_on_spark, store_on_spark
    from karat.cli.systems import SystemFiles
    from karat.matching.matchers import matcher_of
    from karat.scores import SystemScores

    matcher_of(given["match"])
    _check_views(bounds, given)
    check_engine({**given, "bounds": bounds, "sort": sort})
    is_stored = given["per_query_path"] is not None
    output = Output.of(given, is_scores=not (bounds or given["by"] or is_stored))
    plotted = plot_file(given)
    request = Request.of(given)
    if is_stored:
        print_stored(store_on_spark([truth, *runs], request.evaluation, given), output)
        return
    if given["engine"] == "spark":
        files = None
        systems = SystemScores(scores_on_spark([truth, *runs], request.evaluation, given))
    else:
        files = SystemFiles([truth, *runs], request.evaluation)
        systems = SystemScores(files.load())
    request.check_groups(systems)
    check_sort(sort, systems)
    scores = systems if sort is None else systems.sorted(sort)
    if plotted is not None:
        plotted.save("bounds" if bounds else "intervals", scores, request.grouping)
    if files is not None:
        request.save_report(scores, files)
    if bounds:
        print_bounds(scores, output)
    elif request.grouping is not None:
        print_slices(scores, request.grouping, output)
    else:
        texts = request.texts
        print_scores(scores, output, texts.queries or None, texts.corpus_to_show(given["match"]))


def _check_views(bounds: bool, given: Mapping[str, Any]) -> None:
    """Reject options that each show something else."""
    from karat.errors import KaratError

    by, per_query = given["by"] is not None, given["per_query"]
    views = {"--bounds": bounds, "--by": by, "--explain": given["explain"] is not None, "--ci": given["ci"] and not by}
    chosen = [option for option, is_given in views.items() if is_given]
    if (bounds or by) and (len(chosen) > 1 or (by and per_query)):
        both = " and ".join([*chosen, *(["--per-query"] if len(chosen) == 1 else [])])
        raise KaratError(f"{both} cannot be combined", hint="Leave one of them out.")
    other = chosen[0] if bounds or by or given["explain"] is not None else "--report" if given["report"] else None
    if given["names"] == "asked" and other is not None:
        raise KaratError(f"--names and {other} cannot be combined", hint="Leave one of them out.")
