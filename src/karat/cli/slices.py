"""What `karat evaluate --by` prints: the scores of each group of queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from karat.analysis.slices import Slices
from karat.cli.files import split_column
from karat.cli.output import Output, print_report
from karat.errors import KaratError, shown
from karat.scores import Scores
from karat.sources.answer_rows import read_answer_rows
from karat.sources.text_file import TextFile

_BUILT_IN = ("length", "relevant")


@dataclass(frozen=True)
class Grouping:
    """How queries are grouped: by a built-in property, or by a value per query; with query texts for `length`."""

    name: str
    by: Any
    texts: dict[str, Any] | None


def read_grouping(by: str, texts: str | None) -> Grouping:
    """Read the files that `--by` and `--texts` name."""
    values = by if by in _BUILT_IN else _read_column(by, "--by")
    return Grouping(split_column(by)[1], values, None if texts is None else _read_column(texts, "--texts"))


def print_slices(runs: Mapping[str, Scores], grouping: Grouping, output: Output) -> None:
    """Print or write the scores of each group of queries."""
    several = len(runs) > 1
    slices = {name: replace(_slices(scores, grouping), by=grouping.name) for name, scores in runs.items()}
    tables = [each.table() for each in slices.values()]
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
    print_report(output, tables, document=document, rows=rows)


def _slices(scores: Scores, grouping: Grouping) -> Slices:
    try:
        return scores.slices(grouping.by, texts=grouping.texts)
    except KaratError as error:
        if grouping.by != "length" or grouping.texts is not None:
            raise
        raise KaratError(error.what, hint="Add the query texts, such as --texts queries.jsonl:text.") from None


def _read_column(text: str, option: str) -> dict[str, Any]:
    """A value for each query from `FILE:COLUMN` (JSON lines, JSON, CSV or TSV), as numbers if all of them are."""
    file, name = split_column(text)
    if not (file and name):
        built_in = f"{', '.join(_BUILT_IN)}, or " if option == "--by" else ""
        hint = f"Use {built_in}a file and one of its columns, such as queries.csv:language."
        raise KaratError(f"{option} {shown(text)} is not of the form FILE:COLUMN", hint=hint)
    try:
        values: dict[str, Any] = {}
        for place, query, value in read_answer_rows(TextFile(file), "answer", {"answer": name}, file):
            if values.setdefault(query, value) != value:
                what = f"query {query} has the value {shown(value)} here, but {shown(values[query])} earlier"
                raise KaratError(what, where=place, hint="Give each query one value.")
    except KaratError as error:
        # The option --field, which hints mention last, does not apply here.
        hint = re.sub(r"[^.]*--field.*", "", error.hint or "")
        raise KaratError(error.what, where=error.where, hint=hint or None) from None
    known = [value for value in values.values() if value is not None]
    with suppress(ValueError):
        if option == "--by" and all(isinstance(value, str) for value in known):
            return {query: None if value is None else float(value) for query, value in values.items()}
    return values
