"""What a command prints: for people on a terminal, for programs in a pipe, whole files where one is named."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any

from karat.cli.terminal import say, show
from karat.errors import KaratError, printable
from karat.output.files import written
from karat.output.tables import Table, delimited
from karat.scores import Scores
from karat.scores.summary import by_measure, by_query, notes, summary

_BY_SUFFIX = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".md": "markdown", ".markdown": "markdown", ".tex": "latex", ".latex": "latex", ".txt": "table",
    ".parquet": "parquet",
}  # fmt: skip
# Formats that hold numbers alone: what was noticed goes to standard error instead.
_CHOSEN = ("default-model",)  # what was chosen for the user is said also where one query is explained
_WITHOUT_NOTES = ("csv", "tsv", "jsonl", "parquet")


@dataclass(frozen=True)
class Request:
    """How the scores are wanted, or a report on them."""

    output: str | None
    file: str | None
    per_query: bool = False
    level: float | None = None
    explain: str | None = None
    scores: bool = True
    """whether it is scores that are wanted, which Parquet can hold"""

    @property
    def form(self) -> str:
        """The format asked for, or the one that the file's name says."""
        suffix = PurePath(self.file).suffix.lower() if self.file else ""
        return self.output or _BY_SUFFIX.get(suffix, "table")


def refuse_two_inputs(paths: Sequence[str]) -> None:
    """Standard input is one file."""
    if paths.count("-") > 1:
        raise KaratError("standard input can be read once", hint="Give - for one of the files only.")


def refuse(request: Request, inputs: Sequence[str]) -> None:
    """Say what cannot be done before any work is done."""
    if request.explain is not None and request.form in _WITHOUT_NOTES:
        raise KaratError(f"there is no {request.form} of an explanation", hint="Take a table, markdown, latex or json.")
    if request.explain is not None and (request.per_query or request.level is not None):
        raise KaratError("an explanation is of one query", hint="Leave out --per-query and --ci.")
    numbers_alone = request.form == "parquet" or (request.per_query and request.form in _WITHOUT_NOTES)
    if request.level is not None and numbers_alone:
        raise KaratError(f"there is no place for intervals in {request.form} of every query", hint="Leave out --ci.")
    file = request.file
    if file is None:
        return
    suffix = PurePath(file).suffix.lower()
    if request.output is None and suffix and suffix not in _BY_SUFFIX:
        raise KaratError(f"{suffix} says no format", where=file, hint="Name one with --output, such as --output json.")
    if request.form == "parquet" and not request.scores:
        raise KaratError("Parquet files hold scores", where=file, hint="Take .csv, .json or .md.")
    if request.form == "parquet" and len(inputs) > 2:
        raise KaratError("a Parquet file holds the scores of one run", where=file, hint="Take .csv or .json.")
    if os.path.isfile(file) and any(os.path.isfile(path) and os.path.samefile(path, file) for path in inputs):
        raise KaratError("this file is being read", where=file, hint="Write to another one.")


def deliver(scores: Mapping[str, Scores], request: Request) -> None:
    """Print the scores, or write them to the file that was named."""
    if request.explain is not None:
        _explain(scores, request.explain, request)
        return
    if request.file is None and request.form == "table":
        narrower = None if request.per_query else partial(by_measure, scores, request.level)
        show(_table(scores, request), narrower)
    elif request.file is not None and request.form == "parquet":
        next(iter(scores.values())).to_parquet(request.file)
    else:
        put(rendered(scores, request), request)
    if request.form in _WITHOUT_NOTES:
        _say_aside(notes(scores))


def _explain(scores: Mapping[str, Scores], query: str, request: Request) -> None:
    """What stands behind one query, run by run."""
    explained = {name: of_run.explain(query) for name, of_run in scores.items()}
    chosen = {str(finding) for of_run in scores.values() for finding in of_run.findings if finding.code in _CHOSEN}
    _say_aside(f"note: {text}" for text in sorted(chosen))
    tables = {name: explanation.tables() for name, explanation in explained.items()}
    if request.file is None and request.form == "table":
        for name, parts in tables.items():
            say(f"{printable(name)}\n" if len(tables) > 1 else "")
            for at, table in enumerate(parts):
                say("\n" if at else "")
                show(table)
    elif request.form == "json":
        put(_json({name: explanation.to_dict() for name, explanation in explained.items()}), request)
    else:
        comment = "% " if request.form == "latex" else ""
        heads = {name: f"{comment}{printable(name)}\n\n" if len(tables) > 1 else "" for name in tables}
        drawn = {name: "\n".join(_drawn(table, request) for table in parts) for name, parts in tables.items()}
        put("\n".join(heads[name] + text for name, text in drawn.items()), request)


def report(
    request: Request,
    tables: Sequence[Table],
    *,
    whole: Mapping[str, Any],
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[str] = (),
    latex: Callable[[], str] | None = None,
) -> None:
    """Print what was found about scores, or write it: tables for people, everything as JSON, rows for programs."""
    if request.form == "table" and request.file is None:
        for at, table in enumerate(tables):
            say("\n" if at else "")
            show(table)
    elif request.form == "json":
        put(json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n", request)
    elif request.form in ("csv", "tsv", "jsonl"):
        put(_lines(rows, request.form, columns), request)
        _say_aside(note for table in tables for note in (*table.notes, *table.said))
    elif request.form == "latex" and latex is not None:
        put(latex(), request)
    else:
        put("\n".join(_drawn(table, request) for table in tables), request)


def _lines(rows: Sequence[Mapping[str, object]], form: str, columns: Sequence[str] = ()) -> str:
    """A line per row, for programs; `columns` are there in any case."""
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    header = list(dict.fromkeys([*columns, *(key for row in rows for key in row)]))
    return delimited(header, [[row.get(key) for key in header] for row in rows], "," if form == "csv" else "\t")


def _say_aside(texts: Iterable[str]) -> None:
    sys.stderr.write("".join(f"{printable(text)}\n" for text in texts))


def put(text: str, request: Request) -> None:
    if request.file is None:
        say(text)
    else:
        written(text, request.file)


def _json(runs: Mapping[str, Any]) -> str:
    whole = next(iter(runs.values())) if len(runs) == 1 else {"runs": runs}
    return json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _drawn(table: Table, request: Request) -> str:
    return {"markdown": table.markdown, "latex": table.latex, "table": table.text}[request.form]()


def rendered(scores: Mapping[str, Scores], request: Request) -> str:
    """The scores as text in the format asked for."""
    if request.form == "json":
        return _json({name: _everything(of_run, request) for name, of_run in scores.items()})
    if request.form in ("csv", "tsv", "jsonl"):
        return _lines(list(_records(scores, request)), request.form)
    return _drawn(_table(scores, request), request)


def _table(scores: Mapping[str, Scores], request: Request) -> Table:
    return by_query(scores, request.level) if request.per_query else summary(scores, request.level)


def _everything(scores: Scores, request: Request) -> dict[str, Any]:
    whole = scores.to_dict()
    if request.level is not None:
        whole["intervals"] = {
            name: list(ends) if ends else None for name, ends in scores.intervals(request.level).items()
        }
    return whole


def _records(scores: Mapping[str, Scores], request: Request) -> Iterator[dict[str, object]]:
    """One record per run, or per query; the run is named where that tells anything."""
    for name, of_run in scores.items():
        if request.per_query:
            which = {"run": name} if len(scores) > 1 else {}
            for query, values in of_run.per_query.items():
                yield {**which, "query": query, **values}
            continue
        record: dict[str, object] = {"run": name, **of_run.means}
        if request.level is not None:
            for measure, ends in of_run.intervals(request.level).items():
                record[f"{measure} low"], record[f"{measure} high"] = ends or (None, None)
        yield record
