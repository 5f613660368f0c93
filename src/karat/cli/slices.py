"""What `karat evaluate --by` shows: the scores of each group of queries."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from karat.analysis.slices import Slices
from karat.cli.output import Request, report
from karat.errors import KaratError, shown
from karat.scores import Scores
from karat.sources.answer_rows import read_answer_rows
from karat.sources.text_file import TextFile

_OWN = ("length", "relevant")


@dataclass(frozen=True)
class Grouping:
    """What queries are grouped by: its name, and the values or the texts that were read for it."""

    name: str
    by: Any
    texts: dict[str, Any] | None


def grouping(by: str, texts: str | None) -> Grouping:
    """What is asked for, read before anything is evaluated."""
    given = by if by in _OWN else _column(by, "--by")
    return Grouping(by.rpartition(":")[2], given, None if texts is None else _column(texts, "--texts"))


def show_slices(runs: Mapping[str, Scores], group: Grouping, request: Request) -> None:
    """Print the scores of each group of queries, or write them."""
    several = len(runs) > 1
    found = {name: replace(_sliced(scores, group), by=group.name) for name, scores in runs.items()}
    tables = [each.table() for each in found.values()]
    if several:
        tables = [
            replace(table, notes=(f"{name}: {table.notes[0]}", *table.notes[1:]))
            for name, table in zip(found, tables, strict=True)
        ]
    whole: dict[str, Any] = {name: each.to_dict() for name, each in found.items()}
    lines = [
        {**({"run": name} if several else {}), "group": group["group"], "queries": group["queries"], "measure": measure,
         **values}
        for name, each in whole.items()
        for group in each["groups"]
        for measure, values in group["scores"].items()
    ]  # fmt: skip
    report(request, tables, whole={"runs": whole} if several else next(iter(whole.values())), rows=lines)


def _sliced(scores: Scores, group: Grouping) -> Slices:
    try:
        return scores.slices(group.by, texts=group.texts)
    except KaratError as error:
        if group.by != "length" or group.texts is not None:
            raise
        raise KaratError(error.what, hint="Name their texts: --texts queries.jsonl:text.") from None


def _column(text: str, option: str) -> dict[str, Any]:
    """A value for each query, from `FILE:COLUMN`: JSON lines, JSON, CSV or TSV. What is a number is one."""
    file, colon, name = text.rpartition(":")
    if not (file and colon and name):
        own = f"Give {' or '.join(_OWN)}, or a" if option == "--by" else "Give a"
        hint = f"{own} file and one of its columns, as queries.csv:language."
        raise KaratError(f"{option} {shown(text)} is nothing to group by", hint=hint)
    try:
        values: dict[str, Any] = {}
        for place, query, value in read_answer_rows(TextFile(file), "answer", {"answer": name}, file):
            if values.setdefault(query, value) != value:
                what = f"query {query} has {shown(value)} here and {shown(values[query])} before"
                raise KaratError(what, where=place, hint="Give each query one value.")
    except KaratError as error:
        # How answers are named is no help here.
        hint = (error.hint or "").partition(" Name it: ")[0]
        raise KaratError(error.what, where=error.where, hint=hint or None) from None
    known = [value for value in values.values() if value is not None]
    with suppress(ValueError):
        if option == "--by" and all(isinstance(value, str) for value in known):
            return {query: None if value is None else float(value) for query, value in values.items()}
    return values
