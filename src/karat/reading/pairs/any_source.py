"""Read ground truth and runs from any source: files of every format, mappings, lists and data frames."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
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
from karat.reading.pairs.tables import ByQuery, Number, PairTable, TableRun, truth_from_rows, truth_from_table

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
    queries: Container[str] | None = None,
) -> Truth:
    """Read the judged documents of each query.

    `columns` maps column names, `format` is the format of a file if it is not to be detected, `split` is that of a BEIR
    data set, and `name` is used in errors. If `queries` are named, others are left out of a table, which may be large.
    """
    if isinstance(source, Truth):
        return source
    if isinstance(source, DescribedFile):
        return read_truth(source.file, columns=source.columns, format=source.format, key=key, name=name)
    content, notes, name = _open_truth(source, columns, format, split, name)
    if isinstance(content, ByQuery):
        truth = _truth_by_query(content, key, name)
    else:
        check_matched_by_id(key, "a table", name, gold=True)
        truth = _truth_of_table(content, key, queries)
    truth = replace(truth, notes=(*notes, *truth.notes))
    if queries is None:
        require_truth(truth.queries)
    return truth


def truth_by_query(
    source: Any,
    *,
    columns: GivenNames | None = None,
    format: str | None = None,  # noqa: A002
    split: str | None = None,
    name: str = "the ground truth",
) -> ByQuery:
    """The judged documents of each query as they are, for whoever does not know yet how documents are matched.

    >>> truth_by_query([("q1", "d1", 2), ("q1", "d2", 0)]).documents
    {'q1': {'d1': 2.0, 'd2': 0.0}}
    """
    if isinstance(source, DescribedFile):
        return truth_by_query(source.file, columns=source.columns, format=source.format, name=name)
    content, notes, name = _open_truth(source, columns, format, split, name)
    if not isinstance(content, ByQuery):
        truth = _truth_of_table(content, _BY_ID)
        return ByQuery(_grades_by_query(truth), (*notes, *truth.notes))
    graded = {query: docs for query, docs in content.documents.items() if isinstance(docs, Mapping)}
    read = _grades_by_query(truth_from_mapping(graded, _BY_ID, name)) if graded else {}
    documents = {query: read.get(str(query), docs) for query, docs in content.documents.items()}
    return replace(content, documents=documents, notes=(*notes, *content.notes))


def _grades_by_query(truth: Truth) -> dict[str, dict[str, float]]:
    """The grade of each judged document of each query."""
    docs, grades = list(truth.docs), truth.grades.tolist()
    spans = map(truth.golds, range(len(truth.queries)))
    return {
        query: dict(zip(docs[golds.start : golds.stop], grades[golds.start : golds.stop], strict=True))
        for query, golds in zip(truth.queries, spans, strict=True)
    }


def _open_truth(
    source: Any,
    columns: GivenNames | None,
    format: str | None,  # noqa: A002
    split: str | None,
    name: str,
) -> tuple[ByQuery | PairTable | Truth, tuple[str, ...], str]:
    """What a source of ground truth contains, what the name of a file got wrong, and the name of the source."""
    if isinstance(source, str | os.PathLike) and (split is not None or is_data_set(source)):
        source = qrels_of_split(source, split)
    require(
        split is None or isinstance(source, str), "split is for the folder of a BEIR data set only", "Leave it out."
    )
    source = adapted(source, "grade", name)
    if is_file(source):
        file = InputFile.of(source)
        return *open_file(file, Reading("grade", columns, format)), file.name
    if table := _of_object(source, "grade", columns, name):
        if isinstance(table, ByQuery):
            return table, (), name
        return replace(truth_from_rows(table.grouped()), notes=table.notes), (), name
    if isinstance(source, Mapping):
        _reject_columns(columns, "truth_columns")
        return ByQuery(source), (), name
    if isinstance(source, Sequence):
        _reject_columns(columns, "truth_columns")
        queries = [str(at) for at in range(len(source))]  # they have no names
        return ByQuery(mapping_from_lists(source, queries, name)), (), name
    raise KaratError(f"{shown(source)} is not ground truth", hint=_collect_hint(source) + _TRUTH_HINT)


def _truth_of_table(table: PairTable | Truth, key: Key, queries: Container[str] | None = None) -> Truth:
    """The ground truth in a table: of a file, or in rows that were read already."""
    return table.normalized_by(key) if isinstance(table, Truth) else truth_from_table(table, key, queries)


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
