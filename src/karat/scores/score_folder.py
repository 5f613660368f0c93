"""Scores in a folder: Parquet files with a row per query, and a JSON file with all else, which is written last.

The columns are `query`, one per measure (null if the query has no value), and one per kind of ground truth with a
digest for each query.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np

from karat.errors import KaratError, NoSuchFileError, Place, plural, require, shown
from karat.errors.arguments import as_count, is_remote
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.bytes.part_files import DESCRIPTION, part_files
from karat.reading.bytes.remote import RemotePath, local_path
from karat.scores.score_table import ScoreTable, column_values
from karat.scores.scores import Scores
from karat.scores.stored_scores import FORMAT

QUERY = "query"
_AGAIN = "Evaluate again."


def is_folder(path: str) -> bool:
    """Whether a path is that of a folder; that of a remote one ends with a slash."""
    return RemotePath.of(path).path.endswith("/") if is_remote(path) else os.path.isdir(local_path(path))


def read_folder(path: str) -> dict[str, Scores]:
    """The scores in a folder, by the name of their system; the queries are in the order of their ids."""
    place = InputFile(path).name  # without credentials
    about = _description(path, place)
    files = part_files(local_path(path))
    if files is None:
        raise KaratError("the Parquet files of this folder are missing", place=place, hint=_AGAIN)
    fingerprint, measures = about.get("fingerprint"), about["measures"]
    kinds: dict[str, str] = {} if fingerprint is None else fingerprint["truths"]
    names = dict.fromkeys([QUERY, *measures, *kinds.values()])
    parts = [_columns_of_part(InputFile(file), names, measures) for file in files[1]]
    columns = {name: _joined([part[name] for part in parts]) for name in names}
    queries = columns[QUERY]
    if len(queries) != about["queries"]:
        what = f"the Parquet files have {plural(len(queries), 'query')}, but {DESCRIPTION} says {about['queries']:,}"
        raise KaratError(what, place=place, hint=f"Was a file removed or added? {_AGAIN}")
    if fingerprint is not None:
        truths = {kind: _digests(queries, columns[name]) for kind, name in kinds.items()}
        about["fingerprint"] = {**fingerprint, "truths": truths}
    columns = {name: columns[name] for name in (QUERY, *measures)}
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
    data = decode_json(content, file.name, _AGAIN)
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
    require(valid, "this is not a description of scores, or it is damaged", _AGAIN, place=file.name)
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
        require(table.column_names.count(name) == 1, f"column {shown(name)} is missing", _AGAIN, place=file.name)
    return {name: column_values(table[name], Place(file.name, column=name), name in measures) for name in names}


def _joined(parts: Sequence[Any]) -> Sequence[Any]:
    """The values of a column, from those of each file."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return cast("Sequence[Any]", np.concatenate(parts))
    return list(chain.from_iterable(parts))
