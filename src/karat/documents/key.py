"""What a document is matched by: one of its fields, normalised if asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from karat.documents.fields import DocumentLike, document_key, document_keys
from karat.documents.normalization import Folds, normalized

Keys = list[str | None]
"""A key per document, in order. None and the empty text match nothing."""


@dataclass(frozen=True)
class Key:
    """A field of documents (`id`, `content`, `meta.name`), with what is folded away in it.

    >>> Key("content", ("case",)).of(["Paris", {"content": "ROME"}, {"id": "x"}], "here")
    ['paris', 'rome', None]
    """

    field: str = "id"
    folds: Folds = ()

    def of(self, documents: Iterable[DocumentLike], where: str) -> Keys:
        """The key of each document; a text is its own."""
        found = document_keys(documents, self.field, where)
        return self.folded(found) if self.folds else found

    def of_retrieved(self, documents: Iterable[DocumentLike], where: str) -> Keys:
        """The key of each document of a run."""
        return self.of(documents, where)

    def folded(self, found: Sequence[str | None]) -> Keys:
        """Keys that were taken as they are, normalised."""
        return [normalized(text, self.folds) if text else text for text in found]


@dataclass(frozen=True)
class WholeDocument(Key):
    """The document itself, whatever it is: golds are the same if they are equal. For functions of documents."""

    def of(self, documents: Iterable[DocumentLike], where: str) -> Keys:  # noqa: ARG002  # nothing can be wrong with them
        """Which of the documents it equals first, counted from 0."""
        seen: dict[object, list[tuple[int, DocumentLike]]] = {}
        places: Keys = []
        for at, document in enumerate(documents):
            alike = seen.setdefault(_bucket(document), [])
            place = next((place for place, other in alike if _equal(document, other)), at)
            if place == at:
                alike.append((at, document))
            places.append(None if is_empty(document) else str(place))
        return places

    def of_retrieved(self, documents: Iterable[DocumentLike], where: str) -> Keys:  # noqa: ARG002  # as above
        """Whether there is anything: it is not by their keys that they are told apart."""
        return [None if is_empty(document) else _SOMETHING for document in documents]


_SOMETHING = "\0"


def is_empty(document: object) -> bool:
    """Whether there is nothing to match: None and the empty text never match, whoever is asked."""
    return document is None or (isinstance(document, str) and not document)


def _bucket(document: object) -> object:
    """Something that equal documents have in common, and most others have not."""
    try:
        return document_key(document, "id", "")
    except Exception:  # it is a document to the function alone
        return None


def _equal(one: object, other: object) -> bool:
    try:
        return one is other or bool(one == other)
    except Exception:  # what cannot be compared (an array of many truths) is not the same
        return False
