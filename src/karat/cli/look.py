"""`karat look`: what is in a file, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from karat.cli import options as opt
from karat.cli.joined_options import joined_options
from karat.cli.parser import Command, spelling_of

if TYPE_CHECKING:
    from karat.cli.inputs import Inputs
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
@joined_options
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
            look.error.spelling = spelling_of(context)
    output.print(Looks(tuple(looks)))
    return 0 if all(look.can_be_evaluated for look in looks) else 1


def _looks(files: Sequence[str], inputs: Inputs) -> list[Look]:
    """What is in each file; or in ground truth and each run, or in each log with gold from another file."""
    from karat.cli.files import split_system
    from karat.cli.systems import contents_of, is_truth_of_others
    from karat.evaluation.look import look
    from karat.reading.bytes.input_file import InputFile

    opened = [InputFile(split_system(path)[0]) for path in files]
    truth = None if inputs.truth is None else InputFile(inputs.truth)
    contents = contents_of([*([] if truth is None else [truth]), *opened], inputs)[-len(opened) :]
    if truth is None and len(opened) > 1 and is_truth_of_others(opened[0], contents, inputs):
        truth, *opened = opened
        contents = contents[1:]
    sides: Any = {"split": inputs.split, "truth_columns": inputs.columns.get("truth")}
    if truth is not None:
        sides |= {"truth_format": inputs.formats.get("truth")}
    runs: Any = {"run_columns": inputs.columns.get("run"), "run_format": inputs.formats.get("run")}
    form = inputs.formats.get("truth" if truth is None else "run")
    logs: Any = {"fields": inputs.fields or None, "records": inputs.records, "answers": inputs.answers}
    return [
        look(truth, file, **sides, **runs, **logs)
        if truth is not None and content in ("documents", "documents or scores")
        else look(file, truth=truth, input_format=form, **sides, **logs)
        for file, content in zip(opened, contents, strict=True)
    ]
