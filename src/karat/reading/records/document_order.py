"""The order of the documents of a log: that of its lists, or that of the documents' scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import eq
from typing import Any, Self

from karat.documents.fields import document_field
from karat.errors import KaratError, Message, Parameter, Place, plural, require
from karat.options import Order
from karat.reading.columns.numbers import number_of

_NUMBERS = {float, int}


class DocumentOrder:
    """Puts the documents of one query after the other in order, and notices scores that contradict that of their list.

    >>> by_score = DocumentOrder("score")
    >>> by_score.of("q1", [{"id": "a", "score": 0.5}, {"id": "b", "score": 0.9}], Place("log"))
    [{'id': 'b', 'score': 0.9}, {'id': 'a', 'score': 0.5}]
    """

    def __init__(self, order: Order | None) -> None:
        self._order = order
        self._lists = self._mappings = 0
        self._contradicting: list[str] = []
        self._are_rising = True
        """whether scores rise from the first to the last document of all lists that have some, as distances do"""

    @classmethod
    def merged(cls, parts: Iterable[Self], order: Order | None) -> Self:
        """What was noticed in all parts of a log, in their order."""
        whole = cls(order)
        for part in parts:
            whole._lists += part._lists
            whole._mappings += part._mappings
            whole._contradicting += part._contradicting
            whole._are_rising &= part._are_rising
        return whole

    def of(self, query: str, documents: Any, place: Place) -> Any:
        """The documents of a query in order; `{document: score}` is ranked by score in any case."""
        if not isinstance(documents, list):
            self._mappings += isinstance(documents, Mapping)
            return documents
        self._lists += 1
        scores = _scores(documents)
        if self._order == "score":
            self._require_scores(query, scores, place)
        numbers = [score for score in scores if score is not None]
        descending = sorted(numbers, reverse=True)
        if len(numbers) < len(scores) or not numbers or descending[0] == descending[-1]:
            return documents
        if numbers != descending:
            self._contradicting.append(query)
        self._are_rising = self._are_rising and numbers == descending[::-1]
        if self._order is None or numbers == descending:
            return documents
        ranks = sorted(range(len(documents)), key=numbers.__getitem__, reverse=True)  # equal scores: as in the list
        return [documents[rank] for rank in ranks]

    def _require_scores(self, query: str, scores: list[float | None], place: Place) -> None:
        if None in scores:
            order, at = Parameter("order", "score"), scores.index(None)
            what: Message = [f"document {at + 1} of query {query} has no score that is a number, and ", order]
            hint: Message = ["Name the field of the score with ", Parameter("fields", {"retrieved.score": "..."})]
            raise KaratError([*what, " needs one"], place=place, hint=[*hint, ", or leave out ", order, "."])

    def notes(self, name: str) -> tuple[str, ...]:
        """What is to be said about the order; it is an error if an order was asked for that has no effect."""
        what: Message = [Parameter("order", "score"), " has no effect on {document: score}, which is ranked by score"]
        has_effect = self._order is None or self._lists or not self._mappings
        require(has_effect, what, "Leave it out.", place=name)
        if not self._contradicting:
            return ()
        queries = plural(len(self._contradicting), "query")
        such = f"{queries}, first for" if len(self._contradicting) > 1 else "query"
        if self._are_rising:
            rising = f"{name}: the scores of documents rise from the first to the last one, as distances do"
            if self._order == "score":
                return (f"{rising}, and the highest score now comes first",)
            return (f"{rising}; the order of the lists counts",)
        if self._order == "score":
            return (f"{name}: documents are ordered by score, which changes the lists of {queries}",)
        return (
            f"{name}: the scores of documents contradict the order of their list for {such} {self._contradicting[0]};"
            " the order of the lists counts. To sort by score, use --order score (order= in Python)",
        )


def _scores(documents: Sequence[Any]) -> list[float | None]:
    """The score of each document, if it has one that is a number."""
    scores: list[Any] = [
        document.get("score") if type(document) is dict else _score(document) for document in documents
    ]
    if {*map(type, scores)} <= _NUMBERS and all(map(eq, scores, scores)):  # faster than cell by cell
        return scores
    numbers = [number_of(score, truth_values=False) for score in scores]  # texts, too, as in CSV
    return [None if number is None or number != number else number for number in numbers]


def _score(document: Any) -> Any:
    return None if type(document) is str else document_field(document, "score")
