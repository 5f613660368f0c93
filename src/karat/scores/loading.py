"""Read the scores of one or several systems from a file, saved by karat or computed elsewhere, or from a folder.

A folder has Parquet files with a row per query, and a JSON file with all else, which is written last. The columns are
`query`, one per measure (null if the query has no value), and one per kind of ground truth, with a digest per query.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import PurePath
from typing import Any, cast

import numpy as np

from karat.errors import KaratError, NoSuchFileError, Place, enumeration, first_few, plural, require, shown
from karat.errors.arguments import as_count, check_path, is_remote
from karat.measures import meanings
from karat.output.delimited import unguarded
from karat.reading.bytes.delimited_text import SEPARATORS, likely_separator, parsed_rows, row_error
from karat.reading.bytes.file_objects import FileSource, is_file_object
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_json, json_or_jsonl
from karat.reading.bytes.kinds import JSON_IS_READ, QUERIES_TO_DOCUMENTS, arrow_format
from karat.reading.bytes.names import ArrowFormat, format_of_name, is_arrow, without_suffixes
from karat.reading.bytes.part_files import DESCRIPTION, METADATA, part_files
from karat.reading.bytes.remote import RemotePath, local_path
from karat.scores.columns import with_lower_is_better
from karat.scores.finding import perhaps_documents
from karat.scores.score_table import ScoreTable, column_values, query_column
from karat.scores.scores import Scores
from karat.scores.stored_scores import FORMAT, StoredScores

_HINT = "Scores are a table with a column of query ids and a column of numbers for each measure."
_EMPTY = "the file is empty"
_START = 1 << 16  # bytes
_EVALUATE_AGAIN = "Evaluate again."


def load_scores(source: FileSource, lower_is_better: Iterable[str] = ()) -> Scores:
    """The scores of the only system in a file."""
    file = _input_file(source)
    systems = with_lower_is_better(read_scores(file), lower_is_better)
    if len(systems) > 1:
        what = f"this file contains the scores of several systems: {enumeration(list(systems), 'and')}"
        raise KaratError(what, place=file.name, hint="Use SystemScores.load(path), then choose one by its name.")
    return next(iter(systems.values()))


def load_systems(source: FileSource, lower_is_better: Iterable[str] = ()) -> dict[str, Scores]:
    """The scores of each system in a file; a system that it does not name has the name of the file."""
    file = _input_file(source)
    systems = with_lower_is_better(read_scores(file), lower_is_better)
    return {name or PurePath(without_suffixes(file.name)).name: scores for name, scores in systems.items()}


def as_scores(source: Any) -> Any:
    """Scores, whether they are in memory, stored in a folder, or in a file; anything else unchanged."""
    if isinstance(source, StoredScores):
        return source.load()
    return load_scores(source) if isinstance(source, str | os.PathLike) or is_file_object(source) else source


def read_scores(file: InputFile) -> dict[str, Scores]:
    """The scores of each system in a file, by its name there, which may be empty. The content decides on the format.

    A folder has the scores of one system, in several files.
    """
    if _is_folder(file.path):
        return _from_folder(file.path)
    start = file.start(_START)
    if of_arrow := arrow_format(start):
        return _from_table(file, of_arrow)
    first = file.first_byte()  # an error if this is not text
    require(first, _EMPTY, _HINT, place=file.name)
    has_columns = any(mark.encode() in start.lstrip().partition(b"\n")[0] for mark in SEPARATORS)
    by_name = None if has_columns else format_of_name(file.name)
    if first in (b"{", b"[") or by_name in ("json", "jsonl"):
        return _from_json(file) if json_or_jsonl(file) == "json" else _from_json_lines(file)
    return _from_table(file, by_name) if is_arrow(by_name) else _from_delimited(file)


def _input_file(source: FileSource) -> InputFile:
    return InputFile.of(source if is_file_object(source) else check_path(source))


def _from_table(file: InputFile, format: ArrowFormat) -> dict[str, Scores]:  # noqa: A002
    from karat.reading.bytes.arrow_file import ArrowFile

    table = ArrowFile(file, format).table()
    _check_names(table.column_names, file.name)
    try:
        about = json.loads((table.schema.metadata or {}).get(METADATA, b'{"runs": {}}'))["runs"]
        measures = [each.get("measures", []) for each in about.values()]
        valid = all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in measures)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        valid = False
    require(valid, "the metadata of karat is damaged", "Save the scores again.", place=file.name)
    saved = {name for names in measures for name in names}
    columns = {
        name: column_values(table[name], Place(file.name, column=name), name in saved) for name in table.column_names
    }
    return ScoreTable(file.name, columns, lambda at: Place(file.name, row=at), about).systems()


def _from_json(file: InputFile) -> dict[str, Scores]:
    data = decode_json(file.read_all(), file.name, _HINT, constants=True)
    if isinstance(data, dict) and isinstance(data.get("runs"), dict) and data["runs"]:
        return {name: _from_document(scores, name, file.name) for name, scores in data["runs"].items()}
    if isinstance(data, dict) and "queries" in data and "means" in data:
        name = data.get("name", "")
        require(isinstance(name, str), f"the name is {shown(name)}, which is not text", place=file.name)
        return {name: _from_document(data, name, file.name)}
    if isinstance(data, dict) and data and all(isinstance(row, dict) for row in data.values()):
        measures = [set(row) for row in data.values() if row]
        if len(measures) > 1 and not set.intersection(*measures):
            what = f"this file is {QUERIES_TO_DOCUMENTS}, not scores"
            raise KaratError(what, place=file.name, hint=JSON_IS_READ)
        rows = [{"query": query, **row} for query, row in data.items()]
        systems = _from_records(rows, file.name, lambda at: Place(file.name, field=f"record {at + 1}")).systems()
        return {name: _with_doubt(scores, file.name) for name, scores in systems.items()}
    if isinstance(data, dict) and query_column(data) is not None:
        data = [data]
    if not isinstance(data, list):
        raise _not_scores(file.name, "it is not a list with an object per query")
    return _from_records(data, file.name, lambda at: Place(file.name, field=f"record {at + 1}")).systems()


def _with_doubt(scores: Scores, path: str) -> Scores:
    """Scores with a finding if they may be documents: none of their names is that of a measure."""
    if any(map(meanings, scores.measures)):
        return scores
    return replace(scores, findings=(*scores.findings, perhaps_documents(path, first_few(scores.measures))))


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
    table = _from_records(rows, path, lambda at: Place(path, field=f"queries[{at}]"))
    columns = table.columns or dict.fromkeys(["query", *about["measures"]], ())
    return ScoreTable(path, columns, table.place_of, {name: about}).systems()[name]


def _from_json_lines(file: InputFile) -> dict[str, Scores]:
    records, lines = [], []
    for number, line in file.lines():
        if line:
            records.append(decode_json(line, Place(file.name, number), _HINT, constants=True))
            lines.append(number)
    return _from_records(records, file.name, lambda at: Place(file.name, lines[at])).systems()


def _from_records(records: Sequence[Any], path: str, place: Callable[[int], Place]) -> ScoreTable:
    """A table with a row per record; a field that a record lacks is null."""
    for at, record in enumerate(records):
        if not isinstance(record, dict):
            raise KaratError(f"{shown(record)} is not an object", place=place(at), hint=_HINT)
    names = dict.fromkeys(name for record in records for name in record)
    return ScoreTable(path, {name: [record.get(name) for record in records] for name in names}, place)


def _from_delimited(file: InputFile) -> dict[str, Scores]:
    text = _decoded_text(file.read_all(), file.name)
    separator = likely_separator(text[:_START], lambda names: query_column(names) is not None)
    try:
        rows = list(parsed_rows(text, separator))
    except csv.Error as error:
        hint = "Otherwise, leave out the columns with texts."
        raise row_error(error, separator, Place(file.name, error.args[1] + 1), hint) from None
    require(rows, _EMPTY, _HINT, place=file.name)
    lines = [row.line + 1 for row in rows]
    header, *body = unguarded([row.cells for row in rows])
    _check_names(header, file.name)
    for row, line in zip(body, lines[1:], strict=True):
        if len(row) != len(header):
            what = f"this line has {len(row)} columns, but the header has {len(header)}"
            raise KaratError(what, place=Place(file.name, line))
    columns = dict(zip(header, zip(*body, strict=True), strict=True)) if body else dict.fromkeys(header, ())
    return ScoreTable(file.name, columns, lambda at: Place(file.name, lines[at + 1])).systems()


def _decoded_text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        place = Place(name, data.count(10, 0, error.start) + 1)
        what = f"{shown(data[error.start : error.start + 1])} is not UTF-8"
        raise KaratError(what, place=place, hint="Save the file as UTF-8.") from None


def _check_names(names: Iterable[str], path: str) -> None:
    for name, times in Counter(names).items():
        require(times == 1, f"column {shown(name)} appears {times} times", "Rename one of them.", place=path)


def _not_scores(place: str, why: str) -> KaratError:
    return KaratError(f"scores cannot be read: {why}", place=place, hint=_HINT)


def _is_folder(path: str) -> bool:
    """Whether a path is that of a folder; that of a remote one ends with a slash."""
    return RemotePath.of(path).path.endswith("/") if is_remote(path) else os.path.isdir(local_path(path))


def _from_folder(path: str) -> dict[str, Scores]:
    """The scores in a folder, by the name of their system; the queries are in the order of their ids."""
    place = InputFile(path).name  # without credentials
    about = _description(path, place)
    files = part_files(local_path(path))
    if files is None:
        raise KaratError("the Parquet files of this folder are missing", place=place, hint=_EVALUATE_AGAIN)
    fingerprint, measures = about.get("fingerprint"), about["measures"]
    kinds: dict[str, str] = {} if fingerprint is None else fingerprint["truths"]
    names = dict.fromkeys(["query", *measures, *kinds.values()])
    parts = [_columns_of_part(InputFile(file), names, measures) for file in files[1]]
    columns = {name: _joined([part[name] for part in parts]) for name in names}
    queries = columns["query"]
    if len(queries) != about["queries"]:
        what = f"the Parquet files have {plural(len(queries), 'query')}, but {DESCRIPTION} says {about['queries']:,}"
        raise KaratError(what, place=place, hint=f"Was a file removed or added? {_EVALUATE_AGAIN}")
    if fingerprint is not None:
        truths = {kind: _digests(queries, columns[name]) for kind, name in kinds.items()}
        about["fingerprint"] = {**fingerprint, "truths": truths}
    columns = {name: columns[name] for name in ("query", *measures)}
    table = ScoreTable(place, columns, lambda at: Place(place, query=str(queries[at])), {about["name"]: about})
    return {name: scores.take(scores.by_id) for name, scores in table.systems().items()}


def _description(path: str, place: Place | str) -> dict[str, Any]:
    """What the JSON file says, checked as far as nobody else does it: its name, its measures and its queries."""
    remote = RemotePath.of(path)
    name = remote.with_path(remote.path + DESCRIPTION) if is_remote(path) else os.path.join(path, DESCRIPTION)
    file = InputFile(name)
    try:
        content = file.read_all()
    except NoSuchFileError:
        what = f"this folder has no {DESCRIPTION}, which is written last"
        hint = "The evaluation that writes it has not finished; or these are not scores, and a file in it is meant."
        raise KaratError(what, place=place, hint=hint) from None
    data = decode_json(content, file.name, _EVALUATE_AGAIN)
    version = data.get("format") if isinstance(data, dict) else None
    if as_count(version, FORMAT + 1):
        hint = "Install the version of karat that wrote it, or a later one."
        raise KaratError(f"the scores have format {version}, and this karat reads {FORMAT}", place=file.name, hint=hint)
    valid = (
        version == FORMAT
        and isinstance(data.get("name"), str)
        and as_count(data.get("queries")) is not None
        and isinstance(data.get("means"), dict)
        and ("fingerprint" not in data or _names_columns(data["fingerprint"]))
    )
    require(valid, "this is not a description of scores, or it is damaged", _EVALUATE_AGAIN, place=file.name)
    return {**data, "measures": list(data["means"])}


def _names_columns(fingerprint: Any) -> bool:
    """Whether a fingerprint names the columns of digests."""
    truths = fingerprint.get("truths") if isinstance(fingerprint, dict) else None
    return isinstance(truths, dict) and all(isinstance(name, str) for name in truths.values())


def _digests(queries: Sequence[object], digests: Sequence[object]) -> dict[str, object]:
    """The digest of each query that has one; what is not a query at all is reported with the table."""
    pairs = zip(queries, digests, strict=True)
    return {query: digest for query, digest in pairs if isinstance(query, str) and digest is not None}


def _columns_of_part(file: InputFile, names: Iterable[str], measures: Sequence[str]) -> dict[str, Sequence[Any]]:
    from karat.reading.bytes.arrow_file import ArrowFile

    table = ArrowFile.of(file).table()
    for name in names:
        require(
            table.column_names.count(name) == 1, f"column {shown(name)} is missing", _EVALUATE_AGAIN, place=file.name
        )
    return {name: column_values(table[name], Place(file.name, column=name), name in measures) for name in names}


def _joined(parts: Sequence[Any]) -> Sequence[Any]:
    """The values of a column, from those of each file."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return cast("Sequence[Any]", np.concatenate(parts))
    return list(chain.from_iterable(parts))
