"""Convert Scores to Arrow, pandas, polars, JSON, CSV and Parquet, and load them from files."""

from __future__ import annotations

import csv
import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from karat.errors import KaratError, shown
from karat.output.files import write_text, write_whole
from karat.output.tables import delimited
from karat.scores import Scores
from karat.scores.finding import Finding

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_METADATA = b"karat"


def to_arrow(scores: Scores) -> pa.Table:
    columns = {"query": pa.array(scores.queries, pa.string())}
    for name, values in scores.values.items():
        columns[name] = pa.array(values, pa.float64(), from_pandas=True)
    about = {"name": scores.name, "findings": [finding.to_dict() for finding in scores.findings]}
    return pa.table(columns).replace_schema_metadata({_METADATA: json.dumps(about, ensure_ascii=False)})


def from_arrow(table: pa.Table, where: str) -> Scores:
    if "query" not in table.column_names:
        raise _not_scores(where, "it has no column query")
    try:
        about = json.loads((table.schema.metadata or {}).get(_METADATA, b"{}"))
        findings, system = about.get("findings", ()), about.get("name", "")
    except (ValueError, AttributeError):
        raise _not_scores(where, "the metadata of karat is damaged") from None
    _check_columns(table.column_names, where)
    values = {
        name: np.array(_cast(table, name, pa.float64(), "is not all numbers", where).to_numpy(), np.float64)
        for name in table.column_names
        if name != "query"
    }
    queries = _cast(table, "query", pa.string(), "is not text", where).to_pylist()
    if None in queries:
        raise _not_scores(where, "a query has no id")
    return _checked(queries, values, findings, system, where)


def _cast(table: pa.Table, name: str, kind: pa.DataType, problem: str, where: str) -> pa.ChunkedArray:
    try:
        return table[name].cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _not_scores(where, f"column {shown(name)} {problem}") from None


def _check_columns(names: Sequence[str], where: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise _not_scores(where, f"column {shown(name)} appears {times} times")


def to_pandas(scores: Scores) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = to_arrow(scores).to_pandas()
    except ImportError:
        raise KaratError("pandas is not installed", hint="pip install pandas") from None
    return frame


def to_polars(scores: Scores) -> pl.DataFrame:
    try:
        import polars as pl
    except ImportError:
        raise KaratError("polars is not installed", hint="pip install polars") from None
    return pl.DataFrame(to_arrow(scores))


def to_dict(scores: Scores) -> dict[str, Any]:
    return {
        "name": scores.name,
        "means": scores.means,
        "queries": [{"query": query, **values} for query, values in scores.per_query.items()],
        "findings": [finding.to_dict() for finding in scores.findings],
    }


def to_json(scores: Scores, path: str | os.PathLike[str] | None = None) -> str:
    return write_text(json.dumps(to_dict(scores), ensure_ascii=False, indent=1, allow_nan=False) + "\n", path)


def to_csv(scores: Scores, path: str | os.PathLike[str] | None = None) -> str:
    rows = ([query, *values.values()] for query, values in scores.per_query.items())
    return write_text(delimited(["query", *scores.values], rows, ","), path)


def to_parquet(scores: Scores, path: str | os.PathLike[str]) -> None:
    import pyarrow.parquet as pq

    write_whole(path, lambda file: pq.write_table(to_arrow(scores), file))


def load(path: str | os.PathLike[str]) -> Scores:
    where = os.fspath(path)
    readers = {".json": _from_json, ".csv": _from_csv, ".parquet": _from_parquet}
    reader = readers.get(Path(where).suffix.lower())
    if reader is None:
        raise KaratError("not a .json, .csv or .parquet file", where=where, hint="Scores are saved as one of these.")
    try:
        return reader(where)
    except FileNotFoundError:
        raise KaratError("no such file", where=where) from None
    except (OSError, UnicodeDecodeError) as error:
        raise KaratError(f"cannot be read: {error}", where=where) from None


def _from_parquet(path: str) -> Scores:
    import pyarrow.parquet as pq

    try:
        return from_arrow(pq.read_table(path), path)
    except pa.ArrowInvalid as error:
        raise _not_scores(path, str(error)) from None


def _from_json(path: str) -> Scores:
    try:
        data = json.loads(Path(path).read_text("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise _not_scores(f"{path}:{error.lineno}", error.msg) from None
    if isinstance(data, dict) and isinstance(data.get("runs"), dict):
        raise _not_scores(path, f"it contains several runs ({', '.join(map(str, data['runs']))})")
    try:
        rows = data["queries"]
        names = list(data["means"])
        values = {name: np.array([_cell(row[name]) for row in rows], np.float64) for name in names}
        queries = [str(row["query"]) for row in rows]
        return _checked(queries, values, data["findings"], str(data["name"]), path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, KaratError):
            raise
        raise _not_scores(path, f"{type(error).__name__}: {error}") from None


def _from_csv(path: str) -> Scores:
    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            rows = list(csv.reader(file))
        except csv.Error as error:
            raise _not_scores(path, str(error)) from None
    while rows and not rows[-1]:
        rows.pop()
    if not rows or rows[0][:1] != ["query"]:
        raise _not_scores(path, "its first column is not query: is it a table of means?")
    names = rows[0][1:]
    _check_columns(rows[0], path)
    for at, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise _not_scores(f"{path}:{at}", f"{len(row)} columns, but the header has {len(rows[0])}")
    values = {}
    for at, name in enumerate(names, 1):
        column = []
        for line, row in enumerate(rows[1:], 2):
            try:
                column.append(_cell(row[at] or None))
            except ValueError:
                raise _not_scores(f"{path}:{line}", f"{shown(row[at])} is not a number") from None
        values[name] = np.array(column, np.float64)
    return _checked([row[0] for row in rows[1:]], values, (), "", path)


def _cell(value: Any) -> float:
    return math.nan if value is None else float(value)


def _checked(queries: list[str], values: dict[str, Any], findings: Any, name: str, where: str) -> Scores:
    if len(set(queries)) < len(queries):
        repeated = next(query for query, times in Counter(queries).items() if times > 1)
        raise _not_scores(where, f"query {repeated} appears twice")
    for measure, column in values.items():
        if np.isinf(column).any():
            query = queries[int(np.argmax(np.isinf(column)))]
            raise _not_scores(where, f"{measure} of query {query} is infinite")
    known = tuple(Finding(**{**finding, "queries": tuple(finding["queries"])}) for finding in findings)
    return Scores(tuple(queries), values, known, name)


def _not_scores(where: str, why: str) -> KaratError:
    return KaratError(
        f"not a karat scores file: {why}",
        where=where,
        hint="Save them with scores.to_json, to_csv or to_parquet; or `karat evaluate ... --per-query -o FILE`.",
    )
