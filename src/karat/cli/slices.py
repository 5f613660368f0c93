"""What `karat evaluate --by` and `karat compare --by` print: scores and differences of each group of queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from karat.cli.files import split_column
from karat.cli.output import Output, print_report
from karat.errors import KaratError, require, shown
from karat.scores import Scores
from karat.sources.beir import is_data_set, queries_file
from karat.sources.data_sets import named_data_set, query_texts
from karat.sources.input_file import InputFile

if TYPE_CHECKING:
    from karat.comparison import Comparison

_BUILT_IN = ("length", "relevant")
_COLUMN_HINT = "A value for each query is read from CSV, TSV, JSON or JSON lines with a column of query ids."


@dataclass(frozen=True)
class Grouping:
    """How queries are grouped: by a built-in property, or by a value per query; with query texts for `length`."""

    name: str
    by: Any
    texts: dict[str, Any] | None


def read_grouping(by: str | None, texts: str | None) -> Grouping | None:
    """Read the files that `--by` and `--texts` name; None without `--by`."""
    if texts is not None and by != "length":
        raise KaratError("--texts is only used to group by length", hint="Add --by length, or leave --texts out.")
    if by is None:
        return None
    values = by if by in _BUILT_IN else _read_column(by, "--by")
    if texts is not None and is_data_set(texts):
        texts = f"{queries_file(texts)}:text"
    return Grouping(split_column(by)[1], values, None if texts is None else _read_column(texts, "--texts"))


def print_slices(runs: Mapping[str, Scores], grouping: Grouping, output: Output) -> None:
    """Print or write the scores of each group of queries."""
    several = len(runs) > 1
    with _with_options(grouping):
        found = {name: scores.slices(grouping.by, texts=grouping.texts) for name, scores in runs.items()}
    slices = {name: replace(each, by=grouping.name) for name, each in found.items()}
    tables = [each.table(output.decimals) for each in slices.values()]
    if several:
        tables = [
            replace(table, notes=(f"{name}: {table.notes[0]}", *table.notes[1:]))
            for name, table in zip(slices, tables, strict=True)
        ]
    documents: dict[str, Any] = {name: each.to_dict() for name, each in slices.items()}
    rows = [
        {**({"run": name} if several else {}), "group": group["group"], "queries": group["queries"], "measure": measure,
         **values}
        for name, document in documents.items()
        for group in document["groups"]
        for measure, values in group["scores"].items()
    ]  # fmt: skip
    document = {"runs": documents} if several else next(iter(documents.values()))
    print_report(output, tables, document=lambda: document, rows=lambda: rows)


def print_comparison(comparison: Comparison, grouping: Grouping, output: Output) -> None:
    """Print or write a comparison within each group of queries."""
    with _with_options(grouping):
        slices = replace(comparison.slices(grouping.by, texts=grouping.texts), by=grouping.name)
    print_report(output, [slices.table(output.decimals)], document=slices.to_dict, rows=slices.records)


@contextmanager
def _with_options(grouping: Grouping) -> Iterator[None]:
    """Let errors on missing data name options of the command line."""
    try:
        yield
    except KaratError as error:
        if grouping.by == "length" and grouping.texts is None:
            hint = "Add the query texts, such as --texts queries.jsonl:text."
        elif grouping.by == "relevant":
            hint = "Name the ground truth and the runs, or group by a column of a file, such as queries.csv:language."
        else:
            # The parameters of Python have the names of the options.
            what = f"--{error.what}" if error.what.startswith(("by ", "texts ")) else error.what
            raise KaratError(what, where=error.where, hint=error.hint) from None
        raise KaratError(error.what, hint=hint) from None


def _read_column(text: str, option: str) -> dict[str, Any]:
    """A value for each query from `FILE:COLUMN` (JSON lines, JSON, CSV or TSV), as numbers if all of them are."""
    from karat.sources.answer_rows import HINT, read_answer_rows

    if option == "--texts" and named_data_set(text):
        return dict(query_texts(text))
    file, name = split_column(text)
    if not (file and name):
        built_in = f"{', '.join(_BUILT_IN)}, or " if option == "--by" else ""
        hint = f"Use {built_in}a file and one of its columns, such as queries.csv:language."
        raise KaratError(f"{option} {shown(text)} is not of the form FILE:COLUMN", hint=hint)
    try:
        values: dict[str, Any] = {}
        for place, query, value in read_answer_rows(InputFile(file), "answer", {"answer": name}, file):
            if values.setdefault(query, value) != value:
                what = f"query {query} has the value {shown(value)} here, but {shown(values[query])} earlier"
                raise KaratError(what, where=place, hint="Give each query one value.")
    except KaratError as error:
        # Hints end with advice on --field, which does not apply here, and these records are not answers.
        hint, found, _ = (error.hint or "").replace(HINT["answer"], _COLUMN_HINT).partition("--field")
        hint = hint[: hint.rfind(".") + 1] if found else hint
        raise KaratError(error.what, where=error.where, hint=hint or None) from None
    require(values, "the file contains no queries", _COLUMN_HINT, where=file)
    if any(isinstance(value, Mapping) and name in value for value in values.values()):  # {query: {column: value}}
        values = {query: value.get(name) if isinstance(value, Mapping) else value for query, value in values.items()}
    known = [value for value in values.values() if value is not None]
    with suppress(ValueError):
        if option == "--by" and all(isinstance(value, str) for value in known):
            return {query: None if value is None else float(value) for query, value in values.items()}
    return values
