"""Read ground truth and runs from any source: files of every format, mappings, lists and data frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from karat.documents.key import Key
from karat.errors import KaratError, require, shown
from karat.errors.arguments import list_hint
from karat.reading.bytes.input_file import InputFile, Progress, is_file
from karat.reading.columns import GivenNames, plain_names
from karat.reading.pairs.containers import Run, Truth
from karat.reading.pairs.data_sets import is_data_set, qrels_of_split
from karat.reading.pairs.files import DescribedFile, Reading, open_file
from karat.reading.pairs.json_files import records_by_query
from karat.reading.pairs.mappings import check_matched_by_id, mapping_from_lists, run_from_mapping, truth_from_mapping
from karat.reading.pairs.objects import adapted, read_object
from karat.reading.pairs.tables import ByQuery, Number, TableRun, truth_from_rows, truth_from_table

if TYPE_CHECKING:
    from karat.reading.pairs.frames import Frame

__all__ = ["Run", "Truth", "read_run", "read_truth", "require_truth", "run_from_lists", "truth_from_lists"]

_TRUTH_HINT = (
    "Ground truth is a path, an open file, {query: {doc: grade}}, {query: [doc, ...]}, [[doc, ...], ...],"
    " [(query, doc, grade), ...] or an iterator of such rows, or a data frame."
)
_RUN_HINT = (
    "A run is a path, an open file, {query: {doc: score}}, {query: [doc, ...]}, [[doc, ...], ...],"
    " [(query, doc, score), ...] or an iterator of such rows, or a data frame."
)

_BY_ID = Key()


def read_truth(
    source: Any,
    *,
    columns: GivenNames | None = None,
    format: str | None = None,  # noqa: A002
    split: str | None = None,
    key: Key = _BY_ID,
    name: str = "the ground truth",
) -> Truth:
    """Read the judged documents of each query.

    `columns` maps column names, `format` is the format of a file if it is not to be detected, `split` is that of a BEIR
    data set, and `name` is used in errors.
    """
    if isinstance(source, Truth):
        return source
    if isinstance(source, DescribedFile):
        return read_truth(source.file, columns=source.columns, format=source.format, key=key, name=name)
    if isinstance(source, str | os.PathLike) and (split is not None or is_data_set(source)):
        source = qrels_of_split(source, split)
    require(
        split is None or isinstance(source, str), "split is for the folder of a BEIR data set only", "Leave it out."
    )
    source = adapted(source, "grade", name)
    if is_file(source):
        file = InputFile.of(source)
        content, notes = open_file(file, Reading("grade", columns, format))
        if isinstance(content, ByQuery):
            truth = _truth_by_query(content, key, file.name)
        else:
            check_matched_by_id(key, "a table", file.name, gold=True)
            truth = truth_from_table(content, key)
        truth = replace(truth, notes=(*notes, *truth.notes))
    elif table := _of_object(source, "grade", columns, name):
        if isinstance(table, ByQuery):
            truth = _truth_by_query(table, key, name)
        else:
            check_matched_by_id(key, "a table", name, gold=True)
            truth = replace(truth_from_rows(table.grouped()).normalized_by(key), notes=table.notes)
    elif isinstance(source, Mapping):
        _reject_columns(columns, "truth_columns")
        truth = truth_from_mapping(source, key, name)
    elif isinstance(source, Sequence):
        _reject_columns(columns, "truth_columns")
        truth = truth_from_lists(source, key, name)
    else:
        raise KaratError(f"{shown(source)} is not ground truth", hint=_collect_hint(source) + _TRUTH_HINT)
    require_truth(truth.queries)
    return truth


def require_truth(queries: Sequence[str]) -> None:
    """Reject ground truth without queries."""
    require(queries, "the ground truth is empty", _TRUTH_HINT)


def read_run(
    source: Any,
    truth: Truth,
    *,
    columns: GivenNames | None = None,
    format: str | None = None,  # noqa: A002
    key: Key = _BY_ID,
    progress: Progress | None = None,
    name: str = "the run",
) -> Run:
    """Read a run. The lines of a file are read later, when the run is ranked."""
    if isinstance(source, DescribedFile):
        return read_run(
            source.file, truth, columns=source.columns, format=source.format, key=key, progress=progress, name=name
        )
    source = adapted(source, "score", name)
    if is_file(source):
        file = InputFile.of(source)
        content, notes = open_file(file, Reading("score", columns, format))
        if isinstance(content, ByQuery):
            return _run_by_query(replace(content, notes=(*notes, *content.notes)), key, file.name)
        check_matched_by_id(key, "a table", file.name)
        return TableRun(content, progress, notes)
    if table := _of_object(source, "score", columns, name):
        if isinstance(table, ByQuery):
            return _run_by_query(table, key, name)
        check_matched_by_id(key, "a table", name)
        return table.run()
    if isinstance(source, Mapping):
        _reject_columns(columns, "run_columns")
        return run_from_mapping(source, key, name)
    if isinstance(source, Sequence):
        _reject_columns(columns, "run_columns")
        return run_from_lists(source, truth, key, name)
    raise KaratError(f"{shown(source)} is not a run", hint=_collect_hint(source) + _RUN_HINT)


def _of_object(source: Any, number: Number, columns: GivenNames | None, name: str) -> Frame | ByQuery | None:
    """The documents in a data frame, in rows or in records with lists of documents; None for anything else."""
    by_role = plain_names(columns)
    return records_by_query(source, number, by_role, name) or read_object(source, number, by_role, name)


def _truth_by_query(content: ByQuery, key: Key, name: str) -> Truth:
    truth = truth_from_mapping(content.documents, key, name)
    return replace(truth, notes=tuple(dict.fromkeys((*content.notes, *truth.notes))))


def _run_by_query(content: ByQuery, key: Key, name: str) -> Run:
    run = run_from_mapping(content.documents, key, name, finite=content.finite)
    return replace(run, notes=tuple(dict.fromkeys((*content.notes, *run.notes))))


def truth_from_lists(lists: Sequence[Any], key: Key, name: str) -> Truth:
    """Ground truth from the documents of each query, one list per query. The queries are numbered from 0."""
    queries = [str(at) for at in range(len(lists))]
    return truth_from_mapping(mapping_from_lists(lists, queries, name), key, name)


def run_from_lists(lists: Sequence[Any], truth: Truth, key: Key, name: str) -> Run:
    """A run from one list of documents per query of the ground truth."""
    return run_from_mapping(mapping_from_lists(lists, truth.queries, name), key, name)


def _reject_columns(columns: GivenNames | None, option: str) -> None:
    what = f"{option} is for files, data frames and rows with names only"
    require(not columns, what, "Leave it out.")


def _collect_hint(source: Any) -> str:
    if hasattr(source, "collect"):
        return "Call its collect() first. "
    return f"{hint} " if (hint := list_hint(source)) else ""
