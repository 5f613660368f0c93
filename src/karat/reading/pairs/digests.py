"""Digests of ground truth, one per query: systems can be compared on a query if their digests of it are the same.

A digest is saved with scores, so it must never change: it is the same on every platform, in every process, and in every
version of Python and of karat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.data.caching import cached_property
from karat.documents.fields import document_key

if TYPE_CHECKING:
    from karat.data.spans import Spans
    from karat.documents.fields import DocumentLike
    from karat.reading.pairs.containers import Truth


class LazyDigests(Mapping[str, str]):
    """Digests by query, computed when they are first read: most scores are neither saved nor compared."""

    def __init__(self, compute: Callable[[], Mapping[str, str]]) -> None:
        self._compute = compute

    @cached_property
    def _digests(self) -> Mapping[str, str]:
        return self._compute()

    def __getitem__(self, query: str) -> str:
        return self._digests[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)


def digest(records: Iterable[Any]) -> str:
    """A 64-bit digest of texts, or of tuples of texts and numbers, whose order does not matter.

    >>> digest([("a", 1.0), ("b", 2.0)]) == digest([("b", 2.0), ("a", 1.0)])
    True
    """
    from hashlib import blake2b

    return blake2b(json.dumps(sorted(records)).encode("ascii"), digest_size=8).hexdigest()


def truth_digests(truth: Truth, whole_documents: bool = False) -> dict[str, str]:
    """The digest of each query's judged documents: their keys, their grades, and the grades that graded measures read.

    With `whole_documents`, as for functions that match documents, a document is identified by its id and content.
    """
    golds: Sequence[Any] = truth.docs
    if whole_documents:
        golds = list(map(_identity, truth.docs if truth.documents is None else truth.documents))
    grades = (truth.grades + 0.0).tolist()  # + 0.0 turns -0.0 into 0.0
    graded = (truth.scores + 0.0).tolist() if isinstance(truth.scores, np.ndarray) else grades
    return {
        query: digest(zip(golds[start:stop], grades[start:stop], graded[start:stop], strict=True))
        for query, (start, stop) in zip(truth.queries, pairwise(truth.offsets.tolist()), strict=True)
    }


def span_digests(spans: Spans, documents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The digest of each query's gold spans; `documents` are the documents of the spans, in their order."""
    rows = zip(spans.gold_start.tolist(), spans.gold_end.tolist(), strict=True)
    return {query: digest({(name, *next(rows)) for name in names}) for query, names in documents.items()}


def _identity(document: DocumentLike) -> list[str]:
    try:
        return [document_key(document, field, "") or "" for field in ("id", "content")]
    except Exception:  # an object that only the user's function understands
        return []
