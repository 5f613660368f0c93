"""What a document is matched by: one of its fields, normalised if asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from karat.document import DocumentLike, keys
from karat.normalization import Folds, normalized

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
        found = keys(documents, self.field, where)
        return self.folded(found) if self.folds else found

    def of_retrieved(self, documents: Iterable[DocumentLike], where: str) -> Keys:
        """The key of each document of a run."""
        return self.of(documents, where)

    def folded(self, found: Sequence[str | None]) -> Keys:
        """Keys that were taken as they are, normalised."""
        return [normalized(key, self.folds) if key else key for key in found]


@dataclass(frozen=True)
class Whole(Key):
    """The document itself, whatever it is: golds are the same if they are equal. For functions of documents."""

    def of(self, documents: Iterable[DocumentLike], where: str) -> Keys:  # noqa: ARG002  # nothing can be wrong with them
        """Which of the documents it equals first, counted from 0."""
        first: list[DocumentLike] = []
        numbers: Keys = []
        at: dict[object, int] = {}
        for document in documents:
            number = _place(document, first, at)
            if number == len(first):
                first.append(document)
            numbers.append(str(number))
        return numbers

    def of_retrieved(self, documents: Iterable[DocumentLike], where: str) -> Keys:  # noqa: ARG002  # as above
        """Something: it is not by this that they are told apart."""
        return ["\0" for _ in documents]


def _place(document: object, known: list[object], by_value: dict[object, int]) -> int:
    """Where an equal document stands already, or the next place."""
    try:
        return by_value.setdefault(document, len(known))
    except TypeError:  # it has no hash: compare it with each
        return next((at for at, other in enumerate(known) if _equal(document, other)), len(known))


def _equal(one: object, other: object) -> bool:
    try:
        return one is other or bool(one == other)
    except Exception:  # what cannot be compared (an array of many truths) is not the same
        return False
