"""Read the scores of one or several systems from a file: saved by karat, or computed elsewhere."""

from __future__ import annotations

import csv
import json
import os
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from karat.arguments import check_path
from karat.errors import KaratError, enumeration, require, shown
from karat.files.kinds import JSON_IS_READ, PEEK, QUERIES_TO_DOCUMENTS, check_is_text
from karat.json_decoding import decode_json
from karat.output.delimited import unguarded
from karat.scores.directions import with_lower_is_better
from karat.scores.exports import METADATA
from karat.scores.score_table import ScoreTable
from karat.scores.scores import Scores

SUFFIXES = (".json", ".csv", ".parquet", ".tsv", ".jsonl", ".ndjson", ".feather")
"""of the files that scores are read from"""
_HINT = "Scores are a table with a column of query ids and a column of numbers for each measure."


def load_scores(path: str | os.PathLike[str], lower_is_better: Iterable[str] = ()) -> Scores:
    """The scores of the only system in a file."""
    systems = with_lower_is_better(read_scores(path), lower_is_better)
    if len(systems) > 1:
        what = f"this file contains the scores of several systems: {enumeration(list(systems), 'and')}"
        raise KaratError(what, where=os.fspath(path), hint="Use SystemScores.load(path), then choose one by its name.")
    return next(iter(systems.values()))


def load_systems(path: str | os.PathLike[str], lower_is_better: Iterable[str] = ()) -> dict[str, Scores]:
    """The scores of each system in a file; a system that it does not name has the name of the file."""
    systems = with_lower_is_better(read_scores(path), lower_is_better)
    return {name or Path(path).stem: scores for name, scores in systems.items()}


def read_scores(path: str | os.PathLike[str]) -> dict[str, Scores]:
    """The scores of each system in a file, by its name there, which may be empty."""
    where = check_path(path)
    formats = (_from_json, _from_csv, _from_table, _from_csv, _from_json_lines, _from_json_lines, _from_table)
    readers: dict[str, Callable[[str], dict[str, Scores]]] = dict(zip(SUFFIXES, formats, strict=True))
    reader = readers.get(Path(where).suffix.lower())
    if reader is None:
        hint = f"Scores are read from {enumeration(SUFFIXES, 'and')} files."
        raise KaratError("the format is not known by the file's name", where=where, hint=hint)
    try:
        if reader is not _from_table:
            with open(where, "rb") as file:
                check_is_text(file.read(PEEK), where, "scores in CSV, TSV or JSON are text in UTF-8")
        return reader(where)
    except FileNotFoundError:
        raise KaratError("no such file", where=where) from None
    except (OSError, UnicodeDecodeError) as error:
        raise KaratError(f"cannot be read: {error}", where=where) from None


def _from_table(path: str) -> dict[str, Scores]:
    import pyarrow as pa

    with open(path, "rb") as file:  # from a path, Arrow would take columns from the names of folders such as run=3
        try:
            table = _read_table(file)
            table.validate(full=True)  # Arrow trusts a file: a damaged offset would be read outside of the data
        except pa.ArrowException as error:
            raise _not_scores(path, str(error)) from None
    _check_names(table.column_names, path)
    try:
        about = json.loads((table.schema.metadata or {}).get(METADATA, b'{"runs": {}}'))["runs"]
        measures = [each.get("measures", []) for each in about.values()]
        valid = all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in measures)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        valid = False
    require(valid, "the metadata of karat is damaged", "Save the scores again.", where=path)
    saved = {name for names in measures for name in names}
    columns = {name: _values(table[name], name in saved) for name in table.column_names}
    return ScoreTable(path, columns, lambda at: f"{path}, row {at + 1}", about).systems()


def _read_table(file: BinaryIO) -> Any:
    """The table in a Parquet or Feather file, by its first bytes."""
    is_parquet = file.read(4) == b"PAR1"
    file.seek(0)
    if is_parquet:
        from pyarrow.parquet import read_table

        return read_table(file)
    from pyarrow.feather import read_table as read_feather

    return read_feather(file, memory_map=False)


def _values(column: Any, is_measure: bool) -> Sequence[object]:
    """The values of an Arrow column; those that cannot be ids or numbers are described by their type."""
    import pyarrow as pa

    if is_measure and pa.types.is_float64(column.type):  # as karat writes it; null becomes NaN
        values: Sequence[object] = column.to_numpy()
        return values
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if is_text or is_number or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return list(column.to_pylist())
    return [[str(kind)]] * len(column)


def _from_json(path: str) -> dict[str, Scores]:
    data = decode_json(Path(path).read_bytes().removeprefix(BOM_UTF8), path, _HINT, constants=True)
    if isinstance(data, dict) and isinstance(data.get("runs"), dict) and data["runs"]:
        return {name: _from_document(each, name, path) for name, each in data["runs"].items()}
    if isinstance(data, dict) and "queries" in data and "means" in data:
        name = data.get("name", "")
        require(isinstance(name, str), f"the name is {shown(name)}, which is not text", where=path)
        return {name: _from_document(data, name, path)}
    if isinstance(data, dict) and data and all(isinstance(row, dict) for row in data.values()):
        measures = [set(row) for row in data.values() if row]
        if len(measures) > 1 and not set.intersection(*measures):
            what = f"this file is {QUERIES_TO_DOCUMENTS}, not scores"
            raise KaratError(what, where=path, hint=JSON_IS_READ)
        data = [{"query": query, **row} for query, row in data.items()]
    if not isinstance(data, list):
        raise _not_scores(path, "it is not a list with an object per query")
    return _from_records(data, path, lambda at: f"{path}, record {at + 1}").systems()


def _from_document(data: Any, name: str, path: str) -> Scores:
    """The scores of a system as `Scores.to_dict` returns them."""
    valid = isinstance(data, dict) and isinstance(data.get("means", {}), dict)
    if not (valid and isinstance(data.get("queries", []), list)):
        raise _not_scores(path, "it is damaged")
    try:
        about = {**data, "measures": list(data["means"])}
        rows = [{"query": row["query"], **{name: row[name] for name in data["means"]}} for row in data["queries"]]
    except (KeyError, TypeError) as error:
        missing = f"{shown(error.args[0])} is missing" if isinstance(error, KeyError) else "it is damaged"
        raise _not_scores(path, missing) from None
    table = _from_records(rows, path, lambda at: f"{path}, record {at + 1} of queries")
    columns = table.columns or dict.fromkeys(["query", *about["measures"]], ())
    return ScoreTable(path, columns, table.place, {name: about}).systems()[name]


def _from_json_lines(path: str) -> dict[str, Scores]:
    records, lines = [], []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            text = (line.removeprefix(BOM_UTF8) if number == 1 else line).strip()
            if text:
                records.append(decode_json(text, f"{path}:{number}", _HINT, constants=True))
                lines.append(number)
    return _from_records(records, path, lambda at: f"{path}:{lines[at]}").systems()


def _from_records(records: Sequence[Any], path: str, place: Callable[[int], str]) -> ScoreTable:
    """A table with a row per record; a field that a record lacks is null."""
    for at, record in enumerate(records):
        if not isinstance(record, dict):
            raise KaratError(f"{shown(record)} is not an object", where=place(at), hint=_HINT)
    names = dict.fromkeys(name for record in records for name in record)
    return ScoreTable(path, {name: [record.get(name) for record in records] for name in names}, place)


def _from_csv(path: str) -> dict[str, Scores]:
    rows, lines = [], []
    with open(path, encoding="utf-8-sig", newline="") as file:
        delimiter = "\t" if path.lower().endswith(".tsv") else ","
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
        try:
            for row in reader:
                rows.append(row)
                lines.append(reader.line_num)
        except csv.Error as error:
            raise _not_scores(f"{path}:{reader.line_num}", str(error)) from None
    while rows and not rows[-1]:
        rows.pop()
    header, *body = unguarded(rows) or [[]]
    _check_names(header, path)
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        hint = "A .csv file has commas between columns, and points in numbers; a .tsv file has tabs."
        wrong = len(header) == 1 and mark != delimiter and mark in header[0]
        require(not wrong, f"the columns are separated by {name}", hint, where=f"{path}:1")
    for row, line in zip(body, lines[1:], strict=False):
        if len(row) != len(header):
            what = f"this line has {len(row)} columns, but the header has {len(header)}"
            raise KaratError(what, where=f"{path}:{line}")
    columns = dict(zip(header, zip(*body, strict=True), strict=True)) if body else dict.fromkeys(header, ())
    return ScoreTable(path, columns, lambda at: f"{path}:{lines[at + 1]}").systems()


def _check_names(names: Iterable[str], path: str) -> None:
    for name, times in Counter(names).items():
        require(times == 1, f"column {shown(name)} appears {times} times", "Rename one of them.", where=path)


def _not_scores(where: str, why: str) -> KaratError:
    return KaratError(f"scores cannot be read: {why}", where=where, hint=_HINT)
