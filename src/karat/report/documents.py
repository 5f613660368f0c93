"""The documents of a report, each once: its id, its title and its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.analysis.texts import id_and_text
from karat.documents.fields import DocumentLike, document_field
from karat.reading.texts.texts import Text


@dataclass
class Documents:
    """Documents by index. Two documents are the same if they have the same id and the same text."""

    ids: list[str | None] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    titles: list[str | None] = field(default_factory=list)
    _places: dict[tuple[str | None, str | None], int] = field(default_factory=dict)
    _places_of_texts: dict[bool, dict[str, int]] = field(default_factory=lambda: {False: {}, True: {}})
    """the indices of documents that are only a text, which are most: by whether it is their content"""

    def add(self, document: DocumentLike, by_content: bool) -> int:
        """The index of a document; a text alone is its content if documents are matched by content, else its id."""
        if type(document) is not str:
            return self._place(document, id_and_text(document))
        known = self._places_of_texts[by_content]
        place = known.get(document)
        if place is None:
            place = known[document] = self._place(document, (None, document) if by_content else (document, None))
        return place

    def _place(self, document: DocumentLike, identity: tuple[str | None, str | None]) -> int:
        place = self._places.setdefault(identity, len(self.ids))
        if place == len(self.ids):
            self.ids.append(identity[0])
            self.texts.append(identity[1])
            self.titles.append(_title(document))
        return place

    def without_text(self) -> list[str]:
        """The ids of the documents whose text is not known."""
        return [name for name, text in zip(self.ids, self.texts, strict=True) if text is None and name is not None]

    def add_texts(self, texts: Mapping[str, Text]) -> None:
        """Add texts, and titles, that were found by id."""
        for place, (name, known) in enumerate(zip(self.ids, self.texts, strict=True)):
            if known is None and name is not None and (found := texts.get(name)):
                self.texts[place] = found.text
                self.titles[place] = found.title or None

    def drop_texts(self, kept: Iterable[int]) -> int:
        """Drop the texts and titles of all documents but some; return the number of texts that were dropped."""
        keep = set(kept)
        dropped = 0
        for place, text in enumerate(self.texts):
            if place not in keep:
                dropped += text is not None
                self.texts[place] = self.titles[place] = None
        return dropped

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.ids,
            "title": self.titles if any(self.titles) else None,
            "text": self.texts if any(text is not None for text in self.texts) else None,
        }


def _title(document: DocumentLike) -> str | None:
    if isinstance(document, str):
        return None
    meta = document_field(document, "meta")
    found = document.get("title") if isinstance(document, Mapping) else getattr(document, "title", None)
    found = found or (meta.get("title") if isinstance(meta, Mapping) else None)
    return found if isinstance(found, str) else None
