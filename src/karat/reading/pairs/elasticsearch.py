"""Requests and responses of search engines, which are not read: an error says what they are, and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from karat.errors import KaratError

Content = Literal["request", "response", "search", "vespa"]

_MOST_KEYS = 3  # of a response of Vespa: root, timing and trace
_LINES = 'Write a line for each query: {"query": "q1", "documents": '
_ERRORS: dict[Content, tuple[str, str]] = {
    "request": (
        "this is a request of Elasticsearch's _rank_eval, which is not read",
        'Write its ratings as ground truth: {"q1": {"d1": 1}}.',
    ),
    "response": ("this is a response of Elasticsearch's _rank_eval, which is not read", f'{_LINES}["d1", "d2"]}}.'),
    "search": ("the response to a search does not name its query", f'{_LINES}response["hits"]["hits"]}}.'),
    "vespa": (
        "this is a response of Vespa, which does not name its query",
        'Write a line for each query: {"query": "How soft is gold?", "response": {"root": ...}}.',
    ),
}


def reject_elasticsearch(value: Mapping[str, Any], name: str) -> None:
    """Reject a request or a response of Elasticsearch, which could be taken for queries and their documents."""
    if content := elasticsearch_content(value):
        what, hint = _ERRORS[content]
        raise KaratError(what, place=name, hint=hint)


def elasticsearch_content(value: Mapping[str, Any]) -> Content | None:
    """What an object of a search engine is: a request or a response of `_rank_eval`, or the response to a search."""
    inner = value.get("rank_eval")
    if len(value) == 1 and isinstance(inner, dict) and {"metric_score", "details"} <= inner.keys():
        return "response"  # as the documentation of Elasticsearch shows it
    requests, details, responses = (value.get(name) for name in ("requests", "details", "responses"))
    if isinstance(requests, list) and _any_has(requests, "ratings"):
        return "request"
    if isinstance(details, dict) and isinstance(value.get("metric_score", {}), int | float | str | None):
        return "response"
    root = value.get("root")
    if (
        len(value) <= _MOST_KEYS
        and isinstance(root, dict)
        and "relevance" in root
        and {"children", "fields"} & root.keys()
    ):
        return "vespa"
    is_search = isinstance(value.get("took"), int) and "hits" in value
    return "search" if is_search or (isinstance(responses, list) and _any_has(responses, "hits")) else None


def _any_has(objects: list[Any], name: str) -> bool:
    return any(isinstance(each, dict) and name in each for each in objects)
