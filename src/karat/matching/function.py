"""Matching by a user-defined function, which is called once for each distinct pair of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from karat.documents.key import is_empty
from karat.errors import KaratError, shown

Function = Callable[[Any, Any], bool]


def name_of(function: Function) -> str:
    """The name of a function, for messages."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and name else type(function).__name__


class FunctionComparer:
    """Calls a function with pairs of documents, one query at a time, and caches its results."""

    slow_pairs = 0

    def __init__(self, function: Function) -> None:
        self._function = function
        self._results: dict[tuple[object, object], bool] = {}
        self._alive: list[object] = []

    def pairs(self, texts: Sequence[Any], golds: Sequence[Any]) -> Iterator[tuple[int, int]]:
        """Pairs of a retrieved document and a gold document for which the function returns True, by their positions."""
        ids, gold_ids = [self._id(text) for text in texts], [self._id(gold) for gold in golds]
        for at, text in enumerate(texts):
            for which, gold in enumerate(golds):
                if is_empty(text) or is_empty(gold):
                    continue
                pair = ids[at], gold_ids[which]
                if pair not in self._results:
                    self._results[pair] = self._call(text, gold)
                if self._results[pair]:
                    yield at, which

    def _id(self, document: object) -> object:
        """A text is identified by its value, any other document by identity, as equal objects may match differently."""
        if isinstance(document, str):
            return document
        # Python may reuse the id of an object that was deleted.
        self._alive.append(document)
        return id(document)

    def _call(self, retrieved: object, gold: object) -> bool:
        try:
            result = self._function(retrieved, gold)
        except Exception as error:
            raise KaratError(
                f"{name_of(self._function)} failed on {shown(retrieved)} and {shown(gold)}:"
                f" {type(error).__name__}: {error}",
                hint="It is called with a retrieved document and a gold document, as they were given.",
            ) from error
        if not isinstance(result, bool | np.bool_):
            raise KaratError(
                f"{name_of(self._function)} returned {shown(result)} for {shown(retrieved)} and {shown(gold)}",
                hint="It must return True if they match, and False if not.",
            )
        return bool(result)
