"""Read ground truth and runs from Python objects: a mapping by query, or one list per query."""

from __future__ import annotations

import math
import os
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from numbers import Integral
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from karat.data.judged import Floats, Ints
from karat.documents.fields import DocumentLike, document_scores
from karat.documents.ids import all_text
from karat.documents.key import Key, TextOfId
from karat.errors import KaratError, MessagePart, Parameter, Place, plural, shown
from karat.errors.arguments import is_list_like, sorted_set
from karat.reading.bytes.rejected_rows import RejectedRows, reject
from karat.reading.pairs.containers import Batch, InMemoryRun, RankedLists, ScoredMappings, Truth
from karat.reading.pairs.numeric_ids import IdKind, Note, numeric_ids_note
from karat.reading.pairs.pair_checks import PairRules, checked_pairs, id_text, may_be_true_or_false, valid_ids

_TRUTH_HINT = "Ground truth maps each query to its documents: {query: {doc: grade}} or {query: [doc, ...]}."
_RUN_HINT = "A run maps each query to its documents: {query: {doc: score}} or {query: [doc, ...]}."
_QUERIES_TO_LOOK_AT, _FEW_DOCUMENTS = 100, 16
_SEVERAL_RUNS = "Evaluate several runs with evaluate_runs."


def truth_from_mapping(queries: Mapping[Any, Any], key: Key, name: str, rejected: RejectedRows | None = None) -> Truth:
    """Ground truth from `{query: {doc: grade}}` or `{query: [doc, ...]}`; every listed document has grade 1.

    With `rejected`, pairs and lists that are wrong are left out, and so are queries whose ids are.
    """
    with_ids = _with_query_ids(queries, name, rejected)
    graded, lists = _mappings_and_lists(with_ids, key, name, "grades")
    golds: dict[str, dict[str, float]] = {query: {} for query in with_ids} if lists else {}  # in their order
    scored: dict[str, Mapping[str | None, float]] = {}
    originals: dict[str, Mapping[str | None, DocumentLike]] = {}
    bad_scores: KaratError | None = None
    keyless, numeric = 0, False
    for query, docs in lists.items():
        place = Place(name, query=query)
        if (keyed := _keyed(docs, place, _TRUTH_HINT, key.of_golds, rejected)) is None:
            del golds[query]
            continue
        documents, listed = keyed
        numeric = numeric or _has_numeric_ids(documents, key)
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
    read = _read_pairs(graded, PairRules("grade", "Every document needs a grade."), name, rejected)
    golds |= read.docs
    offsets, grades = (read.offsets, read.numbers) if len(graded) == len(golds) else _flat(golds)
    docs_in_order = list(chain.from_iterable(golds.values()))
    scores: Floats | None = None
    if scored:
        by_query = ((scored.get(query, docs), docs) for query, docs in golds.items())
        scores = np.array([grade_of[doc] for grade_of, docs in by_query for doc in docs])
    documents_in_order: list[DocumentLike] | None = None
    if originals:
        documents_in_order = [originals.get(query, {}).get(doc, doc) for query, docs in golds.items() for doc in docs]
    only_relevant = not graded and (scores is None or bool((scores > 0).all()))
    truth = Truth(
        tuple(golds),
        offsets,
        docs_in_order,
        grades,
        keyless,
        bad_scores or scores,
        documents_in_order,
        only_relevant,
        notes=_numeric_note(name, queries, numeric or read.has_numeric_ids),
    )
    # The ids of a mapping are normalized last, when their grades are known to be numbers.
    return truth.normalized_by(key) if graded else truth


def run_from_mapping(
    queries: Mapping[Any, Any], key: Key, name: str, *, finite: bool = False, rejected: RejectedRows | None = None
) -> InMemoryRun:
    """A run from `{query: {doc: score}}` or `{query: [doc, ...]}`; queries may mix the two forms.

    With `finite`, an infinite score is an error. With `rejected`, pairs and lists that are wrong are left out, and so
    are queries whose ids are.
    """
    scored, lists = _mappings_and_lists(_with_query_ids(queries, name, rejected), key, name, "scores")
    listed: dict[str, Sequence[str | None]] = {}
    originals: list[Sequence[DocumentLike]] = []
    numeric = False
    for query, docs in lists.items():
        if keyed := _keyed(docs, Place(name, query=query), _RUN_HINT, key.of_retrieved, rejected):
            documents, listed[query] = keyed
            numeric = numeric or _has_numeric_ids(documents, key)
            originals.append(documents)
    rules = PairRules("score", "Every document needs a score.", finite, _SEVERAL_RUNS)
    read = _read_pairs(scored, rules, name, rejected)
    parts: list[Batch] = []
    if scored:
        parts.append(ScoredMappings(list(read.docs), list(read.docs.values()), read.numbers, read.offsets))
    if listed:
        parts.append(RankedLists(list(listed), list(listed.values()), originals))
    return InMemoryRun(name, tuple(parts), _numeric_note(name, queries, numeric or read.has_numeric_ids))


def mapping_from_lists(lists: Sequence[Any], queries: Sequence[str], name: str) -> dict[str, Any]:
    """A mapping from lists that are in the order of the queries."""
    for at, docs in enumerate(lists):
        if not is_list_like(docs):
            hint = "Pass one list per query: [[doc, ...], [doc, ...]]."
            if isinstance(docs, str | os.PathLike):
                hint += " Several files are evaluated with evaluate_runs."
            raise KaratError(f"{shown(docs)} is not a list of documents", place=Place(name, query=str(at)), hint=hint)
    if len(lists) != len(queries):
        what = f"the ground truth has {plural(len(queries), 'query')} and {name} has {plural(len(lists), 'list')}"
        hint = "Lists are matched by position. Pass one list per query, an empty one if nothing was retrieved."
        raise KaratError(what, hint=hint)
    return dict(zip(queries, lists, strict=True))


def grades_by_key(
    keys: list[str | None], documents: Collection[DocumentLike], place: Place | str
) -> dict[str | None, float] | None:
    """The grades of a query's gold documents: their scores, or None if no document has a score.

    If a document is listed twice, its larger score is used.
    """
    scores = document_scores(documents, place)
    missing = scores.count(None)
    if missing == len(scores):
        return None
    if missing:
        raise KaratError(
            f"{missing} of {len(scores)} gold documents {'has' if missing == 1 else 'have'} no score",
            place=place,
            hint="Give a score to all gold documents of a query, or to none.",
        )
    grades: dict[str | None, float] = {}
    for key, score in zip(keys, scores, strict=True):
        try:
            grade = float(score or 0.0)
        except OverflowError:
            grade = math.inf
        if not 0 <= grade < math.inf:
            raise KaratError(
                f"a gold document has the score {grade:g}",
                place=place,
                hint="The score of a gold document is its grade: 0 or more.",
            )
        grades[key] = max(grade, grades.get(key, grade))
    return grades


def check_matched_by_id(key: Key, container: str, place: Place | str, *, gold: bool = False) -> None:
    """Reject a `match` that needs more than ids, for documents that are given by their ids only."""
    if _is_id(key):
        return
    corpus: list[MessagePart] = [" name their texts with ", Parameter("corpus"), ","] if key.field == "content" else []
    other = " or pass documents with this field: {query: [doc, ...]}, or a results file."
    hint: list[MessagePart] = ["Match by id or prefix,", *corpus, other]
    if gold and key.field.startswith("meta."):
        hint = [f"If it contains the id of a gold document, write {key.field}(gold=id). ", *hint]
    elif gold:
        hint += [" To grade them, set the score of each gold document."]
    what = f"{container} contains only ids, so documents cannot be matched by {key.field}"
    raise KaratError(what, place=place, hint=hint)


def _is_id(key: Key) -> bool:
    """Whether the key of a document follows from its id."""
    return key.field == "id" or isinstance(key, TextOfId)


def _with_query_ids(queries: Mapping[Any, Any], name: str, rejected: RejectedRows | None) -> dict[str, Any]:
    """The documents of each query, by its id as a text."""
    if type(queries) is dict:
        keys, documents = (*queries,), (*queries.values(),)
    else:
        keys, documents = zip(*queries.items(), strict=True) if queries else ((), ())
    ids: Sequence[str | None] = valid_ids(keys) or [_query_id(key, name, rejected) for key in keys]
    by_query = dict(zip(ids, documents, strict=True))
    if len(by_query) < len(ids) and (twice := [query for query, times in Counter(ids).items() if query and times > 1]):
        raise KaratError(f"query {twice[0]} appears twice, once as text and once as a number", place=name)
    by_query.pop(None, None)
    return cast("dict[str, Any]", by_query)


def _query_id(value: object, name: str, rejected: RejectedRows | None) -> str | None:
    """The id of a query; None if it is wrong, and the query is left out."""
    try:
        return id_text(value, "query")
    except KaratError as error:
        reject(error.but(place=name if rejected is None else Place(name, query=shown(value))), rejected)
        return None


def _keyed(
    docs: object,
    place: Place,
    hint: str,
    keys_of: Callable[[list[Any], Place], list[str | None]],
    rejected: RejectedRows | None,
) -> tuple[list[Any], list[str | None]] | None:
    """A list of documents, and their keys; None if one of them is wrong, and the list is left out."""
    try:
        documents = list(_iterable(docs, place, hint))
        return documents, keys_of(documents, place)
    except KaratError as error:
        reject(error, rejected)
        return None


def _iterable(docs: object, place: Place, hint: str) -> Iterable[object]:
    if type(docs) is list:
        return docs
    if not isinstance(docs, Iterable) or not is_list_like(docs):
        raise KaratError(f"{shown(docs)} is not a list of documents", place=place, hint=hint)
    if isinstance(docs, set | frozenset):
        if hint == _RUN_HINT:
            raise KaratError("a set has no order", place=place, hint=hint)
        return sorted_set(docs)
    return docs


def _numeric_note(name: str, queries: Iterable[Any], documents: bool) -> tuple[Note, ...]:
    """The note on ids that are numbers; `documents` says whether those of documents are."""
    kinds: dict[IdKind, bool] = {"query": not all_text(queries), "document": documents}
    return numeric_ids_note(name, *(kind for kind, are_numbers in kinds.items() if are_numbers))


def _has_numeric_ids(documents: Sequence[object], key: Key) -> bool:
    return key.field == "id" and not all_text(documents) and any(isinstance(each, Integral) for each in documents)


def _mappings_and_lists(
    by_query: dict[str, Any], key: Key, name: str, numbers: Literal["grades", "scores"]
) -> tuple[dict[str, dict[Any, Any]], dict[str, Any]]:
    """The queries whose documents have numbers and are known by their ids; and all other queries."""
    if _is_id(key) and set(map(type, by_query.values())) <= {dict}:  # as usual
        return by_query, {}
    mappings: dict[str, dict[Any, Any]] = {}
    lists: dict[str, Any] = {}
    for query, docs in by_query.items():
        if not isinstance(docs, Mapping):
            lists[query] = docs
            continue
        if docs:
            container, place = f"a mapping of documents to {numbers}", Place(name, query=query)
            check_matched_by_id(key, container, place, gold=numbers == "grades")
        # The methods of a subclass may do anything.
        mappings[query] = docs if type(docs) is dict else dict(docs.items())
    return mappings, lists


class _ReadPairs(NamedTuple):
    """The documents of each query with their numbers; and all numbers, from an offset for each query."""

    docs: dict[str, dict[str, float]]
    offsets: Ints
    numbers: Floats
    has_numeric_ids: bool


def _read_pairs(
    by_query: dict[str, dict[Any, Any]], rules: PairRules, name: str, rejected: RejectedRows | None
) -> _ReadPairs:
    """The pairs in mappings. The mappings themselves are kept if their ids are texts, as they usually are."""
    docs, has_numeric_ids = by_query, False
    # One query after the other, while its ids are in the processor's cache, unless they are few.
    parts: Iterable[Any] = by_query.values()
    if _are_few(by_query):
        parts = ([*chain.from_iterable(parts)],)
    if not all(valid_ids(ids) is ids for ids in parts):
        for query, documents in by_query.items():
            ids_of_query = valid_ids(documents)
            if ids_of_query is None:
                return _checked_pairs(by_query, rules, name, rejected)
            if isinstance(ids_of_query, list):
                docs = docs if has_numeric_ids else {**by_query}
                docs[query], has_numeric_ids = _with_ids(ids_of_query, documents.values(), name, query), True
    try:
        offsets, numbers = _flat(docs)
    except Exception:  # a text, or an object whose methods may raise anything
        return _checked_pairs(by_query, rules, name, rejected)
    scores = chain.from_iterable(of_query.values() for of_query in docs.values())
    # The definition finds out what may be infinite, or true.
    if not np.isfinite(numbers).all() or may_be_true_or_false(scores, numbers, rules):
        return _checked_pairs(by_query, rules, name, rejected)
    return _ReadPairs(docs, offsets, numbers, has_numeric_ids)


def _checked_pairs(
    by_query: dict[str, dict[Any, Any]], rules: PairRules, name: str, rejected: RejectedRows | None
) -> _ReadPairs:
    """The pairs in mappings, read one by one. The first one that is wrong is an error, unless they are collected."""
    rows = [(query, doc, number) for query, docs in by_query.items() for doc, number in docs.items()]

    def place(row: int, _column: int) -> Place:
        query, doc, _ = rows[row]
        return Place(name, query=query, field=f"document {doc if isinstance(doc, str) and doc else shown(doc)}")

    pairs = checked_pairs(rows, rules, place, rejected)
    left_out = Counter(rows[row][0] for row in pairs.left_out)
    sizes = {query: len(documents) - left_out[query] for query, documents in by_query.items()}
    ids, numbers = iter(pairs.docs), iter(pairs.numbers.tolist())
    docs = {
        query: _with_ids(list(islice(ids, size)), islice(numbers, size), name, query) for query, size in sizes.items()
    }
    return _ReadPairs(docs, *_flat(docs), "document" in pairs.numeric)


def _with_ids(ids: Sequence[str], numbers: Iterable[Any], name: str, query: str) -> dict[str, Any]:
    """The number of each document, by ids that were texts or numbers."""
    by_id = dict(zip(ids, numbers, strict=True))
    if len(by_id) < len(ids):
        twice = next(doc for doc, times in Counter(ids).items() if times > 1)
        what = f"document {twice} appears twice, once as text and once as a number"
        raise KaratError(what, place=Place(name, query=query))
    return by_id


def _are_few(by_query: Mapping[str, Mapping[Any, Any]]) -> bool:
    """Whether the first queries have so few documents that all are read together."""
    return max(map(len, islice(by_query.values(), _QUERIES_TO_LOOK_AT)), default=0) < _FEW_DOCUMENTS


def _flat(by_query: dict[str, dict[str, float]]) -> tuple[Ints, Floats]:
    """The offset of each query, and the numbers of all queries in one array."""
    sizes = np.fromiter(map(len, by_query.values()), np.int64, len(by_query))
    offsets = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(out=offsets[1:])
    if _are_few(by_query):
        return offsets, np.frombuffer(array("d", [*chain.from_iterable(map(dict.values, by_query.values()))]))
    numbers = np.empty(offsets[-1], np.float64)
    for docs, start in zip(by_query.values(), (offsets[:-1] * numbers.itemsize).tolist(), strict=True):
        struct.pack_into(f"{len(docs)}d", numbers.data, start, *docs.values())
    return offsets, numbers
