"""Read Elasticsearch's ranking evaluation: its request is ground truth, and its response is a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from karat.documents.ids import identifier
from karat.errors import KaratError, Place, first_few, plural, shown
from karat.sources.tables import ByQuery, Number

_REQUEST = 'A request of _rank_eval is {"requests": [{"id": "q1", "ratings": [{"_index", "_id", "rating"}]}]}.'
_RESPONSE = 'A response of _rank_eval is {"details": {"q1": {"hits": [{"hit": {"_index", "_id"}}]}}}.'


def from_elasticsearch(value: Mapping[str, Any], number: Number, name: str) -> ByQuery | None:
    """The documents in a request or a response of `_rank_eval`; None if this is neither."""
    content, value = elasticsearch_content(value), _unwrapped(value)
    if content == "search":
        hint = 'Write a line for each query: {"query": "q1", "documents": response["hits"]["hits"]}.'
        raise KaratError("the response to a search does not name its query", place=name, hint=hint)
    if content == "truth":
        if number == "score":
            what = "this is a request of _rank_eval, which contains ground truth, not a run"
            raise KaratError(what, place=name, hint="The run is the response to it.")
        return ByQuery(_ratings(value["requests"], name))
    if content == "run":
        if number == "grade":
            what = "this is a response of _rank_eval, which has the ratings of retrieved documents only"
            raise KaratError(what, place=name, hint="The ground truth is the request.")
        return ByQuery(_hits(value["details"], name), _failures(value.get("failures"), name))
    return None


def elasticsearch_content(value: Mapping[str, Any]) -> Literal["truth", "run", "search"] | None:
    """What a request or a response of Elasticsearch contains; None if this is neither."""
    value = _unwrapped(value)
    requests, details, responses = (value.get(name) for name in ("requests", "details", "responses"))
    if isinstance(requests, list) and _any_has(requests, "ratings"):
        return "truth"
    if isinstance(details, dict) and isinstance(value.get("metric_score", {}), int | float | str | None):
        return "run"
    is_search = isinstance(value.get("took"), int) and "hits" in value
    return "search" if is_search or (isinstance(responses, list) and _any_has(responses, "hits")) else None


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response in `{"rank_eval": ...}`, as the documentation of Elasticsearch shows it."""
    inner = value.get("rank_eval")
    return (
        inner if len(value) == 1 and isinstance(inner, dict) and {"metric_score", "details"} <= inner.keys() else value
    )


def _any_has(objects: list[Any], name: str) -> bool:
    return any(isinstance(each, dict) and name in each for each in objects)


def _ratings(requests: list[Any], name: str) -> dict[str, dict[str, Any]]:
    by_query: dict[str, dict[str, Any]] = {}
    for at, request in enumerate(requests, 1):
        place = f"{name}, request {at}"
        try:
            query = identifier(request["id"], place)
            rated = [(each.get("_index"), each["_id"], each["rating"]) for each in request["ratings"]]
        except (KeyError, TypeError, AttributeError):
            raise KaratError("this is not a request with its ratings", place=place, hint=_REQUEST) from None
        if query in by_query:
            raise KaratError(f"the id {shown(query)} appears twice", place=place, hint="Keep one request per query.")
        docs = _unique([(index, doc) for index, doc, _ in rated], f"{name}, query {query}")
        by_query[query] = dict(zip(docs, (rating for *_, rating in rated), strict=True))
    return by_query


def _hits(details: Mapping[str, Any], name: str) -> dict[str, list[str]]:
    by_query: dict[str, list[str]] = {}
    for query, detail in details.items():
        place = f"{name}, query {query}"
        try:
            found = [(each["hit"].get("_index"), each["hit"]["_id"]) for each in detail["hits"]]
        except (KeyError, TypeError, AttributeError):
            raise KaratError("the hits of this query cannot be read", place=place, hint=_RESPONSE) from None
        by_query[query] = _unique(found, place)
    return by_query


def _unique(documents: Iterable[tuple[Any, Any]], place: Place | str) -> list[str]:
    """The ids of documents; the same id twice, as in two indices, is an error."""
    index_of: dict[str, Any] = {}
    for index, value in documents:
        doc = identifier(value, place)
        if doc in index_of:
            other = index_of[doc]
            what = f"document {doc} is listed twice" + (
                f", in the indices {shown(other)} and {shown(index)}" if index != other else ""
            )
            hint = "Documents are told apart by _id only: evaluate one index at a time."
            raise KaratError(what, place=place, hint=hint if index != other else "Keep one of them.")
        index_of[doc] = index
    return list(index_of)


def _failures(failures: Any, name: str) -> tuple[str, ...]:
    """A note on the queries for which Elasticsearch reports a failure; they are missing from the run."""
    if not isinstance(failures, dict) or not failures:
        return ()
    return (f"{name}: Elasticsearch failed for {plural(len(failures), 'query')}: {first_few(list(failures))}",)
