"""Read ground truth and runs from any source: files of every format, mappings, lists and data frames."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from karat.documents.key import Key
from karat.errors import KaratError, require, shown
from karat.errors.arguments import list_hint
from karat.reading.bytes.input_file import InputFile, Progress, is_file
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.columns import GivenNames, plain_names
from karat.reading.pairs.containers import Run, Truth
from karat.reading.pairs.data_sets import is_data_set, qrels_of_split
from karat.reading.pairs.files import DescribedFile, Reading, open_file
from karat.reading.pairs.json_objects import empty_error, records_by_query
from karat.reading.pairs.mappings import check_matched_by_id, mapping_from_lists, run_from_mapping, truth_from_mapping
from karat.reading.pairs.objects import adapted, read_object
from karat.reading.pairs.places import Locate, queries_in
from karat.reading.pairs.tables import (
    ByQuery,
    Number,
    PairTable,
    RepeatedJudgments,
    TableRun,
    truth_from_rows,
    truth_from_table,
)

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
    rejected: RejectedRows | None = None,
    repeated: RepeatedJudgments | None = None,
) -> Truth:
    """Read the judged documents of each query.

    `columns` maps column names, `format` is the format of a file if it is not to be detected, `split` is that of a BEIR
    data set, and `name` is used in errors. If `queries` are named, others are left out of a table, which may be large.
    With `rejected`, rows that are wrong are left out, and it collects their errors. With `repeated`, documents of a
    table that are judged twice are no error, and it collects them.
    """
    if isinstance(source, Truth):
        return source
    if isinstance(source, DescribedFile):
        columns, format, source = source.columns, source.format, source.file  # noqa: A001
    content, notes, name = _open_truth(source, columns, format, split, name, rejected, repeated)
    if isinstance(content, ByQuery):
        truth = _truth_by_query(content, key, name, rejected)
    else:
        check_matched_by_id(key, "a table", name, gold=True)
        truth = _truth_of_table(content, key, queries, repeated)
    truth = replace(truth, notes=(*notes, *truth.notes))
    if queries is None and not truth.queries and is_file(source):
        raise empty_error(name, "grade")
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
    rejected: RejectedRows | None = None,
    repeated: RepeatedJudgments | None = None,
) -> tuple[ByQuery | PairTable | Truth, tuple[str, ...], str]:
    """What a source of ground truth contains, what the name of a file got wrong, and the name of the source."""
    if isinstance(source, str | os.PathLike) and (split is not None or is_data_set(source)):
        source = qrels_of_split(source, split)
    require(
        split is None or isinstance(source, str), "split is for the folder of a BEIR data set only", "Leave it out."
    )
    source = adapted(source, "grade", name)
    if is_file(source):
        file = InputFile.of(source).rejecting_into(rejected)
        return *open_file(file, Reading("grade", columns, format)), file.name
    if table := _of_object(source, "grade", columns, name, rejected):
        if isinstance(table, ByQuery):
            return table, (), name
        return replace(truth_from_rows(table.grouped(), repeated), notes=table.notes), (), name
    if isinstance(source, Mapping):
        _reject_columns(columns, "truth_columns")
        return ByQuery(source), (), name
    if isinstance(source, Sequence):
        _reject_columns(columns, "truth_columns")
        queries = [str(at) for at in range(len(source))]  # they have no names
        return ByQuery(mapping_from_lists(source, queries, name)), (), name
    raise KaratError(f"{shown(source)} is not ground truth", hint=_collect_hint(source) + _TRUTH_HINT)


def _truth_of_table(
    table: PairTable | Truth,
    key: Key,
    queries: Container[str] | None = None,
    repeated: RepeatedJudgments | None = None,
) -> Truth:
    """The ground truth in a table: of a file, or in rows that were read already."""
    return table.normalized_by(key) if isinstance(table, Truth) else truth_from_table(table, key, queries, repeated)


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
    rejected: RejectedRows | None = None,
) -> Run:
    """Read a run. The lines of a file are read later, when the run is ranked.

    With `rejected`, rows that are wrong are left out, and it collects their errors.
    """
    if isinstance(source, DescribedFile):
        columns, format, source = source.columns, source.format, source.file  # noqa: A001
    source = adapted(source, "score", name)
    if is_file(source):
        file = InputFile.of(source).rejecting_into(rejected)
        content, notes = open_file(file, Reading("score", columns, format))
        if isinstance(content, ByQuery):
            return _run_by_query(replace(content, notes=(*notes, *content.notes)), key, file.name, rejected)
        check_matched_by_id(key, "a table", file.name)
        return TableRun(content, progress, notes)
    if table := _of_object(source, "score", columns, name, rejected):
        if isinstance(table, ByQuery):
            return _run_by_query(table, key, name, rejected)
        check_matched_by_id(key, "a table", name)
        return table.run()
    if isinstance(source, Mapping):
        _reject_columns(columns, "run_columns")
        return run_from_mapping(source, key, name, rejected=rejected)
    if isinstance(source, Sequence):
        _reject_columns(columns, "run_columns")
        return run_from_mapping(mapping_from_lists(source, truth.queries, name), key, name, rejected=rejected)
    raise KaratError(f"{shown(source)} is not a run", hint=_collect_hint(source) + _RUN_HINT)


def read_ranks(
    source: Any,
    *,
    columns: GivenNames | None = None,
    format: str | None = None,  # noqa: A002
    name: str = "the run",
    rejected: RejectedRows | None = None,
) -> Run | None:
    """The same run with minus its ranks as scores, if it is a table with ranks beside its scores; otherwise None."""
    if isinstance(source, DescribedFile):
        columns, format, source = source.columns, source.format, source.file  # noqa: A001
    columns = {role: column for role, column in (columns or {}).items() if role != "score"}
    try:
        source = adapted(source, "rank", name)
        if is_file(source):
            content, _ = open_file(InputFile.of(source).rejecting_into(rejected), Reading("rank", columns, format))
            return None if isinstance(content, ByQuery) else TableRun(content)
        has_names = hasattr(source, "__arrow_c_stream__") or (
            isinstance(source, list) and source and type(source[0]) is dict
        )
        table = _of_object(source, "rank", columns, name, rejected) if has_names else None
    except KaratError:  # it has no ranks
        return None
    return None if table is None or isinstance(table, ByQuery) else table.run()


def locate_judgments(
    source: Any,
    columns: GivenNames | None,
    format: str | None,  # noqa: A002
    name: str = "the ground truth",
) -> Locate:
    """What finds the lines or rows of documents in ground truth, which is read again; or their queries.

    Wrong rows are left out. Ground truth in memory, and what can be read only once, has no lines.
    """
    if isinstance(source, DescribedFile):
        columns, format, source = source.columns, source.format, source.file  # noqa: A001
    rejected = RejectedRows()
    content: ByQuery | PairTable | Frame | None = None
    if isinstance(source, str | os.PathLike | InputFile):
        file = InputFile.of(source).rejecting_into(rejected)
        content, name = open_file(file, Reading("grade", columns, format))[0], file.name
    elif hasattr(source, "__arrow_c_stream__") and not isinstance(source, Iterator):
        content = _of_object(source, "grade", columns, name, rejected)
    return partial(queries_in, name) if content is None or isinstance(content, ByQuery) else content.locate


def _of_object(
    source: Any, number: Number, columns: GivenNames | None, name: str, rejected: RejectedRows | None
) -> Frame | ByQuery | None:
    """The documents in a data frame, in rows or in records with lists of documents; None for anything else."""
    by_role = plain_names(columns)
    by_query = records_by_query(source, number, by_role, name, rejected)
    return by_query or read_object(source, number, by_role, name, rejected)


def _truth_by_query(content: ByQuery, key: Key, name: str, rejected: RejectedRows | None) -> Truth:
    truth = truth_from_mapping(content.documents, key, name, rejected)
    return replace(truth, notes=tuple(dict.fromkeys((*content.notes, *truth.notes))))


def _run_by_query(content: ByQuery, key: Key, name: str, rejected: RejectedRows | None) -> Run:
    run = run_from_mapping(content.documents, key, name, finite=content.finite, rejected=rejected)
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
