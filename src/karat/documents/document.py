"""Document: a text with its id, metadata, score, blob and embeddings; and documents of other frameworks like it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import is_dataclass
from numbers import Real
from typing import Any

from karat.documents.attachments import ByteStream, SparseEmbedding
from karat.documents.fields import (
    ALIASES,
    FIELD_NAMES,
    DocumentLike,
    as_text,
    document_field,
    document_scores,
    field_name,
    is_document,
    is_from_haystack,
)
from karat.errors import KaratError, Place, shown
from karat.errors.arguments import check_switch

# Fields that most documents lack. In a mapping they are often None, and then they are not metadata either.
_ATTACHMENTS = {"blob": "a ByteStream", "embedding": "a list of numbers", "sparse_embedding": "a SparseEmbedding"}
# Fields of older Haystack versions. Haystack ignores them when it reads a flattened document.
_LEGACY = frozenset({"content_type", "id_hash_keys", "dataframe"})
_OFTEN_NONE = frozenset({*_ATTACHMENTS, "dataframe"})


class _Attachment:
    """A field that most documents lack: documents without it are created as fast as if there was none."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, document: Document | None, owner: type | None = None) -> Any:
        return self if document is None else getattr(document, "_attached", {}).get(self._name)

    def __set__(self, document: Document, value: Any) -> None:
        # A new dict, as a copy of the document may have the same one.
        document._attached = {**getattr(document, "_attached", {}), self._name: value}


class Document:
    """A text with its id, metadata and score. The score of a gold document is its grade.

    A document can also have a `blob` (a ByteStream), an `embedding` and a `sparse_embedding`. Evaluation does not use
    them, but keeps them. Without an id, `id` is derived from all other fields but the score, in the same way as in
    Haystack. Documents are equal if all their fields are equal.

    >>> Document(content="Paris", meta={"page": 7})
    Document(content='Paris', meta={'page': 7})
    >>> Document(content="Paris").id[:8], Document(content="Paris", id="p1").id
    ('438e9f68', 'p1')
    """

    __slots__ = ("_attached", "_id", "_meta", "content", "score")
    __hash__ = None  # type: ignore[assignment]  # documents are mutable, so they cannot be hashed

    _attached: dict[str, Any]
    blob = _Attachment()
    embedding = _Attachment()
    sparse_embedding = _Attachment()

    def __init__(
        self,
        content: str | None = None,
        *,
        id: str | None = None,  # noqa: A002  # the field has this name in every framework
        meta: dict[str, Any] | None = None,
        score: float | None = None,
        blob: ByteStream | None = None,
        embedding: Sequence[float] | None = None,
        sparse_embedding: SparseEmbedding | None = None,
    ) -> None:
        self.content = content
        self.score = score
        # Most documents are only a text: nothing to check, and nothing else to store.
        only_text = id is meta is score is blob is embedding is sparse_embedding is None  # type: ignore[comparison-overlap]  # None
        if not (only_text and content.__class__ is str):
            if not blob is embedding is sparse_embedding is None:  # type: ignore[comparison-overlap]  # None
                self.blob, self.embedding, self.sparse_embedding = blob, _listed(embedding), sparse_embedding
                _check_attachments(self)
            _check(content, id, meta, score)
            self._id, self._meta = id, meta

    @property
    def id(self) -> str:
        """The id given, or the id derived from the other fields."""
        return self.given_id or _derived_id(self, getattr(self, "_meta", None))

    @id.setter  # noqa: A003  # the field has this name in every framework
    def id(self, value: str | None) -> None:
        self._id = value

    @property
    def given_id(self) -> str | None:
        """The id that was given; None if `id` is derived."""
        return getattr(self, "_id", None)

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata; empty if none was given."""
        meta: dict[str, Any] | None = getattr(self, "_meta", None)
        if meta is None:
            meta = self._meta = {}
        return meta

    @meta.setter
    def meta(self, value: dict[str, Any] | None) -> None:
        self._meta = value

    def to_dict(self, flatten: bool = False) -> dict[str, Any]:
        """A dictionary with `id`, `content`, `meta` and `score`, and the blob and embeddings that the document has.

        With `flatten`, the metadata is at the top level, as in Haystack. Metadata named like a field stays in `meta`.
        """
        fields = {"id": self.id, "content": self.content, "score": self.score, **self.attachments()}
        if not check_switch("flatten", flatten):
            return {**fields, "meta": dict(self.meta)}
        reserved = {*FIELD_NAMES, *_ATTACHMENTS, *_LEGACY}
        top_level = {name: value for name, value in self.meta.items() if name not in reserved}
        nested = {name: value for name, value in self.meta.items() if name in reserved}
        return {**top_level, **fields, **({"meta": nested} if nested else {})}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Document:
        """A document from the output of `to_dict`, here or in Haystack. Keys that are not fields become metadata."""
        if not isinstance(data, Mapping):
            raise KaratError(f"{shown(data)} is not a document", hint='A document is written {"content": "..."}.')
        return as_document(data, "document")

    def attachments(self) -> dict[str, Any]:
        """The blob and the embeddings that the document has, as they are written as JSON."""
        present = {name: value for name in _ATTACHMENTS if (value := getattr(self, name)) is not None}
        return {name: value.to_dict() if hasattr(value, "to_dict") else list(value) for name, value in present.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document):
            return NotImplemented
        same = self.content == other.content and _equal(self.meta, other.meta) and self.score == other.score
        same = same and _equal(self.attachments(), other.attachments())
        # Derived ids of documents with equal fields are equal: no need to derive them.
        return same and (self.given_id == other.given_id or self.id == other.id)

    def __repr__(self) -> str:
        fields = {"content": self.content, "id": self.given_id, "meta": self.meta, "score": self.score}
        fields |= {name: getattr(self, name) for name in _ATTACHMENTS}
        inside = (f"{name}={shown(value, 100)}" for name, value in fields.items() if not _is_empty(value))
        return f"{type(self).__name__}({', '.join(inside)})"


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | dict) and not value)


def _check(content: object, given_id: object, meta: object, score: object) -> None:
    for name, value, kind, expected in (
        ("content", content, str, "text"),
        ("id", given_id, str, "text"),
        ("meta", meta, dict, "a dictionary"),
        ("score", score, Real, "a number"),
    ):
        if value is not None and not isinstance(value, kind):
            raise _wrong_type(name, expected, value)


def _check_attachments(document: Document) -> None:
    for name, expected in _ATTACHMENTS.items():
        value = getattr(document, name)
        if value is not None and not _fits(name, value):
            raise _wrong_type(name, expected, value)


def _wrong_type(name: str, expected: str, value: object) -> KaratError:
    what = f"the {name} of a document must be {expected}, not {shown(value)}"
    return KaratError(what, hint="Convert it, or leave it out.")


def _listed(embedding: Any) -> Any:
    """An array as a list; any other value unchanged."""
    return embedding.tolist() if hasattr(embedding, "tolist") else embedding


def _fits(name: str, value: object) -> bool:
    """Whether a value can be a blob or an embedding. The classes of Haystack have the same attributes as karat's."""
    if name == "embedding":
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    attributes = ("data", "mime_type") if name == "blob" else ("indices", "values")
    try:
        return all(hasattr(value, each) for each in attributes)
    except Exception:  # an attribute may raise anything: the data of an array of dates is a ValueError
        return False


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are equal. Comparing arrays or data frames has no truth value: all their elements count."""
    try:
        return bool(one == other)
    except (ArithmeticError, TypeError, ValueError):
        pass
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if hasattr(one, "tolist") and hasattr(other, "tolist"):
        return bool(one.tolist() == other.tolist())
    return type(one) is type(other) and hasattr(one, "equals") and bool(one.equals(other))


def _derived_id(document: Document, meta: Mapping[str, Any] | None) -> str:
    try:
        fields = json.dumps(meta, sort_keys=True, default=str) if meta else "{}"
    except (TypeError, ValueError, RecursionError) as error:
        raise KaratError(f"no id can be derived from meta {shown(meta)}: {error}", hint="Pass an id.") from None
    data, kind = (None, None) if document.blob is None else (document.blob.data, document.blob.mime_type)
    sparse = "" if document.sparse_embedding is None else document.sparse_embedding.to_dict()
    try:
        # The first None is a data frame, a field of older Haystack versions.
        text = f"{document.content or None}None{data!r}{kind}{fields}{document.embedding}{sparse}"
    except (ValueError, RecursionError):  # integers of thousands of digits, deeply nested lists
        raise KaratError("no id can be derived from the embedding", hint="Pass an id.") from None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def as_document(document: DocumentLike, place: Place | str) -> Document:
    """Turn a text, a mapping or another framework's document into a Document.

    A text becomes the content. Keys of a mapping that are not fields become metadata.

    >>> as_document({"page_content": "Paris", "metadata": {"page": 7}, "lang": "fr"}, "here")
    Document(content='Paris', meta={'page': 7, 'lang': 'fr'})
    """
    if isinstance(document, Document):
        return document
    if isinstance(document, str):
        return Document(document)
    if not is_document(document):
        hint = "A document is a text, or an object with an id or a content."
        raise KaratError(f"{shown(document)} is not a document", place=place, hint=hint)
    content, id_, meta = (document_field(document, name) for name in ("content", "id", "meta"))
    if content is not None and not isinstance(content, str):
        raise KaratError(f"the content of a document must be text, not {shown(content)}", place=place)
    if meta is not None and not isinstance(meta, Mapping):
        raise KaratError(f"the meta of a document must be a mapping, not {shown(meta)}", place=place)
    attached = {name: value for name in _ATTACHMENTS if (value := _attachment(document, name)) is not None}
    extra = _extra_keys(document, attached) if isinstance(document, Mapping) else {}
    return Document(
        content,
        id=None if id_ is None else as_text(id_, "id", place),
        meta={**(meta or {}), **extra} or None,
        score=document_scores([document], place)[0],
        **attached,
    )


def _attachment(document: object, name: str) -> Any:
    """The blob or an embedding of a mapping or an object; None if it has none, or something else of this name."""
    value = document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)
    if isinstance(value, Mapping):
        kinds: dict[str, Any] = {"blob": ByteStream, "sparse_embedding": SparseEmbedding}
        try:
            value = kinds[name].from_dict(value)
        except (KeyError, TypeError, ValueError):
            return None
    value = _listed(value)
    return value if value is not None and _fits(name, value) else None


def _extra_keys(document: Mapping[str, Any], attached: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a mapping that were not read as fields."""
    fields = {*(field_name(document, field) for field in ALIASES), *attached}
    dropped_if_none = _OFTEN_NONE if is_from_haystack(document) else _OFTEN_NONE | FIELD_NAMES
    return {
        name: value
        for name, value in document.items()
        if name not in fields and not (value is None and name in dropped_if_none)
    }


def with_content(document: Any, text: str, *, keep_id: bool, place: Place | str) -> Any:
    """A copy of a document with another text; it has the same class, and all its other fields are the same.

    Ids that are derived from the text, as in karat and Haystack, follow the new text, unless `keep_id` is True. The
    metadata is copied deeply, so that changing the copy does not change the document.

    >>> with_content(Document("Paris ", meta={"page": 7}), "Paris", keep_id=False, place="here")
    Document(content='Paris', meta={'page': 7})
    """
    try:
        return _with_content(document, text, keep_id)
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        kind = type(document).__name__
        raise KaratError(
            f"the text of a {kind} cannot be replaced: {error}", place=place, hint="Convert it to a karat.Document."
        ) from None


def _with_content(document: Any, text: str, keep_id: bool) -> Any:
    if isinstance(document, Document):
        new: Any = copy(document)
        new.content, new.meta, new.id = text, deepcopy(document.meta), document.id if keep_id else None
        return new
    if hasattr(node := getattr(document, "node", None), "set_content"):  # LlamaIndex's NodeWithScore
        new = copy(document)
        new.node = _with_content(node, text, keep_id)
        return new
    changed: dict[str, object] = {
        name: deepcopy(meta) for name in _names("meta") if isinstance(meta := getattr(document, name, None), Mapping)
    }
    text_field = next((name for name in _names("content") if isinstance(getattr(document, name, None), str)), None)
    if isinstance(document, tuple) and hasattr(document, "_replace"):
        return document._replace(**changed, **{str(text_field): text})
    new = copy(document)
    if text_field != "content" and callable(set_content := getattr(new, "set_content", None)):
        set_content(text)  # all of LlamaIndex's node classes have this method
    elif text_field is None:
        raise TypeError("it has no attribute for the text")
    else:
        changed[text_field] = text
    for name, value in changed.items():
        # The only way to change a frozen dataclass; and Haystack's documents warn about any other.
        (object.__setattr__ if is_dataclass(document) else setattr)(new, name, value)
    if not keep_id and callable(derived_id := getattr(new, "_create_id", None)):  # Haystack's Document
        object.__setattr__(new, "id", derived_id())
    return new


def _names(field: str) -> tuple[str, ...]:
    return (field, *ALIASES[field])
