"""`karat verdicts agreement`: how far models agree with people."""

from __future__ import annotations

from typing import Any

import click

from karat.cli import options as opt
from karat.cli.files import FileToRead
from karat.cli.parser import Command


@click.command("agreement", cls=Command)
@opt.file_argument("files", "FILE...", "Verdict files.", several=True, required=True)
@opt.file_option(
    "--truth", kind=FileToRead(), help="Ground truth: the grades that people gave to documents, which are 0, 1, 2 or 3."
)
@opt.file_option(
    "--run",
    "runs",
    kind=FileToRead(),
    multiple=True,
    help="A run, to compute measures by the grades of people and of a model. Repeatable.",
)
@opt.measures
@opt.digits
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
@opt.input_options
def command(files: tuple[str, ...], truth: str | None, runs: tuple[str, ...], **given: Any) -> None:
    """Compare the labels of each model with those of people about the same things.

    The authors human and human:NAME are people, and so are the judges of the ground truth. All others are models.
    """
    from karat.cli.inputs import parse_inputs
    from karat.cli.output import Output, print_report
    from karat.evaluation.label_agreement import label_agreement

    output = Output.of(given, is_scores=False)
    inputs = parse_inputs(given["formats"], given["columns"], given["split"])
    found = label_agreement(
        list(files),
        truth,
        list(runs) or None,
        given["measures"] or None,
        truth_columns=inputs.columns.get("truth"),
        run_columns=inputs.columns.get("run"),
        truth_format=inputs.formats.get("truth"),
        run_format=inputs.formats.get("run"),
        split=inputs.split,
    )
    print_report(output, found.tables(output.decimals), document=found.to_dict, rows=found.rows)
