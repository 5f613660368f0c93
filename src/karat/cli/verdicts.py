"""`karat verdicts`: labels about generated answers, how people give them, and how far models agree with them."""

from __future__ import annotations

import os
from typing import Any

import click

from karat.cli import options as opt
from karat.cli.files import FileToRead, FileToWrite
from karat.cli.label_sheets import import_sheet, template
from karat.cli.parser import EVALUATED, OUTPUT, Command, Group
from karat.cli.terminal import print_text
from karat.errors import KaratError, did_you_mean, plural

_SUMMARY = "summary"


class _VerdictsGroup(Group):
    """Commands, of which the summary is the one for files: `karat verdicts FILE...`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else "--help"
        is_typo = bool(did_you_mean(first, self.names)) and not os.path.exists(first)
        if first not in (*self.names, *self.get_help_option_names(ctx)) and not is_typo:
            args = [_SUMMARY, *args]
        return super().parse_args(ctx, args)


@click.group(
    "verdicts",
    cls=_VerdictsGroup,
    names=(_SUMMARY, "template", "import", "agreement"),
    help="Count the labels in verdict files, label generated answers by hand, and compare models with people.",
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGUMENTS...]",
)
@click.pass_context
def command(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print_text(f"{context.get_help()}\n")


command.add_command(template)
command.add_command(import_sheet)


@command.command(_SUMMARY, cls=Command, example="karat verdicts verdicts.jsonl")
@opt.file_argument("files", "FILE...", "Verdict files.", repeatable=True, required=True)
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
@opt.number_shown("disagreements", "all of them")
@opt.file_option(
    "--export",
    kind=FileToWrite(),
    group=OUTPUT,
    help="Also write a table with a row per label, and all its fields: .csv or .tsv.",
)
@opt.safe_csv
def summary(files: tuple[str, ...], n: int | None, export: str | None, **values: Any) -> None:
    """Count labels by task, system, author, label and state, and show where authors disagree.

    `karat verdicts FILE...` is short for `karat verdicts summary FILE...`.
    """
    from dataclasses import replace

    from karat.cli.output import Output, say_written
    from karat.grounding.labels.summary import HEADER, label_rows, summarize
    from karat.grounding.verdict_file.reading import read_verdict_records
    from karat.output.delimited import delimited
    from karat.output.files import write_text
    from karat.reading.bytes.names import suffix_of

    delimiter = {".csv": ",", ".tsv": "\t"}.get(suffix_of(export)) if export else None
    if export and not delimiter:
        raise KaratError("labels are exported as CSV or TSV", place=export, hint="Use .csv or .tsv.")
    # --safe-csv is also for the exported table, whatever the format of the summary.
    safe = values["safe_csv"]
    output = replace(Output.of(values | {"safe_csv": safe and not export}, is_scores=False), safe_csv=safe)
    records = read_verdict_records(files)
    if export and delimiter:
        write_text(delimited(HEADER, label_rows(records), delimiter, safe=safe), export)
        say_written(export, plural(len(records.labels), "label"))
    output.print(replace(summarize(records), shown=n))


@command.command("agreement", cls=Command, example="karat verdicts agreement verdicts.jsonl")
@opt.file_argument("files", "FILE...", "Verdict files.", repeatable=True, required=True)
@opt.file_option(
    "--truth",
    kind=FileToRead(),
    group=EVALUATED,
    help="Ground truth: the grades that people gave to documents, which are 0, 1, 2 or 3.",
)
@opt.file_option(
    "--run",
    "runs",
    kind=FileToRead(),
    group=EVALUATED,
    multiple=True,
    help="A run, to compute measures by the grades of people and of a model. Repeatable.",
)
@opt.measures
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
@opt.digits
@opt.safe_csv
@opt.input_options
def agreement(files: tuple[str, ...], truth: str | None, runs: tuple[str, ...], **values: Any) -> None:
    """Compare the labels of each model with those of people about the same things.

    The authors human and human:NAME are people, and so are the judges of the ground truth. All others are models.
    """
    from karat.cli.inputs import parse_inputs
    from karat.cli.output import Output
    from karat.evaluation.label_agreement import label_agreement

    output = Output.of(values, is_scores=False)
    inputs = parse_inputs(values)
    output.print(
        label_agreement(
            list(files),
            truth,
            list(runs) or None,
            values["measures"] or None,
            truth_columns=inputs.columns.get("truth"),
            run_columns=inputs.columns.get("run"),
            truth_format=inputs.formats.get("truth"),
            run_format=inputs.formats.get("run"),
            split=inputs.split,
        )
    )
