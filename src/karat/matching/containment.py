"""Whether a chunk of text was cut from a document, and where it is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from karat.documents.normalization import Folds, normalizer, original_span
from karat.errors import KaratError, shown
from karat.matching.similarity import FUZZY_FOLDS, FuzzyComparer, check_percentage

if TYPE_CHECKING:
    from karat.matching.matcher import Matcher

_SPEAKERS = ("user: ", "assistant: ")
_DATE = "Date: "

Locator = Callable[[str, str], tuple[int, int] | None]
"""a function of a retrieved text and of the gold text that it matches, which returns offsets in the latter"""


def is_chunk_from_original(chunk: str, original: str, threshold: float | None = None) -> bool:
    r"""Whether a chunk was cut from a document.

    A first line that begins with `Date: ` is removed from the chunk, then a prefix `user: ` or `assistant: `. The rest,
    or its JSON-escaped form, must be contained in the original. A chunk without text never matches. With a threshold
    from 0 to 100, similar text is enough (see `fuzzy`).

    >>> is_chunk_from_original("Date: 2024-05-01\nuser: I said: hello", "He wrote: I said: hello, twice.")
    True
    """
    for text in (chunk, original):
        if not isinstance(text, str):
            raise KaratError(f"{shown(text)} is not text", hint="Pass a chunk and a document as strings.")
    least = None if threshold is None else check_percentage("is_chunk_from_original", threshold)
    return any(True for _ in ContainmentComparer((), least).pairs([chunk], [original]))


def _strip_log_prefix(chunk: str) -> str:
    """A chunk without the prefix of a chat log: a line with the date, and the name of the speaker."""
    if chunk.startswith(_DATE):
        chunk = chunk.partition("\n")[2]
    for speaker in _SPEAKERS:
        if chunk.startswith(speaker):
            return chunk[len(speaker) :]
    return chunk


def _escaped_forms(text: str) -> tuple[str, ...]:
    """The forms a text may have in a document: unchanged, or escaped as in JSON, with or without non-ASCII letters."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return (text,)
    return tuple(dict.fromkeys((text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])))


class ContainmentComparer:
    """Finds the gold texts that contain retrieved texts, one query at a time."""

    def __init__(self, folds: Folds, threshold: float | None, keep_bare_prefix: bool = False) -> None:
        """`keep_bare_prefix` compares a chunk that has no text besides its prefix with the prefix."""
        self._keep_bare_prefix = keep_bare_prefix
        self._fuzzy = FuzzyComparer(threshold, folds or FUZZY_FOLDS) if threshold is not None else None
        self._folds = folds
        self._normalize = normalizer(folds)

    @property
    def slow_pairs(self) -> int:
        """How many pairs of texts were so long that comparing them took seconds."""
        return self._fuzzy.slow_pairs if self._fuzzy else 0

    def pairs(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Pairs of a text and a gold text that contains it, by their positions."""
        chunks = list(map(self._compared, texts))
        documents = list(map(self._normalize, golds))
        # Most chunks are in no gold text: one search through all of them joined rules those out.
        joined = "\0".join(documents)
        contained: set[tuple[int, int]] = set()
        for at, chunk in enumerate(chunks):
            for form in self._forms(chunk):
                if form in joined:
                    contained.update((at, gold) for gold, document in enumerate(documents) if form in document)
        yield from sorted(contained)
        if self._fuzzy:
            yield from (pair for pair in self._fuzzy.pairs(chunks, golds) if pair not in contained)

    def _compared(self, text: str) -> str:
        """The part of a chunk that is compared: empty if it has no text, as that would be contained in every text."""
        chunk = _strip_log_prefix(text)
        if self._normalize(chunk).strip():
            return chunk
        return text if self._keep_bare_prefix and self._normalize(text).strip() else ""

    def _forms(self, chunk: str) -> list[str]:
        return [folded for form in _escaped_forms(chunk) if (folded := self._normalize(form)).strip()]

    def reason(self, text: str, gold: str) -> str:
        """How a text is contained in a gold text or similar to it, in words, if it is."""
        chunk, document = self._compared(text), self._normalize(gold)
        forms = [form for form in self._forms(chunk) if form in document]
        if not forms:
            return self._fuzzy.reason(chunk, gold) if self._fuzzy else ""
        if forms[0] == document:
            return "the whole text"
        return "contained" if forms[0] == self._normalize(chunk) else "contained, escaped as in JSON"

    def location(self, text: str, gold: str) -> tuple[int, int] | None:
        """Where a text is in the gold text that contains it: its first place, as offsets into the gold text as given.

        If the texts are only similar, the most similar part of the gold text; None if it is not known.
        """
        chunk, document = self._compared(text), self._normalize(gold)
        for form in self._forms(chunk):
            if (at := document.find(form)) >= 0:
                return original_span(gold, self._folds, at, at + len(form))
        return self._fuzzy.location(chunk, gold) if self._fuzzy else None


def locator(match: Matcher) -> Locator | None:
    """A function that returns the offsets of a retrieved text in a gold text as given; None if there is none.

    >>> from karat.matching.matchers import matcher_of
    >>> locator(matcher_of("chunk(normalize=all)"))("is SOFT", "Gold, they say,  is  soft!")
    (17, 25)
    """
    comparer = match.comparer()
    return comparer.location if isinstance(comparer, ContainmentComparer | FuzzyComparer) else None
