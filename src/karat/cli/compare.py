"""`karat compare`: is one system really better than another?"""

from __future__ import annotations

from typing import Any

import click

from karat.cli import options as opt
from karat.cli.parser import Command


@click.command("compare", cls=Command)
@opt.truth_or_system
@opt.systems
@opt.measures
@opt.baseline("all pairs of runs are compared")
@opt.comparison_options
@opt.lower_is_better
@opt.by
@opt.queries
@opt.corpus
@opt.digits
@opt.sort
@opt.plot_options("differences (intervals of more than 6 pairs of systems)")
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
@opt.report
@opt.verdict_options
@opt.fields
@opt.input_options
@opt.evaluation_options
def command(truth: str, runs: tuple[str, ...], baseline: str | None, sort: str | None, **given: Any) -> None:
    """Compare systems query by query: differences, confidence intervals and significance tests."""
    from functools import partial

    from karat.cli.output import Output, check_sort, print_report
    from karat.cli.plots import plot_file
    from karat.cli.requests import Request, method_of
    from karat.cli.slices import print_comparison
    from karat.cli.systems import SystemFiles
    from karat.comparison import compare_with
    from karat.errors import KaratError

    output = Output.of(given, is_scores=False)
    method = method_of(given)
    plotted = plot_file(given)
    request = Request.of(given, accepts_saved=True)
    files = SystemFiles([truth, *runs], request.evaluation)
    if baseline is not None:
        baseline = files.name(baseline)
    systems = files.load()
    request.check_groups(systems)
    # The number of relevant documents is part of the evidence, and questions are released with it.
    if given["by"] not in ("relevant", "length") and request.page is None and not (plotted and plotted.needs_run_data):
        systems = {name: scores.without_evidence() for name, scores in systems.items()}
    if len(systems) < 2:
        raise KaratError(
            "a comparison needs at least two systems", hint="Add another one: karat compare TRUTH RUN RUN."
        )
    check_sort(sort, systems)
    comparison = compare_with(method, systems, baseline, sort=sort)
    if plotted is not None:
        plotted.save("differences", comparison.systems, request.grouping, comparison)
    request.save_report(comparison, files)
    if request.grouping is not None:
        print_comparison(comparison, request.grouping, output)
    else:
        print_report(
            output,
            [comparison.table(output.decimals)],
            document=comparison.to_dict,
            rows=comparison.records,
            latex=partial(comparison.to_latex, digits=output.decimals),
        )
