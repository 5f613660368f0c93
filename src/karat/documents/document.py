"""Document, and what identifies a document of any framework: its id, its text, a field of its metadata."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import Annotated, Any

from karat.errors import KaratError, did_you_mean, shown

DocumentLike = Annotated[Any, "Document"]
"""A Document, a text, a mapping, or a document of another framework: whatever has an id or a content."""

# What a document of Haystack has beyond ours; None in nearly all of them, and then not worth keeping.
_FOREIGN = frozenset({"blob", "embedding", "sparse_embedding", "dataframe"})
# And what it had once, which it still throws away where it reads it beside the fields.
_FORMER = frozenset({"content_type", "id_hash_keys"})


class Document:
    """A text with its id, its metadata and its score; of a gold document, the score is its grade.

    Where no id is given, it is derived from content and meta as they are when it is asked for; it is the one that
    Haystack derives. Documents are equal if all four are.

    >>> Document(content="Paris", meta={"page": 7})
    Document(content='Paris', meta={'page': 7})
    >>> Document(content="Paris").id[:8], Document(content="Paris", id="p1").id
    ('438e9f68', 'p1')
    """

    __slots__ = ("_id", "_meta", "content", "score")
    __hash__ = None  # type: ignore[assignment]  # that is how Python spells "a list will do, a set will not"

    def __init__(
        self,
        content: str | None = None,
        *,
        id: str | None = None,  # noqa: A002  # the field is called so everywhere
        meta: dict[str, Any] | None = None,
        score: float | None = None,
    ) -> None:
        self.content = content
        self.score = score
        # Most documents are a text and nothing else: there is nothing to check, and nothing more to keep.
        if not (id is meta is score is None and content.__class__ is str):  # type: ignore[comparison-overlap]  # None
            _check(content, id, meta, score)
            self._id, self._meta = id, meta

    @property
    def id(self) -> str:
        """The id given, or the one that content and meta make."""
        return self.given_id or _derived_id(self.content, getattr(self, "_meta", None))

    @id.setter  # noqa: A003  # the field is called so everywhere
    def id(self, value: str | None) -> None:
        self._id = value

    @property
    def given_id(self) -> str | None:
        """The id that was given; None where it is derived."""
        return getattr(self, "_id", None)

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata; empty where none was given."""
        meta: dict[str, Any] | None = getattr(self, "_meta", None)
        if meta is None:
            meta = self._meta = {}
        return meta

    @meta.setter
    def meta(self, value: dict[str, Any] | None) -> None:
        self._meta = value

    def to_dict(self, flatten: bool = False) -> dict[str, Any]:
        """`{"id", "content", "meta", "score"}`; flattened, the metadata stands beside them, as Haystack has it.

        Metadata named like a field stays in `meta` even so.
        """
        fields = {"id": self.id, "content": self.content, "score": self.score}
        if not flatten:
            return {**fields, "meta": dict(self.meta)}
        taken = {*_NAMES, *_FOREIGN, *_FORMER}
        beside = {name: value for name, value in self.meta.items() if name not in taken}
        inside = {name: value for name, value in self.meta.items() if name not in beside}
        return {**beside, **fields, **({"meta": inside} if inside else {})}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Document:
        """A document from what `to_dict` gives, here or in Haystack: what is no field is metadata."""
        if not isinstance(data, Mapping):
            raise KaratError(f"{shown(data)} is no document", hint='A document is written {"content": "..."}.')
        return as_document(data, "document")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document):
            return NotImplemented
        same = self.content == other.content and self.meta == other.meta and self.score == other.score
        # Derived ids of equal documents are equal: no need to derive them.
        return same and (self.given_id == other.given_id or self.id == other.id)

    def __repr__(self) -> str:
        given = {"content": self.content, "id": self.given_id, "meta": self.meta, "score": self.score}
        inside = (f"{name}={shown(value, 100)}" for name, value in given.items() if value not in (None, "", {}))
        return f"{type(self).__name__}({', '.join(inside)})"


def _check(content: object, given_id: object, meta: object, score: object) -> None:
    for name, value, fine, what in (
        ("content", content, content is None or isinstance(content, str), "text"),
        ("id", given_id, given_id is None or isinstance(given_id, str), "text"),
        ("meta", meta, meta is None or isinstance(meta, dict), "a dictionary"),
        ("score", score, score is None or isinstance(score, Real), "a number"),
    ):
        if not fine:
            raise KaratError(
                f"the {name} of a document is {what}, not {shown(value)}", hint="Convert it, or leave it out."
            )


def _derived_id(content: str | None, meta: Mapping[str, Any] | None) -> str:
    try:
        fields = json.dumps(meta, sort_keys=True, default=str) if meta else "{}"
    except (TypeError, ValueError, RecursionError) as error:
        raise KaratError(f"no id can be derived from meta {shown(meta)}: {error}", hint="Give an id.") from None
    # The Nones are what Haystack has there: a data frame, a blob and its type, and an embedding.
    text = f"{content or None}NoneNoneNone{fields}None"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def identifier(value: object, where: str) -> str:
    """An id as a string: text as it is, a whole number as its digits.

    >>> identifier("007", "here"), identifier(7, "here")
    ('007', '7')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        try:
            return str(int(value))
        except ValueError:
            raise KaratError("a number of thousands of digits is not an id", where=where) from None
    raise KaratError(
        f"{shown(value)} is not an id", where=where, hint="Ids are text or whole numbers; convert yours with str()."
    )


def all_text(values: Iterable[object]) -> bool:
    """Whether these are all strings. Joining them is the fastest way to find out."""
    try:
        "".join(values)  # type: ignore[arg-type]  # that is what is being asked
    except TypeError:
        return False
    return True


def refuse_half_characters(ids: Iterable[str], where: str) -> None:
    """Refuse ids that could never be written: a lone surrogate stands for nothing in any file or table."""
    try:
        "".join(ids).encode()
    except UnicodeEncodeError as error:
        raise KaratError(f"an id is no Unicode text: {error.reason}", where=where, hint="Fix the ids.") from None


def check_field(field: str) -> str:
    """A field to match documents by, if it is one: `content`, `id` or `meta.name`, deeper with more dots."""
    if isinstance(field, str) and (field in ("content", "id") or _is_meta_path(field)):
        return field
    path = str(field).removeprefix("meta").removeprefix("data").lstrip(".")
    near = did_you_mean(str(field), ("content", "id", f"meta.{path}"))
    raise KaratError(
        f"{shown(field)} is no field to compare documents by",
        hint=f'{near} The fields are "content", "id" and "meta.name".'.strip(),
    )


def _is_meta_path(field: str) -> bool:
    first, *names = field.split(".")
    return first == "meta" and bool(names) and all(names)


def keys(documents: Iterable[DocumentLike], field: str, where: str) -> list[str | None]:
    """What each document is matched by, in order. None and the empty text match nothing."""
    documents = documents if isinstance(documents, list) else list(documents)
    found = documents
    if documents and not isinstance(documents[0], str) and field in ("content", "id"):
        # Documents of one kind, each with a text, are by far the most common: nothing is faster than this.
        try:
            by_content = field == "content"
            found = [each.content for each in documents] if by_content else [each.id for each in documents]
        except AttributeError:
            found = [None]
    if set(map(type, found)) <= _TEXT:
        return found
    return [key(document, field, where) for document in documents]


_TEXT = {str}


def key(document: DocumentLike, field: str, where: str) -> str | None:
    """What a document is matched by: a text or number is its own key, an object or a mapping has a field.

    With the field `id`, a document that has none is known by its content.
    """
    if document is None:
        return None
    if isinstance(document, str | Integral) and not isinstance(document, bool):
        return identifier(document, where) or None
    found = _field(document, field)
    if found is None and field == "id":
        found = _field(document, "content")
    if found is None and not _is_document(document):
        raise KaratError(
            f"{shown(document)} is no document",
            where=where,
            hint="A document is an id, a text, or something that has an id or a content."
            + (" Take it out of the pair." if isinstance(document, tuple) else ""),
        )
    return None if found is None else _as_text(found, field, where) or None


def as_document(document: DocumentLike, where: str) -> Document:
    """Anything that is like a document as a Document: a text is its content; what a mapping has besides is metadata.

    >>> as_document({"page_content": "Paris", "metadata": {"page": 7}, "lang": "fr"}, "here")
    Document(content='Paris', meta={'page': 7, 'lang': 'fr'})
    """
    if isinstance(document, Document):
        return document
    if isinstance(document, str):
        return Document(document)
    if not _is_document(document):
        hint = "A document is a text, or something that has an id or a content."
        raise KaratError(f"{shown(document)} is no document", where=where, hint=hint)
    content, id_, meta = (_value(document, name) for name in ("content", "id", "meta"))
    if content is not None and not isinstance(content, str):
        raise KaratError(f"the content of a document is text, not {shown(content)}", where=where)
    if meta is not None and not isinstance(meta, Mapping):
        raise KaratError(f"the meta of a document maps names to values, and is not {shown(meta)}", where=where)
    return Document(
        content,
        id=None if id_ is None else _as_text(id_, "id", where),
        meta={**(meta or {}), **(_beside(document) if isinstance(document, Mapping) else {})} or None,
        score=scores([document], where)[0],
    )


def _beside(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a mapping has besides the fields that were read from it."""
    read = {_name(document, field) for field in _ALSO}
    empty = _FOREIGN if _is_from_haystack(document) else _FOREIGN | _NAMES
    return {
        name: value for name, value in document.items() if name not in read and not (value is None and name in empty)
    }


def scores(documents: Collection[DocumentLike], where: str) -> list[float | None]:
    """The score of each document, None where one has none."""
    if set(map(type, documents)) <= _TEXT:
        return [None] * len(documents)
    try:
        found = [document.score for document in documents]
    except AttributeError:
        found = [_value(document, "score") for document in documents]
    for each in found if found.count(None) < len(found) else ():
        if each is not None and not isinstance(each, Real):
            raise KaratError(f"score {shown(each)} is not a number", where=where)
    return found


# What other frameworks call the fields that Haystack calls so.
_ALSO = {"content": ("page_content", "text"), "id": ("id_", "doc_id"), "meta": ("metadata",), "score": ()}
_NAMES = frozenset(_ALSO) | {name for names in _ALSO.values() for name in names}


def _field(document: object, field: str) -> object:
    """A field of a document; a dot goes into what the field holds (`meta.source`).

    What a mapping has beside its fields is metadata.
    """
    first, *names = field.split(".")
    found = _value(document, first)
    if names and first == "meta" and isinstance(document, Mapping) and names[0] not in _NAMES:
        found = found if isinstance(found, Mapping) and names[0] in found else document
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _name(document: Mapping[str, Any], field: str) -> str:
    """What a mapping calls a field: by the name that we have for it, if it has that, else by another framework's."""
    if field in document or _is_from_haystack(document):
        return field
    return next((name for name in _ALSO.get(field, ()) if document.get(name) is not None), field)


def _is_from_haystack(document: Mapping[str, Any]) -> bool:
    """Whether Haystack wrote it: then every field has its own name, and other names are those of metadata."""
    return "sparse_embedding" in document


def _value(document: object, field: str) -> object:
    if isinstance(document, Mapping):
        return document.get(_name(document, field))
    found = getattr(document, field, None)
    if found is None and field == "content" and callable(text := getattr(document, "get_content", None)):
        # LlamaIndex's nodes have a method for their text, whatever kind of node they are.
        return text()
    others = (getattr(document, name, None) for name in _ALSO.get(field, ()) if found is None)
    return next((value for value in others if value is not None), found)


def _is_document(thing: object) -> bool:
    return any(name in thing if isinstance(thing, Mapping) else hasattr(thing, name) for name in _NAMES)


def _as_text(value: object, field: str, where: str) -> str:
    """A field's value as text: a number as its digits, and what has a text of its own (a UUID, a date) as that."""
    if isinstance(value, str | bool):
        return str(value)
    compound = isinstance(value, Iterable)
    if not compound and _is_missing(value):
        return ""
    if isinstance(value, Integral):
        return identifier(value, where)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if compound or (type(value).__str__ is object.__str__ and not isinstance(value, Real)):
        raise KaratError(
            f"a document has {shown(value)} for its {field}, which is neither text nor a number",
            where=where,
            hint="Match by another field.",
        )
    return str(value)


def _is_missing(value: object) -> bool:
    """Whether a value is no value: NaN, NaT, and what cannot even be asked."""
    try:
        return bool(value != value)
    except Exception:  # pandas' NA, a signalling NaN
        return True
