"""`karat verdicts template`: a sheet for people to fill in."""

from __future__ import annotations

import os
from typing import get_args

import click

from karat.cli import options as opt
from karat.cli.completion import complete_values
from karat.cli.files import FileToRead, FileToWrite
from karat.cli.parser import Command
from karat.options import Recipe

_RECIPES: tuple[str, ...] = get_args(Recipe)


@click.command("template", cls=Command)
@opt.file_argument(
    "results",
    "RESULTS",
    "Generated answers: results with the fields query, answer and retrieved, as far as the task is about them, or a"
    " submission to TREC RAG.",
    required=True,
)
@click.option(
    "--task",
    required=True,
    metavar="TASK",
    help=f"What to label: {', '.join(_RECIPES)}, or the name of a rubric in --items.",
    shell_complete=complete_values(_RECIPES),
)
@opt.file_option(
    "-o",
    "--output",
    "file",
    kind=FileToWrite(),
    required=True,
    help="The sheet to write, .csv or .tsv. An existing file is not overwritten, as it may contain labels.",
)
@opt.file_option(
    "--items",
    kind=FileToRead(),
    multiple=True,
    help="A verdict file with claims and nuggets, or with rubrics. Repeatable.",
)
@click.option("--system", metavar="NAME", help="The name of the system. By default, the name of the file.")
@opt.queries
@opt.corpus
@opt.fields
def command(
    results: str,
    task: str,
    file: str,
    items: tuple[str, ...],
    system: str | None,
    queries: tuple[str, ...],
    corpus: tuple[str, ...],
    fields: tuple[str, ...],
) -> None:
    """Write a sheet with a row for each label that people are to give."""
    from karat.cli.inputs import Inputs, parse_fields
    from karat.cli.terminal import print_text
    from karat.errors import KaratError, plural, printable
    from karat.labels.reading import read_verdict_records
    from karat.labels.recipes import needed_fields
    from karat.labels.results import read_responses
    from karat.labels.sheets import sheet_of, write_sheet
    from karat.sources.run_files import run_names

    if os.path.exists(file) and os.path.getsize(file):
        hint = "Write to another file, or remove this one first."
        raise KaratError("the file exists, and may contain labels", place=file, hint=hint)
    records = read_verdict_records(items) if items else None
    read = read_responses(
        results,
        system=system or run_names([results])[0],
        queries=Inputs().texts("queries", queries) or None,
        corpus=Inputs().texts("corpus", corpus) or None,
        fields=parse_fields(fields),
        needed=needed_fields(task),
    )
    known = [*records.items.values()] if records else []
    sheet = sheet_of(task, read.responses, known, records.tasks if records else None)
    write_sheet(sheet, file)
    rows = plural(sheet.labels, "label")
    print_text(printable(f"{file} asks for {rows} about {plural(sheet.queries, 'query')}.") + "\n")
    for note in (*(records.notes if records else ()), *read.notes, *sheet.notes):
        print_text(f"note: {printable(note)}.\n")
