"""`karat verdicts template` and `karat verdicts import`: sheets that people fill in, written and read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from karat.cli import options as opt
from karat.cli.completion import complete_measure, complete_values
from karat.cli.files import FileToRead, FileToWrite
from karat.cli.joined_options import joined_options
from karat.cli.judge import ABOUT_DOCUMENTS, evaluated_runs, judge_option, judging_settings
from karat.cli.parser import OUTPUT, Command
from karat.cli.terminal import print_error, print_text
from karat.errors import KaratError, Message, Parameter, plural, printable, require
from karat.errors.command_lines import command_line
from karat.errors.credentials import without_credentials
from karat.grounding.judges.options import TASKS, JudgeOptions
from karat.options import RELEVANCE

if TYPE_CHECKING:
    from karat.grounding.sheets.sheets import Sheet

_LABELLED = "What is labelled"
_ABOUT_ANSWERS = ("items", "system", "number", "measures", "gold", "answers", "order", "fields", "records")


@click.command(
    "template",
    cls=Command,
    example="karat verdicts template generated.jsonl --task citations -o sheet.csv",
    groups={
        _LABELLED: ("gold", "answers", "queries", "corpus", "depth", "ties", "duplicates", "ignore_identical_ids"),
    },
)
@opt.file_argument(
    "results",
    "RESULTS",
    "Generated answers: results with the fields query, answer and retrieved, as far as the task is about them, or a"
    " submission to TREC RAG. With --task relevance: ground truth.",
    required=True,
)
@opt.file_argument(
    "runs", "RUN...", "With --task relevance: runs, whose unjudged documents are labelled.", repeatable=True
)
@opt.option(
    "--task",
    group=_LABELLED,
    required=True,
    metavar="TASK",
    help=f"What to label: {', '.join(TASKS)}, or the name of a rubric in --items.",
    shell_complete=complete_values(TASKS),
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
@opt.option(
    "--sample",
    group=_LABELLED,
    type=click.INT,
    metavar="N",
    help="Only N queries, drawn at random: their labels can correct the mean of a model (evaluate --correct).",
)
@opt.option(
    "--seed",
    group=_LABELLED,
    type=click.INT,
    metavar="S",
    help="With --sample: which queries are drawn. The same seed draws the same queries of each system. Default: 0.",
)
@opt.option(
    "--next",
    "number",
    group=_LABELLED,
    type=click.INT,
    metavar="N",
    help="Only N labels that people have not given yet in --items: those that narrow the possible scores the most.",
)
@opt.option(
    "-m",
    "--measure",
    "measures",
    group=_LABELLED,
    multiple=True,
    metavar="MEASURE",
    help="With --next: narrow the possible scores of this measure. By default, of all that the labels are for."
    " Repeatable.",
    shell_complete=complete_measure,
)
@judge_option("depth")
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
@opt.input_options
@opt.in_order(*(opt.evaluation_options[name] for name in ("ties", "duplicates", "ignore_identical_ids")))
@click.pass_context
def template(context: click.Context, /, file: str, **values: Any) -> None:
    """Write a sheet with a row for each label that people are to give."""
    from karat.cli.output import say_written
    from karat.grounding.sheets.sheets import write_sheet

    is_about_documents = values["task"] == RELEVANCE
    for name in _ABOUT_ANSWERS if is_about_documents else (*ABOUT_DOCUMENTS, "depth"):
        if opt.is_given(context, name):
            what: Message = [Parameter(name), " has no effect on the task ", values["task"]]
            raise KaratError(what, hint="Leave it out.")
    if os.path.exists(file) and os.path.getsize(file):
        hint = "Write to another file, or remove this one first."
        raise KaratError("the file exists, and may contain labels", place=file, hint=hint)
    _check_chosen(values["sample"], values["seed"], values["number"], values["measures"])
    asked = _about_documents(values) if is_about_documents else _about_answers(values)
    write_sheet(asked.sheet, file)
    rows = plural(asked.sheet.labels, "label")
    say_written(file, f"{rows} to give, about {plural(asked.sheet.queries, 'query')}")
    lines = [f"note: {note}." for note in (*asked.notes, *asked.sheet.notes)]
    lines += ["Fill in the column label. Then:", *_next_commands(file, asked)]
    print_text("".join(f"{printable(line)}\n" for line in lines))


class _Asked(NamedTuple):
    """A sheet, notes on what was read for it, and the arguments of the command that evaluates its labels."""

    sheet: Sheet
    notes: Sequence[str]
    sources: Sequence[str]
    options: Sequence[str] = ()


def _about_answers(values: Mapping[str, Any]) -> _Asked:
    """The sheet about the answers in results."""
    from karat.cli.inputs import parse_fields, parse_inputs_of_results, parse_order
    from karat.grounding.labels.recipes import needed_fields
    from karat.grounding.responses.results import read_responses
    from karat.grounding.sheets.sheets import sheet_of
    from karat.grounding.verdict_file.reading import read_verdict_records
    from karat.reading.pairs.paths import run_names
    from karat.reading.records.joining import JoinedSources

    results, task, system = (values[name] for name in ("results", "task", "system"))
    what = f"runs are about the task {RELEVANCE}, and the sheet is about one file of results"
    require(not values["runs"], what, "Leave them out.", place=next(iter(values["runs"]), None))
    labels = read_verdict_records(values["items"]) if values["items"] else None
    inputs, fields = parse_inputs_of_results(values), parse_fields(values["fields"])
    read = read_responses(
        results,
        system=system or run_names([results])[0],
        queries=inputs.texts("queries", values["queries"]) or None,
        corpus=inputs.texts("corpus", values["corpus"]) or None,
        fields=fields,
        needed=needed_fields(task),
        format=inputs.formats.get("truth"),
        records=values["records"],
        order=parse_order(values),
        joins=JoinedSources.of(values["gold"], values["answers"], fields),
    )
    known = [*labels.items.values()] if labels else []
    only = None
    if values["number"] is not None:
        from karat.evaluation.next_labels import next_labels

        measures = values["measures"] or None
        only = next_labels(task, read.responses, labels, values["number"], measures).wanted
    tasks = labels.tasks if labels else None
    sample, seed = values["sample"], values["seed"] or 0
    sheet = sheet_of(task, read.responses, known, tasks, sample=sample, seed=seed, only=only)
    options = {
        "--field": values["fields"], "--records": [values["records"]], "--order": [values["order"]],
        "--truth": [values["gold"]], "--answers": [values["answers"]],
    }  # fmt: skip
    reading = [part for option, given in options.items() for value in given if value for part in (option, value)]
    reading = [*(part for measure in sheet.measures for part in ("-m", measure)), *reading]
    named = [results if system is None else f"{results}:{system}"] if sheet.measures else []
    return _Asked(sheet, (*(labels.notes if labels else ()), *read.notes), named, reading)


def _about_documents(values: Mapping[str, Any]) -> _Asked:
    """The sheet about the unjudged documents of runs."""
    from karat.analysis.documents_to_judge import documents_to_judge
    from karat.cli.inputs import check_texts, parse_inputs
    from karat.grounding.sheets.document_sheets import sheet_of_documents

    truth, runs = values["results"], values["runs"]
    require(runs, "the unjudged documents are those of runs, and none is given", "Add runs after the ground truth.")
    depth = JudgeOptions(task=RELEVANCE, depth=values["depth"]).depth
    inputs, texts = parse_inputs(values), {}
    names: tuple[Literal["queries", "corpus"], ...] = ("queries", "corpus")
    for name in names:
        hint: Message = ["Pass ", Parameter(name), ": a file with ids and texts."]
        require(values[name], f"people read the texts of the {name}", hint)
        texts[name] = inputs.texts(name, values[name])
        check_texts(texts[name], name)
    systems = evaluated_runs([truth, *runs], inputs, judging_settings(values))
    documents = documents_to_judge(systems, depth).unjudged
    population = next(iter(systems.values())).queries
    sheet = sheet_of_documents(documents, population, **texts, sample=values["sample"], seed=values["seed"] or 0)
    return _Asked(sheet, (), [truth, *runs])


def _check_chosen(sample: int | None, seed: int | None, number: int | None, measures: Sequence[str]) -> None:
    """Reject options that choose the labels of a sheet in two ways."""
    if seed is not None and sample is None:
        raise KaratError("--seed says which queries --sample draws", hint="Add --sample N, or leave it out.")
    if measures and number is None:
        raise KaratError("--measure says what --next narrows", hint="Add --next N, or leave it out.")
    if number is not None and sample is not None:
        what = "--next and --sample cannot be combined: labels that are chosen by need are not a random sample"
        raise KaratError(what, hint="Leave one of them out.")


def _next_commands(sheet: str, asked: _Asked) -> list[str]:
    """The commands that lead from a sheet to scores, with the options by which its sources are read."""
    stem = os.path.splitext(sheet)[0]
    # The sheet may be named as the results are.
    imported = f"{stem}-labels.jsonl" if os.path.exists(f"{stem}.jsonl") else f"{stem}.jsonl"
    commands = [["verdicts", "import", sheet, "-o", imported]]
    if asked.sources:
        commands.append(["evaluate", *asked.sources, "--verdicts", imported, *asked.options])
    return [f"  {without_credentials(command_line(['karat', *words]))}" for words in commands]


@click.command(
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
