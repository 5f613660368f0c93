"""`karat look`: what is in a file, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from karat.cli import options as opt
from karat.cli.parser import Command, naming_options
from karat.errors import KaratError

if TYPE_CHECKING:
    from karat.cli.inputs import Inputs, Side
    from karat.evaluation.look import Look


@click.command("look", cls=Command, example="karat look results.jsonl")
@opt.file_argument(
    "files",
    "FILE...",
    "Logs of RAG systems; or ground truth and runs after it; or saved scores or labels. In any format; - is standard"
    " input.",
    repeatable=True,
    required=True,
)
@opt.output_options(("table", "json", "markdown"), ".txt, .json or .md")
@opt.fields
@opt.input_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], **values: Any) -> int:
    """Show what is in a log, and what can be done with it.

    Which tool wrote it, which field is read as what, which match finds gold documents, and which measures can be
    computed. The exit status is 0 if it can be evaluated as it is, 1 if not, and 2 if it cannot be read.
    """
    from karat.cli.inputs import Inputs
    from karat.cli.output import Output
    from karat.evaluation.look import Looks

    output = Output.of(values, is_scores=False)
    looks = _looks(files, Inputs.of({**values, "corpus": ()}))
    for look in looks:
        if look.error is not None:
            with suppress(KaratError), naming_options(context):  # which spells parameters as options
                raise look.error
    output.print(Looks(tuple(looks)))
    return 0 if all(look.can_be_evaluated for look in looks) else 1


def _looks(files: Sequence[str], inputs: Inputs) -> list[Look]:
    """What is in each log, or in ground truth and each run."""
    from karat.cli.files import split_system
    from karat.evaluation.look import look
    from karat.reading.bytes.input_file import InputFile
    from karat.reading.columns import plain_names
    from karat.reading.contents.contents import content_of, first_is_truth

    opened = [InputFile(split_system(path)[0]) for path in files]
    sides: list[Side] = ["truth" if at == 0 else "run" for at in range(len(opened))]
    doc = plain_names(inputs.columns.get("truth")).get("doc")
    contents = [
        content_of(file, inputs.formats.get(side), inputs.fields, doc, inputs.records)
        for file, side in zip(opened, sides, strict=True)
    ]
    columns = {"truth_columns": inputs.columns.get("truth"), "run_columns": inputs.columns.get("run")}
    about: Any = {"fields": inputs.fields or None, "records": inputs.records, "split": inputs.split, **columns}
    if len(opened) == 1 or not first_is_truth(contents, accepts_saved=True):
        return [look(file, input_format=inputs.formats.get("truth"), **about) for file in opened]
    truth, *others = opened
    formats: Any = {"truth_format": inputs.formats.get("truth"), "run_format": inputs.formats.get("run")}
    return [look(truth, file, **formats, **about) for file in others]
