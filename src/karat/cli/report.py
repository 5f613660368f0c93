"""`karat report`: one page about systems, to read in a browser."""

from __future__ import annotations

from typing import Any

import click

from karat.cli import options as opt
from karat.cli.completion import complete_file
from karat.cli.files import FileToWrite
from karat.cli.parser import Command
from karat.options import Correction, Test


@click.command("report", cls=Command)
@opt.truth_or_system
@opt.file_argument(
    "runs",
    "RUN...",
    "The systems: runs, results, or saved scores, of one or several systems; runs.json:bm25 is one of several.",
    several=True,
)
@opt.file_option("-o", "--output", "file", kind=FileToWrite(), help="The page to write, such as report.html.")
@opt.measures
@click.option(
    "--baseline",
    metavar="RUN",
    help="The run that the others are compared with. By default, all pairs of up to ten runs are compared.",
    shell_complete=complete_file,
)
@opt.test
@opt.correction
@opt.common_queries
@opt.force
@opt.lower_is_better
@opt.by
@opt.queries
@opt.corpus
@click.option("--title", default="", metavar="TEXT", help="The title of the page.")
@opt.sort
@opt.fields
@opt.input_options
@opt.evaluation_options
def command(
    truth: str,
    runs: tuple[str, ...],
    file: str | None,
    measures: tuple[str, ...],
    baseline: str | None,
    test: Test,
    correction: Correction | None,
    common_queries: bool,
    force: bool,
    lower_is_better: tuple[str, ...],
    by: str | None,
    queries: tuple[str, ...],
    corpus: tuple[str, ...],
    title: str,
    sort: str | None,
    fields: tuple[str, ...],
    formats: tuple[str, ...],
    columns: tuple[str, ...],
    split: str | None,
    **options: Any,
) -> None:
    """Write a page about one or several systems: scores, charts, differences, and every query with its documents."""
    from karat.cli.inputs import parse_inputs
    from karat.cli.output import check_sort
    from karat.cli.reports import Report, TextSources
    from karat.cli.slices import read_grouping
    from karat.cli.systems import Evaluation, SystemFiles
    from karat.comparison import choose_method, compare_with
    from karat.errors import KaratError
    from karat.report import default_baseline

    paths = [truth, *runs]
    if file is None:
        raise KaratError("the report needs a file", hint="Add -o report.html.")
    method = choose_method(test, correction, None, common_queries=common_queries, force=force)
    inputs = parse_inputs(formats, columns, split)
    texts = TextSources(inputs.texts("queries", queries), inputs.texts("corpus", corpus))
    report = Report(file, texts, read_grouping(by, texts.queries_to_group(by, file)), title)
    report.check()
    evaluation = Evaluation(
        measures,
        options,
        fields,
        inputs,
        texts.corpus_to_match(options["match"], file),
        accepts_saved=True,
        lower_is_better=lower_is_better,
        force=force,
    )
    files = SystemFiles(paths, evaluation)
    if baseline is not None:
        baseline = files.name(baseline)
    systems = files.load()
    check_sort(sort, systems)
    if len(systems) > 1:
        baseline = baseline or default_baseline(systems)
        report.save(compare_with(method, systems, baseline, sort=sort), files)
    else:
        report.save(systems, files)
