"""`karat verdicts FILE...`: what is labelled, by whom, and where authors disagree."""

from __future__ import annotations

from typing import Any

import click

from karat.cli import options as opt
from karat.cli.files import FileToWrite
from karat.cli.parser import Command


@click.command("summary", cls=Command)
@opt.file_argument("files", "FILE...", "Verdict files.", several=True, required=True)
@click.option(
    "-n", default=10, metavar="N", show_default=True, help="Number of disagreements to show; 0 shows all of them."
)
@opt.file_option(
    "--export", kind=FileToWrite(), help="Also write a table with a row per label, and all its fields: .csv or .tsv."
)
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
def command(files: tuple[str, ...], n: int, export: str | None, **given: Any) -> None:
    """Count labels by task, system, author, label and state, and show where authors disagree.

    `karat verdicts FILE...` is short for `karat verdicts summary FILE...`.
    """
    from dataclasses import replace

    from karat.cli.output import Output, print_report
    from karat.errors import KaratError
    from karat.files.names import suffix_of
    from karat.labels.reading import read_verdict_records
    from karat.labels.summary import HEADER, label_rows, summarize
    from karat.output.delimited import delimited
    from karat.output.files import write_text

    if n < 0:
        raise KaratError(f"-n {n} is negative", hint="Use a number of disagreements; 0 shows all of them.")
    delimiter = {".csv": ",", ".tsv": "\t"}.get(suffix_of(export)) if export else None
    if export and not delimiter:
        raise KaratError("labels are exported as CSV or TSV", place=export, hint="Use .csv or .tsv.")
    # --safe-csv is also for the exported table, whatever the format of the summary.
    safe = given["safe_csv"]
    output = replace(Output.of(given | {"safe_csv": safe and not export}, is_scores=False), safe_csv=safe)
    records = read_verdict_records(files)
    if export and delimiter:
        write_text(delimited(HEADER, label_rows(records), delimiter, safe=safe), export)
    found = summarize(records)
    columns = ["task", "system", "by", "label", "state", "number"]
    print_report(output, found.tables(n or None), document=found.to_dict, rows=found.rows, columns=columns)
