"""Which words a predicted and a gold answer share, as parts of both texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from karat.documents.words import tokens
from karat.measures.answers.normalizers import NORMALIZERS, Normalizer

Spans = list[tuple[int, int]]
_NOT_SPACE = re.compile(r"\S+")


class _Part(NamedTuple):
    """A part of a text, and its words after normalization."""

    start: int
    end: int
    words: tuple[str, ...]


def shared_words(gold: str, predicted: str, normalize: str = "true") -> tuple[Spans, Spans]:
    """The parts of the predicted and of the gold answer that have the words they share, repeated ones as often.

    >>> shared_words("the Eiffel Tower", "Eiffel-Tower? The tower, Paris")
    ([(18, 24)], [(11, 16)])
    """
    normalizer = NORMALIZERS[normalize]
    pieces, gold_pieces = _pieces(predicted, normalizer), _pieces(gold, normalizer)
    shared = _words(pieces) & _words(gold_pieces)
    return _spans(pieces, shared), _spans(gold_pieces, shared)


def _words(pieces: Sequence[_Part]) -> Counter[str]:
    return Counter(word for piece in pieces for word in piece.words)


def _spans(pieces: Sequence[_Part], shared: Counter[str]) -> Spans:
    """The pieces whose words are shared; those next to each other are one part."""
    left = shared.copy()
    spans: Spans = []
    joins = False
    for piece in pieces:
        wanted = Counter(piece.words)
        if wanted and all(left[word] >= count for word, count in wanted.items()):
            left.subtract(wanted)
            spans.append((spans.pop()[0] if joins else piece.start, piece.end))
            joins = True
        elif piece.words:
            joins = False
    return spans


def _pieces(text: str, normalizer: Normalizer) -> list[_Part]:
    """The parts of a text between blanks, or smaller ones if these have several words."""
    spans = [match.span() for match in _NOT_SPACE.finditer(text)]
    pieces: list[_Part] = []
    for (start, end), words in zip(spans, _normalized([text[slice(*span)] for span in spans], normalizer), strict=True):
        if len(words) > 1:
            smaller = _tokens(text, start, end)
            of_smaller = _normalized([text[slice(*span)] for span in smaller], normalizer)
            if tuple(word for each in of_smaller for word in each) == words:
                pieces += [_Part(*span, each) for span, each in zip(smaller, of_smaller, strict=True)]
                continue
        pieces.append(_Part(start, end, words))
    return pieces


def _tokens(text: str, start: int, end: int) -> Spans:
    spans: Spans = []
    for token in tokens(text[start:end]):
        at = text.index(token, start, end)
        spans.append((at, at + len(token)))
        start = at + len(token)
    return spans


def _normalized(texts: Sequence[str], normalizer: Normalizer) -> list[tuple[str, ...]]:
    return [tuple(normalizer.words(line)) for line in normalizer.to_lines(texts)]
