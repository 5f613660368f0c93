"""`karat compare`: is one system really better than another?"""

from __future__ import annotations

from typing import Any, get_args

import click

from karat.cli import options as opt
from karat.cli.completion import complete_file
from karat.cli.parser import Command
from karat.options import Correction, Family, PlotKind, Test


@click.command("compare", cls=Command)
@opt.truth_or_system
@opt.file_argument(
    "runs",
    "RUN...",
    "The systems: runs, results, or saved scores, of one or several systems; runs.json:bm25 is one of several.",
    several=True,
)
@opt.measures
@click.option(
    "--baseline",
    metavar="RUN",
    help="The run that the others are compared with. By default, all pairs of runs are compared.",
    shell_complete=complete_file,
)
@opt.test
@opt.correction
@opt.choice_option(
    "family",
    get_args(Family),
    None,
    "Correct p over the comparisons of each measure (the default), or over all comparisons.",
)
@click.option(
    "--level",
    default=0.95,
    metavar="LEVEL",
    show_default=True,
    help="Confidence level of the intervals. A difference is significant if p is below 1 - LEVEL.",
)
@click.option("--detect", type=float, metavar="D", help="Estimate how many queries it takes to detect a difference D.")
@click.option(
    "--permutations",
    type=int,
    metavar="N",
    help="Number of random permutations of the tests randomization, if an exact test would take too long, and tukey."
    "  [default: 100000]",
)
@opt.common_queries
@opt.force
@opt.lower_is_better
@opt.by
@opt.queries
@opt.corpus
@opt.digits
@opt.sort
@opt.plot_options("differences (intervals of more than 6 pairs of systems)")
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
@opt.report
@opt.fields
@opt.input_options
@opt.evaluation_options
def command(
    truth: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    baseline: str | None,
    test: Test,
    correction: Correction | None,
    family: Family | None,
    level: float,
    detect: float | None,
    permutations: int | None,
    common_queries: bool,
    force: bool,
    lower_is_better: tuple[str, ...],
    by: str | None,
    queries: tuple[str, ...],
    corpus: tuple[str, ...],
    plot: str | None,
    plot_kind: PlotKind | None,
    digits: int | None,
    sort: str | None,
    format: str | None,  # noqa: A002
    file: str | None,
    safe_csv: bool,
    report: str | None,
    fields: tuple[str, ...],
    formats: tuple[str, ...],
    columns: tuple[str, ...],
    split: str | None,
    **options: Any,
) -> None:
    """Compare systems query by query: differences, confidence intervals and significance tests."""
    from functools import partial

    from karat.cli.inputs import parse_inputs
    from karat.cli.output import Output, check_output, check_sort, print_report
    from karat.cli.plots import plot_file
    from karat.cli.reports import TextSources, report_file
    from karat.cli.slices import print_comparison, read_grouping
    from karat.cli.systems import Evaluation, SystemFiles
    from karat.comparison import choose_method, compare_with
    from karat.errors import KaratError

    paths = [truth, *runs]
    output = Output(format, file, digits=digits, is_scores=False, safe_csv=safe_csv)
    check_output(output)
    method = choose_method(
        test,
        correction,
        family,
        permutations=permutations,
        common_queries=common_queries,
        level=level,
        detect=detect,
        force=force,
    )
    plotted = plot_file(plot, plot_kind, by)
    inputs = parse_inputs(formats, columns, split)
    texts = TextSources(inputs.texts("queries", queries), inputs.texts("corpus", corpus))
    grouping = read_grouping(by, texts.queries_to_group(by, report))
    page = report_file(report, texts, grouping)
    evaluation = Evaluation(
        measures,
        options,
        fields,
        inputs,
        texts.corpus_to_match(options["match"], report),
        accepts_saved=True,
        lower_is_better=lower_is_better,
        force=force,
    )
    files = SystemFiles(paths, evaluation)
    if baseline is not None:
        baseline = files.name(baseline)
    systems = files.load()
    # The number of relevant documents is part of the evidence.
    if by != "relevant" and page is None and not (plotted and plotted.needs_run_data):
        systems = {name: scores.without_evidence() for name, scores in systems.items()}
    if len(systems) < 2:
        raise KaratError(
            "a comparison needs at least two systems", hint="Add another one: karat compare TRUTH RUN RUN."
        )
    check_sort(sort, systems)
    comparison = compare_with(method, systems, baseline, sort=sort)
    if plotted is not None:
        plotted.save("differences", comparison.systems, grouping, comparison)
    if page is not None:
        page.save(comparison, files)
    if grouping is not None:
        print_comparison(comparison, grouping, output)
    else:
        print_report(
            output,
            [comparison.table(output.decimals)],
            document=comparison.to_dict,
            rows=comparison.records,
            latex=partial(comparison.to_latex, digits=output.decimals),
        )
