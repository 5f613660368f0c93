"""`karat verdicts`: labels about generated answers, how people give them, and how far models agree with them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any, get_args

import click

from karat.cli import options as opt
from karat.cli.completion import complete_values
from karat.cli.files import FileToRead, FileToWrite
from karat.cli.joined_options import joined_options
from karat.cli.parser import EVALUATED, OUTPUT, Command, Group
from karat.cli.terminal import print_error, print_text
from karat.errors import KaratError, did_you_mean, plural, printable
from karat.errors.credentials import without_credentials
from karat.options import Order, Recipe

_RECIPES: tuple[str, ...] = get_args(Recipe)
_SUMMARY = "summary"
_LABELLED = "What is labelled"


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


@command.command(
    "template",
    cls=Command,
    example="karat verdicts template generated.jsonl --task citations -o sheet.csv",
    groups={_LABELLED: ("gold", "answers", "queries", "corpus")},
)
@opt.file_argument(
    "results",
    "RESULTS",
    "Generated answers: results with the fields query, answer and retrieved, as far as the task is about them, or a"
    " submission to TREC RAG.",
    required=True,
)
@opt.option(
    "--task",
    group=_LABELLED,
    required=True,
    metavar="TASK",
    help=f"What to label: {', '.join(_RECIPES)}, or the name of a rubric in --items.",
    shell_complete=complete_values(_RECIPES),
)
@opt.file_option(
    "--items",
    kind=FileToRead(),
    group=_LABELLED,
    multiple=True,
    help="A verdict file with claims and nuggets, or with rubrics. Repeatable.",
)
@opt.option(
    "--system", group=_LABELLED, metavar="NAME", help="The name of the system. By default, the name of the file."
)
@joined_options
@opt.queries
@opt.corpus
@opt.file_option(
    "-o",
    "--output",
    "file",
    kind=FileToWrite(),
    group=OUTPUT,
    required=True,
    help="The sheet to write, .csv or .tsv. An existing file is not overwritten, as it may contain labels.",
)
@opt.option("--order", group=_LABELLED, metavar="ORDER", help=f"{opt.ORDER}.")
@opt.fields
def template(
    results: str,
    task: str,
    file: str,
    items: tuple[str, ...],
    system: str | None,
    gold: str | None,
    answers: str | None,
    queries: tuple[str, ...],
    corpus: tuple[str, ...],
    order: Order | None,
    fields: tuple[str, ...],
    records: str | None,
) -> None:
    """Write a sheet with a row for each label that people are to give."""
    from karat.cli.inputs import Inputs, parse_fields, parse_order
    from karat.cli.output import say_written
    from karat.grounding.labels.recipes import needed_fields
    from karat.grounding.responses.results import read_responses
    from karat.grounding.sheets.sheets import sheet_of, write_sheet
    from karat.grounding.verdict_file.reading import read_verdict_records
    from karat.reading.pairs.paths import run_names
    from karat.reading.records.joining import JoinedSources

    if os.path.exists(file) and os.path.getsize(file):
        hint = "Write to another file, or remove this one first."
        raise KaratError("the file exists, and may contain labels", place=file, hint=hint)
    labels = read_verdict_records(items) if items else None
    read = read_responses(
        results,
        system=system or run_names([results])[0],
        queries=Inputs().texts("queries", queries) or None,
        corpus=Inputs().texts("corpus", corpus) or None,
        fields=parse_fields(fields),
        needed=needed_fields(task),
        records=records,
        order=parse_order({"order": order}),
        joins=JoinedSources.of(gold, answers, parse_fields(fields)),
    )
    known = [*labels.items.values()] if labels else []
    sheet = sheet_of(task, read.responses, known, labels.tasks if labels else None)
    write_sheet(sheet, file)
    rows = plural(sheet.labels, "label")
    say_written(file, f"{rows} to give, about {plural(sheet.queries, 'query')}")
    lines = [f"note: {note}." for note in (*(labels.notes if labels else ()), *read.notes, *sheet.notes)]
    options = {"--field": fields, "--records": [records], "--order": [order], "--truth": [gold], "--answers": [answers]}
    reading = [part for option, values in options.items() for value in values if value for part in (option, value)]
    named = results if system is None else f"{results}:{system}"
    lines += ["Fill in the column label. Then:", *_next_commands(file, named, sheet.measures, reading)]
    print_text("".join(f"{printable(line)}\n" for line in lines))


def _next_commands(sheet: str, results: str, measures: Sequence[str], reading: Sequence[str]) -> list[str]:
    """The commands that lead from a sheet to scores, with the options by which its results are read."""
    stem = os.path.splitext(sheet)[0]
    # The sheet may be named as the results are.
    imported = f"{stem}-labels.jsonl" if os.path.exists(f"{stem}.jsonl") else f"{stem}.jsonl"
    commands = [["verdicts", "import", sheet, "-o", imported]]
    if measures:
        named = [part for measure in measures for part in ("-m", measure)]
        commands.append(["evaluate", results, "--verdicts", imported, *named, *reading])
    return [f"  {without_credentials(shlex.join(['karat', *words]))}" for words in commands]


@command.command(
    "import",
    cls=Command,
    example="karat verdicts import sheet.csv -o verdicts.jsonl --author human:ann",
)
@opt.file_argument("sheet", "SHEET", "A sheet that was written by `karat verdicts template`, as CSV.", required=True)
@opt.option(
    "--author",
    group=_LABELLED,
    default="human",
    metavar="NAME",
    help="Who has filled in the sheet. Give it if several people fill in copies of a sheet.",
)
@opt.file_option(
    "-o",
    "--verdicts",
    kind=FileToWrite(),
    group=OUTPUT,
    required=True,
    help="The verdict file to add the labels to, such as verdicts.jsonl. It is created if it does not exist.",
)
def import_sheet(sheet: str, verdicts: str, author: str) -> None:
    """Read a sheet that was filled in, and add its labels to a verdict file."""
    from karat.grounding.sheets.filled import SheetError, read_filled_sheet
    from karat.grounding.sheets.importing import add_to_verdict_file

    try:
        filled = read_filled_sheet(sheet, author)
    except SheetError as error:
        if error.number == 1:
            raise
        print_error("".join(f"{each}\n" for each in error.errors))
        more = f", of which {len(error.errors)} are shown" if error.number > len(error.errors) else ""
        what = f"{plural(error.number, 'error')} in the sheet{more}; nothing was imported"
        raise KaratError(what, place=sheet) from None
    added = add_to_verdict_file(filled, verdicts)
    lines = [f"{plural(added.labels, 'label')} added to {verdicts}."]
    if filled.unlabelled:
        are = "row is" if filled.unlabelled == 1 else "rows are"
        lines.append(f"{filled.unlabelled:,} {are} not labelled yet.")
    print_text("".join(f"{printable(line)}\n" for line in lines))
    print_text("".join(f"note: {printable(note)}.\n" for note in (*filled.notes, *added.notes)))


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
