"""Read ground truth and runs from TREC files, mappings, lists and data frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from karat.documents.key import Key
from karat.errors import KaratError, list_hint, plural, require, shown
from karat.sources.beir import is_data_set, qrels_of_split
from karat.sources.containers import InMemoryRun, Run, Truth
from karat.sources.files import DescribedFile, Reading, open_file
from karat.sources.input_file import InputFile, Progress, is_file
from karat.sources.mappings import check_matched_by_id, mapping_from_lists, run_from_mapping, truth_from_mapping
from karat.sources.tables import TableRun, truth_from_rows, truth_from_table

__all__ = ["Run", "Truth", "read_run", "read_truth"]

_TRUTH_HINT = (
    "Ground truth is a path, an open file, {query: {doc: grade}}, {query: [doc, ...]}, [[doc, ...], ...],"
    " [(query, doc, grade), ...] or a data frame."
)
_RUN_HINT = (
    "A run is a path, an open file, {query: {doc: score}}, {query: [doc, ...]}, [[doc, ...], ...],"
    " [(query, doc, score), ...] or a data frame."
)

_BY_ID = Key()


def read_truth(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
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
    _check_columns(source, columns, "truth_columns")
    if is_file(source):
        file = InputFile.of(source)
        content, notes = open_file(file, Reading("grade", columns, format))
        if isinstance(content, Mapping):
            truth = truth_from_mapping(content, key, file.name)
        else:
            check_matched_by_id(key, "a table", file.name, gold=True)
            truth = truth_from_table(content, key)
        truth = replace(truth, notes=(*notes, *truth.notes))
    elif isinstance(source, Mapping):
        truth = truth_from_mapping(source, key, name)
    elif hasattr(source, "__arrow_c_stream__"):
        from karat.sources.frames import Frame

        check_matched_by_id(key, "a data frame", name, gold=True)
        frame = Frame.of(source, "grade", columns, name)
        truth = replace(truth_from_rows(frame.grouped()).normalized_by(key), notes=frame.notes)
    elif isinstance(source, Sequence):
        from karat.sources.tuples import rows_of_tuples

        if table := rows_of_tuples(source, "grade", name):
            check_matched_by_id(key, "a list of rows", name, gold=True)
            truth = truth_from_rows(table).normalized_by(key)
        else:
            # Queries without ids are numbered from 0.
            queries = [str(at) for at in range(len(source))]
            truth = truth_from_mapping(mapping_from_lists(source, queries, name), key, name)
    else:
        raise KaratError(f"{shown(source)} is not ground truth", hint=_collect_hint(source) + _TRUTH_HINT)
    require(truth.queries, "the ground truth is empty", _TRUTH_HINT)
    return truth


def read_run(
    source: Any,
    truth: Truth,
    *,
    columns: Mapping[str, str] | None = None,
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
    _check_columns(source, columns, "run_columns")
    if is_file(source):
        file = InputFile.of(source)
        content, notes = open_file(file, Reading("score", columns, format))
        if isinstance(content, Mapping):
            return replace(run_from_mapping(content, key, file.name), notes=notes)
        check_matched_by_id(key, "a table", file.name)
        return TableRun(content, progress, notes)
    if isinstance(source, Mapping):
        return run_from_mapping(source, key, name)
    if hasattr(source, "__arrow_c_stream__"):
        from karat.sources.frames import Frame, FrameRun

        check_matched_by_id(key, "a data frame", name)
        return FrameRun.of(Frame.of(source, "score", columns, name))
    if isinstance(source, Sequence):
        from karat.sources.tuples import rows_of_tuples

        if rows := rows_of_tuples(source, "score", name):
            check_matched_by_id(key, "a list of rows", name)
            return InMemoryRun(name, (rows,))
        if len(source) != len(truth.queries):
            queries, lists = plural(len(truth.queries), "query"), plural(len(source), "list")
            raise KaratError(
                f"the ground truth has {queries} and {name} has {lists}",
                hint="Lists are matched by position. Pass one list per query, an empty one if nothing was retrieved.",
            )
        return run_from_mapping(mapping_from_lists(source, truth.queries, name), key, name)
    raise KaratError(f"{shown(source)} is not a run", hint=_collect_hint(source) + _RUN_HINT)


def _check_columns(source: Any, columns: Mapping[str, str] | None, option: str) -> None:
    if columns and not (hasattr(source, "__arrow_c_stream__") or is_file(source)):
        raise KaratError(f"{option} is for files and data frames only", hint="Leave it out.")


def _collect_hint(source: Any) -> str:
    if hasattr(source, "collect"):
        return "Call its collect() first. "
    return f"{hint} " if (hint := list_hint(source)) else ""
