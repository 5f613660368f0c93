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
@opt.comparison_options
@opt.lower_is_better
@opt.by
@opt.queries
@opt.corpus
@click.option("--title", default="", metavar="TEXT", help="The title of the page.")
@opt.sort
@opt.verdict_options
@opt.fields
@opt.input_options
@opt.evaluation_options
@click.pass_context
def command(
    context: click.Context,
    /,
    truth: str,
    runs: tuple[str, ...],
    file: str | None,
    baseline: str | None,
    sort: str | None,
    **given: Any,
) -> None:
    """Write a page about one or several systems: scores, charts, differences, and every query with its documents."""
    from karat.cli.output import check_sort
    from karat.cli.requests import Request, method_of
    from karat.cli.systems import SystemFiles
    from karat.errors import KaratError
    from karat.report import compared, comparison_of

    if file is None:
        raise KaratError("the report needs a file", hint="Add -o report.html.")
    method = method_of(given)
    request = Request.of({**given, "report": file}, accepts_saved=True)
    files = SystemFiles([truth, *runs], request.evaluation)
    if baseline is not None:
        baseline = files.name(baseline)
    if len(files.systems) == 1:
        _reject_comparison(context)
    systems = files.load()
    request.check_groups(systems)
    check_sort(sort, systems)
    subject = comparison_of(systems, baseline, method, sort) if len(systems) > 1 else compared(systems, method=method)
    request.save_report(subject, files)


def _reject_comparison(context: click.Context) -> None:
    """Reject options of a comparison if there is only one system. It has intervals, which have a level."""
    from karat.errors import KaratError

    for name in ("baseline", *opt.COMPARISON_OPTIONS):
        if name not in ("level", "force") and opt.is_given(context, name):
            what = f"--{name.replace('_', '-')} is about a comparison, and there is only one system"
            raise KaratError(what, hint="Add another system, or leave it out.")
