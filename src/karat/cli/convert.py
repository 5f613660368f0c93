"""`karat convert`: a file in another format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from karat.cli import options as opt
from karat.cli.files import FileToWrite
from karat.cli.parser import OUTPUT, READING, Argument, Command
from karat.reading.bytes.names import FORMATS


class FileOrOutput(FileToWrite):
    """A parameter that names a file to write; `-` is standard output."""

    def paths(self, value: str) -> list[str]:
        return [] if value == "-" else [value]


@click.command("convert", cls=Command, example="karat convert runs/bm25.trec bm25.parquet")
@opt.file_argument(
    "source",
    "IN",
    "A run, ground truth or results, in any format that karat reads, plain or compressed; - is standard input.",
    required=True,
)
@click.argument(
    "target",
    cls=Argument,
    type=FileOrOutput(),
    metavar="OUT",
    required=False,
    description="The file to write: .trec, .qrels, .csv, .tsv, .json, .jsonl, .parquet or .feather; text also with .gz,"
    " .bz2, .xz, .zst or .lz4 after it. - is standard output.",
)
@opt.file_option("-o", "--output", "file", kind=FileOrOutput(), group=OUTPUT, help="The same as OUT.")
@opt.choice_option(
    "as", ("run", "truth", "results"), None, "What IN contains, if that cannot be detected.", group=READING
)
@opt.options_of_one_input
@opt.choice_option("output-format", FORMATS, None, "Format of OUT. By default, its suffix decides.", group=OUTPUT)
@opt.option(
    "--tag",
    group=OUTPUT,
    default="karat",
    show_default=True,
    metavar="NAME",
    help="The name of the run in a TREC file.",
)
def command(
    source: str,
    target: str | None,
    file: str | None,
    output_format: str | None,
    tag: str,
    **values: Any,
) -> None:
    """Convert a run, ground truth or results to another file format."""
    from karat.cli.inputs import parse_inputs
    from karat.cli.output import say_written
    from karat.cli.terminal import print_data, print_error
    from karat.errors import printable, require, size_text
    from karat.output.progress import progress_bar
    from karat.reading.columns import plain_names
    from karat.reading.conversion import Conversion, target_of

    def emit(chunks: Iterator[bytes]) -> None:
        for chunk in chunks:
            print_data(chunk.decode(), output_format or "")

    require(target is None or file is None, "the file to write is given twice, as OUT and with -o", "Leave one out.")
    target = file if target is None else target
    require(target is not None, "the file to write is missing", "Name it: karat convert IN OUT, or -o OUT.")
    target = str(target)
    to_output = target == "-"
    written_to = target_of("standard output" if to_output else target, output_format, emit if to_output else None)
    inputs = parse_inputs(values)
    input_format = next(iter(inputs.formats.values()), None)
    names = {role: name for columns in inputs.columns.values() for role, name in plain_names(columns).items()}
    conversion = Conversion(values["as"], names, input_format, inputs.split, tag)
    with progress_bar("bytes") as progress:
        converted = conversion.apply(source, written_to, progress)
    if not to_output:
        say_written(target, f"{converted.contents}{'' if converted.size is None else f', {size_text(converted.size)}'}")
    print_error("".join(f"note: {printable(note)}.\n" for note in converted.notes))
