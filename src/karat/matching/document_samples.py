"""Documents of some queries, with short texts, to find out quickly what gold and retrieved documents have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from heapq import nsmallest
from itertools import islice
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from karat.data.judged import Bools
from karat.documents.fields import FIELD_NAMES, DocumentLike, document_field, document_key
from karat.errors import KaratError
from karat.reading.pairs.containers import RankedLists, Run, Truth

MOST_QUERIES = 50
"""queries in a sample"""
MOST_DOCUMENTS = 100
"""retrieved documents of a query that have more than an id"""
LONGEST_GOLD, LONGEST_TEXT = 50_000, 1_000
"""characters of gold and of retrieved texts: the beginning of a chunk is in a gold document if the chunk is"""
_MOST_IDS, _MOST_GOLDS = 1_000, 100  # of a query
_MOST_ROWS = 100_000  # of a query, in a file
_MOST_CHARACTERS = 2_000_000  # of all texts
_MOST_FIELDS = 100  # of the metadata
_DEEPEST_META = 2


class SampledQuery(NamedTuple):
    """Gold and retrieved documents of a query: ids, texts, and mappings with `id`, `content` and `meta`."""

    query: str
    golds: tuple[Any, ...]
    retrieved: tuple[Any, ...]
    golds_are_ids: bool = False
    """whether gold documents are in a table or in a mapping of ids to numbers: they have no texts and no metadata"""
    retrieved_are_ids: bool = False
    """the same of retrieved documents"""

    @property
    def size(self) -> int:
        """The number of characters of its texts."""
        return sum(len(text_of(document)) for document in (*self.golds, *self.retrieved))


def sample_of_run(truth: Truth, run: Run, has_documents: Bools) -> tuple[SampledQuery, ...]:
    """Documents of the first queries by id that have gold documents and retrieved ones.

    A file is read again to its end, as the rows of a query need not be next to each other. `has_documents` says which
    queries of the ground truth have documents in the run.
    """
    sizes = np.diff(truth.offsets)
    candidates = (truth.queries[at] for at in np.flatnonzero(has_documents & (sizes > 0)).tolist())
    wanted = set(nsmallest(MOST_QUERIES, candidates))
    are_ids = truth.documents is None and not truth.only_relevant
    retrieved: dict[str, list[DocumentLike]] = {}
    has_lists = False
    for load in run.batches() if wanted else ():
        batch = load()
        has_lists = isinstance(batch, RankedLists)
        for at, query in ((at, query) for at, query in enumerate(batch.queries) if query in wanted):
            documents = batch.documents[at] if isinstance(batch, RankedLists) else batch.of_query(at)
            kept = retrieved.setdefault(query, [])
            kept.extend(islice(documents, max(0, _MOST_ROWS - len(kept))))
    return first_queries(
        _sampled(
            query,
            _relevant(truth, truth.positions[query]),
            documents if has_lists else sorted(documents, key=str),
            are_ids,
            not has_lists,
        )
        for query, documents in retrieved.items()
    )


def sample_of_lists(truth: Mapping[str, Any], run: Mapping[str, Any]) -> tuple[SampledQuery, ...]:
    """Documents of the first queries by id; those of a query are in a list, or the keys of a mapping to numbers."""
    wanted = nsmallest(MOST_QUERIES, (query for query, golds in truth.items() if golds and run.get(query)))
    return first_queries(
        _sampled(
            query, _listed_golds(truth[query]), run[query], *(isinstance(side[query], Mapping) for side in (truth, run))
        )
        for query in wanted
    )


def _listed_golds(golds: Any) -> list[DocumentLike]:
    """The gold documents of a query; of a mapping to grades, those that are relevant, or all of them if none is."""
    relevant = [document for document, grade in golds.items() if grade > 0] if isinstance(golds, Mapping) else []
    return relevant or list(golds)


def first_queries(sampled: Iterable[SampledQuery]) -> tuple[SampledQuery, ...]:
    """The first queries by id, so many that it does not take long to try a match."""
    first: list[SampledQuery] = []
    room = _MOST_CHARACTERS
    for each in nsmallest(MOST_QUERIES, sampled, key=lambda each: each.query):
        room -= each.size
        if first and room < 0:
            break
        first.append(each)
    return tuple(first)


def _relevant(truth: Truth, position: int) -> Sequence[DocumentLike]:
    """The gold documents of a query that are relevant; all of them, if none is."""
    rows = truth.golds(position)
    documents = truth.original_documents(rows)
    grades = truth.grades[rows.start : rows.stop]
    relevant = [document for document, grade in zip(documents, grades.tolist(), strict=True) if grade > 0]
    return relevant or list(documents)


def _sampled(
    query: str,
    golds: Iterable[DocumentLike],
    retrieved: Iterable[DocumentLike],
    golds_are_ids: bool,
    retrieved_are_ids: bool,
) -> SampledQuery:
    most = _MOST_IDS if retrieved_are_ids else MOST_DOCUMENTS
    return SampledQuery(
        query,
        _plain_documents(islice(golds, _MOST_GOLDS), LONGEST_GOLD),
        _plain_documents(islice(retrieved, most), LONGEST_TEXT),
        golds_are_ids,
        retrieved_are_ids,
    )


def _plain_documents(documents: Iterable[DocumentLike], longest: int) -> tuple[Any, ...]:
    """Plain documents; ids and texts are sorted, as mappings and files with the same documents may order them."""
    plain = [_plain(document, longest) for document in documents]
    return tuple(sorted(plain) if all(isinstance(each, str) for each in plain) else plain)


def _plain(document: DocumentLike, longest: int) -> Any:
    """The id, content and metadata of a document of any framework, with texts that are cut."""
    if isinstance(document, str):
        return document[:longest]
    if isinstance(document, Integral):
        return int(document)
    parts: dict[str, Any] = {}
    for field in ("id", "content"):
        with suppress(KaratError):
            if document_field(document, field) is not None and (key := document_key(document, field, "")):
                parts[field] = key[:longest]
    others = document if isinstance(document, Mapping) else {}
    meta = document_field(document, "meta")
    fields = {name: value for name, value in others.items() if name not in FIELD_NAMES}
    fields |= meta if isinstance(meta, Mapping) else {}
    return {**parts, "meta": _plain_meta(fields, _DEEPEST_META)}


def _plain_meta(fields: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    """The texts and whole numbers in metadata, whose names can be steps of a path."""
    plain: dict[str, Any] = {}
    for name, value in islice(fields.items(), _MOST_FIELDS):
        if not isinstance(name, str) or not name or set(name) & set(".()"):
            continue
        if isinstance(value, str) and value:
            plain[name] = value[:LONGEST_TEXT]
        elif isinstance(value, Integral) and not isinstance(value, bool):
            plain[name] = int(value)
        elif isinstance(value, Mapping) and depth > 1:
            plain[name] = _plain_meta(value, depth - 1)
    return plain


def text_of(document: Any) -> str:
    """The text of a document of a sample; of a plain text, the text itself, which may be an id."""
    text = document.get("content", "") if isinstance(document, dict) else document
    return text if isinstance(text, str) else ""
