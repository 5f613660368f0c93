"""A copy of a document with another text, for documents of any framework."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import is_dataclass
from typing import Any

from karat.documents.document import Document
from karat.documents.fields import ALIASES
from karat.errors import KaratError, Place


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
    field = next((name for name in _names("content") if isinstance(getattr(document, name, None), str)), None)
    if isinstance(document, tuple) and hasattr(document, "_replace"):
        return document._replace(**changed, **{str(field): text})
    new = copy(document)
    if field != "content" and callable(set_content := getattr(new, "set_content", None)):
        set_content(text)  # all of LlamaIndex's node classes have this method
    elif field is None:
        raise TypeError("it has no attribute for the text")
    else:
        changed[field] = text
    for name, value in changed.items():
        # The only way to change a frozen dataclass; and Haystack's documents warn about any other.
        (object.__setattr__ if is_dataclass(document) else setattr)(new, name, value)
    if not keep_id and callable(derived_id := getattr(new, "_create_id", None)):  # Haystack's Document
        object.__setattr__(new, "id", derived_id())
    return new


def _names(field: str) -> tuple[str, ...]:
    return (field, *ALIASES[field])
