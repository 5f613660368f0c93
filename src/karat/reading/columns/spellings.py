"""The usual names of columns and fields.

This is the only place that knows how other tools name a query, a document, a grade, a score and a rank, the parts of
results, of texts and of spans.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import cache
from typing import Literal

Role = Literal["query", "doc", "grade", "score", "rank"]
"""in a table with a row per query and document"""

FieldRole = Literal["record_query", "truth", "retrieved", "gold_answers", "answer", "only_gold_answers"]
"""in records with one record per query; a file of gold answers alone may call them `answer`"""

ListRole = Literal["list_query", "truth_list", "run_list"]
"""in records and tables with one row per query, whose documents are a list"""

TextRole = Literal["id", "text", "query_id", "query_text", "doc_id", "doc_text", "title"]
"""in a table of queries or of documents, where `query` and `passage` may be texts"""

SpanRole = Literal["span_document", "start", "end", "content", "meta"]
"""in chunks of karat, LangChain, LlamaIndex and Haystack"""

AnyRole = Role | FieldRole | ListRole | TextRole | SpanRole | Literal["system"]

# Names in one group fit equally well, and names in an earlier group fit better. Ids come first: where a table has both
# `qid` and `query`, the latter is the text of the query. PyTerrier's `docid` is a number inside its index.
SPELLINGS: dict[AnyRole, tuple[tuple[str, ...], ...]] = {
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
    # The fields of records with one record per query, the first of which is karat's name.
    "record_query": (
        ("query", "query_id", "qid", "question_id", "id", "question", "user_input", "input", "prompt", "_id",
         "questions", "queries"),
    ),
    "truth": (
        ("truth", "ground_truth", "gold", "relevant", "reference_contexts", "expected", "gold_docs",
         "ground_truth_documents", "relevant_docs", "relevant_documents", "positive_passages", "judgments", "qrels"),
    ),
    "retrieved": (
        ("retrieved", "source_nodes", "documents", "docs", "contexts", "retrieved_contexts", "results",
         "retrieved_documents", "retrieved_chunks", "hits", "ranking", "passages", "ctxs"),
    ),
    "gold_answers": (
        ("gold_answers", "gold_answer", "answers", "ground_truth_answers", "ground_truth_answer", "ground_truth",
         "references", "reference", "reference_answer", "expected_answer", "expected_output", "expected", "target",
         "gold"),
    ),
    "answer": (
        ("answer", "predicted_answer", "prediction", "prediction_text", "predicted_answers", "generated_answer",
         "response", "output", "completion", "reply", "result"),
    ),
    "system": (("run",), ("system",)),
    "span_document": (("document", "doc", "doc_id", "source_id", "ref_doc_id", "source"),),
    "start": (("start", "start_index", "start_char_idx", "split_idx_start"),),
    "end": (("end", "end_index", "end_char_idx"),),
    "content": (("content", "page_content", "text"),),
    "meta": (("meta", "metadata"),),
}  # fmt: skip
SPELLINGS["only_gold_answers"] = ((*SPELLINGS["gold_answers"][0], "answer"),)
# In a record per query, `id` is the id of the query.
SPELLINGS["list_query"] = (
    SPELLINGS["query"][0], ("query",), ("id", "_id"), SPELLINGS["query"][1], *SPELLINGS["record_query"],
)  # fmt: skip
SPELLINGS["truth_list"] = (
    ("truth",), *SPELLINGS["doc"], *SPELLINGS["truth"], ("documents",), ("docs",), ("passages",),
)  # fmt: skip
SPELLINGS["run_list"] = (("retrieved",), *SPELLINGS["doc"], *SPELLINGS["retrieved"])


def is_spelling(name: object, role: AnyRole) -> bool:
    """Whether this is a usual name of a column with this content.

    >>> is_spelling("Query-ID", "query"), is_spelling("docId", "doc"), is_spelling("title", "doc")
    (True, True, False)
    """
    return isinstance(name, str) and any(plain_name(name) in group for group in _plain_spellings(role))


def find_column(names: Iterable[str], role: AnyRole, used: Container[str | None] = ()) -> str | None:
    """The name of the column for a role, by its usual spellings; None if there is none. Skips columns in `used`."""
    return next(iter(fitting_columns(names, role, used)), None)


def fitting_columns(
    names: Iterable[str],
    role: AnyRole,
    used: Container[str | None] = (),
    fits: Callable[[str], bool] = lambda _: True,
) -> list[str]:
    """The columns that fit a role best; `fits` says whether the content of a column does, too."""
    texts = [name for name in names if isinstance(name, str) and name not in used]
    by_plain = {plain_name(name): name for name in reversed(texts)}
    for group in _plain_spellings(role):
        if fitting := [by_plain[plain] for plain in group if plain in by_plain and fits(by_plain[plain])]:
            return fitting
    return []


@cache
def _plain_spellings(role: AnyRole) -> list[list[str]]:
    return [[plain_name(name) for name in group] for group in SPELLINGS[role]]


def plain_name(name: str) -> str:
    """A name without differences that do not matter: `Query-ID`, `queryId` and `query_id` are the same."""
    name = name.strip().casefold()
    return name[:1] + name[1:].replace("_", "").replace("-", "").replace(" ", "")
