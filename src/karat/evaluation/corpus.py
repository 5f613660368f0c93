"""Matching documents by their texts if ground truth and runs contain only ids: the texts come from a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, NamedTuple

from karat.documents.fields import DocumentLike, document_field
from karat.documents.ids import identifier
from karat.errors import KaratError
from karat.matching.matchers import FunctionMatcher, Matcher
from karat.reading.pairs.containers import RankedLists, Run, Truth


class CorpusMatcher(NamedTuple):
    """A matcher that knows the texts of a corpus, and notes on reading them."""

    matcher: Matcher
    notes: tuple[str, ...] = ()


def with_corpus(matcher: Matcher, corpus: Any, truth: Truth, runs: Iterable[Run]) -> CorpusMatcher:
    """A matcher that knows the texts of the documents of ground truth and runs, which were read by id.

    Of documents with a content of their own, and of queries that are not evaluated, no texts are read.
    """
    from karat.reading.texts.texts import read_texts

    wanted = _without_content(truth.docs if truth.documents is None else truth.documents)
    for run in runs:
        for load in run.batches():
            batch = load()
            listed = batch.documents if isinstance(batch, RankedLists) else batch.by_query()
            for query, documents in zip(batch.queries, listed, strict=True):
                if query in truth.positions:
                    wanted |= _without_content(documents)
    texts = read_texts(corpus, wanted)
    return CorpusMatcher(matcher.with_texts({each: found.text for each, found in texts.items()}), texts.notes)


def check_corpus(matcher: Matcher) -> None:
    """Reject a corpus if documents are not matched by their texts."""
    if isinstance(matcher, FunctionMatcher) or not matcher.key.field == matcher.gold_key.field == "content":
        hint = "Match by content, chunk, fuzzy or overlap, or leave the corpus out."
        raise KaratError(f"the corpus has no effect if documents are matched by {matcher}", hint=hint)


def _without_content(documents: Iterable[DocumentLike]) -> set[str]:
    """The ids of documents that have no content of their own; a text is an id."""
    found: set[str] = set()
    for document in documents:
        if isinstance(document, str):
            found.add(document)
        elif isinstance(document, Integral):
            found.add(identifier(document, "a document"))
        elif not document_field(document, "content") and (name := document_field(document, "id")) is not None:
            found.add(identifier(name, "a document"))
    return found
