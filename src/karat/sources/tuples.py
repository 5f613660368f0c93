"""Read a table given as tuples: `(query, doc, grade)` for ground truth, `(query, doc, score)` for a run.

Rows may also be named tuples or mappings with these fields. Lists may also contain a tuple of documents for each query.
The values tell the two apart: a row ends with a number, and documents are usually texts. Where both readings are
possible, or neither, it is an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from numbers import Number as AnyNumber
from typing import Any, Literal

import numpy as np

from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, shown
from karat.sources.arrays import text_column
from karat.sources.containers import ScoredRows
from karat.sources.grouping import group_by_query

Number = Literal["grade", "score"]

# The fields of named tuples, such as those of ir_measures, ir_datasets and pandas' itertuples, and of JSON objects.
_QUERY = ("query", "query_id", "qid", "topic")
_DOC = ("doc", "doc_id", "docid", "docno", "document")
_NUMBER = {"grade": ("grade", "relevance", "rel", "label"), "score": ("score",)}


def rows_of_tuples(source: Sequence[Any], number: Number, name: str) -> ScoredRows | None:
    """The rows of a list of tuples, grouped by query; None if the list contains documents instead."""
    tuples = [entry for entry in source if isinstance(entry, tuple)]
    named = any(_named_values(entry, number) for entry in source)
    if not named and not tuples:
        _reject_rows_as_lists(source, number, name)
        return None
    if not named and not _are_rows(tuples, len(tuples) == len(source), number, name):
        return None
    queries, docs, numbers = [], [], np.empty(len(source))
    for at, entry in enumerate(source):
        where = f"{name}, row {at}"
        row = _named_values(entry, number) or (entry if isinstance(entry, tuple) else ())
        if len(row) != 3 or not (_is_id(row[0]) and _is_id(row[1]) and isinstance(row[2], Real)):
            hint = f"Each row is a tuple (query, doc, {number}). Pass documents as lists: [[doc, ...], [doc, ...]]."
            raise KaratError(f"{shown(entry)} is not a row", where=where, hint=hint)
        queries.append(identifier(row[0], where))
        docs.append(identifier(row[1], where))
        if not (queries[-1] and docs[-1]):
            raise KaratError("an id is empty", where=where)
        numbers[at] = _as_float(row[2])
        if math.isnan(numbers[at]) or (number == "grade" and math.isinf(numbers[at])):
            raise KaratError(f"{number} {shown(row[2])} is not a number", where=where)
    reject_lone_surrogates(queries, name)
    reject_lone_surrogates(docs, name)

    def locate(query: str, doc: str) -> str:
        pairs = enumerate(zip(queries, docs, strict=True))
        first, second, *_ = (at for at, pair in pairs if pair == (query, doc))
        return f"{name}, rows {first} and {second}"

    return group_by_query(text_column(queries), text_column(docs), numbers, locate)


def _named_values(entry: Any, number: Number) -> tuple[Any, ...] | None:
    """The query, document and number of a named tuple or a mapping with such fields; None for anything else."""
    fields = entry if isinstance(entry, Mapping) else getattr(entry, "_fields", ()) if isinstance(entry, tuple) else ()
    found = [next((name for name in names if name in fields), None) for names in (_QUERY, _DOC, _NUMBER[number])]
    if None in found:
        return None
    return tuple(entry[name] if isinstance(entry, Mapping) else getattr(entry, name) for name in found if name)


def _reject_rows_as_lists(source: Sequence[Any], number: Number, name: str) -> None:
    """Refuse `[["q1", "d1", 1], ...]`, as rows are in JSON: read as documents, they would give wrong scores."""
    if source and all(
        isinstance(row, list) and len(row) == 3 and isinstance(row[1], str) and isinstance(row[2], AnyNumber)
        for row in source
    ):
        hint = f"Write rows as tuples: [(query, doc, {number}), ...]. If these are documents, write all ids as texts."
        raise KaratError(f"{shown(source[0])} may be a row or documents", where=f"{name}, row 0", hint=hint)


def _are_rows(tuples: Sequence[tuple[Any, ...]], only_tuples: bool, number: Number, name: str) -> bool:
    """Whether tuples are rows rather than documents: any of them has a number, and not only numbers."""
    triples = only_tuples and all(len(row) == 3 for row in tuples)
    if triples and all(_all_of(row, Integral) for row in tuples):
        hint = f"Write ids as texts in rows (query, doc, {number}); pass documents as lists: [[doc, ...], [doc, ...]]."
        raise KaratError("tuples of three numbers may be rows or documents", where=name, hint=hint)
    if triples and all(_all_of(row, str) for row in tuples) and _only_the_last_are_numeric(tuples):
        hint = f"Convert each {number} to a number. If these are documents, pass lists: [[doc, ...], [doc, ...]]."
        raise KaratError(f"the {number} of {shown(tuples[0])} is text", where=f"{name}, row 0", hint=hint)
    return any(not _all_of(row, Integral) and any(isinstance(value, AnyNumber) for value in row) for row in tuples)


def _only_the_last_are_numeric(rows: Sequence[tuple[str, ...]]) -> bool:
    return all(map(_is_numeric, (row[2] for row in rows))) and not all(
        _is_numeric(row[0]) and _is_numeric(row[1]) for row in rows
    )


def _is_numeric(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _all_of(row: tuple[Any, ...], kind: type) -> bool:
    return all(isinstance(value, kind) for value in row)


def _is_id(value: object) -> bool:
    return isinstance(value, str | Integral) and not isinstance(value, bool)


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
