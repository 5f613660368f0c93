"""What a system answered to a question: the sentences of the answer, and the passages that they are based on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentence:
    """A sentence of an answer, and what it cites: ids of passages, and invalid citations as they were written."""

    text: str
    cites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Passage:
    """A passage that a system was given, with its rank from 1; the text is None if only the id is known."""

    id: str
    rank: int
    text: str | None = None


@dataclass(frozen=True)
class Response:
    """What a system answered to a question, in sentences, and the passages that it was given, each once."""

    query: str
    system: str | None
    question: str
    answer: str
    sentences: tuple[Sentence, ...] = ()
    passages: tuple[Passage, ...] = ()
    gold_answers: tuple[str, ...] | None = None
    """None if they are unknown; an empty text means that the question has no answer"""


@dataclass(frozen=True)
class Responses:
    """The responses in a source, and notes on what was guessed about it."""

    responses: tuple[Response, ...]
    notes: tuple[str, ...] = ()
