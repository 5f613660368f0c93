"""`karat evaluate`: the scores of one or several runs."""

from __future__ import annotations

from typing import Any

import click

from karat.cli import options as opt
from karat.cli.parser import Command
from karat.options import Names, PlotKind


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
@click.option("--explain", metavar="QUERY", help="Show which documents of a query were hits, rank by rank.")
@click.option(
    "--bounds", is_flag=True, help="Show the lowest and highest possible scores if the unjudged documents were judged."
)
@opt.by
@opt.queries
@opt.corpus
@opt.plot_options("intervals")
@opt.output_options(opt.FORMATS, ".csv, .md, .tex, ..., or .json and .parquet for the scores of every query")
@opt.report
@opt.fields
@opt.input_options
@opt.evaluation_options
def command(
    truth: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    names: Names,
    ci: bool,
    digits: int | None,
    sort: str | None,
    explain: str | None,
    bounds: bool,
    by: str | None,
    queries: tuple[str, ...],
    corpus: tuple[str, ...],
    plot: str | None,
    plot_kind: PlotKind | None,
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
    """Evaluate runs against ground truth. Several runs are shown in one table."""
    from karat.cli.bounds import print_bounds
    from karat.cli.inputs import check_texts, parse_inputs
    from karat.cli.output import Output, check_output, check_sort, print_scores
    from karat.cli.plots import plot_file
    from karat.cli.reports import TextSources, report_file
    from karat.cli.slices import print_slices, read_grouping
    from karat.cli.systems import Evaluation, SystemFiles
    from karat.errors import KaratError
    from karat.matching.matchers import matcher_of
    from karat.scores import SystemScores

    paths = [truth, *runs]
    matcher_of(options["match"])
    views = {"--bounds": bounds, "--by": by is not None, "--explain": explain is not None, "--ci": ci and not by}
    chosen = [option for option, is_given in views.items() if is_given]
    if (bounds or by is not None) and (len(chosen) > 1 or (by is not None and per_query)):
        both = " and ".join([*chosen, *(["--per-query"] if len(chosen) == 1 else [])])
        raise KaratError(f"{both} cannot be combined", hint="Leave one of them out.")
    if names == "asked" and (bounds or by is not None or explain is not None):
        raise KaratError(f"--names and {chosen[0]} cannot be combined", hint="Leave one of them out.")
    level, is_scores = 0.95 if ci else None, not (bounds or by)
    output = Output(format, file, per_query, level, explain, digits, is_scores, names=names, safe_csv=safe_csv)
    check_output(output)
    plotted = plot_file(plot, plot_kind, by)
    inputs = parse_inputs(formats, columns, split)
    texts = TextSources(inputs.texts("queries", queries), inputs.texts("corpus", corpus))
    shown = report if explain is None else explain  # what shows texts, whatever documents are matched by
    grouping = read_grouping(by, texts.queries_to_group(by, shown))
    page = report_file(report, texts, grouping)
    if explain is not None:
        check_texts(texts.queries, "queries")
        check_texts(texts.corpus, "corpus")
    evaluation = Evaluation(measures, options, fields, inputs, texts.corpus_to_match(options["match"], shown))
    files = SystemFiles(paths, evaluation)
    systems = SystemScores(files.load())
    check_sort(sort, systems)
    scores = systems if sort is None else systems.sorted(sort)
    if plotted is not None:
        plotted.save("bounds" if bounds else "intervals", scores, grouping)
    if page is not None:
        page.save(scores, files)
    if bounds:
        print_bounds(scores, output)
    elif grouping is not None:
        print_slices(scores, grouping, output)
    else:
        print_scores(scores, output, texts.queries or None, texts.corpus or None)
