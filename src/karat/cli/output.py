"""What a command writes: its result as tables for people or as data for programs, and its plot and report."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from karat.cli.files import split_system
from karat.cli.terminal import print_commands, print_data, print_error, print_lines, print_table, print_text
from karat.errors import KaratError, printable, require, shown, size_text
from karat.errors.command_lines import command_line
from karat.options import Names, PlotKind
from karat.output.files import is_open_already, write_text
from karat.output.printable import BySystem, LineByLine, Printable, rendered
from karat.output.tables import DIGITS
from karat.scores import Scores
from karat.scores.columns import contents_of, with_names
from karat.scores.summary import ShownScores
from karat.scores.value_texts import check_digits

if TYPE_CHECKING:
    from karat.cli.inputs import Inputs
    from karat.cli.settings import Settings
    from karat.cli.systems import SystemFiles
    from karat.comparison import Comparison
    from karat.report.subject import Reported

_FORMAT_OF_SUFFIX = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".md": "markdown", ".markdown": "markdown", ".tex": "latex", ".latex": "latex", ".txt": "table",
    ".parquet": "parquet",
}  # fmt: skip
_ON_SCREEN = ("table", "text")
_FOR_PEOPLE = (*_ON_SCREEN, "markdown", "latex")
# These formats contain only data: what stands below a table goes to standard error instead.
_WITHOUT_NOTES = ("csv", "tsv", "jsonl", "parquet", "github")


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
    def of(cls, values: Mapping[str, Any], *, is_scores: bool = True) -> Output:
        """What the options of a command ask for; what cannot be written is an error before any work is done."""
        alike = ("file", "per_query", "explain", "digits", "names", "safe_csv", "plot", "plot_kind", "report", "title")
        chosen = {name: values[name] for name in alike if name in values}
        level = 0.95 if values.get("ci") else None
        output = cls(values.get("format"), level=level, is_scores=is_scores, **chosen)
        _check(output)
        _check_plot(output, has_groups=values.get("by") is not None)
        if output.report is not None:
            from karat.report import check_report

            check_report(output.report)
        return output

    @property
    def format(self) -> str:
        """The format of `--format`, or else of the file's suffix."""
        suffix = PurePath(self.file).suffix.lower() if self.file else ""
        return self.format_option or _FORMAT_OF_SUFFIX.get(suffix, "table")

    @property
    def saves_scores(self) -> bool:
        """Whether the file contains the scores of every query, so that they can be loaded again."""
        return self.file is not None and self.format in ("json", "parquet")

    def print(self, result: Printable) -> None:
        """Print a result, or write it to the file: the one place where that is done."""
        digits = DIGITS if self.digits is None else self.digits
        if self.file is None and self.format in _ON_SCREEN and isinstance(result, LineByLine):
            print_lines(result.lines())
        elif self.file is None and self.format in _ON_SCREEN:
            for at, table in enumerate(result.tables(digits)):
                print_text("\n" if at else "")
                print_table(table)
        elif self.format == "parquet" and isinstance(result, ShownScores):
            result.to_parquet(str(self.file))
            say_written(str(self.file), result.contents)
        else:
            text = rendered(result, self.format, digits, safe=self.safe_csv)
            if self.file is not None:
                write_text(text, self.file)
                say_written(self.file, result.contents)
            elif self.format in _FOR_PEOPLE:
                print_text(text)
            elif self.format == "github":
                print_commands(text, to_error=False)
            else:
                print_data(text, self.format)
        if self.format in _WITHOUT_NOTES:
            print_error("".join(f"{printable(line)}\n" for line in result.remarks()))

    def save_report(self, reported: Reported, files: SystemFiles, also_read: Sequence[str] = ()) -> None:
        """Write the report of the systems in some files, if there is to be one, and say where it is."""
        if self.report is None:
            return
        from karat.analysis.query_groups import named_groups
        from karat.report import Provenance, write_report

        inputs = files.inputs
        read = [split_system(path)[0] for path in (*files.opened, *also_read)]
        read += [texts.file.name for texts in (*inputs.queries, *inputs.corpus)]
        write_report(
            reported,
            self.report,
            queries=list(inputs.queries) or None,
            corpus=list(inputs.corpus) or None,
            by=named_groups(files.settings.by),
            title=self.title,
            provenance=Provenance(command_line(["karat", *sys.argv[1:]]), (*read, *inputs.verdicts)),
        )
        say_written(self.report, f"a report, {size_text(os.path.getsize(self.report))}")

    @property
    def needs_run_data(self) -> bool:
        """Whether the report or the plot shows more than scores."""
        if self.report is not None or self.plot is None or self.plot_kind is None:
            return self.report is not None
        from karat.report.plots.kinds import KINDS

        return KINDS[self.plot_kind].needs == "run data"

    def save_plot(
        self,
        default: PlotKind,
        systems: Mapping[str, Scores],
        inputs: Inputs,
        settings: Settings,
        comparison: Comparison | None = None,
    ) -> None:
        """Write the plot, if there is to be one: of groups of queries if there are some and no other kind is given."""
        if self.plot is None:
            return
        from karat.report.plots.kinds import MAX_PAIRS, Subject, draw, pairs_of
        from karat.report.plots.pictures import write_plot

        by, groups = settings.by, dict[str, object]()
        kind = self.plot_kind or ("slices" if by is not None else default)
        if by is not None:
            queries = {query for scores in systems.values() for query in scores.queries}
            groups = {"by": by, "queries": inputs.query_texts(by, queries)}
        pairs = pairs_of(systems, None, None) if comparison is None else comparison.pairs()
        if self.plot_kind is None and kind == "differences" and len(pairs) > MAX_PAIRS:
            kind = "intervals"
        level = 0.95 if comparison is None else comparison.method.level
        chart = draw(kind, Subject(systems, None, pairs, comparison, groups, level, self.names))
        write_plot(chart, self.plot)
        say_written(self.plot, f"a plot ({kind}) of {contents_of(systems)}")
        if comparison is None:  # a comparison has notes itself
            for pair, note in chart.panel_notes.items():
                print_error(printable(f"note: {self.plot}: {pair}, {note}.") + "\n")


def say_written(file: str, contents: str) -> None:
    """Say on standard error what was written to a file; if its contents are not known, how large it is."""
    if os.path.isfile(file) and not is_open_already(file):  # not of pipes, /dev/null and /dev/stdout
        print_error(printable(f"wrote {file}: {contents or size_text(os.path.getsize(file))}") + "\n")


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


def _check_plot(output: Output, has_groups: bool) -> None:
    """Reject a plot that cannot be written."""
    file, kind = output.plot, output.plot_kind
    if file is None:
        require(kind is None, "--plot-kind is only used with --plot", "Add --plot FILE, or leave --plot-kind out.")
        return
    from karat.report.plots.pictures import check_installed, check_suffix

    check_suffix(file)
    check_installed()
    hint = "Add --by, such as --by queries.csv:language."
    require(kind != "slices" or has_groups, "--plot-kind slices needs groups of queries", hint)


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
