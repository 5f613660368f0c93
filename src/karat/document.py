"""What identifies a document, whatever framework it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral

from karat.errors import KaratError, shown


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
        f"{shown(value)} is not an id", where=where, mend="Ids are text or whole numbers; convert yours with str()."
    )


def key(document: object, field: str, where: str) -> str | None:
    """What a document is matched by: a string or number is its own key, an object or a mapping has a field.

    With the field `id`, a document that has none is known by its content. None, and the empty string, match
    nothing.
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
            mend="A document is an id, a text, or something that has an id or a content; scores go as {doc: score}.",
        )
    return None if found is None or found == "" else identifier(found, where)


# What other frameworks call the fields that Haystack calls so.
_ALSO = {"content": ("page_content", "text"), "id": ("id_", "doc_id"), "meta": ("metadata",)}


def _field(document: object, field: str) -> object:
    """A field of a document; a dot goes into what the field holds (`meta.source`)."""
    for name in field.split("."):
        names = (name, *_ALSO.get(name, ()))
        document = next((value for each in names if (value := _value(document, each)) is not None), None)
    return document


def _value(document: object, name: str) -> object:
    return document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)


def _is_document(thing: object) -> bool:
    names = [*_ALSO, *(other for others in _ALSO.values() for other in others)]
    return any(name in thing if isinstance(thing, Mapping) else hasattr(thing, name) for name in names)
