"""What a command prints: tables for people, other formats for programs, to standard output or to a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from karat.cli.terminal import print_data, print_error, print_table, print_text
from karat.errors import KaratError, printable, require, shown
from karat.options import Names
from karat.output.delimited import delimited
from karat.output.files import json_text, write_text
from karat.output.tables import Table
from karat.scores import Scores, SystemScores
from karat.scores.exports import mean_rows, query_rows
from karat.scores.names import with_names
from karat.scores.summary import DIGITS, by_query, check_digits, layouts, notes, summary

if TYPE_CHECKING:
    from karat.analysis.explain import Explanation

_FORMAT_OF_SUFFIX = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".md": "markdown", ".markdown": "markdown", ".tex": "latex", ".latex": "latex", ".txt": "table",
    ".parquet": "parquet",
}  # fmt: skip
_FOR_PEOPLE = ("table", "markdown", "latex")
# These formats contain only numbers: notes go to standard error instead.
_WITHOUT_NOTES = ("csv", "tsv", "jsonl", "parquet")
# Findings about a choice made for the user, which are also shown with the explanation of one query.
_CHOICES = ("default-model",)


@dataclass(frozen=True)
class Output:
    """What is printed, in which format, and to which file."""

    format_option: str | None
    file: str | None
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

    @classmethod
    def of(cls, given: Mapping[str, Any], *, is_scores: bool = True) -> Output:
        """What the options of a command ask for; a format that cannot be written is an error before any work."""
        output = cls(
            given["format"],
            given["file"],
            given.get("per_query", False),
            0.95 if given.get("ci") else None,
            given.get("explain"),
            given.get("digits"),
            is_scores,
            given.get("names", "canonical"),
            given.get("safe_csv", False),
        )
        check_output(output)
        return output

    @property
    def decimals(self) -> int:
        """The number of decimals in tables."""
        return DIGITS if self.digits is None else self.digits

    @property
    def format(self) -> str:
        """The format of `--format`, or else of the file's suffix."""
        suffix = PurePath(self.file).suffix.lower() if self.file else ""
        return self.format_option or _FORMAT_OF_SUFFIX.get(suffix, "table")


def check_output(output: Output) -> None:
    """Reject a format that cannot be written before any work is done."""
    form, file = output.format, output.file
    if output.digits is not None:
        check_digits(output.digits, "--digits ")
        hint = f"Leave it out: {form} contains all digits."
        require(form in _FOR_PEOPLE, "--digits applies to table, markdown and latex", hint)
    if output.explain is not None:
        hint = "Use table, markdown, latex or json."
        require(form not in _WITHOUT_NOTES, f"an explanation cannot be written as {form}", hint)
        together = output.per_query or output.level is not None
        require(not together, "--explain shows one query", "Leave out --per-query and --ci.")
        require(output.digits is None, "--digits does not apply to --explain", "Leave it out.")
    if output.level is not None and (form == "parquet" or (output.per_query and form in _WITHOUT_NOTES)):
        raise KaratError(f"confidence intervals per query cannot be written as {form}", hint="Leave out --ci.")
    if output.safe_csv:
        hint = "Write CSV or TSV, or leave it out."
        require(form in ("csv", "tsv"), f"--safe-csv has no effect on the format {form}", hint, place=file)
    if file is None:
        return
    suffix = PurePath(file).suffix.lower()
    if output.format_option is None and suffix and suffix not in _FORMAT_OF_SUFFIX:
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
        explained = {
            name: each.explain(output.explain, queries=queries, corpus=corpus) for name, each in scores.items()
        }
        _print_explanations(explained, scores, output)
        return
    scores = {name: with_names(of_run, output.names) for name, of_run in scores.items()}
    if output.file is None and output.format == "table":
        if output.per_query:
            print_table(_table(scores, output))
        else:
            print_table(*layouts(scores, output.level, output.decimals))
    elif output.file is not None and output.format == "parquet":
        (next(iter(scores.values())) if len(scores) == 1 else SystemScores(scores)).to_parquet(output.file)
    else:
        write_or_print(rendered(scores, output), output)
    if output.format in _WITHOUT_NOTES:
        _print_notes(notes(scores, with_intervals=output.level is not None))


def _print_explanations(explanations: Mapping[str, Explanation], scores: Mapping[str, Scores], output: Output) -> None:
    """The evidence for the scores of one query, run by run."""
    chosen = {str(finding) for of_run in scores.values() for finding in of_run.findings if finding.code in _CHOICES}
    _print_notes(f"note: {text}" for text in sorted(chosen))
    tables = {name: explanation.tables() for name, explanation in explanations.items()}
    if output.file is None and output.format == "table":
        for name, parts in tables.items():
            print_text(f"{printable(name)}\n" if len(tables) > 1 else "")
            _print_tables(parts)
    elif output.format == "json":
        write_or_print(_json({name: explanation.to_dict() for name, explanation in explanations.items()}), output)
    else:
        comment = "% " if output.format == "latex" else ""
        titles = {name: f"{comment}{printable(name)}\n\n" if len(tables) > 1 else "" for name in tables}
        texts = {name: "\n".join(_table_text(table, output) for table in parts) for name, parts in tables.items()}
        write_or_print("\n".join(titles[name] + text for name, text in texts.items()), output)


def print_report(
    output: Output,
    tables: Sequence[Table],
    *,
    document: Callable[[], Mapping[str, Any]],
    rows: Callable[[], Sequence[Mapping[str, object]]],
    columns: Sequence[str] = (),
    latex: Callable[[], str] | None = None,
) -> None:
    """Print a report on scores, or write it: as tables for people, as a JSON document, or as rows for programs.

    The document and the rows are made only if they are written.
    """
    if output.format == "table" and output.file is None:
        _print_tables(tables)
    elif output.format == "json":
        write_or_print(json_text(document()), output)
    elif output.format in ("csv", "tsv", "jsonl"):
        write_or_print(_lines(rows(), output, columns), output)
        _print_notes(note for table in tables for note in (*table.notes, *table.sentences))
    elif output.format == "latex" and latex is not None:
        write_or_print(latex(), output)
    else:
        write_or_print("\n".join(_table_text(table, output) for table in tables), output)


def _print_tables(tables: Sequence[Table]) -> None:
    for at, table in enumerate(tables):
        print_text("\n" if at else "")
        print_table(table)


def _lines(rows: Sequence[Mapping[str, object]], output: Output, columns: Sequence[str] = ()) -> str:
    """A line per row, for programs; `columns` are in the header even if there are no rows."""
    if output.format == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    header = list(dict.fromkeys([*columns, *(key for row in rows for key in row)]))
    cells = [[row.get(key) for key in header] for row in rows]
    return delimited(header, cells, "," if output.format == "csv" else "\t", safe=output.safe_csv)


def _print_notes(texts: Iterable[str]) -> None:
    print_error("".join(f"{printable(text)}\n" for text in texts))


def write_or_print(text: str, output: Output) -> None:
    """Write a text to the output file, or to standard output."""
    if output.file is not None:
        write_text(text, output.file)
    elif output.format in _FOR_PEOPLE:
        print_text(text)
    else:
        print_data(text, output.format)


def _json(runs: Mapping[str, Any]) -> str:
    return json_text(next(iter(runs.values())) if len(runs) == 1 else {"runs": runs})


def _table_text(table: Table, output: Output) -> str:
    return {"markdown": table.markdown, "latex": table.latex, "table": table.text}[output.format]()


def rendered(scores: Mapping[str, Scores], output: Output) -> str:
    """The scores as text in the output's format."""
    if output.format == "json":
        return _json({name: _document(of_run, output) for name, of_run in scores.items()})
    if output.format in ("csv", "tsv", "jsonl"):
        return _lines(_records(scores, output), output)
    return _table_text(_table(scores, output), output)


def _table(scores: Mapping[str, Scores], output: Output) -> Table:
    return (by_query if output.per_query else summary)(scores, output.level, output.decimals)


def _document(scores: Scores, output: Output) -> dict[str, Any]:
    document = scores.to_dict()
    if output.level is not None:
        document["intervals"] = {
            name: list(ends) if ends else None for name, ends in scores.intervals(output.level).items()
        }
    return document


def _records(scores: Mapping[str, Scores], output: Output) -> list[dict[str, object]]:
    """A record per run or per query; a record per query names its run if there are several."""
    if output.per_query:
        return query_rows(scores, named=len(scores) > 1).records()
    records = mean_rows(scores).records()
    if output.level is not None:
        for of_run, record in zip(scores.values(), records, strict=True):
            for measure, ends in of_run.intervals(output.level).items():
                record[f"{measure} low"], record[f"{measure} high"] = ends or (None, None)
    return records
