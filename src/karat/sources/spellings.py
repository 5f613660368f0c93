"""The usual names of columns and fields.

This is the only place that knows how other tools name a query, a document, a grade, a score and a rank, and the parts
of results.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cache
from typing import Literal

Role = Literal["query", "doc", "grade", "score", "rank"]
TextRole = Literal["id", "text", "query_id", "query_text", "doc_id", "doc_text", "title"]
"""in a table of queries or of documents, where `query` and `passage` may be texts"""

# Names in one group fit equally well, and names in an earlier group fit better. Ids come first: where a table has both
# `qid` and `query`, the latter is the text of the query. PyTerrier's `docid` is a number inside its index.
SPELLINGS: dict[Role | TextRole, tuple[tuple[str, ...], ...]] = {
    "query": (
        ("qid", "query_id", "topic_id", "question_id"),
        ("query", "topic", "question", "query_text"),
        ("_id",),
    ),
    "doc": (
        ("docno",),
        ("doc_id", "document_id", "corpus_id", "pid", "passage_id", "did", "node_id", "chunk_id", "item_id",
         "product_id"),
        ("doc", "document", "passage"),
        ("_id", "id"),
    ),
    "grade": (("grade",), ("relevance", "rel", "label", "rating", "judgment", "judgement", "qrel"), ("score",)),
    "score": (("score",), ("_score", "similarity", "sim", "relevance_score", "@search.score")),
    "rank": (("rank",), ("position",)),
    "id": (
        ("_id",),
        ("qid", "query_id", "topic_id", "question_id"),
        ("docno", "doc_id", "document_id", "corpus_id", "pid", "passage_id", "chunk_id"),
        ("id",),
        ("query", "topic", "question", "prompt", "input", "user_input", "doc", "document"),
    ),
    "text": (
        ("text",),
        ("query_text", "passage_text", "contents", "content", "body"),
        ("query", "question", "passage"),
        ("title",),
    ),
    "query_id": (
        ("qid", "query_id", "topic_id", "question_id"), ("_id",), ("id",), ("query", "topic", "question"),
    ),
    "query_text": (
        ("query_text", "question_text"),
        ("query", "question", "prompt", "user_input"),
        ("text", "contents", "content", "body", "input"),
        ("title", "topic"),
    ),
    # A chunk may have the id of its document beside its own.
    "doc_id": (
        ("_id",),
        ("docno",),
        ("chunk_id", "passage_id", "pid", "node_id"),
        ("id",),
        ("doc_id", "document_id", "corpus_id", "did"),
        ("doc", "document"),
    ),
    "doc_text": (
        ("text",),
        ("passage_text", "document_text", "chunk_text", "contents", "content", "page_content", "body"),
        ("passage", "document", "doc", "chunk", "segment"),
        ("title",),
    ),
    "title": (("title",), ("doc_title", "document_title", "headline")),
}  # fmt: skip
# The fields of records with one record per query, and the names that other systems use for them.
ALIASES = {
    "query": ("id", "query_id", "question_id", "qid", "question", "prompt", "input", "user_input", "_id"),
    "truth": (
        "ground_truth", "gold", "relevant", "reference_contexts", "expected", "gold_docs", "ground_truth_documents",
        "relevant_docs", "relevant_documents", "positive_passages", "judgments", "qrels",
    ),
    "retrieved": (
        "source_nodes", "documents", "docs", "contexts", "retrieved_contexts", "results", "retrieved_documents",
        "retrieved_chunks", "hits", "ranking", "passages", "ctxs",
    ),
    "gold_answers": (
        "gold_answer", "answers", "ground_truth_answers", "ground_truth_answer", "ground_truth", "references",
        "reference", "reference_answer", "expected_answer", "expected_output", "expected", "target", "gold",
    ),
    "answer": (
        "predicted_answer", "prediction", "prediction_text", "predicted_answers", "generated_answer", "response",
        "output", "completion", "reply", "result",
    ),
}  # fmt: skip


def with_plain_name(name: str, names: Iterable[str]) -> str | None:
    """The first of some names that is this one, apart from its spelling: `Source-Nodes` is `source_nodes`."""
    return next((each for each in names if plain_name(each) == plain_name(name)), None)


def is_spelling(name: object, role: Role | TextRole) -> bool:
    """Whether this is a usual name of a column with this content.

    >>> is_spelling("Query-ID", "query"), is_spelling("docId", "doc"), is_spelling("title", "doc")
    (True, True, False)
    """
    return isinstance(name, str) and any(plain_name(name) in group for group in _plain_spellings(role))


def find_column(names: Iterable[str], role: Role | TextRole, used: Container[str | None] = ()) -> str | None:
    """The name of the column for a role, by its usual spellings; None if there is none. Skips columns in `used`."""
    return next(iter(fitting_columns(names, role, used)), None)


def fitting_columns(names: Iterable[str], role: Role | TextRole, used: Container[str | None] = ()) -> list[str]:
    """The columns that fit a role best."""
    texts = [name for name in names if isinstance(name, str) and name not in used]
    by_plain = {plain_name(name): name for name in reversed(texts)}
    for group in _plain_spellings(role):
        if fitting := [by_plain[plain] for plain in group if plain in by_plain]:
            return fitting
    return []


@cache
def _plain_spellings(role: Role | TextRole) -> list[list[str]]:
    return [[plain_name(name) for name in group] for group in SPELLINGS[role]]


def plain_name(name: str) -> str:
    """A name without differences that do not matter: `Query-ID`, `queryId` and `query_id` are the same."""
    name = name.strip().casefold()
    return name[:1] + name[1:].replace("_", "").replace("-", "").replace(" ", "")


@cache
def plain_fields(field: str) -> set[str]:
    """The usual names of a field of records, as `plain_name` gives them."""
    return {plain_name(name) for name in (field, *ALIASES[field])}
