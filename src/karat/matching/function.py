"""Matching by a function of the user's: it is asked about each distinct pair of documents once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from karat.documents.key import is_empty
from karat.errors import KaratError, shown

Function = Callable[[Any, Any], bool]


def name_of(function: Function) -> str:
    """What to call a function in a sentence."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and name else type(function).__name__


class FunctionComparer:
    """Asks a function about the documents of one query after the other; what it said is remembered."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._said: dict[tuple[object, object], bool] = {}
        self._kept: list[object] = []

    def pairs(self, texts: Sequence[Any], golds: Sequence[Any]) -> Iterator[tuple[int, int]]:
        """Which retrieved document is which gold one, as the function says."""
        names, gold_names = [self._name(text) for text in texts], [self._name(gold) for gold in golds]
        for at, text in enumerate(texts):
            for which, gold in enumerate(golds):
                if is_empty(text) or is_empty(gold):
                    continue
                pair = names[at], gold_names[which]
                if pair not in self._said:
                    self._said[pair] = self._ask(text, gold)
                if self._said[pair]:
                    yield at, which

    def _name(self, document: object) -> object:
        """A text is known by itself, any other document by what it is: two that look alike may differ."""
        if isinstance(document, str):
            return document
        # What is alive shares its identity with no other.
        self._kept.append(document)
        return id(document)

    def _ask(self, retrieved: object, gold: object) -> bool:
        try:
            said = self._function(retrieved, gold)
        except Exception as error:
            raise KaratError(
                f"{name_of(self._function)} failed on {shown(retrieved)} and {shown(gold)}:"
                f" {type(error).__name__}: {error}",
                hint="It is called with a retrieved and a gold document, as they were given.",
            ) from error
        if not isinstance(said, bool | np.bool_):
            raise KaratError(
                f"{name_of(self._function)} said {shown(said)} of {shown(retrieved)} and {shown(gold)}",
                hint="It returns True where they match, and False where not.",
            )
        return bool(said)
