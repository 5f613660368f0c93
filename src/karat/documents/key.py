"""The key a document is matched by: one of its fields, optionally normalized."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral

from karat.documents.fields import DocumentLike, document_field, document_key, document_keys
from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.documents.normalization import Folds, normalized
from karat.errors import KaratError, Place

Keys = list[str | None]
"""A key per document, in order. None and the empty text match nothing."""


@dataclass(frozen=True)
class Key:
    """A field of documents (`id`, `content`, `meta.name`), and how its value is normalized.

    >>> Key("content", ("case",)).of(["Paris", {"content": "ROME"}, {"id": "x"}], "here")
    ['paris', 'rome', None]
    """

    field: str = "id"
    folds: Folds = ()

    @property
    def changes_ids(self) -> bool:
        """Whether the key of a document that is known by its id only is another text than the id."""
        return bool(self.folds)

    def of(self, documents: Iterable[DocumentLike], place: Place | str) -> Keys:
        """The key of each document; a text is its own key."""
        keys = document_keys(documents, self.field, place)
        return self.folded(keys) if self.folds else keys

    def of_golds(self, documents: Iterable[DocumentLike], place: Place | str) -> Keys:
        """The key of each gold document; an id that is not valid Unicode is an error, as in other ground truth."""
        keys = self.of(documents, place)
        if self.field == "id":
            reject_lone_surrogates(filter(None, keys), place)
        return keys

    def of_retrieved(self, documents: Sequence[DocumentLike], place: Place | str) -> Keys:
        """The key of each document of a run; a gold text may be the value of a field, but a retrieved text has none."""
        if self.field.startswith("meta.") and documents and all_text(documents):
            hint = "Pass documents as objects: {'id': 'd1', 'meta': {...}}."
            raise KaratError(f"retrieved documents that are texts have no {self.field}", place=place, hint=hint)
        return self.of(documents, place)

    def folded(self, keys: Sequence[str | None]) -> Keys:
        """Keys in their normalized form."""
        return [normalized(text, self.folds) if text else text for text in keys]


@dataclass(frozen=True, eq=False)
class TextOfId(Key):
    """The text of a document: its own content or, if only its id is known, the text with this id in a corpus.

    >>> TextOfId("content", (), {"d1": "Gold is soft."}).of(["d1", {"content": "Iron"}, {"id": "d1"}, "d9"], "here")
    ['Gold is soft.', 'Iron', 'Gold is soft.', None]
    """

    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def changes_ids(self) -> bool:
        return True

    def of(self, documents: Iterable[DocumentLike], place: Place | str) -> Keys:
        """The text of each document. A text in a list of documents is an id."""
        return super().folded([self._text(document, place) for document in documents])

    def of_retrieved(self, documents: Sequence[DocumentLike], place: Place | str) -> Keys:
        return self.of(documents, place)

    def folded(self, keys: Sequence[str | None]) -> Keys:
        """The texts of documents that are known by their ids."""
        return self.of(keys, "")

    def _text(self, document: DocumentLike, place: Place | str) -> str | None:
        if isinstance(document, str):
            return self.texts.get(document)
        if isinstance(document, Integral):
            return self.texts.get(identifier(document, place))
        if content := document_key(document, "content", place):
            return content
        id_ = document_field(document, "id")
        return None if id_ is None else self.texts.get(identifier(id_, place))


@dataclass(frozen=True)
class WholeDocument(Key):
    """The document itself is its key, and golds are the same if they are equal. For functions that match documents."""

    def of(self, documents: Iterable[DocumentLike], place: Place | str) -> Keys:  # noqa: ARG002  # for errors, and any object is valid
        """For each document, the position of the first document that equals it, from 0."""
        seen: dict[object, list[tuple[int, DocumentLike]]] = {}
        keys: Keys = []
        for at, document in enumerate(documents):
            candidates = seen.setdefault(_bucket(document), [])
            first = next((position for position, other in candidates if _equal(document, other)), at)
            if first == at:
                candidates.append((at, document))
            keys.append(None if is_empty(document) else str(first))
        return keys

    def of_retrieved(self, documents: Sequence[DocumentLike], place: Place | str) -> Keys:  # noqa: ARG002  # as above
        """A constant for each document that is not empty: the function compares the documents, not their keys."""
        return [None if is_empty(document) else _NOT_EMPTY for document in documents]


_NOT_EMPTY = "\0"


def is_empty(document: object) -> bool:
    """Whether a document is None or the empty text, which never match."""
    return document is None or (isinstance(document, str) and not document)


def _bucket(document: object) -> object:
    """A value that equal documents share and most other documents do not, to compare fewer pairs."""
    try:
        return document_key(document, "id", "")
    except Exception:  # an object that only the user's function understands
        return None


def _equal(one: object, other: object) -> bool:
    try:
        return one is other or bool(one == other)
    except Exception:  # a comparison without a truth value (as of arrays) counts as not equal
        return False
