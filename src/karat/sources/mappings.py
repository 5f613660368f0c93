"""Truths and runs as Python has them: mappings by query, and plain lists, one per query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np

from karat.documents.fields import DocumentLike
from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.documents.key import Key
from karat.errors import KaratError, shown
from karat.judged import Bools, Floats, Ints
from karat.sources.containers import Batch, InMemoryRun, RankedLists, ScoredMappings, Truth
from karat.sources.grades import grades_by_key

_TRUTH_HINT = "A truth maps each query to its documents: {query: {doc: grade}} or {query: [doc, ...]}."
_RUN_HINT = "A run maps each query to its documents: {query: {doc: score}} or {query: [doc, ...]}."


def truth_from_mapping(queries: Mapping[Any, Any], key: Key, name: str) -> Truth:
    """A truth from `{query: {doc: grade}}` or `{query: [doc, ...]}`, where every document listed has grade 1."""
    golds: dict[str, dict[str, float]] = {}
    scored: dict[str, Mapping[str | None, float]] = {}
    given: dict[str, Mapping[str | None, DocumentLike]] = {}
    wrong: KaratError | None = None
    keyless, by_id = 0, False
    for query_key, docs in queries.items():
        query = _new_query(query_key, golds, name)
        where = f"{name}, query {query}"
        if isinstance(docs, Mapping):
            golds[query] = _with_text_keys(docs, where)
            by_id = True
        else:
            documents = list(_several(docs, where, _TRUTH_HINT))
            listed = key.of(documents, where)
            keyless += sum(not doc for doc in listed)
            golds[query] = {doc: 1.0 for doc in listed if doc}
            if any(one is not other for one, other in zip(listed, documents, strict=True)):
                # Backwards, so that of documents with one key the first one stays.
                given[query] = dict(zip(reversed(listed), reversed(documents), strict=True))
            try:
                if worth := grades_by_key(listed, documents, where):
                    scored[query] = worth
            except KaratError as error:
                wrong = wrong or error
        # A gold without a key can never be found.
        if "" in golds[query]:
            golds[query] = {doc: grade for doc, grade in golds[query].items() if doc}
            keyless += 1
    offsets, grades = _flat(golds, np.isfinite, "grade", name)
    docs_in_order = list(chain.from_iterable(golds.values()))
    reject_lone_surrogates(golds, name)
    if key.field == "id":
        reject_lone_surrogates(docs_in_order, name)
    scores: Floats | None = None
    if scored:
        worths = ((scored.get(query, of_query), of_query) for query, of_query in golds.items())
        scores = np.array([worth[doc] for worth, of_query in worths for doc in of_query])
    documents_in_order: list[DocumentLike] | None = None
    if given:
        documents_in_order = [given.get(query, {}).get(doc, doc) for query, docs in golds.items() for doc in docs]
    truth = Truth(
        tuple(golds), offsets, docs_in_order, grades, keyless, scores if wrong is None else wrong, documents_in_order
    )
    # Ids that are keys of a mapping are normalised last, when their grades are known to be numbers.
    return truth.normalized_by(key) if by_id else truth


def run_from_mapping(queries: Mapping[Any, Any], key: Key, name: str) -> InMemoryRun:
    """A run from `{query: {doc: score}}` or `{query: [doc, ...]}`, each query in the one or the other form."""
    scored: dict[str, dict[str, float]] = {}
    listed: dict[str, Sequence[str | None]] = {}
    given: list[Sequence[DocumentLike]] = []
    seen: set[str] = set()
    for query_key, docs in queries.items():
        query = _new_query(query_key, seen, name)
        seen.add(query)
        where = f"{name}, query {query}"
        if isinstance(docs, Mapping):
            scored[query] = _with_text_keys(docs, where)
        else:
            documents = list(_several(docs, where, _RUN_HINT))
            listed[query] = key.of_retrieved(documents, where)
            given.append(documents)
    reject_lone_surrogates(seen, name)
    parts: list[Batch] = []
    if scored:
        offsets, scores = _flat(scored, _no_nan, "score", name)
        parts.append(ScoredMappings(list(scored), list(scored.values()), scores, offsets))
    if listed:
        parts.append(RankedLists(list(listed), list(listed.values()), given))
    return InMemoryRun(name, tuple(parts))


def mapping_from_lists(lists: Sequence[Any], queries: Sequence[str], name: str) -> dict[str, Any]:
    """Lists, one per query, as a mapping."""
    for at, docs in enumerate(lists):
        if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
            raise KaratError(
                f"{shown(docs)} is not a list of documents",
                where=f"{name}, query {at}",
                hint="Give one list per query: [[doc, ...], [doc, ...]].",
            )
    return dict(zip(queries, lists, strict=True))


def _new_query(value: object, seen: Set[str] | Mapping[str, Any], name: str) -> str:
    query = identifier(value, name)
    if query in seen:
        raise KaratError(f"query {query} comes twice, once as text and once as a number", where=name)
    return query


def _several(docs: object, where: str, hint: str) -> Iterable[object]:
    if type(docs) is list:
        return docs
    if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
        raise KaratError(f"{shown(docs)} is not a list of documents", where=where, hint=hint)
    if isinstance(docs, set | frozenset):
        if hint == _RUN_HINT:
            raise KaratError("a set has no order", where=where, hint=hint)
        return sorted(docs, key=str)
    return docs


def _with_text_keys(docs: Mapping[Any, Any], where: str) -> dict[str, Any]:
    """The same mapping, its ids as strings; untouched where they are strings already, as they mostly are."""
    if isinstance(docs, dict) and all_text(docs):
        return docs
    texts: dict[str, Any] = {}
    for doc, value in docs.items():
        text = identifier(doc, where)
        if text in texts:
            raise KaratError(f"document {text} comes twice, once as text and once as a number", where=where)
        texts[text] = value
    return texts


def _flat(
    by_query: dict[str, dict[str, float]], good: Callable[[Floats], Bools], what: str, name: str
) -> tuple[Ints, Floats]:
    """The numbers of all queries in one array, and where each query's begin."""
    sizes = np.fromiter(map(len, by_query.values()), np.int64, len(by_query))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    try:
        values = chain.from_iterable(docs.values() for docs in by_query.values())
        numbers = np.fromiter(values, np.float64, int(offsets[-1]))
    except (TypeError, ValueError, OverflowError):
        raise _bad_number(by_query, good, what, name) from None
    if not good(numbers).all():
        raise _bad_number(by_query, good, what, name)
    return offsets, numbers


def _no_nan(numbers: Floats) -> Bools:
    return ~np.isnan(numbers)


def _bad_number(
    by_query: dict[str, dict[str, float]], good: Callable[[Floats], Bools], what: str, name: str
) -> KaratError:
    """Find the number that the fast way stumbled over."""
    for query, docs in by_query.items():
        for doc, value in docs.items():
            try:
                fine = bool(good(np.asarray(float(value))))
            except (TypeError, ValueError, OverflowError):
                fine = False
            if not fine:
                several_runs = isinstance(value, Mapping)
                return KaratError(
                    f"{what} {shown(value)} is not a number",
                    where=f"{name}, query {query}, document {doc}",
                    hint="Several runs go into evaluate_runs." if several_runs else f"Every document needs a {what}.",
                )
    raise AssertionError("no bad number among numbers that could not be read")
