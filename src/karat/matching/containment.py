"""Chunks and the documents that they were cut from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from karat.documents.normalization import Folds, normalizer
from karat.errors import KaratError, shown
from karat.matching.similarity import FUZZY_FOLDS, FuzzyComparer, percentage

_SPEAKERS = ("user: ", "assistant: ")
_DATE = "Date: "


def is_chunk_from_original(chunk: str, original: str, threshold: float | None = None) -> bool:
    r"""Whether a chunk was cut from a document.

    A leading line that begins with `Date: ` is dropped, and so is the prefix `user: ` or `assistant: ` of what is left;
    then the chunk, or its JSON-escaped form, is contained in the original. A chunk without any text matches nothing.
    With a threshold from 0 to 100, nearly the same text is enough (see `fuzzy`).

    >>> is_chunk_from_original("Date: 2024-05-01\nuser: I said: hello", "He wrote: I said: hello, twice.")
    True
    """
    for text in (chunk, original):
        if not isinstance(text, str):
            raise KaratError(f"{shown(text)} is not text", hint="Give a chunk and a document as texts.")
    least = None if threshold is None else percentage("is_chunk_from_original", threshold)
    return any(True for _ in ContainmentComparer((), least).pairs([chunk], [original]))


def unwrapped(chunk: str) -> str:
    """A chunk without what a log put before it: a line with the date, and who was speaking."""
    if chunk.startswith(_DATE):
        chunk = chunk.partition("\n")[2]
    for speaker in _SPEAKERS:
        if chunk.startswith(speaker):
            return chunk[len(speaker) :]
    return chunk


def _forms(text: str) -> tuple[str, ...]:
    """A text as it may stand in a document: as it is, or escaped as in JSON, with letters beyond ASCII or without."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return (text,)
    return tuple(dict.fromkeys((text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])))


class ContainmentComparer:
    """Finds the golds that contain the texts of one query after the other."""

    def __init__(self, folds: Folds, threshold: float | None) -> None:
        self._similar = FuzzyComparer(threshold, folds or FUZZY_FOLDS) if threshold is not None else None
        self._folded = normalizer(folds)

    def pairs(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Which text is contained in which gold."""
        cut = list(map(unwrapped, texts))
        documents = list(map(self._folded, golds))
        # One look through all golds tells at once of most chunks that they are in none.
        everything = "\0".join(documents)
        found: set[tuple[int, int]] = set()
        for at, text in enumerate(cut):
            for form in self._forms(text):
                if form in everything:
                    found.update((at, gold) for gold, document in enumerate(documents) if form in document)
        yield from sorted(found)
        if self._similar:
            yield from (pair for pair in self._similar.pairs(cut, golds) if pair not in found)

    def _forms(self, text: str) -> list[str]:
        # What has no text left is contained in everything, and so in nothing; its JSON form may have letters.
        if not self._folded(text).strip():
            return []
        return [folded for form in _forms(text) if (folded := self._folded(form)).strip()]

    def how(self, text: str, gold: str) -> str:
        """In which form a text is contained in a gold; nothing where it is not."""
        cut, document = unwrapped(text), self._folded(gold)
        forms = [form for form in self._forms(cut) if form in document]
        if not forms:
            return ""
        if forms[0] == document:
            return "the whole text"
        return "contained" if forms[0] == self._folded(cut) else "contained, escaped as in JSON"
