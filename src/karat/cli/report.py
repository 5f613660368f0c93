"""`karat report`: one page about systems, to read in a browser."""

from __future__ import annotations

from typing import Any

import click

from karat.cli import options as opt
from karat.cli.comparison_options import COMPARISON_OPTIONS, baseline, comparison_options, method_of
from karat.cli.correction_options import correct
from karat.cli.files import FileToWrite
from karat.cli.joined_options import joined_options
from karat.cli.parser import OUTPUT, Command
from karat.errors import KaratError


@click.command(
    "report",
    cls=Command,
    example="karat report truth.qrels runs/*.trec --corpus corpus.jsonl -o report.html",
)
@opt.truth_or_system
@opt.systems
@opt.measures
@opt.system_options()
@joined_options
@opt.lower_is_better
@baseline("all pairs of runs are compared")
@opt.by
@correct
@comparison_options
@opt.file_option(
    "-o", "--output", "file", kind=FileToWrite(), group=OUTPUT, help="The page to write, such as report.html."
)
@opt.option("--title", group=OUTPUT, default="", metavar="TEXT", help="The title of the page.")
@opt.sort
@click.pass_context
def command(
    context: click.Context,
    /,
    truth: str,
    runs: tuple[str, ...],
    file: str | None,
    baseline: str | None,
    sort: str | None,
    title: str,
    **values: Any,
) -> None:
    """Write a page about one or several systems: scores, charts, differences, and every query with its documents."""
    from karat.cli.inputs import Inputs
    from karat.cli.output import Output, check_sort
    from karat.cli.settings import Settings
    from karat.cli.systems import SystemFiles
    from karat.report import subject_of_systems, subject_with_comparison
    from karat.scores.corrected import corrected

    if file is None:
        raise KaratError("the report needs a file", hint="Add -o report.html.")
    method = method_of(values)
    output = Output.of({"report": file, "title": title})
    settings = Settings.of(values)
    inputs = Inputs.of(values, shows_texts=True, accepts_saved=True)
    files = SystemFiles([truth, *runs], inputs, settings)
    if baseline is not None:
        baseline = files.name(baseline)
    if len(files.systems) == 1:
        _reject_comparison(context)
    systems = files.load()
    settings.check_groups(systems, inputs)
    check_sort(sort, systems)
    if inputs.correct:
        corrected(systems, method.level)  # an error if there is nothing to correct with
    subject = (
        subject_with_comparison(systems, baseline, method, sort)
        if len(systems) > 1
        else subject_of_systems(systems, method=method)
    )
    output.save_report(subject, files)


def _reject_comparison(context: click.Context) -> None:
    """Reject options of a comparison if there is only one system. It has intervals, which have a level."""
    for name in ("baseline", *COMPARISON_OPTIONS):
        if name not in ("level", "force") and opt.is_given(context, name):
            what = f"--{name.replace('_', '-')} is about a comparison, and there is only one system"
            raise KaratError(what, hint="Add another system, or leave it out.")
