"""The id, content, metadata and score of a document of any framework, and the key it is matched by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from numbers import Integral, Real
from typing import Annotated, Any

from karat.documents.ids import identifier
from karat.errors import KaratError, Place, did_you_mean, shown

DocumentLike = Annotated[Any, "Document"]
"""A Document, a text, a mapping, or another framework's document: anything with an id or a content."""

# The fields of a document, named as in Haystack, with the names that other frameworks use for them.
ALIASES = {"content": ("page_content", "text"), "id": ("id_", "doc_id"), "meta": ("metadata",), "score": ()}
FIELD_NAMES = frozenset(ALIASES) | {name for names in ALIASES.values() for name in names}

_NOTHING = {type(None)}
_STRINGS = {str}


def check_field(field: str) -> str:
    """Return a field that documents can be matched by, or raise: `content`, `id`, `meta.name`, `meta.name.inner`."""
    if isinstance(field, str) and (field in ("content", "id") or _is_meta_path(field)):
        return field
    name = field if isinstance(field, str) else ""
    path = name.removeprefix("meta").removeprefix("data").lstrip(".")
    near = did_you_mean(name, ("content", "id", f"meta.{path}")) if name else ""
    raise KaratError(
        f"documents cannot be compared by the field {shown(field)}",
        hint=f'{near} The fields are "content", "id" and "meta.name".'.strip(),
    )


def _is_meta_path(field: str) -> bool:
    first, *names = field.split(".")
    return first == "meta" and bool(names) and all(names)


def document_keys(documents: Iterable[DocumentLike], field: str, place: Place | str) -> list[str | None]:
    """The key each document is matched by, in order. None and the empty text match nothing."""
    documents = documents if isinstance(documents, list) else list(documents)
    keys = documents
    if documents and not isinstance(documents[0], str) and field in ("content", "id"):
        # Most lists contain documents of one class, each with a text: this is the fastest way to read them.
        try:
            by_content = field == "content"
            keys = [each.content for each in documents] if by_content else [each.id for each in documents]
        except AttributeError:
            keys = [None]
    if set(map(type, keys)) <= _STRINGS:
        return keys
    return [document_key(document, field, place) for document in documents]


def document_key(document: DocumentLike, field: str, place: Place | str) -> str | None:
    """The key a document is matched by: a text or a number is its own key, an object or a mapping has a field.

    If the field is `id` and a document has no id, its key is its content.
    """
    if document is None:
        return None
    if isinstance(document, str | Integral) and not isinstance(document, bool):
        return identifier(document, place) or None
    key = _nested_value(document, field)
    if key is None and field == "id":
        key = _nested_value(document, "content")
    if key is None and not is_document(document):
        raise KaratError(
            f"{shown(document)} is not a document",
            place=place,
            hint="A document is an id, a text, or an object with an id or a content."
            + (" Pass the document itself, not a tuple." if isinstance(document, tuple) else ""),
        )
    return None if key is None else as_text(key, field, place) or None


def document_scores(documents: Collection[DocumentLike], place: Place | str) -> list[float | None]:
    """The score of each document; None for a document without a score."""
    try:
        scores = [document.score for document in documents]
    except AttributeError:
        if set(map(type, documents)) <= _STRINGS:
            return [None] * len(documents)
        scores = [document_field(document, "score") for document in documents]
    if set(map(type, scores)) <= _NOTHING:
        return scores
    for score in scores:
        if score is not None and not isinstance(score, Real):
            raise KaratError(f"score {shown(score)} is not a number", place=place)
    return scores


def is_document(value: object) -> bool:
    """Whether a mapping or an object has any field of a document."""
    return any(name in value if isinstance(value, Mapping) else _has(value, name) for name in FIELD_NAMES)


def _has(value: object, name: str) -> bool:
    try:
        return hasattr(value, name)
    except Exception:  # a property that raises another error, as `text` of some of LlamaIndex's nodes does
        return True


def document_field(document: object, field: str) -> object:
    """A field of a mapping or an object, under whichever name its framework uses; None if it has none."""
    if isinstance(document, Mapping):
        return document.get(field_name(document, field))
    value = getattr(document, field, None)
    if value is not None:
        return value
    if field == "content" and callable(text := getattr(document, "get_content", None)):
        return text()  # all of LlamaIndex's node classes have this method
    others = (getattr(document, name, None) for name in ALIASES.get(field, ()))
    return next((other for other in others if other is not None), None)


def field_name(document: Mapping[str, Any], field: str) -> str:
    """The name under which a mapping has a field: the field's own name if present, else another framework's."""
    if field in document or is_from_haystack(document):
        return field
    return next((name for name in ALIASES.get(field, ()) if document.get(name) is not None), field)


def is_from_haystack(document: Mapping[str, Any]) -> bool:
    """Whether Haystack wrote this mapping: then fields have their own names, and all other names are metadata."""
    return "sparse_embedding" in document


def as_text(value: object, field: str, place: Place | str) -> str:
    """A field's value as text: digits for a number, `str()` for a UUID or a date."""
    if isinstance(value, str | bool):
        return str(value)
    compound = isinstance(value, Iterable)
    if not compound and is_missing(value):
        return ""
    if isinstance(value, Integral):
        return identifier(value, place)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if not compound and (type(value).__str__ is not object.__str__ or isinstance(value, Real)):
        with suppress(ValueError):  # a Fraction with thousands of digits
            return str(value)
    raise KaratError(
        f"the {field} of a document is {shown(value)}, which is neither text nor a number",
        place=place,
        hint="Match by another field.",
    )


def _nested_value(document: object, field: str) -> object:
    """A field of a document; a dot reads a key inside the field (`meta.source`).

    In a mapping, keys that are not fields of a document count as metadata.
    """
    first, *names = field.split(".")
    value = document_field(document, first)
    if names and first == "meta" and isinstance(document, Mapping) and names[0] not in FIELD_NAMES:
        value = value if isinstance(value, Mapping) and names[0] in value else document
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def is_missing(value: object) -> bool:
    """Whether a value marks missing data: NaN, NaT, or a value that cannot be compared."""
    try:
        return bool(value != value)
    except Exception:  # pandas' NA, a signalling NaN
        return True
