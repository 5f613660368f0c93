"""What the files of a command line contain, judging by their names and how they begin."""

from __future__ import annotations

import json
import re
from pathlib import PurePath

from karat.cli.files import split_system
from karat.errors import require
from karat.sources.columns import ALIASES
from karat.sources.input_file import InputFile

_DOCUMENT_COLUMNS = {"corpus-id", "doc", "doc_id", "docid", "docno", "document", "document_id"}
_DOCUMENT_KEY = re.compile(rf'"(?:{"|".join(_DOCUMENT_COLUMNS)})"\s*:'.encode())
_RESULTS_FIELDS = {name for field, names in ALIASES.items() if field != "query" for name in (field, *names)}


def is_saved_scores(path: str) -> bool:
    """Whether a file, or `FILE:NAME`, seems to contain saved scores, judging by its name and its first line."""
    path = split_system(path)[0]
    suffix = PurePath(path).suffix.lower()
    if suffix in (".csv", ".parquet") and lists_documents(path):
        return False
    if suffix == ".csv" or contains_scores(path) or is_table_of_scores(path):
        return True
    start = InputFile(path).start() if suffix == ".json" else b"-"
    # An empty file or a JSON array cannot be results either; loading it as scores gives the better error.
    return start.lstrip()[:1] in (b"", b"[") and not _DOCUMENT_KEY.search(start)


def lists_documents(path: str) -> bool:
    """Whether a file is a table with a column of documents, or JSON that karat did not write, and not saved scores."""
    suffix = PurePath(path).suffix.lower()
    if suffix == ".json":
        return not any(key in InputFile(path).start() for key in (b'"means"', b'"queries"', b'"runs"'))
    if suffix != ".parquet":
        return bool(_DOCUMENT_COLUMNS.intersection(_header(path)))
    from pyarrow.parquet import read_schema

    try:
        return bool(_DOCUMENT_COLUMNS.intersection(read_schema(path).names))
    except (OSError, ValueError):
        return False  # loading it as scores gives the better error


def _header(path: str) -> list[str]:
    separator = "," if PurePath(path).suffix.lower() == ".csv" else "\t"
    return [name.strip(' "') for name in _first_line(path).decode(errors="replace").split(separator)]


def is_table_of_scores(path: str) -> bool:
    """Whether the first line of a file is one of scores: a header, or a JSON object with numbers but no documents."""
    from karat.scores.score_table import query_column

    suffix = PurePath(path).suffix.lower()
    if suffix in (".csv", ".tsv"):
        return query_column(_header(path)) is not None and not lists_documents(path)
    try:
        record = json.loads(_first_line(path)) if suffix in (".json", ".jsonl", ".ndjson") else None
    except (ValueError, RecursionError):
        return False
    if not isinstance(record, dict) or not record:
        return False
    if all(isinstance(value, dict) for value in record.values()):
        return True  # an object per query
    others = {name: value for name, value in record.items() if name != query_column(record)}
    numbers = {name for name, value in others.items() if isinstance(value, int | float)}
    nested = any(isinstance(value, list | dict) for value in others.values())
    is_results = nested or (_RESULTS_FIELDS | _DOCUMENT_COLUMNS).intersection(others.keys() - numbers)
    return len(others) < len(record) and bool(numbers) and not is_results


def contains_scores(path: str) -> bool:
    """Whether a file is JSON or Parquet as karat writes it.

    karat's JSON has a brace alone in its first line, whereas a line of results is a whole object. JSON that was
    reformatted is recognized by keys that results do not have.
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes[-2:]]
    compressed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:1] if compressed else suffixes[-1:]) or [""]
    if suffix == [".json"]:
        first = _first_line(path)
        found = first == b"{" or (b'"means"' in first and b'"findings"' in first)
    else:
        found = suffix == [".parquet"] or (compressed and suffix == [".csv"])
    require(not (found and compressed), "saved scores cannot be compressed", "Decompress the file first.", where=path)
    return found


def _first_line(path: str) -> bytes:
    return next((line for _, line in InputFile(path).lines() if line), b"")
