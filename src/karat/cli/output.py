"""Where and how a command prints a result: tables for people, other formats for programs, to a file or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from karat.cli.terminal import print_data, print_error, print_table, print_text
from karat.errors import KaratError, printable, require, shown
from karat.options import Names, PlotKind
from karat.output.files import write_text
from karat.output.printable import BySystem, Printable, rendered
from karat.output.tables import DIGITS
from karat.scores import Scores
from karat.scores.columns import with_names
from karat.scores.summary import ShownScores, check_digits

_FORMAT_OF_SUFFIX = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".md": "markdown", ".markdown": "markdown", ".tex": "latex", ".latex": "latex", ".txt": "table",
    ".parquet": "parquet",
}  # fmt: skip
_FOR_PEOPLE = ("table", "markdown", "latex")
# These formats contain only data: what stands below a table goes to standard error instead.
_WITHOUT_NOTES = ("csv", "tsv", "jsonl", "parquet")


@dataclass(frozen=True)
class Output:
    """What is shown, in which format, and in which file; and the plot and the report that are written besides."""

    format_option: str | None = None
    file: str | None = None
    per_query: bool = False
    level: float | None = None
    """the confidence level of intervals, if they are shown"""
    explain: str | None = None
    """the query to explain, if one is explained"""
    digits: int | None = None
    """the number of decimals in tables, if it is given"""
    is_scores: bool = True
    """whether the output is scores, which a Parquet file can contain"""
    names: Names = "canonical"
    """how measures are named"""
    safe_csv: bool = False
    """whether spreadsheets must not run the cells of CSV and TSV as formulas"""
    plot: str | None = None
    plot_kind: PlotKind | None = None
    report: str | None = None
    title: str = ""
    """of the report"""

    @classmethod
    def of(cls, given: Mapping[str, Any], *, is_scores: bool = True) -> Output:
        """What the options of a command ask for; what cannot be written is an error before any work is done."""
        alike = ("file", "per_query", "explain", "digits", "names", "safe_csv", "plot", "plot_kind", "report", "title")
        chosen = {name: given[name] for name in alike if name in given}
        level = 0.95 if given.get("ci") else None
        output = cls(given.get("format"), level=level, is_scores=is_scores, **chosen)
        _check(output)
        if output.plot is not None or output.plot_kind is not None:
            from karat.cli.report import check_plot

            check_plot(output, given)
        return output

    @property
    def format(self) -> str:
        """The format of `--format`, or else of the file's suffix."""
        suffix = PurePath(self.file).suffix.lower() if self.file else ""
        return self.format_option or _FORMAT_OF_SUFFIX.get(suffix, "table")

    def print(self, result: Printable) -> None:
        """Print a result, or write it to the file: the one place where that is done."""
        digits = DIGITS if self.digits is None else self.digits
        if self.file is None and self.format == "table":
            for at, table in enumerate(result.tables(digits)):
                print_text("\n" if at else "")
                print_table(table)
        elif self.format == "parquet" and isinstance(result, ShownScores):
            result.to_parquet(str(self.file))
        else:
            text = rendered(result, self.format, digits, safe=self.safe_csv)
            if self.file is not None:
                write_text(text, self.file)
            elif self.format in _FOR_PEOPLE:
                print_text(text)
            else:
                print_data(text, self.format)
        if self.format in _WITHOUT_NOTES:
            print_error("".join(f"{printable(line)}\n" for line in result.remarks()))


def _check(output: Output) -> None:
    """Reject what cannot be written."""
    form, file = output.format, output.file
    if output.digits is not None:
        check_digits(output.digits)
        hint = f"Leave it out: {form} contains all digits."
        require(form in _FOR_PEOPLE, "--digits applies to table, markdown and latex", hint)
    if output.explain is not None:
        hint = "Use table, markdown, latex or json."
        require(form not in _WITHOUT_NOTES, f"an explanation cannot be written as {form}", hint)
        together = output.per_query or output.level is not None
        require(not together, "--explain shows one query", "Leave out --per-query and --ci.")
    if output.level is not None and (form == "parquet" or (output.per_query and form in _WITHOUT_NOTES)):
        raise KaratError(f"confidence intervals per query cannot be written as {form}", hint="Leave out --ci.")
    if output.safe_csv:
        hint = "Write CSV or TSV, or leave it out."
        require(form in ("csv", "tsv"), f"--safe-csv has no effect on the format {form}", hint, place=file)
    suffix = PurePath(file or "").suffix.lower()
    if file is not None and output.format_option is None and suffix and suffix not in _FORMAT_OF_SUFFIX:
        hint = "Choose one with --format, such as --format json."
        raise KaratError(f"the format of {suffix} files is not known", place=file, hint=hint)
    if form == "parquet":
        require(output.is_scores, "a Parquet file can contain only scores", "Use .csv, .json or .md.", place=file)


def check_sort(sort: str | None, systems: Mapping[str, Scores]) -> None:
    """Reject a measure that no system has."""
    if sort is not None and not any(sort in scores for scores in systems.values()):
        hint = f"The measures are {', '.join(dict.fromkeys(name for scores in systems.values() for name in scores))}."
        raise KaratError(f"--sort {shown(sort)} is not a measure of the scores", hint=hint)


def print_scores(scores: Mapping[str, Scores], output: Output, queries: Any = None, corpus: Any = None) -> None:
    """Print the scores of each run, or write them to the output file; or explain those of a query, with texts."""
    if output.explain is not None:
        # Findings about a choice made for the user are also shown with the explanation of one query.
        findings = (finding for each in scores.values() for finding in each.findings if finding.code == "default-model")
        print_error("".join(f"note: {printable(text)}\n" for text in sorted(set(map(str, findings)))))
        texts = {"queries": queries, "corpus": corpus}
        output.print(BySystem({name: each.explain(output.explain, **texts) for name, each in scores.items()}))
        return
    named = {name: with_names(each, output.names) for name, each in scores.items()}
    output.print(ShownScores(named, output.level, output.per_query))
