"""The texts of questions and of documents that are known by id only, to show them beside their ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from karat.documents.document import Document
from karat.documents.fields import DocumentLike, document_key
from karat.errors import KaratError, shown
from karat.output.widths import shorten
from karat.reading.texts.texts import read_texts

if TYPE_CHECKING:
    from karat.scores import Scores

WIDTH = 40
"""columns of a document, or of a query with its question, unless a terminal has room for more"""
LABEL_WIDTH = 10_000
_DERIVED_ID = 64  # length of the ids that Haystack and karat derive for documents without one
_NOT_READ = "the corpus was not read: no document that is shown needs a text"


@dataclass(eq=False)
class ShownTexts:
    """The texts of questions, and of documents that are known by id only: those they were matched by, or of a corpus.

    The corpus is read when documents are looked up, once for all that are looked up together.
    """

    questions: Mapping[str, str] = field(default_factory=dict)
    corpus: Any = None
    matched: tuple[Mapping[str, str], ...] = ()
    """texts that documents were matched by"""
    are_texts: bool = False
    """whether a document that is a string is its text, not its id"""
    _notes: dict[str, None] = field(default_factory=dict)
    _in_corpus: dict[str, str | None] = field(default_factory=dict)
    """what was looked up in the corpus; None if it has no text"""

    @classmethod
    def of(cls, systems: Collection[Scores], queries: Any, corpus: Any, shown: Collection[str] = ()) -> ShownTexts:
        """The texts of systems, and of two sources; a note names missing questions if one of them is `shown`."""
        questions = questions_of(systems)
        notes: tuple[str, ...] = ()
        if queries is not None:
            wanted = {query for scores in systems for query in scores.queries}
            texts = read_texts(queries, wanted, "queries")
            questions |= {query: text.text for query, text in texts.items()}
            notes = texts.notes_on(shown or wanted)
        matches = [scores.evidence.match for scores in systems if scores.evidence is not None]
        matched = tuple(match.texts for match in matches if match.texts is not None)
        are_texts = any(match.key.field == "content" and match.texts is None for match in matches)
        return cls(questions, corpus, matched, are_texts, dict.fromkeys(notes))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed about the sources of texts, and which texts are missing."""
        unread = [_NOT_READ] if self.corpus is not None and not self._in_corpus else []
        return (*self._notes, *unread)

    def look_up(self, documents: Iterable[DocumentLike]) -> None:
        """Find the texts of documents in the corpus."""
        if self.corpus is None:
            return
        names = {name for document in documents if (name := self._only_id(document)) is not None}
        wanted = {name for name in names if self._text(name) is None and name not in self._in_corpus}
        if wanted:
            texts = read_texts(self.corpus, wanted)
            self._in_corpus |= {name: texts[name].text if name in texts else None for name in wanted}
            self._notes |= dict.fromkeys(texts.notes)

    def with_text(self, document: DocumentLike) -> DocumentLike:
        """A document that is known by its id only, with its text, if that is known."""
        name = self._only_id(document)
        text = None if name is None else self._text(name)
        return document if text is None else {"id": name, "content": text}

    def _only_id(self, document: DocumentLike) -> str | None:
        """The id of a document without a text; None if it has one."""
        if isinstance(document, str):
            return None if self.are_texts else document
        name, text = id_and_text(document)
        return name if text is None else None

    def _text(self, name: str) -> str | None:
        known = next((texts[name] for texts in self.matched if name in texts), None)
        return self._in_corpus.get(name) if known is None else known


def questions_of(systems: Iterable[Scores]) -> dict[str, str]:
    """The texts of questions that the results of some systems contain; the first system that has one decides."""
    questions: dict[str, str] = {}
    for scores in systems:
        questions = {**scores.questions, **questions}
    return questions


def label(document: DocumentLike, width: int = LABEL_WIDTH) -> str:
    """A document on one line: its id, if it was given one, and the beginning of its text.

    >>> label({"id": "gold-001", "content": "Gold is the chemical element with atomic number 79."}, 40)
    'gold-001: Gold is the chemical element …'
    """
    name, text = id_and_text(document)
    return shorten(": ".join(part for part in (name, text if text != name else None) if part), width)


def id_and_text(document: DocumentLike) -> tuple[str | None, str | None]:
    """The id of a document, None if it was not given one, and its text; a text alone may be either, and is the id."""
    name = document.given_id if isinstance(document, Document) else _field(document, "id")
    text = None if isinstance(document, str) else _field(document, "content")
    return None if name and text and len(name) == _DERIVED_ID else name, text


def _field(document: DocumentLike, field: str) -> str | None:
    try:
        return document_key(document, field, "")
    except KaratError:
        return shown(document, WIDTH) if field == "id" else None
