"""`karat verdicts import`: what people have filled in becomes labels of a verdict file."""

from __future__ import annotations

import click

from karat.cli import options as opt
from karat.cli.files import FileToWrite
from karat.cli.parser import Command


@click.command("import", cls=Command)
@opt.file_argument("sheet", "SHEET", "A sheet that was written by `karat verdicts template`, as CSV.", required=True)
@opt.file_option(
    "-o",
    "--output",
    "file",
    kind=FileToWrite(),
    required=True,
    help="The verdict file to add the labels to, such as verdicts.jsonl. It is created if it does not exist.",
)
@click.option(
    "--by",
    default="human",
    metavar="NAME",
    help="Who has filled in the sheet. Give it if several people fill in copies of a sheet.",
)
def command(sheet: str, file: str, by: str) -> None:
    """Read a sheet that was filled in, and add its labels to a verdict file."""
    from karat.cli.terminal import print_error, print_text
    from karat.errors import KaratError, plural, printable
    from karat.labels.filled_sheets import SheetError, read_filled_sheet
    from karat.labels.writing import add_to_verdict_file

    try:
        filled = read_filled_sheet(sheet, by)
    except SheetError as error:
        if error.number == 1:
            raise
        print_error("".join(f"{each}\n" for each in error.errors))
        more = f", of which {len(error.errors)} are shown" if error.number > len(error.errors) else ""
        what = f"{plural(error.number, 'error')} in the sheet{more}; nothing was imported"
        raise KaratError(what, place=sheet) from None
    added = add_to_verdict_file(filled, file)
    lines = [f"{plural(added.labels, 'label')} added to {file}."]
    if filled.unlabelled:
        are = "row is" if filled.unlabelled == 1 else "rows are"
        lines.append(f"{filled.unlabelled:,} {are} not labelled yet.")
    print_text("".join(f"{printable(line)}\n" for line in lines))
    print_text("".join(f"note: {printable(note)}.\n" for note in (*filled.notes, *added.notes)))
