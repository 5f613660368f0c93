"""Read ground truth and runs from Python objects: a mapping by query, or one list per query."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from numbers import Integral
from typing import Any, Literal

import numpy as np

from karat.arguments import is_list_like, sorted_set
from karat.documents.fields import DocumentLike
from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.documents.key import Key, TextOfId
from karat.errors import KaratError, Place, plural, shown
from karat.judged import Bools, Floats, Ints
from karat.sources.containers import Batch, InMemoryRun, RankedLists, ScoredMappings, Truth
from karat.sources.grades import grades_by_key
from karat.sources.numeric_ids import IdKind, numeric_ids_note

_TRUTH_HINT = "Ground truth maps each query to its documents: {query: {doc: grade}} or {query: [doc, ...]}."
_RUN_HINT = "A run maps each query to its documents: {query: {doc: score}} or {query: [doc, ...]}."


def truth_from_mapping(queries: Mapping[Any, Any], key: Key, name: str) -> Truth:
    """Ground truth from `{query: {doc: grade}}` or `{query: [doc, ...]}`; every listed document has grade 1."""
    golds: dict[str, dict[str, float]] = {}
    scored: dict[str, Mapping[str | None, float]] = {}
    originals: dict[str, Mapping[str | None, DocumentLike]] = {}
    bad_scores: KaratError | None = None
    keyless, by_id, numeric = 0, False, False
    for query_key, docs in queries.items():
        query = _new_query(query_key, golds, name)
        place = f"{name}, query {query}"
        if isinstance(docs, Mapping):
            golds[query] = _ids_with_numbers(docs, key, place, "grades")
            by_id, numeric = True, numeric or not (golds[query] is docs or all_text(docs))
        else:
            documents = list(_iterable(docs, place, _TRUTH_HINT))
            numeric = numeric or _has_numeric_ids(documents, key)
            listed = key.of(documents, place)
            keyless += sum(not doc for doc in listed)
            golds[query] = {doc: 1.0 for doc in listed if doc}
            if any(one is not other for one, other in zip(listed, documents, strict=True)):
                # In reverse, so that the first of several documents with the same key is kept.
                originals[query] = dict(zip(reversed(listed), reversed(documents), strict=True))
            try:
                if by_key := grades_by_key(listed, documents, place):
                    scored[query] = by_key
            except KaratError as error:
                bad_scores = bad_scores or error
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
        by_query = ((scored.get(query, docs), docs) for query, docs in golds.items())
        scores = np.array([grade_of[doc] for grade_of, docs in by_query for doc in docs])
    documents_in_order: list[DocumentLike] | None = None
    if originals:
        documents_in_order = [originals.get(query, {}).get(doc, doc) for query, docs in golds.items() for doc in docs]
    only_relevant = not by_id and (scores is None or bool((scores > 0).all()))
    truth = Truth(
        tuple(golds),
        offsets,
        docs_in_order,
        grades,
        keyless,
        bad_scores or scores,
        documents_in_order,
        only_relevant,
        notes=_numeric_note(name, queries, numeric),
    )
    # The ids of a mapping are normalized last, when their grades are known to be numbers.
    return truth.normalized_by(key) if by_id else truth


def run_from_mapping(queries: Mapping[Any, Any], key: Key, name: str, *, finite: bool = False) -> InMemoryRun:
    """A run from `{query: {doc: score}}` or `{query: [doc, ...]}`; queries may mix the two forms.

    With `finite`, an infinite score is an error.
    """
    scored: dict[str, dict[str, float]] = {}
    listed: dict[str, Sequence[str | None]] = {}
    originals: list[Sequence[DocumentLike]] = []
    seen: set[str] = set()
    numeric = False
    for query_key, docs in queries.items():
        query = _new_query(query_key, seen, name)
        seen.add(query)
        place = f"{name}, query {query}"
        if isinstance(docs, Mapping):
            scored[query] = _ids_with_numbers(docs, key, place, "scores")
            numeric = numeric or not (scored[query] is docs or all_text(docs))
        else:
            documents = list(_iterable(docs, place, _RUN_HINT))
            numeric = numeric or _has_numeric_ids(documents, key)
            listed[query] = key.of_retrieved(documents, place)
            originals.append(documents)
    reject_lone_surrogates(seen, name)
    parts: list[Batch] = []
    if scored:
        offsets, scores = _flat(scored, np.isfinite if finite else _is_not_nan, "score", name)
        parts.append(ScoredMappings(list(scored), list(scored.values()), scores, offsets))
    if listed:
        parts.append(RankedLists(list(listed), list(listed.values()), originals))
    return InMemoryRun(name, tuple(parts), _numeric_note(name, queries, numeric))


def mapping_from_lists(lists: Sequence[Any], queries: Sequence[str], name: str) -> dict[str, Any]:
    """A mapping from lists that are in the order of the queries."""
    for at, docs in enumerate(lists):
        if not is_list_like(docs):
            hint = "Pass one list per query: [[doc, ...], [doc, ...]]."
            if isinstance(docs, str | os.PathLike):
                hint += " Several files are evaluated with evaluate_runs."
            raise KaratError(f"{shown(docs)} is not a list of documents", place=f"{name}, query {at}", hint=hint)
    if len(lists) != len(queries):
        what = f"the ground truth has {plural(len(queries), 'query')} and {name} has {plural(len(lists), 'list')}"
        hint = "Lists are matched by position. Pass one list per query, an empty one if nothing was retrieved."
        raise KaratError(what, hint=hint)
    return dict(zip(queries, lists, strict=True))


def check_matched_by_id(key: Key, container: str, place: Place | str, *, gold: bool = False) -> None:
    """Reject a `match` that needs more than ids, for documents that are given by their ids only."""
    if key.field == "id" or isinstance(key, TextOfId):
        return
    corpus = " name their texts with --corpus FILE (in Python corpus=)," if key.field == "content" else ""
    hint = (
        f"Match by id or prefix,{corpus} or pass documents with this field: {{query: [doc, ...]}}, or a results file."
    )
    if gold and key.field.startswith("meta."):
        hint = f"If it contains the id of a gold document, write {key.field}(gold=id). {hint}"
    elif gold:
        hint += " To grade them, set the score of each gold document."
    what = f"{container} contains only ids, so documents cannot be matched by {key.field}"
    raise KaratError(what, place=place, hint=hint)


def _new_query(value: object, seen: Set[str] | Mapping[str, Any], name: str) -> str:
    query = identifier(value, name)
    if query in seen:
        raise KaratError(f"query {query} appears twice, once as text and once as a number", place=name)
    return query


def _iterable(docs: object, place: Place | str, hint: str) -> Iterable[object]:
    if type(docs) is list:
        return docs
    if not isinstance(docs, Iterable) or not is_list_like(docs):
        raise KaratError(f"{shown(docs)} is not a list of documents", place=place, hint=hint)
    if isinstance(docs, set | frozenset):
        if hint == _RUN_HINT:
            raise KaratError("a set has no order", place=place, hint=hint)
        return sorted_set(docs)
    return docs


def _numeric_note(name: str, queries: Iterable[Any], documents: bool) -> tuple[str, ...]:
    """The note on ids that are numbers; `documents` says whether those of documents are."""
    kinds: dict[IdKind, bool] = {"query": not all_text(queries), "document": documents}
    return numeric_ids_note(name, *(kind for kind, are_numbers in kinds.items() if are_numbers))


def _has_numeric_ids(documents: Sequence[object], key: Key) -> bool:
    return key.field == "id" and not all_text(documents) and any(isinstance(each, Integral) for each in documents)


def _ids_with_numbers(
    docs: Mapping[Any, Any], key: Key, place: Place | str, numbers: Literal["grades", "scores"]
) -> dict[str, Any]:
    """A dict with ids as strings; the mapping itself if it is such a dict already, as it usually is."""
    if docs:
        check_matched_by_id(key, f"a mapping of documents to {numbers}", place, gold=numbers == "grades")
    if isinstance(docs, dict) and all_text(docs):
        # The methods of a subclass may do anything.
        return docs if type(docs) is dict else dict(docs.items())
    texts: dict[str, Any] = {}
    for doc, value in docs.items():
        text = identifier(doc, place)
        if text in texts:
            raise KaratError(f"document {text} appears twice, once as text and once as a number", place=place)
        texts[text] = value
    return texts


def _flat(
    by_query: dict[str, dict[str, float]], valid: Callable[[Floats], Bools], what: str, name: str
) -> tuple[Ints, Floats]:
    """The offset of each query, and the numbers of all queries in one array."""
    sizes = np.fromiter(map(len, by_query.values()), np.int64, len(by_query))
    offsets = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(out=offsets[1:])
    try:
        numbers = _read_numbers(by_query.values(), offsets)
    except (TypeError, ValueError, OverflowError):
        raise _invalid_number_error(by_query, valid, what, name) from None
    if not valid(numbers).all():
        raise _invalid_number_error(by_query, valid, what, name)
    return offsets, numbers


def _read_numbers(mappings: Collection[dict[str, float]], offsets: Ints) -> Floats:
    """The values of all mappings as floats; numbers may be of any type, and also texts that contain a number."""
    numbers = np.empty(offsets[-1], np.float64)
    try:
        for docs, start in zip(mappings, (offsets[:-1] * numbers.itemsize).tolist(), strict=True):
            struct.pack_into(f"{len(docs)}d", numbers.data, start, *docs.values())
    except struct.error:  # NumPy reads more than numbers, but more slowly
        return np.fromiter(chain.from_iterable(map(dict.values, mappings)), np.float64, len(numbers))
    return numbers


def _is_not_nan(numbers: Floats) -> Bools:
    return ~np.isnan(numbers)


def _invalid_number_error(
    by_query: dict[str, dict[str, float]], valid: Callable[[Floats], Bools], what: str, name: str
) -> KaratError:
    """Find the number that could not be read, and name its place."""
    for query, docs in by_query.items():
        for doc, value in docs.items():
            try:
                is_valid = bool(valid(np.asarray(float(value))))
            except (TypeError, ValueError, OverflowError):
                is_valid = False
            if not is_valid:
                several_runs = isinstance(value, Mapping)
                is_infinite = isinstance(value, float) and math.isinf(value)
                return KaratError(
                    f"{what} {shown(value)} is not a {'finite ' if is_infinite else ''}number",
                    place=f"{name}, query {query}, document {doc}",
                    hint="Evaluate several runs with evaluate_runs."
                    if several_runs
                    else f"Every document needs a {what}.",
                )
    raise AssertionError("every number is valid, but they could not be read")
