"""Truths and runs as Python has them: mappings by query, and plain lists, one per query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from math import isfinite, isnan
from typing import Any

import numpy as np

from karat.document import identifier, key
from karat.errors import KaratError, shown
from karat.sources.forms import Batch, Lists, Ready, Scored, Truth, truth_from

_TRUTH_MEND = "A truth maps each query to its documents: {query: {doc: grade}} or {query: [doc, ...]}."
_RUN_MEND = "A run maps each query to its documents: {query: {doc: score}} or {query: [doc, ...]}."


def truth_of_mapping(queries: Mapping[Any, Any], match: str, name: str = "the truth") -> Truth:
    """A truth from `{query: {doc: grade}}` or `{query: [doc, ...]}`, where every document listed has grade 1."""
    golds: dict[str, dict[str, float]] = {}
    for query_key, docs in queries.items():
        query = _new_query(query_key, golds, name)
        where = f"{name}, query {query}"
        if isinstance(docs, Mapping):
            golds[query] = _graded(docs, where)
        else:
            # A gold given twice is one gold, and one without a key can never be found.
            keys = (key(doc, match, where) for doc in _several(docs, where, _TRUTH_MEND))
            golds[query] = {doc: 1.0 for doc in keys if doc is not None}
    return truth_from(golds, name)


def run_of_mapping(queries: Mapping[Any, Any], match: str, name: str = "the run") -> Ready:
    """A run from `{query: {doc: score}}` or `{query: [doc, ...]}`, each query in the one or the other form."""
    scored: dict[str, dict[str, float]] = {}
    listed: dict[str, Sequence[str | None]] = {}
    seen: set[str] = set()
    for query_key, docs in queries.items():
        query = _new_query(query_key, seen, name)
        seen.add(query)
        where = f"{name}, query {query}"
        if isinstance(docs, Mapping):
            scored[query] = _with_text_keys(docs, where)
        else:
            listed[query] = _keys(docs, match, where)
    parts: list[Batch] = []
    if scored:
        parts.append(_scored_batch(scored, name))
    if listed:
        parts.append(Lists(list(listed), list(listed.values())))
    return Ready(name, tuple(parts))


def numbered(lists: Sequence[Any], name: str) -> dict[str, Any]:
    """Lists, one per query, as a mapping: the queries are called 0, 1, 2, … as Python counts them."""
    for at, docs in enumerate(lists):
        if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
            raise KaratError(
                f"{shown(docs)} is not a list of documents",
                where=f"{name}, query {at}",
                mend="Give one list per query: [[doc, ...], [doc, ...]].",
            )
    return {str(at): docs for at, docs in enumerate(lists)}


def _new_query(value: object, seen: Set[str] | Mapping[str, Any], name: str) -> str:
    query = identifier(value, name)
    if query in seen:
        raise KaratError(f"query {query} comes twice, once as text and once as a number", where=name)
    return query


def _several(docs: object, where: str, mend: str) -> Iterable[object]:
    if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
        raise KaratError(f"{shown(docs)} is not a list of documents", where=where, mend=mend)
    if isinstance(docs, Set):
        return sorted(docs, key=str)
    return docs


def _keys(docs: object, match: str, where: str) -> Sequence[str | None]:
    """The key of each document, in order; a list of strings is that already."""
    if type(docs) is list and set(map(type, docs)) <= {str}:
        return docs
    return [key(doc, match, where) for doc in _several(docs, where, _RUN_MEND)]


def _graded(docs: Mapping[Any, Any], where: str) -> dict[str, float]:
    graded: dict[str, float] = {}
    for doc, grade in _with_text_keys(docs, where).items():
        number = _number(grade, f"{where}, document {doc}", "grade")
        if not isfinite(number):
            raise KaratError(f"grade {grade} is not a finite number", where=f"{where}, document {doc}")
        if doc:
            graded[doc] = number
    return graded


def _with_text_keys(docs: Mapping[Any, Any], where: str) -> dict[str, Any]:
    """The same mapping, its ids as strings; untouched where they are strings already, as they mostly are."""
    if type(docs) is dict and set(map(type, docs)) <= {str}:
        return docs
    texts: dict[str, Any] = {}
    for doc, value in docs.items():
        text = identifier(doc, where)
        if text in texts:
            raise KaratError(f"document {text} comes twice, once as text and once as a number", where=where)
        texts[text] = value
    return texts


def _scored_batch(scored: dict[str, dict[str, float]], name: str) -> Scored:
    sizes = np.fromiter(map(len, scored.values()), np.int64, len(scored))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    values = chain.from_iterable(docs.values() for docs in scored.values())
    try:
        scores = np.fromiter(values, np.float64, int(offsets[-1]))
        good = not np.isnan(scores.sum()) or not np.isnan(scores).any()
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise _bad_score(scored, name)
    return Scored(list(scored), list(scored.values()), scores, offsets)


def _bad_score(scored: dict[str, dict[str, float]], name: str) -> KaratError:
    """Find the score that the fast way stumbled over."""
    for query, docs in scored.items():
        for doc, score in docs.items():
            where = f"{name}, query {query}, document {doc}"
            if isnan(_number(score, where, "score")):
                return KaratError("the score is NaN", where=where, mend="Every retrieved document needs a score.")
    raise AssertionError("no bad score in a run that could not be read")


def _number(value: object, where: str, what: str) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # what float cannot read is told below
    except (TypeError, ValueError, OverflowError):
        raise KaratError(f"{what} {shown(value)} is not a number", where=where) from None
