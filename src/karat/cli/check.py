"""`karat check`: what is wrong with evaluation data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from karat.cli import options as opt
from karat.cli.files import FileToRead
from karat.cli.parser import EVALUATED, Command, spelling_of
from karat.cli.terminal import print_text
from karat.errors import KaratError
from karat.options import EVALUATION_OPTIONS
from karat.reading.bytes.names import FORMATS

_FORMATS = ("text", "json", "jsonl", "csv", "tsv", "markdown", "github")
_FINDINGS = "Findings"


class ScoreOrFile(FileToRead):
    """A parameter that is a claimed score, `MEASURE=NUMBER`, or names a file of them."""

    def paths(self, value: str) -> list[str]:
        return super().paths(value) if "=" not in value or os.path.exists(value) else []


class CheckCommand(Command):
    """The command, which reports a folder without files as it reports all that cannot be read: as a finding."""

    def expand(self, path: str) -> list[str]:
        try:
            return super().expand(path)
        except KaratError:  # whoever reads it finds it again
            return [path]


def _complete_kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """The numbers of kinds, each with its name; a name, if that was begun."""
    from karat.scores.finding_kinds import finding_kinds

    before, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{text}", help=kind.name)
        for kind in finding_kinds().values()
        for text in (kind.number, kind.name)
        if text.lower().startswith(word.lower()) and (word or text == kind.number)
    ]


def _kinds_option(name: str, help: str) -> Callable[[opt.Function], opt.Function]:  # noqa: A002
    return opt.option(
        f"--{name}",
        group=_FINDINGS,
        multiple=True,
        metavar="KIND,...",
        help=help,
        shell_complete=_complete_kinds,
        callback=lambda context, parameter, values: [kind for text in values for kind in text.split(",") if kind],  # noqa: ARG005
    )


def _explain(context: click.Context, parameter: click.Parameter, value: str | None) -> None:  # noqa: ARG001
    """Print what a kind of findings means, and exit: this needs no file."""
    from karat.scores.finding_kinds import find_kind

    if value is not None and not context.resilient_parsing:
        print_text(f"{find_kind(value)}\n")
        context.exit()


@click.command("check", cls=CheckCommand, example="karat check truth.qrels runs/bm25.trec --corpus corpus.jsonl")
@opt.file_argument(
    "truth",
    "TRUTH",
    "Ground truth, in any format, or a BEIR folder with its texts. Or logs of RAG systems, which need no RUN. - is"
    " standard input.",
    required=True,
)
@opt.file_argument("runs", "RUN...", "Runs, in any format. After a log: more logs.", repeatable=True)
@_kinds_option("select", "Show only these kinds of findings, by number or name: K030 or missing-queries. Repeatable.")
@_kinds_option("ignore", "Leave these kinds of findings out. Repeatable.")
@opt.option("--strict", group=_FINDINGS, is_flag=True, help="The exit status is 1 after warnings, too.")
@opt.option(
    "--explain",
    group=_FINDINGS,
    metavar="KIND",
    is_eager=True,
    expose_value=False,
    help="Explain a kind of findings, such as K030, and exit.",
    shell_complete=_complete_kinds,
    callback=_explain,
)
@opt.measures
@opt.in_order(*(option for name, option in opt.evaluation_options.items() if name != "duplicates"))
@opt.queries
@opt.corpus
@opt.option(
    "--claimed",
    group=EVALUATED,
    type=ScoreOrFile(),
    multiple=True,
    metavar="MEASURE=NUMBER",
    help="A score that is claimed for the run, such as nDCG@10=0.4123; or a file of them: JSON, a table, or what"
    " trec_eval prints. A finding says if karat computes another one, and which usual mistake gives it. Repeatable.",
)
@opt.output_options(_FORMATS, ".txt, .json, .csv or .md", otherwise="text")
@opt.safe_csv
@opt.fields
@opt.input_options
@click.pass_context
def command(context: click.Context, /, truth: str, runs: Sequence[str], strict: bool, **values: Any) -> int:
    """Find what is wrong with evaluation data: ground truth and runs, or logs of RAG systems.

    Errors make scores wrong or impossible, such as contradicting judgments; warnings change what they mean. The exit
    status is 1 if there are errors (with --strict, warnings), 0 otherwise, and 2 if the command line is wrong.
    """
    from karat.cli.inputs import parse_fields, parse_inputs
    from karat.cli.output import Output
    from karat.evaluation.check import check
    from karat.registry.selection import DEFAULT_MEASURES

    output = Output.of(values, is_scores=False)
    inputs = parse_inputs(values)
    # The name of a tool is that of the one that wrote a log.
    formats = {f"{side}_format": form for side, form in inputs.formats.items() if form in FORMATS}
    checked = check(
        truth,
        *runs,
        measures=values["measures"] or DEFAULT_MEASURES,
        queries=inputs.texts("queries", values["queries"]) or None,
        corpus=inputs.texts("corpus", values["corpus"]) or None,
        claimed=values["claimed"] or None,
        select=values["select"],
        ignore=values["ignore"],
        fields=parse_fields(values["fields"]) or None,
        input_format=inputs.formats.get("truth"),
        records=values["records"],
        truth_columns=inputs.columns.get("truth"),
        run_columns=inputs.columns.get("run"),
        truth_format=formats.get("truth_format"),
        run_format=formats.get("run_format"),
        split=inputs.split,
        **{name: values[name] for name in EVALUATION_OPTIONS if name in values},
    )
    output.print(checked.spelled(spelling_of(context)))
    return 1 if checked.errors or (strict and checked.warnings) else 0
