"""`karat report`: one page about systems, to read in a browser."""

from __future__ import annotations

from typing import Any

import click

from karat.cli import options as opt
from karat.cli.files import FileToWrite
from karat.cli.parser import Command


@click.command("report", cls=Command)
@opt.truth_or_system
@opt.systems
@opt.file_option("-o", "--output", "file", kind=FileToWrite(), help="The page to write, such as report.html.")
@opt.measures
@opt.baseline("all pairs of up to ten runs are compared")
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
    truth: str, runs: tuple[str, ...], file: str | None, baseline: str | None, sort: str | None, **given: Any
) -> None:
    """Write a page about one or several systems: scores, charts, differences, and every query with its documents."""
    from karat.cli.output import check_sort
    from karat.cli.requests import Request
    from karat.cli.systems import SystemFiles
    from karat.comparison import choose_method, compare_with
    from karat.errors import KaratError
    from karat.report import default_baseline

    if file is None:
        raise KaratError("the report needs a file", hint="Add -o report.html.")
    method = choose_method(
        given["test"], given["correction"], None, common_queries=given["common_queries"], force=given["force"]
    )
    request = Request.of({**given, "report": file}, accepts_saved=True)
    files = SystemFiles([truth, *runs], request.evaluation)
    if baseline is not None:
        baseline = files.name(baseline)
    systems = files.load()
    request.check_groups(systems)
    check_sort(sort, systems)
    if len(systems) > 1:
        baseline = baseline or default_baseline(systems)
        request.save_report(compare_with(method, systems, baseline, sort=sort), files)
    else:
        request.save_report(systems, files)
