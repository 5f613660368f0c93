"""`karat report`: one page about systems, to read in a browser; and the reports and plots of other commands."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from karat.cli import options as opt
from karat.cli.comparison_options import COMPARISON_OPTIONS, baseline, comparison_options, method_of
from karat.cli.files import FileToWrite, split_system
from karat.cli.parser import OUTPUT, Command
from karat.cli.terminal import print_error
from karat.errors import KaratError, printable, require, size_text

if TYPE_CHECKING:
    from karat.cli.inputs import Inputs
    from karat.cli.output import Output
    from karat.cli.settings import Settings
    from karat.cli.systems import SystemFiles
    from karat.comparison import Comparison
    from karat.options import PlotKind
    from karat.report.subject import Reported
    from karat.scores import Scores


@click.command(
    "report",
    cls=Command,
    example="karat report truth.qrels runs/*.trec --corpus corpus.jsonl -o report.html",
)
@opt.truth_or_system
@opt.systems
@opt.measures
@opt.system_options()
@opt.lower_is_better
@baseline("all pairs of up to ten runs are compared")
@opt.by
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
    **given: Any,
) -> None:
    """Write a page about one or several systems: scores, charts, differences, and every query with its documents."""
    from karat.cli.inputs import Inputs
    from karat.cli.output import Output, check_sort
    from karat.cli.settings import Settings
    from karat.cli.systems import SystemFiles
    from karat.report import compared, comparison_of

    if file is None:
        raise KaratError("the report needs a file", hint="Add -o report.html.")
    method = method_of(given)
    output = Output(report=file, title=title)
    settings = Settings.of(given)
    check_report_file(output)
    inputs = Inputs.of(given, shows_texts=True, accepts_saved=True)
    files = SystemFiles([truth, *runs], inputs, settings)
    if baseline is not None:
        baseline = files.name(baseline)
    if len(files.systems) == 1:
        _reject_comparison(context)
    systems = files.load()
    settings.check_groups(systems, inputs)
    check_sort(sort, systems)
    subject = comparison_of(systems, baseline, method, sort) if len(systems) > 1 else compared(systems, method=method)
    save_report(output, subject, files)


def _reject_comparison(context: click.Context) -> None:
    """Reject options of a comparison if there is only one system. It has intervals, which have a level."""
    for name in ("baseline", *COMPARISON_OPTIONS):
        if name not in ("level", "force") and opt.is_given(context, name):
            what = f"--{name.replace('_', '-')} is about a comparison, and there is only one system"
            raise KaratError(what, hint="Add another system, or leave it out.")


def check_report_file(output: Output) -> None:
    """Raise what prevents the report, if there is to be one, before any work is done."""
    if output.report is not None:
        from karat.report import check_report

        check_report(output.report)


def save_report(output: Output, reported: Reported, files: SystemFiles, also_read: Sequence[str] = ()) -> None:
    """Write the report of the systems in some files, if there is to be one, and say where it is."""
    if output.report is None:
        return
    from karat.analysis.query_groups import named_groups
    from karat.report import Provenance, write_report
    from karat.report.subject import subject_of

    inputs = files.inputs
    read = [split_system(each)[0] for each in (*files.opened, *also_read)]
    read += [each.file.name for each in (*inputs.queries, *inputs.corpus)]
    write_report(
        subject_of(reported),
        output.report,
        queries=list(inputs.queries) or None,
        corpus=list(inputs.corpus) or None,
        by=named_groups(files.settings.by),
        title=output.title,
        provenance=Provenance(shlex.join(["karat", *sys.argv[1:]]), (*read, *inputs.verdicts)),
    )
    print_error(f"report: {printable(output.report)} ({size_text(os.path.getsize(output.report))})\n")


def check_plot(output: Output, given: Mapping[str, Any]) -> None:
    """Reject a plot that cannot be written, before any work is done."""
    file, kind = output.plot, output.plot_kind
    if file is None:
        require(kind is None, "--plot-kind is only used with --plot", "Add --plot FILE, or leave --plot-kind out.")
        return
    from karat.report.plots.pictures import check_installed, check_suffix

    check_suffix(file)
    check_installed()
    hint = "Add --by, such as --by queries.csv:language."
    require(kind != "slices" or given.get("by") is not None, "--plot-kind slices needs groups of queries", hint)


def plot_needs_run_data(output: Output) -> bool:
    """Whether a plot shows more than scores."""
    if output.plot is None or output.plot_kind is None:
        return False
    from karat.report.plots.kinds import KINDS

    return KINDS[output.plot_kind].needs == "run data"


def save_plot(
    output: Output,
    default: PlotKind,
    systems: Mapping[str, Scores],
    inputs: Inputs,
    settings: Settings,
    comparison: Comparison | None = None,
) -> None:
    """Write the plot, if there is to be one: of groups of queries if there are some and no other kind is given."""
    if output.plot is None:
        return
    from karat.report.plots.kinds import MAX_PAIRS, Subject, draw, pairs_of
    from karat.report.plots.pictures import write_plot

    by, groups = settings.by, dict[str, object]()
    kind = output.plot_kind or ("slices" if by is not None else default)
    if by is not None:
        queries = {query for scores in systems.values() for query in scores.queries}
        groups = {"by": by, "queries": inputs.query_texts(by, queries)}
    pairs = pairs_of(systems, None, None) if comparison is None else comparison.pairs()
    if output.plot_kind is None and kind == "differences" and len(pairs) > MAX_PAIRS:
        kind = "intervals"
    level = 0.95 if comparison is None else comparison.method.level
    chart = draw(kind, Subject(systems, None, pairs, comparison, groups, level, output.names))
    write_plot(chart, output.plot)
    if comparison is None:  # a comparison has notes itself
        for pair, note in chart.panel_notes.items():
            print_error(printable(f"note: {output.plot}: {pair}, {note}.") + "\n")
